"""What the simulator knows of a cut: if the bond is open, where tie and cutter are and stay."""

from __future__ import annotations

import numpy as np

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

from .layout import GRIP, RIGHT, STANDING
from .verify import AWAY, PLACE, SHIFT, TILT

STANDS = 250  # simulation steps for which the cutter is watched


def truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """The conditions of success.

    A strap is cut when its bond is open, however wide it gapes. Whether the cutter stands is tried
    on a copy of the station, which goes on for a while.
    """
    model = twin.model
    cut = 1.0 - float(twin.eq_active[row, model.equality("task_strap").id])
    joints = [model.joint(f"task_bundle_{axis}").qposadr[0] for axis in "xy"]
    stand = twin.site_xpos[row, model.site("task_stand").id] + (0.0, 0.0, STANDING)
    hinge = twin.qpos[row, model.joint("task_hinge").qposadr[0]]
    free = model.joint("task_cutter").qposadr[0]
    pivot, up = _cutter(twin.qpos[row, free : free + 7], float(hinge))
    hand = twin.site_xpos[row, twin.scene.arms[RIGHT].grasp]
    away = np.linalg.norm((pivot + GRIP * up - hand)[:2])
    copy = twin.simulation(row)
    copy.step(nstep=STANDS)
    later = copy.bind("qpos")[0, free : free + 3]
    return (
        Predicate("cut", cut, 1.0, ""),
        _most("bundle_shift", 1e3 * float(np.linalg.norm(twin.qpos[row, joints])), SHIFT, "mm"),
        _most("in_stand", 1e3 * float(np.linalg.norm(pivot - stand)), PLACE, "mm"),
        _most("stays", 1e3 * float(np.linalg.norm(later - stand)), PLACE, "mm"),
        _most("tilt", float(np.degrees(np.arctan2(np.hypot(*up[:2]), up[2]))), TILT, "deg"),
        Predicate("hand_away", 1e3 * float(away), AWAY, "mm"),
    )


def _cutter(pose: FloatArray, opening: float) -> tuple[FloatArray, FloatArray]:
    """The pivot (3,) [m] and the way from it to the handles, half way between the jaws, (3,)."""
    w, *v = pose[3:]
    between = np.array([0.0, -np.sin(opening / 2), np.cos(opening / 2)])  # in the free jaw's frame
    turned = between + 2 * np.cross(v, np.cross(v, between) + w * between)
    return pose[:3], turned


def _most(name: str, value: float, threshold: float, unit: str) -> Predicate:
    return Predicate(name, value, threshold, unit, at_least=False)
