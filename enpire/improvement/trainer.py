"""The old name of `enpire.improvement.behaviour_cloning`, which works for one release."""

from __future__ import annotations

from enpire.renamed import moved

__getattr__ = moved(__name__, "enpire.improvement.behaviour_cloning")
