"""Pick up a cube: the smallest task, and the one to copy for a task of your own.

A cube of 25 mm lies on the bench in front of one arm; grasp it and lift it. Success: the cube is
60 mm above where it lay, between fingers that shut on it and still, after the verifier has shaken
the hand.
"""

from __future__ import annotations

from collections.abc import Mapping

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
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray, Predicate, Verdict

from .demonstrator import Teleoperator
from .fakes import fakes
from .geometry import CUBE, cube_in_hand, posture, quarter_turn
from .look import CAMERAS, CENTRE, ROLL
from .restorer import PutBack
from .skill import PARAMETERS, PickUp, Values
from .truth import ground_truth
from .verify import height, verify, verify_views

GRIP = 0.8  # torque limit of the jaw, which closes on the cube with 12 N [N m]
# Where the hand may go [m]: the pads' ends, 10 mm below it, stay off the bench.
HAND = ((0.13, -0.10, 0.0135), (0.29, 0.10, 0.14))
SETTLED_AT = 0.40  # time in the reset: until the hand has sagged to where it rests [s]
LIFTED = 0.066  # what is seen of the lift before the verifier comes: 60 mm and a margin [m]
HELD = 0.020  # the same of the distance to the grasp point [m]
# The probe shakes until the first, holds still until the second [s]: so long that the hand comes to
# rest before the readings that tell whether it is still.
SHAKE = (0.24, 0.56)


class PickCube(Task):
    """The cube on one arm."""

    robot = "so101"
    instruction = "Pick up the cube and hold it."
    time_limit = 5.0
    probe_limit = 1.0
    tracked = ("task_cube",)
    noise = SensorNoise(position=0.0015, position_bias=0.0015, rotation=0.02, rotation_bias=0.02)
    # Five joints: the hand keeps pointing down, and turns about the vertical only.
    actions = ActionSpec((ArmAction((0.005,) * 3, (0.0, 0.0, 0.10), *HAND),), push=6.0)
    observation_names = (
        *(f"cube_from_hand_{a}" for a in "xyz"),
        *("cube_turn_cos", "cube_turn_sin"),
        *(f"hand_{a}" for a in "xyz"),
        *(f"opening_{a}" for a in "xy"),
        *(f"approach_{a}" for a in "xy"),
        "gripper",
        *(f"lead_{a}" for a in "xyz"),
    )
    variation_names = (
        *("cube_x", "cube_y", "cube_yaw"),
        *("joint1", "joint2", "joint3", "joint5"),
        *("friction", "mass", "latency"),
    )
    target_names = variation_names[:7]
    parameters = PARAMETERS

    def build(self, spec: mujoco.MjSpec) -> None:
        """Add the cube, and limit the jaw's torque, as one does on the servo for light things."""
        super().build(spec)
        aim(spec, CENTRE, CAMERAS, ROLL)
        spec.actuator("arm_gripper").forcerange = (-GRIP, GRIP)

    def after_compile(self, twin: Twin) -> None:
        """Expand what the reset varies."""
        model = twin.model
        self._cube = model.body("task_cube").id
        self._geom = model.geom("task_cube").id
        self._friction = twin.expand("geom_friction")
        self._mass = twin.expand("body_mass")
        self._inertia = twin.expand("body_inertia")
        self._delay = twin.expand("actuator_delay")
        self._latency = np.zeros(twin.stations)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Cube [m, rad], joints off their start [rad], scales of friction and mass, latency [s]."""
        low = (0.17, -0.05, -np.pi / 4, -0.25, -0.075, -0.075, -0.4, 0.7, 0.6, 0.0)
        high = (0.25, 0.05, np.pi / 4, 0.25, 0.075, 0.075, 0.4, 1.3, 1.6, 0.03)
        return rng.uniform(low, high)

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """Friction, mass, and the latency that `settle` sets."""
        v = dict(zip(self.variation_names, variation, strict=True))
        model = twin.model
        self._friction[row, self._geom, 0] = model.geom_friction[self._geom, 0] * v["friction"]
        self._mass[row, self._cube] = model.body_mass[self._cube] * v["mass"]
        self._inertia[row, self._cube] = model.body_inertia[self._cube] * v["mass"]
        twin.set_const(row)  # what MuJoCo derives from masses
        self._latency[row] = v["latency"]

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """The cube on the bench, the hand above it and half open."""
        v = dict(zip(self.variation_names, variation, strict=True))
        model = twin.model
        at = model.joint("task_cube").qposadr[0]
        half = v["cube_yaw"] / 2
        twin.qpos[row, at : at + 7] = (
            *(v["cube_x"], v["cube_y"], CUBE / 2),
            *(np.cos(half), 0, 0, np.sin(half)),
        )
        joints, jaw = posture(variation[3:7])
        twin.qpos[row, control.arms[0].qpos] = joints[0]
        twin.qpos[row, model.joint("arm_gripper").qposadr[0]] = jaw[0]
        self._delay[row] = 0.0
        control.set(row, joints, jaw)

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Wait; latency begins with the execution, for before the reset nothing was commanded."""
        if left := time_left(elapsed, SETTLED_AT):
            return left
        self._delay[row] = self._latency[row]
        return 0.0

    def observe(self, readings: Readings) -> Float32Array:
        """The cube seen from the hand, and the hand, all along the world's axes."""
        hand = readings.hand_rotation[:, 0]
        parts = [
            cube_in_hand(readings) / 0.03,
            quarter_turn(readings),
            (readings.hand_position[:, 0] - (0.21, 0.0, 0.04)) / 0.03,
            hand[:, :2, 0],
            hand[:, :2, 2] / 0.1,
            (readings.gripper - 0.3) / 0.2,
            readings.lead[:, 0] / 0.01,
        ]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        """The cube is seen lifted and between the fingers."""
        distance = np.linalg.norm(cube_in_hand(readings), axis=1)
        result: NDArray[np.bool_] = (height(readings) > LIFTED) & (distance < HELD)
        return result

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        """Shake the hand sideways, then hold it still; nothing to shake if the cube lies there."""
        elapsed = evidence.elapsed
        if elapsed >= SHAKE[1] or height(evidence.readings[-1])[0] < LIFTED / 2:
            return None
        action = np.zeros(self.actions.size, dtype=np.float32)
        action[6] = -1.0
        if elapsed < SHAKE[0]:
            action[1] = 0.6 * np.sign(np.sin(2 * np.pi * (elapsed / SHAKE[0] + 0.1)))
        return action

    def verify(self, evidence: Evidence) -> Verdict:
        """Lifted by 60 mm, between pads that shut on it, and not on its way."""
        return verify(evidence)

    def verify_views(self, evidence: Evidence) -> Verdict:
        """The same of the cube that the cameras see."""
        return verify_views(evidence)

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """A person at a leader arm."""
        return Teleoperator(rng, self.actions)

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        """Carries the cube to where it is to lie."""
        return PutBack(self.actions, target)

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        """Reaches, goes down, closes, lifts."""
        return PickUp(self.actions, Values(**values))

    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        """Forces on the cube, and whether it stays up."""
        return ground_truth(twin, row)

    def fakes(self) -> tuple[Fake, ...]:
        """Cubes that are high, or in the hand, and not held up by it."""
        return fakes()
