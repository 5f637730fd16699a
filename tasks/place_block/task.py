"""Place a block on a pad: pick and place with one industrial arm.

A cube of 40 mm lies on the bench; grasp it, carry it over and put it down on a round pad of 84 mm.
Success: all of the block lies flat and still on the pad, after the verifier has raised the hand.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.environment import (
    ActionSpec,
    ArmAction,
    CartesianControl,
    Demonstrator,
    Evidence,
    Fake,
    Readings,
    Restorer,
    SensorNoise,
    Task,
    aim,
    time_left,
)
from enpire.environment.kinematics import Kinematics
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray, Predicate, Verdict

from .demonstrator import Teleoperator
from .fakes import fakes
from .geometry import (
    BLOCK,
    block_from_hand,
    down,
    height,
    level,
    margin,
    pad_from_block,
    quarter_turn,
)
from .look import CAMERAS, CENTRE, ROLL
from .restorer import PutBack
from .truth import ground_truth
from .verify import LAST, LET_GO, verify, verify_views

# A 2F-85 grips with 20 to 235 N, and moves its fingers by 20 to 150 mm/s in all (data sheet).
GRIP, CLOSING = 40.0, 0.15  # [N], [m/s]
# Where the hand may go [m]: the fingers' ends, 18.5 mm below it, stay off the bench, though an arm
# that is sent down at full speed coasts by 8 mm.
HAND = ((0.32, -0.19, 0.029), (0.60, 0.19, 0.18))
AREA = ((0.38, -0.13), (0.54, 0.13))  # of the block's middle, and of the pad's [m]
APART = 0.11  # their middles at the start, at least [m]
OPENING = 0.070  # of the gripper at the start [m]
SETTLED_AT = 0.40  # time in the reset: until the arm rests [s]
SEEN_INSIDE = 0.005  # of the block's outermost corner within the rim before the verifier comes [m]
SEEN_LOW = 0.004  # the same of its height over the bench [m]
# The probe raises the hand until the first and holds still until the second [s].
RAISE = (0.88, 1.28)


class PlaceBlock(Task):
    """The block and the pad before one arm."""

    robot = "ur5e"
    instruction = "Put the block on the round pad and let go of it."
    time_limit = 10.0
    force_limit = 50.0  # the range of the UR5e's wrist sensor (data sheet)
    probe_limit = 1.6
    tracked = ("task_block", "task_pad")
    # A tracker that is off by a millimetre; the UR5e's wrist sensor is precise to 3.5 N at 500 Hz
    # (data sheet), of which a control period averages 20 readings.
    noise = SensorNoise(
        position=0.001, position_bias=0.0007, rotation=0.01, rotation_bias=0.01, force=0.8
    )
    # The hand keeps pointing down, and turns about the vertical only.
    actions = ActionSpec((ArmAction((0.005, 0.005, 0.003), (0.0, 0.0, 0.05), *HAND),), push=15.0)
    observation_names = (
        *(f"block_from_hand_{a}" for a in "xyz"),
        *("block_near_opening", "block_near_across"),
        *("block_turn_cos", "block_turn_sin"),
        *(f"pad_from_block_{a}" for a in "xyz"),
        *("pad_near_opening", "pad_near_across"),
        "block_low",
        *(f"hand_{a}" for a in "xyz"),
        *(f"opening_{a}" for a in "xy"),
        *(f"approach_{a}" for a in "xy"),
        "gripper",
        *(f"lead_{a}" for a in "xyz"),
    )
    variation_names = (
        *("block_x", "block_y", "block_yaw"),
        *("hand_x", "hand_y", "hand_z", "hand_yaw"),
        *("pad_x", "pad_y"),
        *("friction", "mass", "latency"),
    )
    target_names = variation_names[:7]

    def build(self, spec: mujoco.MjSpec) -> None:
        """Add block and pad; limit the gripper's force and speed, as one does for light things."""
        super().build(spec)
        aim(spec, CENTRE, CAMERAS, ROLL)
        gripper = spec.actuator("arm_gripper")
        gripper.forcerange = (-GRIP, GRIP)
        gripper.biasprm[2] = -GRIP / CLOSING

    def after_compile(self, twin: Twin) -> None:
        """Expand what the reset varies."""
        model = twin.model
        self._kinematics = Kinematics(twin.scene.world, twin.scene.robot)
        self._block = model.body("task_block").id
        self._pad = model.body("task_pad").id
        self._geom = model.geom("task_block").id
        self._pad_position = twin.expand("body_pos")
        self._friction = twin.expand("geom_friction")
        self._mass = twin.expand("body_mass")
        self._inertia = twin.expand("body_inertia")
        self._delay = twin.expand("actuator_delay")
        self._latency = np.zeros(twin.stations)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Block [m, rad], hand [m, rad], pad [m], scales of friction and mass, latency [s]."""
        block = rng.uniform(*AREA)
        pad = rng.uniform(*AREA)
        while np.linalg.norm(pad - block) < APART:
            pad = rng.uniform(*AREA)
        return np.concatenate(
            [
                block,
                rng.uniform(-np.pi / 4, np.pi / 4, 1),
                rng.uniform((0.42, -0.04, 0.085, -0.4), (0.50, 0.04, 0.125, 0.4)),
                pad,
                rng.uniform((0.7, 0.6, 0.0), (1.3, 2.5, 0.03)),
            ]
        )

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """The pad, which a person shifts; friction, mass, and the latency that `settle` sets."""
        v = dict(zip(self.variation_names, variation, strict=True))
        model = twin.model
        self._pad_position[row, self._pad, :2] = v["pad_x"], v["pad_y"]
        self._friction[row, self._geom, 0] = model.geom_friction[self._geom, 0] * v["friction"]
        self._mass[row, self._block] = model.body_mass[self._block] * v["mass"]
        self._inertia[row, self._block] = model.body_inertia[self._block] * v["mass"]
        twin.set_const(row)  # what MuJoCo derives from masses and from where bodies are
        self._latency[row] = v["latency"]

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """The block on the bench, the hand above it and open."""
        model = twin.model
        x, y, yaw = variation[:3]
        at = model.joint("task_block").qposadr[0]
        half = yaw / 2
        twin.qpos[row, at : at + 7] = (x, y, BLOCK / 2, np.cos(half), 0, 0, np.sin(half))
        joints, opening = self._posture(variation[3:7])
        twin.qpos[row, control.arms[0].qpos] = joints[0]
        for finger in ("finger_left", "finger_right"):
            twin.qpos[row, model.joint(f"arm_{finger}").qposadr[0]] = opening[0] / 2
        self._delay[row] = 0.0
        control.set(row, joints, opening)

    def _posture(self, hand: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Joints (1, 6) [rad] and opening (1,) [m] at the start; hand: x, y, z [m], yaw [rad]."""
        joints = self._kinematics.solve([hand[:3]], [down(float(hand[3]))])
        return joints, np.array([OPENING])

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Wait; latency begins with the execution, for before the reset nothing was commanded."""
        if left := time_left(elapsed, SETTLED_AT):
            return left
        self._delay[row] = self._latency[row]
        return 0.0

    def observe(self, readings: Readings) -> Float32Array:
        """Block and pad, and the hand, along the world's axes; what decides once more, larger."""
        block, pad = block_from_hand(readings), pad_from_block(readings)
        hand = readings.hand_rotation[:, 0]
        parts = [
            block / 0.08,
            np.tanh(level(block, readings) / 0.005),
            quarter_turn(readings),
            pad / 0.12,
            np.tanh(level(pad, readings) / 0.010),
            np.tanh(height(readings)[:, None] / 0.005),
            (readings.hand_position[:, 0] - (0.46, 0.0, 0.06)) / 0.08,
            hand[:, :2, 0],
            hand[:, :2, 2] / 0.1,
            (readings.gripper - 0.055) / 0.015,
            readings.lead[:, 0] / 0.01,
        ]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        """The block is seen on the pad, on the bench, and let go of."""
        on_pad = (height(readings) < SEEN_LOW) & (margin(readings) > SEEN_INSIDE)
        result: NDArray[np.bool_] = on_pad & (readings.gripper[:, 0] > LET_GO)
        return result

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        """Raise the hand, then hold it still. Fingers that have not let go take the block along."""
        if evidence.elapsed >= RAISE[1]:
            return None
        action = np.zeros(self.actions.size, dtype=np.float32)
        action[6] = 1.0 if evidence.readings[0].gripper[0, 0] > LET_GO else -1.0
        if evidence.elapsed < RAISE[0]:
            action[2] = 1.0
        return action

    def watch(self, evidence: Evidence) -> bool:
        """Once, as the hand comes to rest: what moves since is not still."""
        return len(evidence.readings) == round(RAISE[1] / evidence.period) + 1 - LAST

    def verify(self, evidence: Evidence) -> Verdict:
        """All of the block on the pad, flat, still, and clear of the hand."""
        return verify(evidence)

    def verify_views(self, evidence: Evidence) -> Verdict:
        """The same of the block and the pad that the cameras see."""
        return verify_views(evidence)

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """A person at a leader arm."""
        return Teleoperator(rng, self.actions)

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        """Carries the block to where it is to lie."""
        return PutBack(self.actions, target[:3], self._posture(target[3:]))

    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        """Where the block's shape is, what touches it, and whether it stays."""
        return ground_truth(twin, row)

    def fakes(self) -> tuple[Fake, ...]:
        """Blocks beside the pad, over its rim, on their way, and in the hand."""
        return fakes(self._kinematics)
