"""States that are no fastened zip tie, although each has much of one.

A state is written as a fast reset writes its own: the head where the left hand has it, the strap
bent as its stiffness has it between root and tail, fingers on what they hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from enpire.environment import CartesianControl, Fake, Readings
from enpire.environment.kinematics import Kinematics
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray

from . import strap
from .frames import HEAD, LEFT, RIGHT, hand_rotation

HEAD_HALF, STRAP_HALF = 0.0051, strap.THICKNESS / 2  # [m]
WALLED = HEAD_HALF + STRAP_HALF  # the height of a tail that lies on the head, or under it [m]
DEEP = strap.SLOT_END + 0.020  # of a tip that is through, head frame [m]
DEEPER = (strap.SLOT_END + 0.024, 0.0, 0.0)
SLIDING = 0.02  # friction of teeth worn smooth; with 0.25 two of 24 tails truly bore the pull
PAWL_UP = -0.06  # torque that holds the release tab up [N m]
BUNDLE_HALF = 0.009  # of its thickness [m]
OPEN, SHUT = 0.2, -1.0  # gripper actions: 45 mm open, shut
ROUNDS = 60  # in which the strap is bent
CALM = 12  # control periods until the verifier begins
AWAY = 0.07  # of a hand that holds nothing, back from where it was [m]


@dataclass(frozen=True, slots=True)
class Tie:
    """A tie in or about two hands; lengths [m] in the head's frame, forces of nobody.

    Attributes:
        tip: Where the tail's tip is.
        shift: Head, strap and both hands are that far off, world frame.
        head_in_hand: The head is so far below the middle of the left hand's pads.
        pitch: The tail's slope downwards [rad].
        head_opening, tail_opening: Between the pads of the hands.
        left, right: Where the hands are; None: at the head, at the tail's place that is held.
        open: Which hands hold nothing, and stay open.
        worn: The teeth are: the pawl lies on the strap, and slides.
        pawl_up: The release tab is stuck, turned up.
    """

    tip: tuple[float, float, float] = (DEEP, 0.0, 0.0)
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)
    head_in_hand: float = 0.0
    pitch: float = 0.0
    head_opening: float = 2 * HEAD_HALF
    tail_opening: float = strap.THICKNESS
    left: tuple[float, float, float] | None = None
    right: tuple[float, float, float] | None = None
    open: tuple[int, ...] = ()
    worn: bool = False
    pawl_up: bool = False


FASTENED = Tie()
STATES: tuple[tuple[str, str, Tie], ...] = (
    (
        "on the roof, pinched",
        "the tail lies on the head's roof and only the left hand's upper pad holds it there",
        Tie((DEEP, 0.0, WALLED), head_in_hand=STRAP_HALF, head_opening=2 * WALLED),
    ),
    (
        "under the floor, pinched",
        "the tail lies under the head's floor and only the left hand's lower pad holds it there",
        Tie((DEEP, 0.0, -WALLED), head_in_hand=-STRAP_HALF, head_opening=2 * WALLED),
    ),
    (
        "on the roof, clamped by the right hand",
        "the right hand clamps tail and head together and the loop bears its pull",
        Tie(
            (DEEP, 0.0, WALLED),
            left=(0.0, AWAY, 0.0),
            right=(0.0, 0.0, STRAP_HALF),
            tail_opening=2 * WALLED,
            open=(LEFT,),
        ),
    ),
    (
        "beside the head",
        "the tail passes the head's side between the left hand's pads",
        Tie((DEEP, -0.0125, 0.0)),
    ),
    (
        "too short",
        "the ratchet holds a tail that is not quite 14 mm through, of 15",
        Tie((strap.SLOT_END + 0.015, 0.0, 0.0)),
    ),
    (
        "before the bundle",
        "the tie is fastened before the bundle's free end and goes round nothing",
        Tie(shift=(-0.065, 0.0, 0.0)),
    ),
    (
        "above the bundle",
        "the tie is fastened above the bundle and goes round nothing",
        Tie(shift=(0.0, 0.0, 0.075)),
    ),
    (
        "tab stuck up",
        "the pawl is up: nothing but friction holds the tail",
        Tie(pawl_up=True),
    ),
    (
        "teeth worn off",
        "the pawl slides: the tail stays where it is, and bears no pull",
        Tie(worn=True),
    ),
    (
        "teeth worn off, right hand at the bundle",
        "the pawl slides, and what the right hand pulls at is the bundle",
        Tie(DEEPER, right=(-0.030, 0.012, -0.034), tail_opening=2 * BUNDLE_HALF, worn=True),
    ),
    (
        "teeth worn off, right hand at the head",
        "the pawl slides, and what the right hand pulls at is the head",
        Tie(
            DEEPER,
            left=(0.0, AWAY, 0.0),
            right=(0.0, 0.0, 0.0),
            tail_opening=2 * HEAD_HALF,
            open=(LEFT,),
            worn=True,
        ),
    ),
    (
        "teeth worn off, left hand at the tip",
        "the pawl slides, and the left hand holds the tail's end beyond the head",
        Tie(DEEPER, left=(0.026, 0.0, 0.0), head_opening=strap.THICKNESS, worn=True),
    ),
)


def constructed(kinematics: Kinematics) -> tuple[Fake, ...]:
    """All of them. kinematics: of the robot, to bring its hands to what they hold."""
    return tuple(construct(name, why, tie, kinematics) for name, why, tie in STATES)


def construct(name: str, why: str, tie: Tie, kinematics: Kinematics) -> Fake:
    """A fake of a tie that two hands hold on to."""

    def act(readings: Readings) -> Float32Array:
        action = np.zeros(14, np.float32)
        action[[6, 13]] = [OPEN if arm in tie.open else SHUT for arm in (LEFT, RIGHT)]
        return action

    def write(twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator) -> None:
        write_tie(twin, control, row, tie, kinematics)

    return Fake(name, why, write, act, CALM)


def write_tie(
    twin: Twin, control: CartesianControl, row: int, tie: Tie, kinematics: Kinematics
) -> None:
    """Write it into a station whose reset has the head in the left hand and the strap round."""
    model = twin.model
    at = model.joint("task_head").qposadr[0]
    head = np.array(twin.qpos[row, at : at + 3])
    frame = twin.site_xmat[row, model.site("task_head").id].reshape(3, 3).copy()
    hand = twin.site_xpos[row, control.arms[LEFT].grasp]
    # flat between the pads, as fingers hold it, whatever the reset has left
    head += frame[:, 2] * (frame[:, 2] @ (hand - head) - tie.head_in_hand) + tie.shift
    slope = _about_y(tie.pitch)
    twin.qvel[row] = 0.0
    twin.qpos[row, at : at + 3] = head
    twin.qpos[row] = bent(model, twin.qpos[row], np.array(tie.tip), slope)
    held = np.array(tie.tip) - strap.GRASP * slope[:, 0]
    places = [
        np.array([0.0, 0.0, tie.head_in_hand]) if tie.left is None else np.array(tie.left),
        held if tie.right is None else np.array(tie.right),
    ]
    turned = [frame, frame @ (slope if tie.right is None else np.eye(3))]
    joints = kinematics.solve(
        [head + frame @ place for place in places],
        [turn @ HEAD.T @ hand_rotation(arm) for arm, turn in enumerate(turned)],
        warm=np.array([twin.qpos[row, arm.qpos] for arm in control.arms]),
    )
    openings = np.array([tie.head_opening, tie.tail_opening])
    openings[list(tie.open)] = 0.045
    for arm, angles, opening in zip(control.arms, joints, openings, strict=True):
        twin.qpos[row, arm.qpos] = angles
        for finger in ("finger_left", "finger_right"):
            twin.qpos[row, model.joint(f"{arm.name}_{finger}").qposadr[0]] = opening / 2
    control.set(row, joints, np.where(np.isin((LEFT, RIGHT), tie.open), 0.045, 0.0))
    twin.expand("actuator_delay")[row] = 0.0  # a delay reads setpoints from before the writing
    twin.bind("qfrc_applied")[row, model.joint("task_pawl").dofadr[0]] = (
        PAWL_UP if tie.pawl_up else 0.0
    )
    if tie.worn:
        twin.expand("geom_friction")[row, model.geom("task_pawl").id, 0] = SLIDING
    twin.qpos[row, model.joint("task_pawl").qposadr[0]] = -1.0 if tie.pawl_up else 0.0


def bent(model: mujoco.MjModel, qpos: FloatArray, tip: FloatArray, slope: FloatArray) -> FloatArray:
    """All joints (nq,), the strap's so bent that its straight tail ends where it is to.

    Steps of least squares weighted by the hinges' stiffness lead from the strap's rest to there.
    tip: (3,) [m] and slope: frame (3, 3) of the tail, both in the head's frame.
    """
    names = [f"bend{i}" for i in range(strap.GRASPED + 1)]
    names += [f"{kind}{i}" for i in strap.TORSION for kind in ("twist", "sway")]
    joints = [model.joint(f"task_{name}") for name in names]
    dofs, places = [j.dofadr[0] for j in joints], [j.qposadr[0] for j in joints]
    give = np.array([1.0 / np.atleast_1d(j.stiffness)[0] for j in joints])
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    angles = strap.rest_angles()
    angles[strap.GRASPED + 1 :] = 0.0
    for i, angle in enumerate(angles):
        data.qpos[model.joint(f"task_bend{i}").qposadr[0]] = angle
    for name in names[strap.GRASPED + 1 :]:
        data.qpos[model.joint(f"task_{name}").qposadr[0]] = 0.0
    last = model.body(f"task_link{len(strap.LENGTHS) - 1}").id
    head, end = data.body("task_head"), data.site("task_tip")
    jacobian = np.zeros((2, 3, model.nv))
    for i in range(ROUNDS):
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        frame = head.xmat.reshape(3, 3)
        turn = np.zeros(3)
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, (frame @ slope @ end.xmat.reshape(3, 3).T).ravel())
        mujoco.mju_quat2Vel(turn, quaternion, 1.0)
        off = np.concatenate([head.xpos + frame @ tip - end.xpos, turn])
        mujoco.mj_jac(model, data, jacobian[0], jacobian[1], end.xpos, last)
        J = jacobian.reshape(6, -1)[:, dofs]
        wanted = off / max(1, 20 - i)  # the whole way in some twenty steps
        data.qpos[places] += give * (J.T @ np.linalg.solve(J @ (give[:, None] * J.T), wanted))
    result: FloatArray = data.qpos.copy()
    return result


def _about_y(angle: float) -> FloatArray:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])
