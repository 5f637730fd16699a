"""What the simulator knows of the pins: where they are, and whether their holes hold them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from enpire.twin import Twin
from enpire.types import Predicate

from .frames import GRIP
from .parts import HOLES
from .verify import APART, IN_LINE, SEATED, UPRIGHT


def truth(twin: Twin, row: int, pins: NDArray[np.int64], box: int) -> tuple[Predicate, ...]:
    """The conditions of success, each that of the worst pin.

    pins: where each pin's pose begins in `qpos`. box: the site on the box.
    """
    poses = twin.qpos[row, pins[:, None] + np.arange(7)]
    axes = Rotation.from_quat(poses[:, 3:], scalar_first=True).as_matrix()[:, :, 2]
    frame = twin.site_xmat[row, box].reshape(3, 3)
    ends = (poses[:, :3] - twin.site_xpos[row, box]) @ frame - HOLES
    tilts = np.degrees(np.arccos(np.clip(axes @ frame[:, 2], -1.0, 1.0)))
    grips = poses[:, :3] + GRIP * axes
    away = np.linalg.norm(grips - twin.site_xpos[row, twin.scene.arms[0].grasp], axis=1)
    off = np.linalg.norm(ends[:, :2], axis=1)
    limit = float(np.degrees(UPRIGHT))
    return (
        Predicate("seated", -1e3 * float(ends[:, 2].max()), 1e3 * SEATED, "mm"),
        Predicate("in_line", 1e3 * float(off.max()), 1e3 * IN_LINE, "mm", at_least=False),
        Predicate("upright", float(tilts.max()), limit, "deg", at_least=False),
        Predicate("let_go", 1e3 * float(away.min()), 1e3 * APART, "mm"),
    )
