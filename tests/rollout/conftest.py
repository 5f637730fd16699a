"""What tests of loops share."""

from __future__ import annotations

import pytest

from enpire.rollout.loop import loop as loops


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No policy looks good enough to be examined."""
    monkeypatch.setattr(loops.Loop, "_looks_good", lambda self, *_: False)
