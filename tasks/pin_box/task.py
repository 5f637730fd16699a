"""Seat pins of 4 mm in the holes of a pin box, 0.3 mm wider.

One arm. The episode begins just before the hard phase, as in the ENPIRE paper: the last pin is in
the fingers over its hole, the others are seated. `from_start.py` begins at the beginning, with all
pins in the tray. Success: every pin is seated, upright in its hole, after the fingers let go.
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
from enpire.environment.frames import pose_in_hand
from enpire.environment.kinematics import Kinematics
from enpire.errors import ResetFailed
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray, Predicate, Verdict

from . import fakes
from .demonstrator import Teleoperator
from .frames import AHEAD, BOX_AT, GRIP, HAND_AT, active, hand_rotation, in_holes
from .look import CAMERAS, CENTRE
from .parts import DEPTH, HOLES, PIN_RADIUS, PINS, STAGE, add_pins, drill, in_tray, thicken
from .restorer import HoldAgain
from .skill import PARAMETERS, Inserter
from .start import Start, box_pose
from .truth import ground_truth
from .verify import seated, verify, verify_views

STEP, TURN = (0.002,) * 3, (0.025,) * 3  # of the hand in a control period [m], [rad]
HAND = ArmAction(STEP, TURN, low=(0.39, -0.05, 0.195), high=(0.50, 0.05, 0.255))
# The same of skills, which put pins back from the whole tray.
REACH = ArmAction((0.004,) * 3, (0.04,) * 3, low=(0.25, -0.14, 0.150), high=(0.57, 0.14, 0.300))
NEAR = 0.0015  # of its hole's mouth, where a pin is shown larger [m]
ASIDE = 0.004  # of its hole's axis a pin begins, at least: one let go nearer may fall in [m]
OPEN, CLOSED = 0.012, 0.0  # gripper setpoints in the reset [m]
GRIP_AT, RELEASE_AT, DONE_AT = 0.08, 0.28, 0.44  # times in the reset [s]
HELD = 0.003  # opening that a held pin leaves, at least [m]
FREE = 0.009  # opening from which on no pin is held [m]
LET_GO, BACK, LOOK = 0.16, 0.80, 1.04  # the verifier opens, backs off, looks until then [s]
BACK_OFF = 0.8  # of a full action


class PinBox(Task):
    """The last pin, in the fingers over its hole."""

    robot = "yam"
    instruction = "Put the pins into the holes of the pin box."
    time_limit = 6.0
    probe_limit = 1.5
    restore_limit = 90.0  # three pins from anywhere, laid down and taken anew
    tracked = ("task_box", *(f"task_pin{i}" for i in range(PINS)))
    # The soft arm gives way by 5 mm and more for each N: 6 N take a lead of some 0.05 rad. What is
    # pushed harder stands still, far below `force_limit`: a pin is seated with 4 N.
    actions = ActionSpec((HAND,), lead=0.06, push=6.0)
    observation_names = (
        *(f"pin_from_hole_{a}" for a in "xyz"),
        *(f"pin_near_{a}" for a in "xyz"),
        *(f"pin_direction_{a}" for a in "xyz"),
        *(f"pin_from_hand_{a}" for a in "xyz"),
        *("box_x", "box_y", "box_yaw"),
        *(f"hand_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"force_{a}" for a in "xyz"),
        *(f"lead_{a}" for a in "xyz"),
        "gripper",
    )
    variation_names: ClassVar[tuple[str, ...]] = (
        *("box_x", "box_y", "box_yaw"),
        *("pin_x", "pin_y", "pin_z", "hand_rx", "hand_ry", "hand_rz"),
        *("pin_ahead", "pin_height", "pin_tilt"),
        *("friction", "latency"),
    )
    target_names: ClassVar[tuple[str, ...]] = variation_names[:12]
    # Less push than a policy's: an arm stretched by 6 N that comes free goes at 0.26 m/s.
    reset_actions = ActionSpec((REACH,), lead=0.06, push=5.0)
    reset_stretch = 0.020  # a hand that comes free springs back from there at some 0.2 m/s [m]
    parameters = PARAMETERS

    def build(self, spec: mujoco.MjSpec) -> None:
        """Tray, box and pins; a weld that holds the last pin while the fingers close."""
        scene = mujoco.MjSpec.from_file(str(self.folder / "scene.xml"))
        drill(scene)
        add_pins(scene)
        spec.attach(scene, prefix="task_", frame=spec.worldbody.add_frame())
        aim(spec, CENTRE, CAMERAS)
        weld = spec.add_equality(
            name="reset_pin",
            type=mujoco.mjtEq.mjEQ_WELD,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1="arm_link6",
            name2=f"task_pin{PINS - 1}",
            active=False,
        )
        weld.data[:3] = 0.0  # anchored at the pin's origin
        weld.data[10] = 0.1
        weld.solref = (0.005, 1)
        weld.solimp = (0.99, 0.99, 0.001, 0.5, 2.0)  # softer, the pin hangs 0.1 mm lower in it

    def tighten(self, spec: mujoco.MjSpec, by: float) -> None:
        """Make the pins thicker."""
        thicken(spec, "task_", by)

    def after_compile(self, twin: Twin) -> None:
        """Expand what the reset varies."""
        scene, model = twin.scene, twin.model
        self._kinematics = Kinematics(scene.world, scene.robot)
        self._nominal_joints = self._kinematics.solve([HAND_AT], [hand_rotation()])
        self._weld = model.equality("reset_pin").id
        self._relative = twin.expand("eq_data")
        self._friction = twin.expand("geom_friction")
        self._delay = twin.expand("actuator_delay")
        self._box_position, self._box_turn = twin.expand("body_pos"), twin.expand("body_quat")
        self._latency = np.zeros(twin.stations)
        self._box = model.body("task_box").id
        self._drawn = np.zeros((twin.stations, 3))  # of the box [m, rad]
        self._pins = [model.joint(f"task_pin{i}").qposadr[0] for i in range(PINS)]
        self._pin_dofs = [model.joint(f"task_pin{i}").dofadr[0] for i in range(PINS)]
        self._fingers = [model.joint(f"arm_finger_{side}").qposadr[0] for side in ("left", "right")]
        names = [model.geom(i).name for i in range(model.ngeom)]
        self._parts = np.array([i for i, name in enumerate(names) if name.startswith("task_")])

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Box, pin from its hole, hand, pin in the hand [m, rad]; friction's scale, latency [s]."""
        box = rng.uniform((-0.008, -0.012, -0.15), (0.008, 0.012, 0.15))
        pin = np.zeros(3)
        while np.hypot(*pin[:2]) < ASIDE:
            pin = rng.uniform((-0.012, -0.012, 0.006), (0.012, 0.012, 0.016))
        return np.concatenate(
            [
                box,
                pin,
                rng.uniform(-0.15, 0.15, 3),
                rng.uniform((-0.002, -0.001, -0.15), (0.002, 0.001, 0.15)),
                rng.uniform((0.7, 0.0), (1.4, 0.03)),
            ]
        )

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """Friction, latency, the box's place; and how the weld of a fast reset holds the pin."""
        self._vary_rest(twin.model, row, dict(zip(self.variation_names, variation, strict=True)))
        start = Start.of(variation)
        grasp = twin.scene.arms[0].grasp
        self._relative[row, self._weld, 3:10] = pose_in_hand(
            twin.model, grasp, start.hand, start.hand_frame, start.end, start.pin_frame
        )

    def operate(self, twin: Twin, row: int, on: tuple[str, ...]) -> None:
        """Have the stage move the tray to where it was drawn, with the pins that are in it."""
        at, frame = self._box_position[row, self._box].copy(), np.zeros(9)
        if STAGE not in on or np.array_equal(at, box_pose(self._drawn[row])[0]):
            return
        mujoco.mju_quat2Mat(frame, self._box_turn[row, self._box])
        before = frame.reshape(3, 3)
        position, after = self._place_box(row)
        for pin, dof in zip(self._pins, self._pin_dofs, strict=True):
            offset = (twin.qpos[row, pin : pin + 3] - at) @ before
            if not in_tray(offset):
                continue
            turned = Rotation.from_quat(twin.qpos[row, pin + 3 : pin + 7], scalar_first=True)
            moved = after @ before.T @ turned.as_matrix()
            self._place_pin(twin, row, pin, position + after @ offset, moved)
            twin.qvel[row, dof : dof + 3] = after @ before.T @ twin.qvel[row, dof : dof + 3]

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """The pin over its hole, welded to the hand until the fingers hold it."""
        self._place_box(row)
        start = Start.of(variation)
        for pin, hole in zip(self._pins[:-1], HOLES[:-1], strict=True):
            end = start.box + start.box_frame @ (hole - (0, 0, DEPTH))
            self._place_pin(twin, row, pin, end, np.eye(3))
        self._place_hand(twin, control, row, start.hand, start.hand_frame, OPEN)
        self._place_pin(twin, row, self._pins[-1], start.end, start.pin_frame)
        twin.eq_active[row, self._weld] = 1.0
        self._delay[row] = 0.0

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Close the fingers, let go of the weld, wait until it is still."""
        if elapsed >= GRIP_AT:
            control.set(row, control.setpoints[row], np.array([CLOSED]))
        if elapsed >= RELEASE_AT:
            twin.eq_active[row, self._weld] = 0.0
        if left := time_left(elapsed, GRIP_AT, RELEASE_AT, DONE_AT):
            return left
        if twin.actuator_length[row, control.arms[0].gripper] < HELD:
            raise ResetFailed("the fingers did not catch the pin")
        self._delay[row] = self._latency[row]  # not before: a delay reads the setpoints' history
        return 0.0

    def observe(self, readings: Readings) -> Float32Array:
        """The next pin seen from its hole, the box's frame; hand, force and lead in the world's.

        Near the hole the pin is shown once more, larger: a millimetre there decides.
        """
        rows = np.arange(len(readings.joints))
        chosen = active(readings)
        ends, directions = in_holes(readings)
        hand = readings.hand_position[:, 0]
        frame = readings.hand_rotation[:, 0]
        offset = readings.position[rows, 1 + chosen] - hand
        box = readings.rotation[:, 0]
        seen = np.concatenate(
            [
                ends[rows, chosen],
                np.tanh(ends[rows, chosen] / NEAR),
                directions[rows, chosen],
                (offset[:, None] @ frame)[:, 0],
                readings.position[:, 0, :2],
                np.arctan2(box[:, 1, :1], box[:, 0, :1]),
                hand,
                Rotation.from_matrix(_LEVEL @ frame).as_rotvec(),
                readings.wrist_force[:, 0],
                readings.lead[:, 0],
                readings.gripper,
            ],
            axis=1,
        )
        scaled: Float32Array = ((seen - _CENTRE) / _SCALE).astype(np.float32)
        return scaled

    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        """All pins look seated, and the fingers are open."""
        result: NDArray[np.bool_] = seated(readings) & (readings.gripper[:, 0] > FREE)
        return result

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        """Let go, back off along the fingers, look."""
        if evidence.elapsed >= LOOK:
            return None
        action = np.zeros(self.actions.size, dtype=np.float32)
        action[6] = -0.4  # 22 mm
        if LET_GO <= evidence.elapsed < BACK:
            action[:3] = -BACK_OFF * evidence.readings[-1].hand_rotation[0, 0, :, 2]
        return action

    def verify(self, evidence: Evidence) -> Verdict:
        """Every pin seated, upright, let go of."""
        return verify(evidence)

    def verify_views(self, evidence: Evidence) -> Verdict:
        """The same of the pins that two cameras see."""
        return verify_views(evidence)

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """A person at a leader arm."""
        return Teleoperator(rng, self.actions)

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        """Seats all pins, takes the last one out again and holds it over its hole."""
        start = Start.of(target)
        joints = self._joints(start.hand, start.hand_frame)
        return HoldAgain(rng, self.reset_actions, start, (joints, np.array([OPEN])))

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        """Seats the next pin; picks it up first, if it lies."""
        return Inserter(self.actions, values)

    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        """Whether each pin stands home in its own hole, with no hand at it."""
        return ground_truth(twin, row)

    def fakes(self) -> tuple[Fake, ...]:
        """Pins beside, on and over their holes, and hands that still touch them."""
        return fakes.fakes()

    # What both starts share

    def _vary_rest(self, model: mujoco.MjModel, row: int, v: dict[str, float]) -> None:
        """Friction now; latency once the reset is over, and where the box is to be."""
        self._friction[row, self._parts, 0] = model.geom_friction[self._parts, 0] * v["friction"]
        self._latency[row] = v["latency"]
        self._drawn[row] = v["box_x"], v["box_y"], v["box_yaw"]

    def _place_box(self, row: int) -> tuple[FloatArray, FloatArray]:
        """Put the box where it was drawn; its position [m] and frame."""
        position, frame = box_pose(self._drawn[row])
        self._box_position[row, self._box] = position
        mujoco.mju_mat2Quat(self._box_turn[row, self._box], frame.ravel())
        return position, frame

    def _place_pin(self, twin: Twin, row: int, at: int, end: FloatArray, frame: FloatArray) -> None:
        """A pin whose pose begins `at` in qpos."""
        twin.qpos[row, at : at + 3] = end
        mujoco.mju_mat2Quat(twin.qpos[row, at + 3 : at + 7], frame.ravel())

    def _place_hand(
        self,
        twin: Twin,
        control: CartesianControl,
        row: int,
        position: FloatArray,
        rotation: FloatArray,
        opening: float,
    ) -> None:
        joints = self._joints(position, rotation)
        twin.qpos[row, control.arms[0].qpos] = joints[0]
        twin.qpos[row, self._fingers] = opening / 2
        control.set(row, joints, np.array([opening]))

    def _joints(self, position: FloatArray, rotation: FloatArray) -> FloatArray:
        """Of an arm whose hand is there, (1, dof) [rad]."""
        return self._kinematics.solve([position], [rotation], warm=self._nominal_joints)


_LEVEL = hand_rotation().T
_LAYOUT = (  # of an observation: how many numbers, of what unit, around what
    (3, 0.01, (0.0, 0.0, 0.0)),  # pin from hole [m]
    (3, 1.0, (0.0, 0.0, 0.0)),  # the same, larger
    (3, 0.1, (0.0, 0.0, 1.0)),  # direction of the pin
    (3, 0.01, (0.0, -GRIP, AHEAD)),  # pin from hand [m]
    (2, 0.01, tuple(BOX_AT[:2])),  # box [m]
    (1, 0.1, (0.0,)),  # its yaw [rad]
    (3, 0.01, tuple(HAND_AT)),  # hand [m]
    (3, 0.1, (0.0, 0.0, 0.0)),  # hand [rad]
    (3, 5.0, (0.0, 0.0, 0.0)),  # force [N]
    (3, 0.01, (0.0, 0.0, 0.0)),  # lead [m]
    (1, 0.01, (2 * PIN_RADIUS,)),  # gripper [m]
)
_SCALE = np.concatenate([np.full(count, unit) for count, unit, _ in _LAYOUT])
_CENTRE = np.concatenate([np.array(centre) for _, _, centre in _LAYOUT])
