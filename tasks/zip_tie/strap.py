"""The strap of the zip tie: a chain of boxes on elastic hinges, rooted in the head.

The nylon strip is 8.0 mm wide and 1.4 mm thick. Its bending stiffness EI becomes a stiffness
EI/length at every hinge (the discrete elastic rod of Bergou et al. 2008, in the plane), and the
hinges rest at the angles of an open loop: the set of a strap that was bent round its bundle. A few
links also twist and sway, much more stiffly, as a flat strip does.

Armature: contacts of bodies as light as these (0.2 g) would be soft, because MuJoCo scales contact
stiffness by the effective mass; 1.5e-5 kg m^2 a hinge makes the slot and the pawl hard to 0.3 mm at
5 N, and leaves the hinge's own frequency (15 Hz) far above the hands'.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

LOOP = (0.0265,) * 11  # links round the bundle [m]
TAIL = (0.022, 0.014, 0.013, 0.012)  # links that meet fingers, head and pawl; the first is held [m]
LENGTHS = LOOP + TAIL
WIDTH, THICKNESS = 0.008, 0.0014  # [m]
TIP = 0.006  # the tapered end beyond the last link [m]
BENDING = 2.2e-3  # EI about the width [N m^2]
SLOT_END = 0.006  # of the head, along the slot from its middle [m]
ROOT = (SLOT_END, 0.0, -0.0034)  # where the strap leaves the head, head frame [m]
CURL = 0.031  # radius of the loop's two bends [m]
GRASPED = len(LOOP)  # the link that the fingers hold, in its middle
GRASP = sum(TAIL) + TIP - TAIL[0] / 2  # from the tip back to there [m]
TORSION = (2, 6, 10)  # links that also twist and sway
MARKS = (1, 4, 7, 10)  # links that the tracker follows, to see the loop
MAGENTA, CYAN = (0.75, 0.10, 0.65, 1.0), (0.10, 0.75, 0.80, 1.0)  # strap, and its tip
ARCS = tuple(  # of strap from the middle of the head over the middles of the marks to the tip [m]
    np.diff([-SLOT_END, *(sum(LENGTHS[:i]) + LENGTHS[i] / 2 for i in MARKS), sum(LENGTHS) + TIP])
)


def rest_angles() -> NDArray[np.float64]:
    """Angles of the bending hinges of the open loop, shape (links,), in radians.

    A stadium: half a turn down and back under the bundle, a straight run, half a turn up, and the
    straight tail that looks at the slot.
    """
    lengths = np.array(LENGTHS)
    middles = np.cumsum(lengths) - lengths / 2
    bend = math.pi * CURL
    straight = sum(LOOP) - 2 * bend
    first = np.clip(middles, 0.0, bend)
    second = np.clip(middles - bend - straight, 0.0, bend)
    return np.diff((first + second) / CURL, prepend=0.0)


def add_strap(spec: mujoco.MjSpec) -> None:
    """Root the strap in the body `head`; sites `tip` and `mark0`... follow it."""
    body = spec.body("head")
    for i, (length, rest) in enumerate(zip(LENGTHS, rest_angles(), strict=True)):
        position = ROOT if i == 0 else (LENGTHS[i - 1], 0.0, 0.0)
        body = body.add_body(name=f"link{i}", pos=position)
        _hinge(body, f"bend{i}", (0, 1, 0), BENDING / length, 1e-3, float(rest))
        if i in TORSION:
            _hinge(body, f"twist{i}", (1, 0, 0), 0.06, 1e-3)
            _hinge(body, f"sway{i}", (0, 0, 1), 0.6, 3e-3)
        tail = i >= len(LOOP)
        _box(body, f"link{i}", length / 2, (length / 2, WIDTH / 2, THICKNESS / 2), tail)
        if i in MARKS:
            body.add_site(name=f"mark{MARKS.index(i)}", pos=(length / 2, 0, 0), group=4)
    taper = (TIP / 2, 0.3 * WIDTH, 0.35 * THICKNESS)
    _box(body, "taper", TAIL[-1] + TIP / 2, taper, True, CYAN)
    body.add_site(name="tip", pos=(TAIL[-1] + TIP, 0, 0), group=4)


def widen(spec: mujoco.MjSpec, prefix: str, by: float) -> None:
    """Make the tail wider and thicker by so much [m]; prefix: of its names in a scene."""
    names = [f"link{i}" for i in range(len(LOOP), len(LENGTHS))]
    for name in (*names, "taper"):
        spec.geom(prefix + name).size[1:] += by / 2


def _hinge(
    body: mujoco.MjsBody,
    name: str,
    axis: tuple[int, int, int],
    stiffness: float,
    damping: float,
    rest: float = 0.0,
) -> None:
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=axis,
        stiffness=stiffness,
        damping=damping,
        springref=rest,
        armature=1.5e-5,
    )


def _box(
    body: mujoco.MjsBody,
    name: str,
    x: float,
    size: tuple[float, float, float],
    tail: bool,
    rgba: tuple[float, float, float, float] = MAGENTA,
) -> None:
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(x, 0, 0),
        size=size,
        contype=4 if tail else 8,
        conaffinity=1 if tail else 0,
        condim=3,
        friction=(0.3, 0.002, 0.0001),
        density=1140,
        solref=(0.004, 1),
        solimp=(0.95, 0.99, 0.0005, 0.5, 2),
        rgba=rgba,
    )
