"""How many threads a network runs on beside the physics."""

from __future__ import annotations


def leave_cores_to_physics() -> None:
    """Run networks on one thread in this process.

    A policy of this size takes a tenth of a millisecond on one thread. On several, PyTorch's
    threads and MuJoCo's wait for each other's cores at every call: measured 40 times as long.
    """
    import torch

    torch.set_num_threads(1)
