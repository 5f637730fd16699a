"""Threads: more while training, as before afterwards."""

from __future__ import annotations

import pytest
import torch

from enpire.improvement import threads


def test_training_has_more_threads_and_gives_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 64)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with pytest.raises(ValueError, match="the recipe"), threads.training_threads():
            assert torch.get_num_threads() == threads.MOST
            raise ValueError("the recipe fails")
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
