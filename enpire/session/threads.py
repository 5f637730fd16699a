"""How this process shares the processors with the physics."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_S = 1e-4  # after which a thread gives the interpreter to one that waits for it


def leave_cores_to_physics() -> None:
    """Run networks on one thread in this process, and hand the interpreter over early.

    A policy of this size takes a tenth of a millisecond on one thread. On several, PyTorch's
    threads and MuJoCo's wait for each other's cores at every call: measured 40 times as long.
    A thread that comes back from a station's physics needs the interpreter for a moment only, to
    begin the next station's; by default it would wait until no other thread needs it.
    """
    import torch

    torch.set_num_threads(1)
    sys.setswitchinterval(SWITCH_S)


@contextmanager
def cores_left_to_physics() -> Iterator[None]:
    """Do the same until the block ends, and leave the process then as it was."""
    import torch

    threads, switch_s = torch.get_num_threads(), sys.getswitchinterval()
    leave_cores_to_physics()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        sys.setswitchinterval(switch_s)
