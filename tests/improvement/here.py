"""A trainer for tests of what trainings are asked for."""

from __future__ import annotations

from enpire.improvement.recipe import Candidate
from enpire.improvement.training_process import TrainingHandle, TrainingRequest, train
from enpire.store import Run


class Here:
    """Trains in this process, at once."""

    def begin(self, run: Run, asked: TrainingRequest) -> TrainingHandle:
        return Done(run, asked)


class Done:
    """A training that takes no time."""

    def __init__(self, run: Run, asked: TrainingRequest) -> None:
        self.run, self.asked = run, asked

    def candidate(self, within: float) -> Candidate:
        return train(self.run, self.asked)

    def cancel(self) -> None:
        pass
