"""Cut a fastened zip tie off its bundle with a cutter, and put the cutter back into its stand.

The right hand holds the cutter over the strap: the reset goes to just before the hard phase, as in
the ENPIRE paper; `from_start.py` begins with the cutter in its stand. Success: the strap's ends are
apart, the bundle is where it was, and the cutter stands in its stand with the hand away from it.
"""

from __future__ import annotations

from collections.abc import Mapping

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

from . import layout
from .clearance import clearance
from .demonstrator import OPEN, Teleoperator
from .fakes import FAKES
from .layout import BITE, FEEDER, GRIP, HAND, OPENED, RIGHT, TIP
from .look import CAMERAS, CENTRE, ROLL
from .restorer import PutBack
from .skill import PARAMETERS, Snipper
from .truth import ground_truth
from .verify import AWAY, PARTED, PLACE, TILT, verify, verify_views

STRAP_AT = np.array([0.43, -0.05, 0.117])  # nominal [m]
CLAMP_AT = np.array([0.43, -0.025, 0.0])
STAND_AT = np.array([0.43, -0.17, 0.09])
LEFT_AT = np.array([0.30, 0.30, 0.25])
OVER = np.array([0.0, 0.0, 0.036])  # of the blades over the strap at the start [m]
WIDE, HELD = 0.060, 0.043  # gripper setpoints in the reset: beside the handles; holding them [m]
RELEASE_AT, DONE_AT = 0.32, 0.52  # times in the reset [s]
DROPPED = 0.015  # of the handles from the grasp point: it is not held as it should be [m]
FEED = 0.150  # height of a hand's and a cutter's ends that let the feeder move [m]
STRENGTH = 60.0  # blade force from both sides that parts a strap [N]
FURTHER = 0.008  # that hands are away, and still go, when nothing more has to be done [m]
LOOK = 0.6  # so long the verifier watches the cutter stand [s]
NEAR_STRAP, NEAR_PLACE = 0.002, 0.003  # where blades and cutter are shown larger [m]
STILL = ArmAction((0.0,) * 3, (0.0,) * 3)
WORK = ArmAction((0.004,) * 3, (0.03,) * 3, low=(0.34, -0.24, 0.13), high=(0.48, 0.0, 0.27))


REACH = ArmAction((0.005,) * 3, (0.035,) * 3, low=(0.15, -0.43, 0.009), high=(0.585, 0.19, 0.40))


class ToolUse(Task):
    """The cutter, in the right of two arms."""

    robot = "yam_bimanual"
    instruction = "Cut the zip tie with the cutter and put the cutter back into its stand."
    time_limit = 14.0
    force_limit = 40.0
    probe_limit = 1.0
    tracked = tuple(f"task_{name}" for name in layout.TRACKED)
    # At the maker's gains a lead of 0.06 rad is some 9 N at the hand by the first three joints,
    # half a metre away, and 4 N by the wrist's last two. That carries the cutter's 1.6 N against
    # friction, and can neither move the bundle (10 N) far nor come near the force limit.
    actions = ActionSpec((STILL, WORK), lead=0.06, push=8.0)
    observation_names = (
        *(f"blades_from_strap_{a}" for a in "xyz"),
        *(f"blades_near_{a}" for a in "xyz"),
        *(f"cutter_{a}" for a in ("rx", "ry", "rz")),
        *("opening", "strap_yaw"),
        *(f"gap_{a}" for a in "xy"),
        *(f"bundle_shift_{a}" for a in "xy"),
        *(f"cutter_from_stand_{a}" for a in "xyz"),
        *(f"cutter_near_{a}" for a in "xyz"),
        *(f"grip_from_hand_{a}" for a in "xyz"),
        *(f"hand_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"force_{a}" for a in "xyz"),
        *(f"lead_{a}" for a in "xyz"),
        "gripper",
    )
    variation_names = (
        *("strap_x", "strap_y", "strap_z", "strap_yaw", "stand_x", "stand_y"),
        *(f"hand_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *("grip_x", "grip_z", "grip_turn"),
        *(f"left_{a}" for a in "xyz"),
        *("friction", "strength", "latency"),
    )
    target_names = variation_names[:18]
    parameters = PARAMETERS
    restore_limit = 180.0  # twelve ways to take a cutter, each some 12 s
    # A cutter that hangs on something has to be pulled free of it, or pushed over.
    reset_actions = ActionSpec((STILL, REACH), lead=0.10, push=10.0)
    # A hand that comes free springs back from there at some 0.2 m/s, and one at the edge of `REACH`
    # goes no further than so far beyond.
    reset_stretch = 0.017  # [m]

    def build(self, spec: mujoco.MjSpec) -> None:
        """The scene, its tags, a weld that holds the cutter until the fingers have closed."""
        super().build(spec)
        for name, (radius, height) in layout.RINGS.items():
            for i, turn in enumerate(np.linspace(0, 2 * np.pi, layout.TAGS, endpoint=False)):
                spec.body(f"task_{name}").add_site(
                    name=f"task_{name}_tag{i}",
                    pos=(radius * np.cos(turn), radius * np.sin(turn), height),
                    size=(0.001,) * 3,
                    group=4,
                )
        aim(spec, CENTRE, CAMERAS, ROLL)
        weld = spec.add_equality(
            name="reset_cutter",
            type=mujoco.mjtEq.mjEQ_WELD,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1="right_link6",
            name2="task_cutter",
            active=False,
        )
        weld.data[:3] = 0.0  # anchored at the cutter's origin
        weld.data[10] = 0.1
        weld.solref = (0.01, 1)
        for fixed in ("task_clamp", "task_stand", "task_bundle"):
            spec.add_exclude(bodyname1="world", bodyname2=fixed)

    def after_compile(self, twin: Twin) -> None:
        """Expand what the reset varies."""
        model = twin.model
        self._kinematics = Kinematics(twin.scene.world, twin.scene.robot)
        self._nominal = self._kinematics.solve(
            [LEFT_AT, STRAP_AT + OVER + (0.0, 0.0, BITE + GRIP)], [HAND, HAND]
        )
        self._stops = model.jnt_range[twin.scene.arms[RIGHT].joints]
        self._felt = twin.bind("sensordata")
        self._weld = model.equality("reset_cutter").id
        self._strap = model.equality("task_strap").id
        self._fixed = [model.body(f"task_{name}").mocapid[0] for name in ("clamp", "stand")]
        self._relative = twin.expand("eq_data")
        self._position = twin.bind("mocap_pos")
        self._turn = twin.bind("mocap_quat")
        self._bundle = [
            model.joint(f"task_{name}")
            for name in ("bundle_x", "bundle_y", "tension_a", "tension_b", "bend_a", "bend_b")
        ]
        self._friction = twin.expand("geom_friction")
        self._delay = twin.expand("actuator_delay")
        self._latency = np.zeros(twin.stations)
        self._next = np.zeros((twin.stations, len(self.variation_names)))
        self._strength = np.zeros(twin.stations)
        self._across = np.zeros((twin.stations, 3))
        self._bites = [int(model.sensor(f"task_bite_{blade}").adr[0]) for blade in "ab"]
        names = [model.geom(i).name for i in range(model.ngeom)]
        mine = [i for i, name in enumerate(names) if name.startswith("task_")]
        self._geoms = np.array(mine)
        self._cutter = model.joint("task_cutter").qposadr[0]
        self._hinge = model.joint("task_hinge").qposadr[0]
        self._jaws = np.array([model.site(f"task_{name}").id for name in ("cutter", "jaw")])

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Tie, stand, hand, grasp [m, rad], left hand [m], friction, strength (scales), latency."""
        return np.concatenate(
            [
                rng.uniform(-1, 1, 6) * (0.012, 0.012, 0.006, 0.15, 0.012, 0.012),
                rng.uniform(-1, 1, 6) * (0.012, 0.012, 0.008, 0.06, 0.06, 0.15),
                rng.uniform(-1, 1, 3) * (0.003, 0.004, 0.10),
                rng.uniform(-1, 1, 3) * 0.03,
                rng.uniform((0.7, 0.7, 0.0), (1.3, 1.3, 0.03)),
            ]
        )

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """Friction, latency, and which tie the feeder will bring next, and where."""
        v = dict(zip(self.variation_names, variation, strict=True))
        usual = twin.model.geom_friction[self._geoms, 0]
        self._friction[row, self._geoms, 0] = usual * v["friction"]
        self._latency[row] = v["latency"]
        self._delay[row] = 0.0
        self._next[row] = variation

    def operate(self, twin: Twin, row: int, on: tuple[str, ...]) -> None:
        """The next bundle with its tie, in its clamp; and the stand to its place beside it."""
        if FEEDER not in on:
            return
        hand = twin.site_xpos[row, twin.scene.arms[RIGHT].grasp]
        cutter, jaw = twin.site_xpos[row, self._jaws]
        if min(hand[2] - GRIP, cutter[2], jaw[2]) - TIP < FEED:
            raise ResetFailed("the hand or the cutter is in the feeder's way")
        self._bring(twin, row, self._next[row])

    def _bring(self, twin: Twin, row: int, variation: FloatArray) -> None:
        v = dict(zip(self.variation_names, variation, strict=True))
        clamp, stand = self._fixed
        yaw = Rotation.from_euler("z", v["strap_yaw"])
        self._position[row, clamp] = CLAMP_AT + variation[:3]
        self._turn[row, clamp] = yaw.as_quat(scalar_first=True)
        self._position[row, stand] = (*(STAND_AT[:2] + variation[4:6]), 0.0)
        self._across[row] = yaw.apply((0.0, 1.0, 0.0))
        self._strength[row] = STRENGTH * self._next[row, self.variation_names.index("strength")]
        twin.eq_active[row, self._strap] = 1.0
        for joint in self._bundle:
            twin.qpos[row, joint.qposadr[0]] = twin.qvel[row, joint.dofadr[0]] = 0.0

    def _posture(self, variation: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Joints (arms, dof) and grippers (arms,) of the start."""
        grip, hand, _, _ = self._held(variation)
        joints = self._kinematics.solve(
            [LEFT_AT + variation[15:18], grip], [HAND, hand.as_matrix() @ HAND], warm=self._nominal
        )
        return joints, np.array([WIDE, HELD])

    def _held(self, variation: FloatArray) -> tuple[FloatArray, Rotation, FloatArray, Rotation]:
        """Grasp point and hand, pivot and cutter at the start."""
        v = dict(zip(self.variation_names, variation, strict=False))
        turned = Rotation.from_rotvec(variation[9:12])
        yaw = Rotation.from_euler("z", v["strap_yaw"])
        middle = CLAMP_AT + variation[:3] + yaw.apply(STRAP_AT - CLAMP_AT)
        pivot = middle + OVER + variation[6:9] + turned.apply((0.0, 0.0, BITE))
        grip = pivot + turned.apply((v["grip_x"], 0.0, GRIP + v["grip_z"]))
        return grip, turned * Rotation.from_euler("y", v["grip_turn"]), pivot, turned

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """Tie, stand, arms; the cutter welded to the hand until the fingers hold it."""
        self._bring(twin, row, variation)
        self._place_arms(twin, control, row, *self._posture(variation))
        _, _, pivot, cutter = self._held(variation)
        self._place_cutter(twin, row, pivot, cutter, OPENED)
        self._relative[row, self._weld] = twin.model.eq_data[self._weld]  # until `settle` says
        twin.eq_active[row, self._weld] = 1.0

    def _place_arms(
        self,
        twin: Twin,
        control: CartesianControl,
        row: int,
        joints: FloatArray,
        grippers: FloatArray,
    ) -> None:
        """Arms (arms, dof) [rad], fingers beside the handles, and setpoints of grippers (arms,)."""
        for arm, angles in zip(control.arms, joints, strict=True):
            twin.qpos[row, arm.qpos] = angles
            for finger in ("finger_left", "finger_right"):
                at = twin.model.joint(f"{arm.name}_{finger}").qposadr[0]
                twin.qpos[row, at] = WIDE / 2
        control.set(row, joints, grippers)

    def _place_cutter(
        self, twin: Twin, row: int, pivot: FloatArray, cutter: Rotation, opening: float
    ) -> None:
        """Pivot (3,) [m], turn, and opening of the jaws [rad]."""
        body = cutter * Rotation.from_euler("x", -opening / 2)  # the jaw that the free joint moves
        twin.qpos[row, self._cutter : self._cutter + 7] = (
            *pivot,
            *body.as_quat(scalar_first=True),
        )
        twin.qpos[row, self._hinge] = opening

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Close the fingers, let go of the weld, wait until it is still."""
        if elapsed == 0.0 and twin.eq_active[row, self._weld]:
            self._weld_as_it_is(twin, control, row)
        if elapsed >= RELEASE_AT:
            twin.eq_active[row, self._weld] = 0.0
        if left := time_left(elapsed, RELEASE_AT, DONE_AT):
            return left
        up = self._upwards(twin, row)
        grip = twin.site_xpos[row, self._jaws[0]] + GRIP * up
        hand = twin.site_xpos[row, control.arms[RIGHT].grasp]
        if np.linalg.norm(grip - hand) > DROPPED:
            raise ResetFailed("the fingers did not catch the cutter")
        self._delay[row] = self._latency[row]  # not before: a delay reads the setpoints' history
        return 0.0

    def _upwards(self, twin: Twin, row: int) -> FloatArray:
        """From the cutter's blades to its handles, (3,), about a unit."""
        result: FloatArray = twin.site_xmat[row, self._jaws].reshape(2, 3, 3)[:, :, 2].mean(axis=0)
        return result

    def _weld_as_it_is(self, twin: Twin, control: CartesianControl, row: int) -> None:
        """Tell the weld where in the hand the cutter was placed."""
        grasp = control.arms[RIGHT].grasp
        self._relative[row, self._weld, 3:10] = pose_in_hand(
            twin.model,
            grasp,
            twin.site_xpos[row, grasp],
            twin.site_xmat[row, grasp].reshape(3, 3),
            twin.site_xpos[row, self._jaws[0]],
            twin.site_xmat[row, self._jaws[0]].reshape(3, 3),
        )

    def after_step(self, twin: Twin, row: int) -> None:
        """Part the strap for good once both blades press on it, from both sides, hard enough."""
        if not twin.eq_active[row, self._strap]:
            return
        one, other = (float(self._across[row] @ self._felt[row, at : at + 3]) for at in self._bites)
        if one * other < 0.0 and min(abs(one), abs(other)) >= self._strength[row]:
            twin.eq_active[row, self._strap] = 0.0

    def observe(self, readings: Readings) -> Float32Array:
        """Blades from the strap, cutter from stand and hand; hand, force, setpoint; world frame.

        Blades near the strap, and the cutter near its place, are shown once more, larger, along the
        axes of strap and stand: one or two millimetres there decide, and are next to nothing on the
        scale of the hand's way.
        """
        frame = layout.cutter_frame(readings)
        hand = readings.hand_rotation[:, RIGHT] @ HAND.T
        strap = layout.clamp_frame(readings)
        ends = readings.position[:, layout.END_B] - readings.position[:, layout.END_A]
        blades = layout.blades(readings) - layout.strap(readings)
        place = layout.from_stand(readings)
        parts = [
            blades / 0.02,
            np.tanh(layout.along(strap, blades) / NEAR_STRAP),
            _rotation_vector(frame) / 0.1,
            (layout.opening(readings)[:, None] - 0.2) / 0.2,
            strap[:, 1:2, 0] / 0.1,
            ends[:, :2] / 0.005,
            layout.shift(readings) / 0.002,
            place / 0.05,
            np.tanh(layout.along(readings.rotation[:, layout.STAND], place) / NEAR_PLACE),
            layout.grip_from_hand(readings) / 0.02,
            (readings.hand_position[:, RIGHT] - _CENTRE) / 0.05,
            _rotation_vector(hand) / 0.1,
            readings.wrist_force[:, RIGHT] / 5.0,
            readings.lead[:, RIGHT] / 0.01,
            (readings.gripper[:, RIGHT:] - 0.035) / 0.02,
        ]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        """The strap gapes, the cutter stands in its stand, the hands are away."""
        return self._looks_done(readings, FURTHER)

    def _looks_done(self, readings: Readings, further: float) -> NDArray[np.bool_]:
        """Whether it does, (m,), the hands so much further away than they need be [m]."""
        parted = layout.gap(readings) > 1e-3 * PARTED
        back = np.linalg.norm(layout.from_stand(readings), axis=1) < 1e-3 * PLACE
        upright = layout.cutter_frame(readings)[:, 2, 2] > np.cos(np.radians(TILT))
        away = clearance(readings) > 1e-3 * AWAY + further
        result: NDArray[np.bool_] = parted & back & upright & away
        return result

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        """Keep the hands still and open and watch the cutter stand; nothing to watch otherwise."""
        if evidence.elapsed >= LOOK or not self._looks_done(evidence.readings[0], 0.0)[0]:
            return None
        action = np.zeros(self.actions.size, dtype=np.float32)
        action[[6, 13]] = OPEN
        return action

    def verify(self, evidence: Evidence) -> Verdict:
        """Parted, bundle intact, cutter back."""
        return verify(evidence)

    def verify_views(self, evidence: Evidence) -> Verdict:
        """The same from pictures and joints."""
        return verify_views(evidence)

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """Skills of a person at a leader arm."""
        return Teleoperator(rng, self.actions)

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        """The skill script with these numbers."""
        return Snipper(self.actions, values)

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        """Puts the cutter back into the hand."""
        v = dict(zip(self.target_names, target, strict=True))
        yaw = Rotation.from_euler("z", v["strap_yaw"])
        strap = CLAMP_AT + target[:3] + yaw.apply(STRAP_AT - CLAMP_AT)
        stand = STAND_AT + np.array([*target[4:6], 0.0])
        grip, hand, _, _ = self._held(target)
        start = grip, hand.as_matrix()
        posture, grasp = self._posture(target), target[12:15]
        actions, stops = self.reset_actions, self._stops
        return PutBack(actions, posture, start, grasp, strap, stand, stops)

    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        """The strap's bond, the bundle's slides, the cutter itself, and whether it stays."""
        return ground_truth(twin, row)

    def fakes(self) -> tuple[Fake, ...]:
        """Hands that still touch, and a cutter or a bundle in a wrong place."""
        return FAKES


_CENTRE = np.array([0.43, -0.11, 0.20])


def _rotation_vector(rotation: FloatArray) -> FloatArray:
    """Rotation vectors (m, 3) of small rotations (m, 3, 3), to second order [rad]."""
    below, above = rotation[:, [2, 0, 1], [1, 2, 0]], rotation[:, [1, 2, 0], [2, 0, 1]]
    result: FloatArray = 0.5 * (below - above)
    return result
