"""Seat a graphics card: two hands put its edge connector into the slot, under a force limit.

Both hands hold the card above the slot, off and tilted: the reset goes to just before the hard
phase, as in the ENPIRE paper. Success: the edge is deep in the slot and level after both hands have
let go, and no wrist has felt more than the force limit.
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
from enpire.environment.kinematics import Kinematics
from enpire.errors import ResetFailed
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray, Predicate, Verdict

from .demonstrator import Teleoperator
from .fakes import fakes
from .frames import (
    GRASPS,
    HOME,
    LEFT,
    RIGHT,
    SLOT_AT,
    TAGS,
    aside,
    depth,
    ends_in_slot,
    hand_rotation,
    hands_on,
    lean,
    slot_frame,
)
from .look import CAMERAS, CENTRE
from .restorer import HoldAgain
from .skill import PARAMETERS, Seater
from .truth import ground_truth
from .verify import FIRST, SEEN_SEATED, seated, verify, verify_views

READY_DEPTH = 0.0072  # of the edge's middle, as seen in one reading [m]
READY_LEVEL = 0.0020  # by how much one end may be seen higher then [m]
READY_ASIDE = 0.003  # by how much either end may be seen beside its place in the slot then [m]
NEAR = 0.001  # of its place at the mouth, or of `HOME`, where an end is shown larger [m]
# Setpoint of the hands that have let go, 19 mm off each face of the card: it leans by the slot's
# play, 10 mm at its top, once nothing props it [m].
OPENED = 0.050
UNWOUND_AT = 0.6  # time in the probe at which hands press no more, and open [s]
SEEN_AT = 1.4  # time in the probe at which the card stands by itself, and was seen to [s]
CLOSED = 0.0  # gripper setpoint in the reset [m]
GRIPPED = 0.0113  # opening of fingers that hold the card: their pads give [m]
HELD = 0.0095  # opening that a held card leaves, at least [m]
RELEASE_AT, DONE_AT = 0.20, 0.44  # times in the reset [s]
MOVED = 0.012  # of the card in the fingers during the reset, at most [m]
STEP, TURN = (0.0016,) * 3, (0.012,) * 3  # of a hand in a control period [m], [rad]
LEFT_HAND = ArmAction(STEP, TURN, low=(0.37, 0.055, 0.095), high=(0.43, 0.115, 0.160))
RIGHT_HAND = ArmAction(STEP, TURN, low=(0.37, -0.115, 0.095), high=(0.43, -0.055, 0.160))


class GpuInsertion(Task):
    """The graphics card on two arms."""

    robot = "yam_bimanual"
    instruction = "Seat the graphics card in its slot with both hands, without forcing it."
    time_limit = 8.0
    force_limit = 30.0
    probe_limit = 1.8
    tracked = tuple(f"task_{part}_{tag}" for part in ("card", "slot") for tag in TAGS)
    # At the maker's gains a hand whose setpoints are all so far ahead presses down with 26 to 28 N.
    # Seating takes 7 N, or 12 N of both hands at once; it slows down from 15 N on.
    actions = ActionSpec((LEFT_HAND, RIGHT_HAND), lead=0.06, push=30.0)
    # A hand that comes free springs back from there at some 0.24 m/s; with 0.018 m it pulls too
    # weakly at a card that is seated, and a pull does not come to an end.
    reset_stretch = 0.024  # [m]
    # A card that falls lies flat on the board, where no hand gets under it: jaws stay shut until
    # the verifier opens them.
    fixed_action_dims: ClassVar[dict[int, float]] = {6: -1.0, 13: -1.0}
    observation_names = (
        *(f"{s}_end_{a}" for s in ("left", "right") for a in "xyz"),
        *(f"{s}_end_near_{a}" for s in ("left", "right") for a in "xyz"),
        *(f"{s}_end_from_home" for s in ("left", "right")),
        *("lean", "slot_yaw"),
        *(f"{s}_hand_{a}" for s in ("left", "right") for a in ("x", "y", "z")),
        *(f"{s}_hand_{a}" for s in ("left", "right") for a in ("rx", "ry", "rz")),
        *(f"{s}_force_{a}" for s in ("left", "right") for a in "xyz"),
        *(f"{s}_lead_{a}" for s in ("left", "right") for a in "xyz"),
        *(f"{s}_gripper" for s in ("left", "right")),
    )
    variation_names = (
        *(f"slot_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"card_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"{s}_grasp_{a}" for s in ("left", "right") for a in ("y", "z")),
        *(f"{s}_grasp_tilt" for s in ("left", "right")),
        *("friction", "springs", "mass", "latency"),
    )
    target_names = variation_names[:18]
    parameters = PARAMETERS

    def after_compile(self, twin: Twin) -> None:
        """Expand what the reset varies."""
        scene = twin.scene
        model = scene.model
        self._kinematics = Kinematics(scene.world, scene.robot)
        self._nominal_joints = self._kinematics.solve(
            list(SLOT_AT + GRASPS), [hand_rotation(LEFT), hand_rotation(RIGHT)]
        )
        self._slot, self._card = model.body("task_slot").id, model.body("task_card").id
        names = [model.geom(i).name for i in range(model.ngeom)]
        self._rubbing = np.array(
            [
                i
                for i, name in enumerate(names)
                if model.geom_bodyid[i] == self._slot or name.startswith("task_jaw")
            ]
        )
        jaws = [f"task_jaw_{x}_{y}" for x in ("front", "back") for y in ("left", "right")]
        self._jaws = np.array([model.joint(name).id for name in jaws])
        self._bearing = self._borne(twin)
        self._weld = model.equality("reset_card").id
        self._relative = twin.expand("eq_data")
        self._slot_position = twin.expand("body_pos")
        self._slot_quaternion = twin.expand("body_quat")
        self._friction = twin.expand("geom_friction")
        self._stiffness = twin.expand("jnt_stiffness")
        self._mass = twin.expand("body_mass")
        self._inertia = twin.expand("body_inertia")
        self._delay = twin.expand("actuator_delay")
        self._latency = np.zeros(twin.stations)
        self._drawn = np.zeros((twin.stations, len(GpuInsertion.target_names)))

    def build(self, spec: mujoco.MjSpec) -> None:
        """Card and slot; a weld that keeps the card in the air until the fingers hold it."""
        super().build(spec)
        aim(spec, CENTRE, CAMERAS)
        weld = spec.add_equality(
            name="reset_card",
            type=mujoco.mjtEq.mjEQ_WELD,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1="world",
            name2="task_card",
            active=False,
        )
        weld.data[:3] = 0.0  # anchored at the card's origin
        weld.data[10] = 0.1
        weld.solref = (0.01, 1)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Slot off its place [m, rad], card off its place above the slot [m, rad], the rest.

        That is: where the hands hold the card [m] and how they are tilted then [rad]; scales of
        friction, of the springs' force and of the card's mass; latency [s].
        """
        return np.concatenate(
            [
                rng.uniform((-0.010, -0.010, -0.003), (0.010, 0.010, 0.003)),
                rng.uniform((-0.010, -0.010, -0.08), (0.010, 0.010, 0.08)),
                rng.uniform((-0.008, -0.008, 0.010), (0.008, 0.008, 0.022)),
                rng.uniform((-0.05, -0.05, -0.06), (0.05, 0.05, 0.06)),
                rng.uniform(-0.003, 0.003, 4),
                rng.uniform(-0.08, 0.08, 2),
                rng.uniform((0.7, 0.6, 0.7), (1.3, 1.1, 1.5)),
                rng.uniform(0.0, 0.03, 1),
            ]
        )

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """Friction, springs, the card's mass; latency and the slot's place, which `settle` sets.

        And where the weld of a fast reset holds the card.
        """
        self._vary_rest(twin, row, dict(zip(self.variation_names, variation, strict=True)))
        self._drawn[row] = variation[: len(self.target_names)]
        position, card = _card(variation)
        self._relative[row, self._weld, 3:6] = position
        mujoco.mju_mat2Quat(self._relative[row, self._weld, 6:10], card.ravel())

    def _vary_rest(self, twin: Twin, row: int, v: dict[str, float]) -> None:
        """What is no place: friction, springs, the card's mass, latency; by name."""
        model = twin.model
        self._friction[row, self._rubbing, 0] = (
            model.geom_friction[self._rubbing, 0] * v["friction"]
        )
        self._stiffness[row, self._jaws] = _first(model.jnt_stiffness)[self._jaws] * v["springs"]
        self._mass[row, self._card] = model.body_mass[self._card] * v["mass"]
        self._inertia[row, self._card] = model.body_inertia[self._card] * v["mass"]
        twin.set_const(row)  # what MuJoCo derives from masses
        self._latency[row] = v["latency"]

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """The card fixed in the air, both hands shut on it."""
        model = twin.model
        self._place_slot(twin, row)
        position, card = _card(variation)
        at = model.joint("task_card").qposadr[0]
        twin.qpos[row, at : at + 3] = position
        mujoco.mju_mat2Quat(twin.qpos[row, at + 3 : at + 7], card.ravel())
        joints = self._joints(variation)
        for arm, angles in zip(control.arms, joints, strict=True):
            twin.qpos[row, arm.qpos] = angles
            for finger in ("finger_left", "finger_right"):
                twin.qpos[row, model.joint(f"{arm.name}_{finger}").qposadr[0]] = GRIPPED / 2
        twin.eq_active[row, self._weld] = 1.0
        self._delay[row] = 0.0
        control.set(row, joints, np.full(2, CLOSED))

    def _borne(self, twin: Twin) -> FloatArray:
        """How far the setpoints are ahead of joints that bear the card, (2, dof) [rad].

        The arms' gravity compensation knows nothing of the card: under one of 0.5 kg hands sink by
        7 mm. So a start's setpoints allow for it: each servo gives its torque by being so far ahead
        (half of the card's weight at each hand, at the gains as made). A card of 0.35 or 0.75 kg
        then hangs 2 mm higher or 4 mm lower than was drawn.
        """
        model, data = twin.model, mujoco.MjData(twin.model)
        for arm, angles in zip(twin.scene.arms, self._nominal_joints, strict=True):
            data.qpos[arm.qpos] = angles
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        half = 0.5 * model.body_mass[self._card] * np.linalg.norm(model.opt.gravity)
        ahead = []
        for arm in twin.scene.arms:
            jacobian = np.empty((3, model.nv))
            mujoco.mj_jacSite(model, data, jacobian, None, arm.grasp)
            stiffness = model.actuator_gainprm[arm.actuators, 0]
            ahead.append(half * jacobian[2, arm.dofs] / stiffness)
        return np.array(ahead)

    def _place_slot(self, twin: Twin, row: int) -> None:
        """Put the slot where it was drawn; the card is in the air, and nothing touches it."""
        drawn = self._drawn[row]
        self._slot_position[row, self._slot] = SLOT_AT + drawn[:3]
        mujoco.mju_mat2Quat(self._slot_quaternion[row, self._slot], _turn(drawn[3:6]).ravel())
        twin.set_const(row)  # what MuJoCo derives from where bodies are

    def _joints(self, drawn: FloatArray) -> FloatArray:
        """Of both arms that hold the card as drawn, (2, dof) [rad]."""
        positions, rotations = hands_on(*_card(drawn), _grasps(drawn))
        return self._kinematics.solve(list(positions), list(rotations), warm=self._nominal_joints)

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Let go of the weld once the fingers hold the card, wait until it is still.

        After a physical reset the slot is now put elsewhere, as a person shifts the motherboard:
        not before, for the card may have been in it.
        """
        if elapsed == 0.0 and not twin.eq_active[row, self._weld]:
            self._place_slot(twin, row)
        if elapsed >= RELEASE_AT and twin.eq_active[row, self._weld]:
            control.set(row, control.setpoints[row] + self._bearing, control.gripper[row])
            twin.eq_active[row, self._weld] = 0.0
        if left := time_left(elapsed, RELEASE_AT, DONE_AT):
            return left
        if twin.actuator_length[row, [arm.gripper for arm in control.arms]].min() < HELD:
            raise ResetFailed("the fingers did not catch the card")
        at = twin.model.joint("task_card").qposadr[0]
        moved = twin.qpos[row, at : at + 3] - _card(self._drawn[row])[0]
        if np.linalg.norm(moved) > MOVED:
            raise ResetFailed(f"the card slipped by {1e3 * np.linalg.norm(moved):.0f} mm")
        self._delay[row] = self._latency[row]  # not before: a delay reads the setpoints' history
        return 0.0

    def observe(self, readings: Readings) -> Float32Array:
        """The edge seen from the slot; both hands, forces and setpoints in the world frame.

        Its ends near the mouth of the slot, and near its bottom, are shown once more, larger: a
        millimetre there decides. Without the second look 24 of 200 cards of one policy stood a
        millimetre or more too high until time was up; with it none did.
        """
        m = len(readings.joints)
        ends = ends_in_slot(readings).reshape(m, 6)
        slot = slot_frame(readings)
        seen = np.concatenate(
            [
                ends,
                np.tanh(ends / NEAR),
                np.tanh((ends[:, 2::3] + HOME) / NEAR),
                lean(readings)[:, None],
                slot[:, 1:2, 0],
                readings.hand_position.reshape(m, 6),
                rotation_vector(readings.hand_rotation @ _TURNED_BACK).reshape(m, 6),
                readings.wrist_force.reshape(m, 6),
                readings.lead.reshape(m, 6),
                readings.gripper,
            ],
            axis=1,
        )
        result: Float32Array = ((seen - _CENTRE) / _SCALE).astype(np.float32)
        return result

    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        """The edge is seen deep in the slot and level."""
        ends = ends_in_slot(readings)
        step = abs(ends[:, LEFT, 2] - ends[:, RIGHT, 2])
        result: NDArray[np.bool_] = (
            (depth(ends) > READY_DEPTH) & (step < READY_LEVEL) & (aside(ends) < READY_ASIDE)
        )
        return result

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        """Let go of a card that is seated, and look whether it stays; the hands remain about it.

        Soft arms are wound up by what they pressed: opened so, a finger would lean on the card, or
        a hand strike it. So the hands first go back to where they are held, shut still. A card
        that is not seated stays in the hands: dropped, it might yet fall into the slot.
        """
        holding = len(evidence.readings) < FIRST
        if evidence.elapsed >= SEEN_AT or not (holding or seated(evidence) >= SEEN_SEATED):
            return None
        action = np.zeros((len(self.actions.arms), 7), dtype=np.float32)
        opening = evidence.elapsed >= UNWOUND_AT
        if not (holding or opening):
            lead = evidence.readings[-1].lead[0]
            action[:, :3] = np.clip(-lead / self.actions.scale[:, :3], -1.0, 1.0)
        action[:, 6] = OPENED_ACTION if opening else -1.0
        return action.ravel()

    def verify(self, evidence: Evidence) -> Verdict:
        """Deep by the hands; deep, level and upright after they have let go."""
        return verify(evidence)

    def verify_views(self, evidence: Evidence) -> Verdict:
        """The same from pictures, joints, grippers and wrists."""
        return verify_views(evidence)

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """A person at two leader arms."""
        return Teleoperator(rng, self.actions)

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        """The skill script with these numbers."""
        return Seater(self.actions, values)

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        """Seats the card, takes it anew, holds it over where the slot will be."""
        posture = self._joints(target), np.full(2, CLOSED)
        grasps = _grasps(target)
        return HoldAgain(rng, self.actions, _card(target), grasps, posture, self._bearing)

    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        """Where edge and slot themselves are, and whether the card stands without the hands."""
        return ground_truth(twin, row)

    def fakes(self) -> tuple[Fake, ...]:
        """Cards beside, on, across and half in the slot, reversed, and held by a hand."""
        return fakes(self._kinematics)


OPENED_ACTION = 2.0 * OPENED / 0.075 - 1.0  # of a gripper that opens to 75 mm
_TURNED_BACK = np.stack([hand_rotation(LEFT).T, hand_rotation(RIGHT).T])
_LAYOUT = (  # of an observation: how many numbers, of what unit
    (6, 0.005),  # ends [m]
    (8, 1.0),  # ends, larger
    (2, 0.05),  # lean, yaw [rad]
    (6, 0.01),  # hands [m]
    (6, 0.1),  # hands [rad]
    (6, 5.0),  # forces [N]
    (6, 0.005),  # leads [m]
    (2, 0.01),  # grippers [m]
)
_SCALE = np.concatenate([np.full(count, unit) for count, unit in _LAYOUT])
_CENTRE = np.concatenate([np.zeros(16), *(SLOT_AT + GRASPS), np.zeros(18), np.full(2, 0.012)])
_BELOW, _ABOVE = np.array([[7, 2, 3], [5, 6, 1]])  # the diagonal, of a rotation laid out flat


def rotation_vector(rotation: FloatArray) -> FloatArray:
    """Rotation vectors (..., 3) of small rotations (..., 3, 3), to second order [rad]."""
    flat = rotation.reshape(*rotation.shape[:-2], 9)
    vector: FloatArray = 0.5 * (flat.take(_BELOW, -1) - flat.take(_ABOVE, -1))
    return vector


def _card(drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Position [m] and frame of the card at the start, world; drawn: values of `target_names`."""
    slot = _turn(drawn[3:6])
    return SLOT_AT + drawn[:3] + slot @ drawn[6:9], slot @ _turn(drawn[9:12])


def _grasps(drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Positions (2, 3) [m] and frames (2, 3, 3) of the hands at the start, card frame."""
    positions = GRASPS.copy()
    positions[:, 1:] += drawn[12:16].reshape(2, 2)
    tilts = [_turn(np.array([tilt, 0.0, 0.0])) for tilt in drawn[16:18]]
    frames = [tilt @ hand_rotation(arm) for arm, tilt in zip((LEFT, RIGHT), tilts, strict=True)]
    return positions, np.array(frames)


def _turn(vector: FloatArray) -> FloatArray:
    matrix: FloatArray = Rotation.from_rotvec(vector).as_matrix()
    return matrix


def _first(values: NDArray[np.float64]) -> FloatArray:
    """A joint's stiffness, whether the model keeps one number or a polynomial."""
    return values[:, 0] if values.ndim > 1 else values
