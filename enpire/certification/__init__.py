"""Whether a task can be done, cannot be had for nothing, is judged rightly, and repeats."""

from enpire.certification.certificate import corrected
from enpire.certification.examination import CHECKS, FULL, REDUCED, Counts, TaskExamination
from enpire.certification.row import CheckRow

__all__ = ["CHECKS", "FULL", "REDUCED", "CheckRow", "Counts", "TaskExamination", "corrected"]
