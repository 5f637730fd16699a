"""Threads of PyTorch while it trains."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

MOST = 4  # networks of this size gain nothing from more


@contextmanager
def training_threads() -> Iterator[None]:
    """Use the processors while the stations stand still: two train in two thirds of the time."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(os.cpu_count() or 1, MOST))
    try:
        yield
    finally:
        torch.set_num_threads(before)
