"""The drilled box and its pins, out of primitives: what meets is what is drawn.

A hole is the inside of eight boxes, an octagon round a circle of 4.3 mm; on top are four slopes, a
chamfer of 0.4 mm. A pin is a capsule of 4 mm; a ring of spheres makes one end flat, with an edge
rounded by 0.5 mm. So a pin is 0.15 mm clear all round, and finds the hole by itself from less than
a millimetre beside it: beyond, it lands on the face.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from enpire.types import FloatArray

STAGE = "stage"  # the station's fixture: moves tray and box
PINS = 3
PIN_RADIUS = 0.002  # [m]
PIN_LENGTH = 0.032  # [m]
EDGE = 0.0003  # rounding of the end that goes in first [m]
HOLE_RADIUS = 0.00215  # 0.3 mm more in diameter than a pin [m]
CHAMFER = 0.0002  # of a hole, at 45 degrees [m]
DEPTH = 0.014  # of a hole [m]
PITCH = 0.018  # from hole to hole [m]
HALF_WIDTH = 0.012  # of the box across its row of holes [m]
FLOOR = 0.004  # under the holes [m]
TRAY = -0.050  # height of the tray's bristles, box frame (scene.xml) [m]
TRAY_X, TRAY_Y = (-0.184, 0.064), 0.094  # inside its rim, box frame [m]
SKIRT = 0.028  # of bristles, how far it leads away from the box [m]
# Of a pin's turning and, in kg, nothing beside its 3 g. MuJoCo scales a contact's stiffness by the
# effective mass, which at the end of a bar of 3 g is next to nothing: without this a pin pushed
# against a wall goes through it. A pin that topples does so slowly, in a quarter of a second.
ARMATURE = 1e-5  # [kg m^2]
# What tells pins apart, for eyes: green, magenta, yellow; where they go in they are bare steel.
COLOURS = ((0.08, 0.55, 0.15, 1.0), (0.75, 0.08, 0.68, 1.0), (0.80, 0.74, 0.05, 1.0))
BARE, STEEL = 0.012, (0.62, 0.63, 0.65, 1.0)  # from the end that goes in first [m]
# Pin i belongs in hole i, box frame [m]. The farthest comes first: fingers reach over the box from
# the near side, and nothing stands there yet.
HOLES = np.array([(PITCH * ((PINS - 1) / 2 - i), 0.0, 0.0) for i in range(PINS)])


def in_tray(at: FloatArray) -> bool:
    """Whether a place, box frame (3,) [m], is inside the tray's rim."""
    beside = TRAY_X[0] < at[0] < TRAY_X[1] and abs(at[1]) < TRAY_Y
    return bool(beside and at[2] > TRAY - 0.005)


def drill(spec: mujoco.MjSpec) -> None:
    """Give the body `box` its holes, and one block for the fingers."""
    box = spec.body("box")
    half = PITCH * PINS / 2
    _skirt(spec, box, half)
    middle, wide = HOLE_RADIUS + CHAMFER, HALF_WIDTH
    height = (DEPTH + FLOOR) / 2
    block = _box(spec, box, "block", (0, 0, -height), (half, wide, height))
    block.conaffinity, block.rgba = 1, (0, 0, 0, 0)
    _box(spec, box, "floor", (0, 0, -DEPTH - FLOOR / 2), (half, wide, FLOOR / 2))
    for layer, radius, top, bottom in (
        ("bore", HOLE_RADIUS, -CHAMFER, -DEPTH),
        ("mouth", middle, 0.0, -CHAMFER),
    ):
        z, thick = (top + bottom) / 2, (top - bottom) / 2
        for side in (-1, 1):
            y, across = side * (wide + radius) / 2, (wide - radius) / 2
            _box(spec, box, f"{layer}_side{side}", (0, y, z), (half, across, thick))
        ends = [-half, *sorted(x + s * radius for x in HOLES[:, 0] for s in (-1, 1)), half]
        for i, (low, high) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
            x, along = (low + high) / 2, (high - low) / 2
            _box(spec, box, f"{layer}_web{i}", (x, 0, z), (along, radius, thick))
    for i, hole in enumerate(HOLES):
        for k in range(4):
            _corner(spec, box, f"corner{i}_{k}", hole[0], math.pi / 2 * k + math.pi / 4)
            _slope(spec, box, f"slope{i}_{k}", hole[0], math.pi / 2 * k)


def add_pins(spec: mujoco.MjSpec) -> None:
    """Bodies `pin0`...; a pin's frame: origin at the end that goes in first, z along the pin."""
    for i in range(PINS):
        body = spec.worldbody.add_body(name=f"pin{i}", pos=(0.40, 0.03 * i, 0.05))
        body.add_joint(name=f"pin{i}", type=mujoco.mjtJoint.mjJNT_FREE, armature=ARMATURE)
        body.add_geom(
            spec.find_default("shaft"),
            name=f"pin{i}",
            fromto=(0, 0, PIN_RADIUS, 0, 0, PIN_LENGTH - PIN_RADIUS),
            size=(PIN_RADIUS, 0, 0),
            rgba=COLOURS[i],
        )
        body.add_geom(
            name=f"bare{i}",
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            fromto=(0, 0, 0, 0, 0, BARE),
            size=(PIN_RADIUS + 5e-5, 0, 0),
            contype=0,
            conaffinity=0,
            mass=0,
            rgba=STEEL,
        )
        for k in range(8):
            angle = math.pi / 4 * (k + 0.5)
            out = PIN_RADIUS - EDGE
            at = (out * math.cos(angle), out * math.sin(angle), EDGE)
            body.add_geom(
                spec.find_default("edge"),
                name=f"edge{i}_{k}",
                pos=at,
                size=(EDGE, 0, 0),
                rgba=STEEL,
            )
        body.add_site(name=f"pin{i}", group=4)


def thicken(spec: mujoco.MjSpec, prefix: str, by: float) -> None:
    """Make the pins thicker by so much in diameter [m]; prefix: of their names in a scene."""
    radius = PIN_RADIUS + by / 2
    for i in range(PINS):
        spec.geom(f"{prefix}pin{i}").size[0] = radius
        for k in range(8):
            edge = spec.geom(f"{prefix}edge{i}_{k}")
            edge.pos[:2] *= (radius - EDGE) / (PIN_RADIUS - EDGE)


def _skirt(spec: mujoco.MjSpec, box: mujoco.MjsBody, half: float) -> None:
    """Bristles at 60 degrees from below the box's edges down to the tray's, a slab a side.

    Thin ones, so that what bounds them is clear of the holes: MuJoCo then need not look at them.
    """
    ring = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    top = np.column_stack([ring * (half, HALF_WIDTH), np.full(4, -0.0015)])
    bottom = np.column_stack([ring * (half + SKIRT, HALF_WIDTH + SKIRT), np.full(4, TRAY)])
    for i, inward in enumerate([(0, -1, 0), (1, 0, 0), (0, 1, 0), (-1, 0, 0)]):
        ends = [i, (i + 1) % 4]
        face = np.concatenate([top[ends], bottom[ends]])
        slab = np.concatenate([face, face + 0.005 * np.array(inward)])
        spec.add_mesh(name=f"skirt{i}", uservert=slab.ravel().tolist())
        brush = spec.find_default("brush")
        box.add_geom(brush, name=f"skirt{i}", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"skirt{i}")


def _corner(spec: mujoco.MjSpec, box: mujoco.MjsBody, name: str, x: float, angle: float) -> None:
    """What makes a square bore an octagon: its inner face touches the circle too."""
    width = HOLE_RADIUS * math.tan(math.pi / 8)
    depth = HOLE_RADIUS * (math.sqrt(2) - 1) / 2  # half of the way to the square's corner
    far = HOLE_RADIUS + depth
    at = (x + far * math.cos(angle), far * math.sin(angle), -(DEPTH + CHAMFER) / 2)
    corner = _box(spec, box, name, at, (depth, width, (DEPTH - CHAMFER) / 2))
    corner.quat = (math.cos(angle / 2), 0, 0, math.sin(angle / 2))


def _slope(spec: mujoco.MjSpec, box: mujoco.MjsBody, name: str, x: float, angle: float) -> None:
    """A face at 45 degrees from the bore's edge up to the top, seen from the hole at `angle`."""
    length, thick = CHAMFER / math.sqrt(2), CHAMFER / 2
    out = HOLE_RADIUS + CHAMFER / 2 + thick / math.sqrt(2)
    down = -CHAMFER / 2 - thick / math.sqrt(2)
    at = (x + out * math.cos(angle), out * math.sin(angle), down)
    slope = _box(spec, box, name, at, (length, HOLE_RADIUS + CHAMFER, thick))
    turn, quat = np.zeros(4), np.zeros(4)
    mujoco.mju_axisAngle2Quat(quat, np.array([0.0, 0.0, 1.0]), angle)
    mujoco.mju_axisAngle2Quat(turn, np.array([0.0, 1.0, 0.0]), -math.pi / 4)
    mujoco.mju_mulQuat(quat, quat.copy(), turn)
    slope.quat = quat


def _box(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    at: tuple[float, float, float],
    size: tuple[float, float, float],
) -> mujoco.MjsGeom:
    return body.add_geom(spec.find_default("wall"), name=name, pos=at, size=size)
