"""Python's collector of cyclic garbage, held off while a large run is read."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Hold the collector off in the block, in which no garbage with cycles is to be made.

    Reading makes very many objects that stay, and the collector looks at them again and again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
