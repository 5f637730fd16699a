"""Fasten a zip tie: feed the strap's tail through the head until the ratchet holds the loop.

The left hand holds the head, the right hand the tail, the strap is already round the bundle: the
reset goes to just before the hard phase, as in the ENPIRE paper. Success: the tail is through the
head by 15 mm or more, the loop is closed round the bundle, and it holds a pull of 5 N.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from enpire.environment import (
    ActionSpec,
    ArmAction,
    CartesianControl,
    Demonstrator,
    Evidence,
    Fake,
    Readings,
    Restorer,
    Task,
    aim,
    time_left,
)
from enpire.environment.frames import pose_in_hand, rotation_vector
from enpire.environment.kinematics import Kinematics
from enpire.errors import ResetFailed
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray, Predicate, Verdict

from . import strap
from .demonstrator import Teleoperator
from .fakes import constructed
from .fixture import Fixture, add_fixture
from .frames import HEAD, HEAD_AT, LEFT, RIGHT, TAIL_AT, hand_rotation, in_head
from .look import CAMERAS, CENTRE, ROLL
from .restorer import PutBack, Start, fetching
from .setting_down import set_down
from .skill import PARAMETERS, Feeder
from .truth import ground_truth
from .verify import (
    AFTER,
    BESIDE,
    FREE,
    beside,
    let_go,
    pull,
    rested,
    turns,
    verify,
    verify_views,
    watch,
)
from .verify import CLOSED as CLOSED_LOOP

GRASPED = f"task_link{strap.GRASPED}"
READY_DEPTH = (
    0.0250  # of the tip beyond the slot: the pull may take 7 mm, and 15.2 are to be seen [m]
)
OFF = (0.010, 0.035)  # of the slot across and along its normal: no tail held well starts beyond [m]
PULL_SPEED = 0.06  # of the verifier's pull, at most [m/s]
PULL_TO, PULL_SLOWS = 6.5, 3.0  # force that it comes to, and how far before it slows down [N]
# Of the grippers, that let head and tail go: 45 and 22 mm open. The bundle is under the right hand:
# fingers that open wider come down on it, with up to 28 N, and the soft arm springs up.
LET_GO = (0.2, -0.4)
OPEN, CLOSED = 0.04, 0.0  # gripper setpoints in the reset [m]
HELD = 0.0006  # opening that a held strap leaves, at least [m]
GRIP_AT, RELEASE_AT, DONE_AT = 0.20, 0.36, 0.56  # times in the reset [s]
# With the maker's gains a wrist's joints give 1.5 N m 0.15 rad ahead: 9 N at the fingers less what
# friction takes, enough to pull 6.5 N; a shoulder's give 12 N m, 26 N, less than `force_limit`.
# Feeding takes 2 to 4 N; where a policy feels 4 N its hand stands still, long before any lead.
LEAD, PUSH = 0.15, 4.0  # [rad], [N]
RESET_LEAD = 0.06  # a reset pulls at nothing: a hand that lets go springs no farther [rad]
NEAR_MOUTH, NEAR = 0.01, 0.0015  # of the slot's mouth and middle, where the tip is shown larger [m]
STEP, TURN = (0.0024,) * 3, (0.025,) * 3  # of a hand in a control period [m], [rad]
HEAD_HAND = ArmAction(STEP, TURN, low=(0.38, -0.04, 0.16), high=(0.46, 0.04, 0.24))
TAIL_HAND = ArmAction(STEP, TURN, low=(0.375, -0.13, 0.155), high=(0.465, 0.02, 0.245))


class ZipTie(Task):
    """The zip tie on two arms."""

    robot = "yam_bimanual"
    instruction = "Feed the tail of the zip tie through its head until it holds."
    time_limit = 10.0
    force_limit = 40.0
    probe_limit = 4.8
    restore_limit = 40.0
    tracked = (
        "task_head",
        "task_tip",
        "task_bundle",
        *(f"task_mark{i}" for i in range(len(strap.MARKS))),
    )
    actions = ActionSpec((HEAD_HAND, TAIL_HAND), LEAD, PUSH)
    reset_actions = ActionSpec((HEAD_HAND, TAIL_HAND), RESET_LEAD, PUSH)
    reset_stretch = 0.018  # a hand that comes free springs back from there at some 0.2 m/s [m]
    observation_names = (
        *(f"tip_in_head_{a}" for a in "xyz"),
        *("tail_pitch", "tail_yaw", "tail_roll"),
        *(f"tip_near_{a}" for a in ("mouth", "x", "y", "z")),
        *(f"head_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"{s}_hand_{a}" for s in ("left", "right") for a in ("x", "y", "z")),
        *(f"{s}_hand_{a}" for s in ("left", "right") for a in ("rx", "ry", "rz")),
        *(f"{s}_force_{a}" for s in ("left", "right") for a in "xyz"),
        *(f"{s}_lead_{a}" for s in ("left", "right") for a in "xyz"),
        *(f"{s}_gripper" for s in ("left", "right")),
    )
    variation_names = (
        *(f"head_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"tail_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *("left_offset_x", "left_offset_z", "right_offset_x", "right_offset_z"),
        *("friction", "stiffness", "latency"),
    )
    target_names = variation_names[:16]
    parameters = PARAMETERS
    _nominal: ClassVar[FloatArray] = np.array([HEAD_AT, TAIL_AT])

    def build(self, spec: mujoco.MjSpec) -> None:
        """Bundle, head and strap; two welds that hold things in the fingers while these close."""
        scene = mujoco.MjSpec.from_file(str(self.folder / "scene.xml"))
        strap.add_strap(scene)
        add_fixture(scene)
        spec.attach(scene, prefix="task_", frame=spec.worldbody.add_frame())
        aim(spec, CENTRE, CAMERAS, ROLL)
        for hand, held in (("left_link6", "task_head"), ("right_link6", GRASPED)):
            weld = spec.add_equality(
                name=f"reset_{held}",
                type=mujoco.mjtEq.mjEQ_WELD,
                objtype=mujoco.mjtObj.mjOBJ_BODY,
                name1=hand,
                name2=held,
                active=False,
            )
            weld.data[:3] = 0.0  # anchored at the held body's origin
            weld.data[10] = 0.1
            weld.solref = (0.01, 1)

    def tighten(self, spec: mujoco.MjSpec, by: float) -> None:
        """Make the strap wider and thicker."""
        strap.widen(spec, "task_", by)

    def after_compile(self, twin: Twin) -> None:
        """Expand what the reset varies."""
        scene = twin.scene
        self._kinematics = Kinematics(scene.world, scene.robot)
        self._nominal_joints = self._kinematics.solve(list(self._nominal), list(_HANDS))
        self._fetching = self._kinematics.solve(*fetching(), warm=self._nominal_joints)
        self._fixture = Fixture(twin)
        model = scene.model
        self._welds = [
            model.equality("reset_task_head").id,
            model.equality(f"reset_{GRASPED}").id,
        ]
        self._relative = twin.expand("eq_data")
        self._friction = twin.expand("geom_friction")
        self._stiffness = twin.expand("jnt_stiffness")
        self._delay = twin.expand("actuator_delay")
        self._latency = np.zeros(twin.stations)
        self._rest = strap.rest_angles()
        self._sites = np.array([model.site(name).id for name in self.tracked])
        names = [model.geom(i).name for i in range(model.ngeom)]
        self._zip_geoms = np.array([i for i, name in enumerate(names) if name.startswith(_ZIP)])
        self._bends = np.array([model.joint(f"task_bend{i}").id for i in range(len(strap.LENGTHS))])

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Head, tail [m, rad], grasp offsets [m], scales of friction and stiffness, latency [s]."""
        return np.concatenate(
            [
                rng.uniform(-0.010, 0.010, 3),
                rng.uniform(-0.18, 0.18, 3),
                rng.uniform((-0.008, -0.015, -0.015), (0.008, 0.015, 0.015)),
                rng.uniform(-0.20, 0.20, 3),
                rng.uniform(-0.002, 0.002, 4),
                rng.uniform(0.7, 1.4, 2),
                rng.uniform(0.0, 0.03, 1),
            ]
        )

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """Friction, stiffness, and the latency that `settle` sets."""
        v = dict(zip(self.variation_names, variation, strict=True))
        model = twin.model
        self._friction[row, self._zip_geoms, 0] = (
            model.geom_friction[self._zip_geoms, 0] * v["friction"]
        )
        self._stiffness[row, self._bends] = (
            _first(model.jnt_stiffness)[self._bends] * v["stiffness"]
        )
        self._latency[row] = v["latency"]
        self._delay[row] = 0.0

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """Hands at the sampled head and tail, both welded to them until the fingers hold."""
        start = self._start(variation[: len(self.target_names)])
        joints, positions, rotations = start.joints, start.hands, start.hand_rotations
        head_position, tail_position = start.objects
        head_rotation, tail_rotation = start.object_rotations
        model = twin.model
        for arm, angles in zip(control.arms, joints, strict=True):
            twin.qpos[row, arm.qpos] = angles
            for finger in ("finger_left", "finger_right"):
                twin.qpos[row, model.joint(f"{arm.name}_{finger}").qposadr[0]] = OPEN / 2
        twin.qpos[row, model.jnt_qposadr[self._bends]] = self._rest
        at = model.joint("task_head").qposadr[0]
        twin.qpos[row, at : at + 3] = head_position
        mujoco.mju_mat2Quat(twin.qpos[row, at + 3 : at + 7], head_rotation.ravel())
        held = tail_position - tail_rotation @ (strap.TAIL[0] / 2, 0, 0)
        objects = [(head_position, head_rotation), (held, tail_rotation)]
        for weld, arm, hand, rotation, (position, frame) in zip(
            self._welds, control.arms, positions, rotations, objects, strict=True
        ):
            self._relative[row, weld, 3:10] = pose_in_hand(
                model, arm.grasp, hand, rotation, position, frame
            )
            twin.eq_active[row, weld] = 1.0
        self._fixture.operate(row, (), 1 / self.control_hz)
        control.set(row, joints, np.full(2, OPEN))

    def _start(self, target: FloatArray) -> Start:
        """Where hands, head and tail are at the start; target: as `target_names` say."""
        v = dict(zip(self.target_names, target, strict=True))
        turned = _turn(target[3:6]), _turn(target[9:12])
        objects = HEAD_AT + target[0:3], TAIL_AT + target[6:9]
        frames = turned[0] @ HEAD, turned[1] @ HEAD
        offsets = (
            np.array([v["left_offset_x"], 0, v["left_offset_z"]]),
            np.array([v["right_offset_x"], 0, 0]),
        )
        hands = [at + turn @ off for at, turn, off in zip(objects, frames, offsets, strict=True)]
        rotations = [turn @ hand for turn, hand in zip(turned, _HANDS, strict=True)]
        joints = self._kinematics.solve(hands, rotations, warm=self._nominal_joints)
        return Start(joints, hands, rotations, objects, frames, offsets)

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Close the fingers, let go of the welds, wait until it is still."""
        if elapsed >= GRIP_AT:
            control.set(row, control.setpoints[row], np.full(2, CLOSED))
        if elapsed >= RELEASE_AT:
            twin.eq_active[row, self._welds] = 0.0
        if left := time_left(elapsed, GRIP_AT, RELEASE_AT, DONE_AT):
            return left
        if twin.actuator_length[row, control.arms[RIGHT].gripper] < HELD:
            raise ResetFailed("the right fingers did not catch the strap")
        frames = twin.site_xmat[row, self._sites].reshape(-1, 3, 3)
        if turns(twin.site_xpos[row, self._sites], frames) < CLOSED_LOOP:
            raise ResetFailed("the strap sprang off the bundle")
        head, tip = self._sites[:2]
        offset = twin.site_xpos[row, tip] - twin.site_xpos[row, head]
        across = abs(twin.site_xmat[row, head].reshape(3, 3).T @ offset)[1:]
        if (across > OFF).any():
            raise ResetFailed(
                f"the tail is {1e3 * across[0]:.0f} mm beside the slot, {1e3 * across[1]:.0f} mm "
                "above or below: the loop has buckled, or the tail turned in the fingers"
            )
        self._delay[row] = self._latency[row]  # not before: a delay reads the setpoints' history
        return 0.0

    def observe(self, readings: Readings) -> Float32Array:
        """The tail seen from the head; both hands, forces and setpoints in the world frame.

        The tip near the slot is shown once more, larger: whether it will go in is a matter of a
        millimetre and a half, which is next to nothing on the scale of a hand's way there.
        """
        m = len(readings.joints)
        tip, direction, side = in_head(readings)
        head = rotation_vector(_UNTURNED[:1], readings.rotation, _HEAD_BACK)
        hands = rotation_vector(_HANDS_BACK, readings.hand_rotation, _UNTURNED)
        parts = (
            tip,
            direction[:, 1:],
            side[:, 2:],
            np.tanh((tip[:, :1] + strap.SLOT_END) / NEAR_MOUTH),
            np.tanh(tip / NEAR),
            readings.position[:, 0],
            head[:, 0],
            readings.hand_position.reshape(m, 6),
            hands.reshape(m, 6),
            readings.wrist_force.reshape(m, 6),
            readings.lead.reshape(m, 6),
            readings.gripper,
        )
        seen = np.concatenate(parts, axis=1)
        return ((seen - _CENTRE) / _SCALE).astype(np.float32)

    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        """The tip is seen far enough beyond the slot, and the tail to go through it."""
        tip, along, _ = in_head(readings)
        through: NDArray[np.bool_] = tip[:, 0] > strap.SLOT_END + READY_DEPTH
        return through & (beside(tip, along) < BESIDE)

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        """Pull the tail back along the slot until the wrist feels enough; let go, and wait.

        The right hand lets go, and draws back along its fingers, for it hides the strap from
        cameras. Meanwhile the left one sets the tie down on the bundle, and lets go of the head.
        At once nothing more if the tail has come out.
        """
        now, at = evidence.readings[-1], let_go(evidence)
        if rested(evidence, at) or in_head(now)[0][0, 0] < strap.SLOT_END:
            return None
        action = np.zeros(self.actions.size, dtype=np.float32)
        action[[6, 13]] = -1.0
        if at is not None:
            action[13] = LET_GO[RIGHT]
            since = len(evidence.readings) - at
            if since > FREE:
                action[7:10] = -now.hand_rotation[0, RIGHT, :, 2]
            if since > AFTER:
                action[6] = LET_GO[LEFT]
            elif since > FREE:
                way, turn = set_down(now, since - FREE)
                action[:6] = np.clip(np.concatenate([way / STEP, turn / TURN]), -1.0, 1.0)
            return action
        left = np.clip((PULL_TO - pull(now)) / PULL_SLOWS, 0.0, 1.0)
        step = -now.rotation[0, 0, :, 0] * left * PULL_SPEED / self.control_hz
        action[7:10] = step / np.array(STEP)
        return action

    def watch(self, evidence: Evidence) -> bool:
        """Twice, for the loop swings on the bundle."""
        return watch(evidence)

    def verify(self, evidence: Evidence) -> Verdict:
        """Through the slot by 15 mm, closed round the bundle, holding 5 N, and let go of."""
        return verify(evidence)

    def verify_views(self, evidence: Evidence) -> Verdict:
        """The same from pictures, joints, grippers and wrists."""
        return verify_views(evidence)

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """Skills of a person at two leader arms."""
        return Teleoperator(rng, self.actions)

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        """The skill script with these numbers."""
        return Feeder(self.actions, values)

    def operate(self, twin: Twin, row: int, on: tuple[str, ...]) -> None:
        """The pawl lifter, and the lines that present the tie."""
        self._fixture.operate(row, on, 1 / self.control_hz)

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        """Has the tie presented, takes it at both ends, and brings it round the bundle."""
        return PutBack(self.actions, self._fetching, self._start(target))

    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        """Where the tail is; and it still holds when the hand lets go and 5 N hang on it."""
        return ground_truth(twin, row)

    def fakes(self) -> tuple[Fake, ...]:
        """Ties that are not fastened, with and without hands on them."""
        return constructed(self._kinematics)


_ZIP = tuple(
    f"task_{p}"
    for p in ("floor", "roof", "side", "bridge", "lead", "pawl", "link", "taper", "grip")
)
_HANDS = np.array([hand_rotation(LEFT), hand_rotation(RIGHT)])
_HANDS_BACK = _HANDS.transpose(0, 2, 1).copy()
_HEAD_BACK = np.array([HEAD.T])
_UNTURNED = np.array([np.eye(3), np.eye(3)])
_LAYOUT = (  # of an observation: how many numbers, of what unit
    (3, 0.01),  # tip [m]
    (3, 0.1),  # tail [rad]
    (4, 1.0),  # tip, larger
    (3, 0.01),  # head [m]
    (3, 0.1),  # head [rad]
    (6, 0.01),  # hands [m]
    (6, 0.1),  # hands [rad]
    (6, 5.0),  # forces [N]
    (6, 0.01),  # leads [m]
    (2, 0.01),  # grippers [m]
)
_SCALE = np.concatenate([np.full(count, unit) for count, unit in _LAYOUT])
_CENTRE = np.concatenate([np.zeros(10), HEAD_AT, np.zeros(3), HEAD_AT, TAIL_AT, np.zeros(20)])


def _turn(vector: FloatArray) -> FloatArray:
    matrix: FloatArray = Rotation.from_rotvec(vector).as_matrix()
    return matrix


def _first(values: NDArray[np.float64]) -> FloatArray:
    """A joint's stiffness, whether the model keeps one number or a polynomial."""
    return values[:, 0] if values.ndim > 1 else values
