"""Put a peg into a hole: one hand holds it above a block, the fit leaves 0.6 mm.

The peg is held off the hole's axis and aslant. Success: its lower end is at the hole's floor after
the hand has let go, and the wrist has felt no more than the force limit.
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
    time_left,
)
from enpire.environment.frames import rotation_vector
from enpire.environment.kinematics import Kinematics
from enpire.errors import ResetFailed
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray, Predicate, Verdict

from .demonstrator import Teleoperator
from .fakes import fakes
from .frames import (
    DEPTH,
    GRASP,
    HAND,
    MOUTH_AT,
    TAGS,
    axis_in_hole,
    block_frame,
    hand_on,
    tip_in_hole,
)
from .restorer import HoldAgain
from .skill import PARAMETERS, Inserter
from .truth import ground_truth
from .verify import FIRST, SEATED, seated, verify

READY_DEPTH = 0.0292  # of the tip, as seen in one reading [m]
READY_ASIDE = 0.0015  # of the tip from the hole's axis, as seen then [m]
NEAR = 0.001  # of the mouth, or of the floor, where the tip is shown larger [m]
OPENED = 0.050  # setpoint of a hand that has let go, 13 mm off each face of the head [m]
UNWOUND_AT = 0.4  # time in the probe at which the hand presses no more, and opens [s]
SEEN_AT = 1.2  # time in the probe at which the peg stands by itself, and was seen to [s]
CLOSED = 0.0  # gripper setpoint in the reset [m]
GRIPPED = 0.0239  # opening of fingers that hold the head: their pads give [m]
HELD = 0.015  # opening that a held peg leaves, at least [m]
# Times in the reset [s]. Friction lets the arm sink slowly under the peg: by 0.06 mm in 0.8 s.
RELEASE_AT, DONE_AT = 0.20, 1.20
MOVED = 0.004  # of the peg in the fingers during the reset, at most [m]


class PegInsertion(Task):
    """The peg on one arm."""

    robot = "fr3"
    instruction = "Put the peg into the hole of the block, without forcing it."
    time_limit = 10.0
    force_limit = 40.0
    probe_limit = 1.6
    tracked = tuple(f"task_{part}_tag{i}" for part in ("peg", "block") for i in range(TAGS))
    # The hand turns about level axes only: a round peg needs no other.
    actions = ActionSpec(
        (ArmAction((0.001,) * 3, (0.008, 0.008, 0.0), (0.40, -0.05, 0.072), (0.50, 0.05, 0.15)),),
        lead=0.02,
        push=15.0,
    )
    # A joint that is told to jump by 0.03 rad jolts the hand, and a pad loses the peg for 2 ms.
    reset_actions = ActionSpec(
        (ArmAction((0.003,) * 3, (0.020,) * 3, (0.38, -0.07, 0.072), (0.52, 0.07, 0.20)),),
        lead=0.01,
        push=15.0,
    )
    # A peg that is dropped rolls away: the hand stays shut until the verifier opens it.
    fixed_action_dims: ClassVar[dict[int, float]] = {6: -1.0}
    observation_names = (
        *(f"tip_{a}" for a in "xyz"),
        *(f"tip_near_{a}" for a in "xyz"),
        "tip_from_floor",
        *("lean_x", "lean_y", "block_yaw"),
        *(f"hand_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"force_{a}" for a in "xyz"),
        *(f"lead_{a}" for a in "xyz"),
    )
    variation_names = (
        *(f"block_{a}" for a in ("x", "y", "yaw")),
        *(f"peg_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *("grasp_x", "grasp_z", "grasp_tilt"),
        *("friction", "mass", "latency"),
    )
    target_names = variation_names[:12]
    parameters = PARAMETERS

    def build(self, spec: mujoco.MjSpec) -> None:
        """Add peg and block; a weld that keeps the peg in the air until the fingers hold it."""
        super().build(spec)
        weld = spec.add_equality(
            name="reset_peg",
            type=mujoco.mjtEq.mjEQ_WELD,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1="world",
            name2="task_peg",
            active=False,
        )
        weld.data[:3] = 0.0  # anchored at the peg's origin
        weld.data[10] = 0.1
        weld.solref = (0.01, 1)

    def tighten(self, spec: mujoco.MjSpec, by: float) -> None:
        """Make the shank thicker."""
        spec.geom("task_shank").size[0] += by / 2

    def after_compile(self, twin: Twin) -> None:
        """Expand what the reset varies."""
        scene = twin.scene
        model = scene.model
        self._kinematics = Kinematics(scene.world, scene.robot)
        self._nominal_joints = self._kinematics.solve([MOUTH_AT + GRASP], [HAND])
        self._block, self._peg = model.body("task_block").id, model.body("task_peg").id
        bodies = np.isin(model.geom_bodyid, (self._block, self._peg))
        self._rubbing = np.flatnonzero(
            bodies & (np.arange(model.ngeom) != model.geom("task_grip").id)
        )
        self._weld = model.equality("reset_peg").id
        self._relative = twin.expand("eq_data")
        self._block_position = twin.expand("body_pos")
        self._block_quaternion = twin.expand("body_quat")
        self._friction = twin.expand("geom_friction")
        self._mass = twin.expand("body_mass")
        self._inertia = twin.expand("body_inertia")
        self._delay = twin.expand("actuator_delay")
        self._latency = np.zeros(twin.stations)
        self._drawn = np.zeros((twin.stations, len(self.variation_names)))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw block off its place, peg off the mouth, hand on the peg, and the rest [m, rad, s].

        The rest: scales of friction and of the peg's mass, and the latency.
        """
        return np.concatenate(
            [
                rng.uniform((-0.015, -0.015, -0.15), (0.015, 0.015, 0.15)),
                rng.uniform((-0.010, -0.010, 0.008), (0.010, 0.010, 0.020)),
                rng.uniform((-0.06, -0.06, -0.08), (0.06, 0.06, 0.08)),
                rng.uniform((-0.003, -0.003, -0.06), (0.003, 0.003, 0.06)),
                rng.uniform((0.6, 0.7, 0.0), (1.5, 1.5, 0.03)),
            ]
        )

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """Write friction, the peg's mass, and where the weld of a fast reset holds the peg.

        Latency and the block's place are set by `settle`.
        """
        v = dict(zip(self.variation_names, variation, strict=True))
        model = twin.model
        self._friction[row, self._rubbing, 0] = (
            model.geom_friction[self._rubbing, 0] * v["friction"]
        )
        self._mass[row, self._peg] = model.body_mass[self._peg] * v["mass"]
        self._inertia[row, self._peg] = model.body_inertia[self._peg] * v["mass"]
        twin.set_const(row)  # what MuJoCo derives from masses
        self._latency[row] = v["latency"]
        self._drawn[row] = variation
        position, frame = _peg(variation)
        self._relative[row, self._weld, 3:6] = position
        mujoco.mju_mat2Quat(self._relative[row, self._weld, 6:10], frame.ravel())

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """Write the peg fixed in the air, and the hand shut on it."""
        model = twin.model
        self._place_block(twin, row)
        position, frame = _peg(variation)
        at = model.joint("task_peg").qposadr[0]
        twin.qpos[row, at : at + 3] = position
        mujoco.mju_mat2Quat(twin.qpos[row, at + 3 : at + 7], frame.ravel())
        joints = self._joints(variation)
        twin.qpos[row, control.arms[0].qpos] = joints[0]
        for finger in ("finger_left", "finger_right"):
            twin.qpos[row, model.joint(f"arm_{finger}").qposadr[0]] = GRIPPED / 2
        twin.eq_active[row, self._weld] = 1.0
        self._delay[row] = 0.0
        control.set(row, joints, np.full(1, CLOSED))

    def _place_block(self, twin: Twin, row: int) -> None:
        """Put the block where it was drawn; the peg is in the air, and nothing touches it."""
        x, y, yaw = self._drawn[row, :3]
        self._block_position[row, self._block] = MOUTH_AT + np.array([x, y, 0.0])
        self._block_quaternion[row, self._block] = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
        twin.set_const(row)  # what MuJoCo derives from where bodies are

    def _joints(self, drawn: FloatArray) -> FloatArray:
        """Return the joints of the arm that holds the peg as drawn, (1, dof) [rad]."""
        position, frame = hand_on(*_peg(drawn), _grasp(drawn))
        return self._kinematics.solve([position], [frame], warm=self._nominal_joints)

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Let go of the weld once the fingers hold the peg, and wait until it is still.

        After a physical reset the block is now put elsewhere, as a person shifts it: not before,
        for the peg may have been in it.
        """
        if elapsed == 0.0 and not twin.eq_active[row, self._weld]:
            self._place_block(twin, row)
        if elapsed >= RELEASE_AT and twin.eq_active[row, self._weld]:
            twin.eq_active[row, self._weld] = 0.0
        if left := time_left(elapsed, RELEASE_AT, DONE_AT):
            return left
        if twin.actuator_length[row, control.arms[0].gripper] < HELD:
            raise ResetFailed("the fingers did not catch the peg")
        at = twin.model.joint("task_peg").qposadr[0]
        moved = np.linalg.norm(twin.qpos[row, at : at + 3] - _peg(self._drawn[row])[0])
        if moved > MOVED:
            raise ResetFailed(f"the peg slipped by {1e3 * moved:.1f} mm")
        self._delay[row] = self._latency[row]  # not before: a delay reads the setpoints' history
        return 0.0

    def observe(self, readings: Readings) -> Float32Array:
        """Return the tip and the peg's lean seen from the hole; the hand, its force and its lead.

        The tip near the mouth, and near the floor, is shown once more, larger: a millimetre there
        decides. Hand, force and lead are along the world's axes.
        """
        tip, hand = tip_in_hole(readings), rotation_vector(_SAME, readings.hand_rotation, _BACK)
        block = block_frame(readings)
        parts = [
            tip / 0.01,
            np.tanh(tip / NEAR),
            np.tanh((tip[:, 2:] + DEPTH) / NEAR),
            axis_in_hole(readings)[:, :2] / 0.04,
            block[:, 1:2, 0] / 0.1,
            (readings.hand_position[:, 0] - HAND_AT) / 0.01,
            hand[:, 0] / 0.1,
            readings.wrist_force[:, 0] / 5.0,
            readings.lead[:, 0] / 0.002,
        ]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        """Return whether the tip is seen at the hole's floor."""
        tip = tip_in_hole(readings)
        result: NDArray[np.bool_] = (-tip[:, 2] > READY_DEPTH) & (
            np.hypot(tip[:, 0], tip[:, 1]) < READY_ASIDE
        )
        return result

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        """Let go of a peg that is seated, and look whether it stays; the hand remains about it.

        A hand that still presses would spring as it opens, and strike the peg. So it first goes
        back to where it is held, shut still. A peg that is not seated stays in the hand.
        """
        holding = len(evidence.readings) < FIRST
        if evidence.elapsed >= SEEN_AT or not (holding or seated(evidence) >= SEATED):
            return None
        action = np.zeros(self.actions.size, dtype=np.float32)
        opening = evidence.elapsed >= UNWOUND_AT
        if not (holding or opening):
            lead = evidence.readings[-1].lead[0, 0]
            action[:3] = np.clip(-lead / self.actions.scale[0, :3], -1.0, 1.0)
        action[6] = OPENED_ACTION if opening else -1.0
        return action

    def verify(self, evidence: Evidence) -> Verdict:
        """Return the verdict: deep in the hand; deep, upright and alone after it has let go."""
        return verify(evidence)

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """Return a person at a leader arm."""
        return Teleoperator(rng, self.actions)

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        """Return the skill script with these numbers."""
        return Inserter(self.actions, values)

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        """Return the skills that seat the peg, take it anew, and hold it where it begins."""
        posture = self._joints(target), np.full(1, CLOSED)
        return HoldAgain(rng, self.reset_actions, _peg(target), _grasp(target), posture)

    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        """Return where shank and bore themselves are, and whether the peg stands alone."""
        return ground_truth(twin, row)

    def fakes(self) -> tuple[Fake, ...]:
        """Return pegs beside, on, across and half in the hole, and one that a finger leans on."""
        return fakes(self._kinematics)


OPENED_ACTION = 2.0 * OPENED / 0.080 - 1.0  # of a gripper that opens to 80 mm
HAND_AT = MOUTH_AT + GRASP  # where the hand's position is observed from [m]
_SAME, _BACK = np.eye(3)[None], HAND.T[None].copy()


def _peg(drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return tip (3,) [m] and frame (3, 3) of the peg at the start, world frame."""
    block = Rotation.from_euler("z", drawn[2]).as_matrix()
    mouth = MOUTH_AT + np.array([drawn[0], drawn[1], 0.0])
    return mouth + block @ drawn[3:6], block @ _turn(drawn[6:9])


def _grasp(drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the hand's position (3,) [m] and frame (3, 3) at the start, peg frame."""
    tilt = _turn(np.array([0.0, drawn[11], 0.0]))
    return GRASP + np.array([drawn[9], 0.0, drawn[10]]), tilt @ HAND


def _turn(vector: FloatArray) -> FloatArray:
    matrix: FloatArray = Rotation.from_rotvec(vector).as_matrix()
    return matrix
