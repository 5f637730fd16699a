"""What tests of loops share."""

from __future__ import annotations

import pytest

from enpire.rollout.loop.sealed_evaluations import SealedEvaluations


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No policy looks good enough to be examined."""
    monkeypatch.setattr(SealedEvaluations, "_looks_good", lambda self, *_: False)
