"""Where networks learn, and where LeRobot's act: on the GPU where there is one.

What crosses to it are batches and networks that learn, and what comes back are weights. Examples,
replay, policies' files and checkpoints stay in the processor's memory, so a training goes on where
another machine left it. Draws come from generators of the processor too, whatever learns by them:
they are the same everywhere.

Our own small networks act on the processor, wherever they learned: some rows of a few hundred
numbers take it less time (`network.py`) than it takes a GPU to begin, and what a station does is
then the same to the last bit on every machine.
"""

from __future__ import annotations

import os
import re

import torch
from torch import nn

from enpire.errors import UsageError

VARIABLE = "ENPIRE_DEVICE"  # of the environment: `cpu`, `cuda` or `cuda:1`
WORTH = 500  # steps of a large network from which on compiling them, some minutes, may pay


def device() -> torch.device:
    """The one that `ENPIRE_DEVICE` names; else CUDA's current GPU, or the processor without one.

    Raises:
        UsageError: this machine has no such device.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", named):
        raise UsageError(f"{VARIABLE}={named}: networks learn on cpu, cuda, or one of many, cuda:1")
    found = torch.device(named)
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise UsageError(
            f"{VARIABLE}={named}: PyTorch finds {torch.cuda.device_count()} GPUs here; unset it, "
            "or install a PyTorch and a driver that fit"
        )
    return found


def mixed(where: torch.device) -> torch.autocast:
    """Within it forward passes are in bfloat16, where a GPU computes in that.

    For losses that clone, which bear it. Weights, their slopes and the optimiser's state stay in
    single precision, and so do critics, whose targets are differences of near values.
    """
    return torch.autocast(where.type, torch.bfloat16, enabled=halves(where))


def halves(where: torch.device) -> bool:
    """Whether it computes in bfloat16 by itself."""
    return where.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)


def compiled(network: nn.Module, where: torch.device, steps: int) -> None:
    """Have a large network compiled at its first step, where a GPU takes so many that it may pay.

    Trainings of our small networks take no longer there than compiling them. What cannot be
    compiled runs as it is.
    """
    if where.type == "cuda" and steps >= WORTH:
        torch._dynamo.config.suppress_errors = True
        network.compile()
