"""Constructed states that are no success: for each, what a verdict could be deceived by.

Each is written into a station whose fast reset is over. The joints of arms and cutter are set at
once, the strap's bond is opened where a fake has a cut strap, and then physics goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import CartesianControl, Fake
from enpire.environment.kinematics import Kinematics
from enpire.twin import Twin
from enpire.types import FloatArray

from .layout import GRIP, HAND, RIGHT, STANDING

LEFT = 1 - RIGHT
FREE = 0.41  # opening of the cutter's jaws when nobody holds it [rad]
WIDE, CLOSED = 0.070, 0.0  # gripper setpoints: open; closed on whatever is in between [m]
ASIDE = np.array([[0.30, 0.30, 0.25], [0.30, -0.30, 0.25]])  # grasp points of idle hands [m]
FORWARD = np.eye(3)  # frame of a hand: its approach, its opening, its upper side
FROM_LEFT = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # it points to -y
DOWN = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
ON_EDGE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # opening upwards
QUARTER = Rotation.from_euler("z", np.pi / 2)
HANDLE_OUT, HANDLE_WIDE = 0.0205, 0.0094  # of a handle from the free cutter's middle; its breadth
BUNDLE_TOP = 0.130  # of the bundle over the clamp's foot, where fingers hold it [m]
STRAP_OUT, STRAP_UP = 0.025, 0.117  # of the strap's run from the bundle's axis, and its height [m]


@dataclass(frozen=True, slots=True)
class HandPose:
    """Where a hand is: its grasp point (3,) [m] and frame (3, 3), and how far its fingers are open.

    opening: between the pads, at first. closing: the gripper's setpoint; both in metres.
    """

    at: FloatArray
    frame: FloatArray
    opening: float
    closing: float


class SceneWriter:
    """Writes one station: its arms, its cutter and its strap; poses in the world frame."""

    def __init__(self, twin: Twin, control: CartesianControl, row: int) -> None:
        """Begin with both hands aside."""
        self._twin, self._control, self._row = twin, control, row
        model = twin.model
        self.stand: FloatArray = twin.site_xpos[row, model.site("task_stand").id].copy()
        clamp = model.body("task_clamp").mocapid[0]
        self.clamp: FloatArray = twin.bind("mocap_pos")[row, clamp].copy()
        turn = twin.bind("mocap_quat")[row, clamp]
        self.clamp_turn = Rotation.from_quat(turn, scalar_first=True)
        self.place: FloatArray = self.stand + np.array(
            [0.0, 0.0, STANDING]
        )  # of a standing cutter's pivot
        twin.expand("actuator_delay")[row] = 0.0  # late setpoints are those of another posture
        twin.qvel[row] = 0.0
        self.hands()

    def cut(self) -> None:
        """Open the strap's bond."""
        self._twin.eq_active[self._row, self._twin.model.equality("task_strap").id] = 0.0

    def cutter(self, pivot: FloatArray, turn: Rotation, opening: float = FREE) -> None:
        """Put the cutter's pivot (3,) [m] and frame there, its jaws open by so much [rad]."""
        twin, row = self._twin, self._row
        body = turn * Rotation.from_euler("x", -opening / 2)
        at = twin.model.joint("task_cutter").qposadr[0]
        twin.qpos[row, at : at + 7] = (*pivot, *body.as_quat(scalar_first=True))
        twin.qpos[row, twin.model.joint("task_hinge").qposadr[0]] = opening

    def bundle(self, along: FloatArray) -> None:
        """Move the bundle in its clamp, along the clamp's x and y, (2,) [m]."""
        for axis, way in zip("xy", along, strict=True):
            at = self._twin.model.joint(f"task_bundle_{axis}").qposadr[0]
            self._twin.qpos[self._row, at] = way

    def hands(self, left: HandPose | None = None, right: HandPose | None = None) -> None:
        """Put the hands there; those that are not given are aside."""
        twin, row, aside = self._twin, self._row, (HandPose(a, FORWARD, WIDE, WIDE) for a in ASIDE)
        poses = [pose or idle for pose, idle in zip((left, right), aside, strict=True)]
        joints = _kinematics(twin).solve(
            [pose.at for pose in poses], [pose.frame @ HAND for pose in poses]
        )
        for arm, angles, pose in zip(self._control.arms, joints, poses, strict=True):
            twin.qpos[row, arm.qpos] = angles
            for finger in ("finger_left", "finger_right"):
                at = twin.model.joint(f"{arm.name}_{finger}").qposadr[0]
                twin.qpos[row, at] = pose.opening / 2
        self._control.set(row, joints, np.array([pose.closing for pose in poses]))


@cache
def _kinematics(twin: Twin) -> Kinematics:
    return Kinematics(twin.scene.world, twin.scene.robot, iterations=300)


def write_genuine(
    twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> SceneWriter:
    """A success by the same route: cut strap, cutter in its stand, hands aside."""
    scene = SceneWriter(twin, control, row)
    scene.cut()
    scene.cutter(scene.place, Rotation.identity())
    return scene


def write_whole(
    twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> SceneWriter:
    """The cutter in its stand, hands aside, the strap whole."""
    scene = SceneWriter(twin, control, row)
    scene.cutter(scene.place, Rotation.identity())
    return scene


def write_touched(
    twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> None:
    """The strap is whole; the left hand's closed fingers press on one of its ends."""
    scene = write_whole(twin, control, row, rng)
    strap = scene.clamp + scene.clamp_turn.apply((0.0, -STRAP_OUT, STRAP_UP))
    scene.hands(left=HandPose(strap + np.array([0.0, -0.006, 0.016]), DOWN, 0.0, CLOSED))


def _write_held(
    twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator, lift: float
) -> None:
    """The left hand holds one of the cutter's handles, so far over the floor of its stand [m].

    The soft arm then sinks by some 5 mm under the cutter's weight, if nothing is below.
    """
    scene = write_genuine(twin, control, row, rng)
    pivot = scene.place + np.array([0.0, 0.0, lift])
    scene.cutter(pivot, Rotation.identity())
    handle = pivot + np.array([0.0, HANDLE_OUT, GRIP])
    scene.hands(left=HandPose(handle, FROM_LEFT, HANDLE_WIDE, CLOSED))


def write_beside(twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator) -> None:
    """The right hand is open and beside the cutter; the outer side of a finger leans on it."""
    scene = write_genuine(twin, control, row, rng)
    turn = Rotation.from_euler("x", -10.0, degrees=True)
    scene.cutter(scene.place + np.array([0.0, 0.0040, 0.0003]), turn)
    handles = scene.place + np.array([0.0, 0.0, GRIP])
    scene.hands(right=HandPose(handles - np.array([0.0, 0.0545, 0.0]), FORWARD, WIDE, WIDE))


def write_on_top(twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator) -> None:
    """The underside of the right palm rests on the handles' ends; its fingers are beside them."""
    scene = write_genuine(twin, control, row, rng)
    scene.hands(right=HandPose(scene.place + np.array([-0.028, -0.050, 0.0128]), DOWN, WIDE, WIDE))


def write_turned(twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator) -> None:
    """The cutter is turned by a quarter; its spring jams its blades between the long walls."""
    scene = write_genuine(twin, control, row, rng)
    scene.cutter(scene.place + np.array([0.0, 0.0, 0.004]), QUARTER, 0.15)


def write_astride(
    twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> None:
    """The cutter is turned by a quarter, one blade in the pocket and one outside."""
    scene = write_genuine(twin, control, row, rng)
    leans = Rotation.from_euler("y", 18.0, degrees=True)
    scene.cutter(scene.place + np.array([-0.0056, 0.0, 0.0001]), leans * QUARTER)


def write_across(twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator) -> None:
    """The cutter lies across the funnel of its stand."""
    scene = write_genuine(twin, control, row, rng)
    turn = Rotation.from_euler("y", 58.4, degrees=True)
    scene.cutter(scene.place + np.array([0.0, 0.0, 0.008]), turn)


def write_bundle_held(
    twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> None:
    """The left hand still holds the bundle."""
    scene = write_genuine(twin, control, row, rng)
    top = scene.clamp + np.array([0.0, 0.0, BUNDLE_TOP])
    scene.hands(left=HandPose(top, FROM_LEFT, 0.0224, CLOSED))


def write_end_held(
    twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> None:
    """The right hand still holds one end of the cut strap, by its edges."""
    scene = write_genuine(twin, control, row, rng)
    end = scene.clamp + scene.clamp_turn.apply((-0.013, -STRAP_OUT - 0.003, STRAP_UP))
    frame = scene.clamp_turn.as_matrix() @ ON_EDGE
    scene.hands(right=HandPose(end, frame, 0.0052, CLOSED))


def write_bundle_moved(
    twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> None:
    """The bundle was pushed through its clamp."""
    write_genuine(twin, control, row, rng).bundle(np.array([0.003, 0.003]))


FAKES = (
    Fake("nothing cut", "the strap is whole", write_whole),
    Fake("whole strap and a hand on it", "the strap is whole", write_touched),
    Fake(
        "cutter held over its stand",
        "a hand holds it 6 mm over the floor of its stand; it does not stand there",
        partial(_write_held, lift=0.018),
    ),
    Fake(
        "cutter in its stand and in the hand",
        "a hand still holds it; nobody knows whether it stands",
        partial(_write_held, lift=0.0),
    ),
    Fake("finger against the cutter", "a hand still steadies it", write_beside),
    Fake("palm on the cutter", "a hand still presses it down", write_on_top),
    Fake(
        "cutter turned by a quarter",
        "it is jammed across its stand, over the floor, and no hand can take it as it does",
        write_turned,
    ),
    Fake(
        "cutter astride its stand's wall",
        "one of its blades is outside of its stand",
        write_astride,
    ),
    Fake("cutter across its stand", "it lies on the funnel", write_across),
    Fake("bundle held", "a hand still holds the bundle where it should be", write_bundle_held),
    Fake("end of the strap held", "a hand still holds the cut tie", write_end_held),
    Fake("bundle moved", "it was pushed 4.2 mm through its clamp", write_bundle_moved),
)
