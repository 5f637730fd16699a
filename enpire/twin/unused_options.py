"""What a scene's own `<option>` says that nothing uses: a world's holds for the whole model."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

LOG = logging.getLogger(__name__)
USUAL = mujoco.MjSpec()  # what a model has that says nothing
FLAGS = {
    "disableflags": (mujoco.mjtDisableBit, "mjDSBL_", "disable"),
    "enableflags": (mujoco.mjtEnableBit, "mjENBL_", "enable"),
}


def tell_of_unused(path: Path, own: mujoco.MjSpec, world: mujoco.MjSpec) -> None:
    """Log each option and flag of a model in a file that is lost as it is put into a world."""
    for name in (each for each in dir(USUAL.option) if not each.startswith("_")):
        said, holds, usual = (getattr(each.option, name) for each in (own, world, USUAL))
        if _same(said, usual) or _same(said, holds):
            continue
        if name in FLAGS:
            for flag in _flags(name, int(said) & ~int(holds)):
                LOG.warning("%s: its flag %s is not used: set it in the world's model", path, flag)
        else:
            LOG.warning(
                "%s: its %s of %s is not used: the world's holds, %s", path, name, said, holds
            )


def _flags(name: str, bits: int) -> list[str]:
    """Return the flags of an option's bits, as a model's file has them."""
    kinds, prefix, word = FLAGS[name]
    found = [n for n, kind in kinds.__members__.items() if n.startswith(prefix) and bits & kind]
    return [f'{each.removeprefix(prefix).lower()}="{word}"' for each in found]


def _same(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, equal_nan=True))
