"""What the simulator knows of a zip tie: which link crosses the slot, and what a weight does.

All of it is measured on a copy of the station whose hands are both open, by positions of links and
sizes of geoms. Nothing here comes from the verifier, so that neither shares the other's errors.
"""

from __future__ import annotations

import mujoco
import numpy as np

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

LINKS, HELD = 15, 11  # links of the strap; the one that fingers hold
STRAP = np.array([0.004, 0.0007])  # half of its width and of its thickness [m]
EXIT, ENTRY = 0.006, -0.006  # faces of the head, along the slot from its middle [m]
OPEN = 0.045  # gripper setpoint of a hand that has let go [m]
# Simulation steps that the tie is left alone, 1 s, after those for which the station waits:
# what only hands held moves, a tail that is not caught springs out, a loop that slips is off.
RELEASED = 500
DEPTH = 15.0  # of the tip beyond the head: what the task asks for [mm]
WALL = 1.0  # of the strap inside a wall: contacts are soft to half of that, walls 2.5 mm thick [mm]
PULL = 5.0  # on the tail, back along the slot: what the task asks for [N]
STIFF, SPEED = 1000.0, 0.02  # of the spring balance that pulls [N/m], drawn at so much [m/s]
TRAVEL = 0.030  # that it is drawn at most: a tail that nothing holds is out by then [m]
KEPT = 12.0  # of the tail beyond the head under the pull: the 15 less the pawl's slack [mm]


def ground_truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """The conditions of success, once both hands have let go.

    A spring balance pulls at the tail while a vice holds the head, and presses on nothing else.
    """
    model, copy = twin.simulation(row)
    for arm in twin.scene.arms:
        copy.ctrl[arm.gripper] = OPEN
    mujoco.mj_step(model, copy, nstep=RELEASED)
    mujoco.mj_forward(model, copy)
    strap = in_head(model, copy)
    depth = 1e3 * (strap[-1, 0] - EXIT)
    wall = 1e3 * in_wall(strap, opening(model))
    loops = linked(strap, *bundle_in_head(model, copy))
    clamp_head(model, copy)
    weigh(model, copy, model.body(f"task_link{HELD}").id)
    hung = 1e3 * (in_head(model, copy)[-1, 0] - EXIT)
    return (
        Predicate("through", float(depth), DEPTH, "mm"),
        Predicate("in_slot", wall, WALL, "mm", at_least=False),
        Predicate("loop_closed", float(loops), 1.0, "times"),
        Predicate("holds", float(hung), KEPT, "mm"),
    )


def in_head(model: mujoco.MjModel, copy: mujoco.MjData) -> FloatArray:
    """The strap's joints from its root to its tip, in the head's frame, (links + 1, 3) [m]."""
    links = [model.body(f"task_link{i}").id for i in range(LINKS)]
    joints = np.vstack([copy.xpos[links], copy.site("task_tip").xpos])
    head = copy.body("task_head")
    result: FloatArray = (joints - head.xpos) @ head.xmat.reshape(3, 3)
    return result


def bundle_in_head(model: mujoco.MjModel, copy: mujoco.MjData) -> tuple[FloatArray, FloatArray]:
    """Both ends of the bundle, in the head's frame, each (3,) [m]."""
    bundle, head = copy.geom("task_bundle"), copy.body("task_head")
    half = model.geom("task_bundle").size[1] * bundle.xmat.reshape(3, 3)[:, 2]
    frame = head.xmat.reshape(3, 3)
    return (bundle.xpos - half - head.xpos) @ frame, (bundle.xpos + half - head.xpos) @ frame


def opening(model: mujoco.MjModel) -> FloatArray:
    """The slot between its walls, lowest and highest y and z, (2, 2) [m], as its geoms have it."""

    def face(name: str, axis: int, side: int) -> float:
        geom = model.geom(f"task_{name}")
        return float(geom.pos[axis] + side * geom.size[axis])

    low = face("side_right", 1, 1), face("floor", 2, 1)
    high = face("side_left", 1, -1), face("roof", 2, -1)
    return np.array([low, high])


def in_wall(strap: FloatArray, slot: FloatArray) -> float:
    """How far the strap is beyond the slot's opening where links cross the head's faces [m].

    Infinite if none crosses both, one after the other, from the entry to the exit.

    strap: joints in the head's frame, (joints, 3) [m]. slot: as `opening` gives it.
    """
    worst, after = -np.inf, HELD
    for face in (ENTRY, EXIT):
        x = strap[:, 0]
        crossing = [i for i in range(after, LINKS) if x[i] < face <= x[i + 1]]
        if len(crossing) != 1:
            return float(np.inf)
        after = crossing[0]
        share = (face - x[after]) / (x[after + 1] - x[after])
        at = strap[after, 1:] + share * (strap[after + 1, 1:] - strap[after, 1:])
        beyond = np.maximum(slot[0] - (at - STRAP), at + STRAP - slot[1])
        worst = max(worst, float(beyond.max()))
    return worst


def linked(strap: FloatArray, one_end: FloatArray, other_end: FloatArray) -> int:
    """How often the bundle passes through the loop that the strap and the head make.

    The loop is closed by the head, from its middle to the root and from where the tail is to its
    middle; triangles from its centre span it. Signed crossings of the bundle's axis with them.

    strap: joints, (joints, 3), and the bundle's ends, each (3,), in the head's frame [m].
    """
    before = [i for i in range(HELD, len(strap)) if strap[i, 0] < EXIT]  # what is not through yet
    rim = np.vstack([np.zeros(3), strap[: (before[-1] if before else HELD) + 1]])
    centre = rim.mean(axis=0)
    way = other_end - one_end
    crossings = 0
    for a, b in zip(rim, np.roll(rim, -1, axis=0), strict=True):
        edges = np.stack([way, centre - a, centre - b], axis=1)
        volume = float(np.linalg.det(edges))
        if abs(volume) < 1e-15:
            continue  # a triangle without area, or one along the bundle
        # one_end + s way = centre + u (a - centre) + v (b - centre)
        s, u, v = np.linalg.solve(edges, centre - one_end)
        if 0.0 <= s <= 1.0 and u >= 0.0 and v >= 0.0 and u + v <= 1.0:
            crossings += 1 if volume > 0 else -1
    return abs(crossings)


def clamp_head(model: mujoco.MjModel, copy: mujoco.MjData) -> None:
    """Have a vice hold the head where it is: the weld by which a reset holds it in the hand."""
    vice = model.equality("reset_task_head").id
    hand, head = copy.body("left_link6"), copy.body("task_head")
    back = np.zeros(4)
    mujoco.mju_negQuat(back, hand.xquat)
    mujoco.mju_rotVecQuat(model.eq_data[vice, 3:6], head.xpos - hand.xpos, back)
    mujoco.mju_mulQuat(model.eq_data[vice, 6:10], back, head.xquat)
    copy.eq_active[vice] = 1


def weigh(model: mujoco.MjModel, copy: mujoco.MjData, body: int) -> None:
    """Draw a body back along the slot until the balance shows the pull, or is drawn all its way.

    Not a force without a mass behind it: the strap weighs some grams, and such a force throws it
    past the pawl faster than the pawl's spring can turn that.
    """
    along = -copy.body("task_head").xmat.reshape(3, 3)[:, 0]
    place, force = copy.xpos[body], copy.xfrc_applied[body, :3]
    start = float(along @ place)
    for drawn in np.arange(0.0, TRAVEL, SPEED * model.opt.timestep):
        shown = STIFF * (start + drawn - float(along @ place))
        if shown >= PULL:
            break
        force[:] = max(shown, 0.0) * along
        mujoco.mj_step(model, copy)
    mujoco.mj_kinematics(model, copy)
