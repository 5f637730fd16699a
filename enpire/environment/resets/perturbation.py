"""Changes to a twin that no training saw, one at a time, to see what a policy and a verifier bear.

A change is applied after the episode has drawn its scene and its arms, so it comes on top of them:
all else is as in the episode of the same seed without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.environment.cameras.domain_randomization import DrawLooks, cameras_off, other_light
from enpire.environment.control.sensing import SensorNoise
from enpire.environment.core.answers import drawn_of
from enpire.environment.core.task import Task
from enpire.twin import Twin
from enpire.twin.objects import PREFIX
from enpire.twin.scene import Scene
from enpire.types import FloatArray

DEVIATIONS = ("position", "position_bias", "rotation", "rotation_bias", "joint", "force")
DRAWS = 2048  # of a task's initial conditions, whose mean is taken for their centre


class Change(StrEnum):
    """What a perturbation changes; the unit of its value is said beside each."""

    NOTHING = "nothing"
    CONTACT_FRICTION = "contact friction"  # factor
    MASS = "masses of loose objects"  # factor
    STIFFNESS = "stiffness of the task's joints"  # factor
    CLEARANCE = "clearance"  # metres that it is less by, in diameter
    KP = "servo kp"  # factor
    KV = "servo kv"  # factor
    JOINT_FRICTION = "dry friction of the arms' joints"  # factor
    PAD_FRICTION = "friction of the finger pads"  # factor
    LATENCY = "latency of the servos"  # seconds more
    NOISE = "sensor noise"  # factor
    TRACKER_OFFSET = "offset of all tracked poses"  # metres, in a direction of the episode's own
    TRACKER_LATENCY = "latency of the tracker"  # seconds more
    POSES = "deviations of the initial poses"  # factor
    LIGHT = "light"  # see `other_light`
    CAMERAS = "cameras"  # see `cameras_off`


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One change: its name in the grid, what it changes and by how much."""

    name: str
    change: Change
    value: float = 0.0

    def build(self, task: Task, spec: mujoco.MjSpec) -> None:
        """Add the task's objects to the spec, with what has to be changed before it compiles."""
        task.build(spec)
        if self.change is Change.CLEARANCE:
            task.tighten(spec, self.value)
        elif self.change is Change.LATENCY:
            more = math.ceil(self.value / spec.option.timestep) + 2
            for actuator in spec.actuators:
                actuator.nsample += more

    def noise(self, noise: SensorNoise) -> SensorNoise:
        """What is added to readings, where `noise` usually is."""
        if self.change is Change.NOISE:
            return replace(
                noise, **{name: self.value * getattr(noise, name) for name in DEVIATIONS}
            )
        if self.change is Change.TRACKER_OFFSET:
            return replace(noise, offset=self.value)
        if self.change is Change.TRACKER_LATENCY:
            return replace(noise, delay=self.value)
        return noise

    @property
    def looks(self) -> DrawLooks | None:
        """Draws what cameras see; None where that is as usual."""
        return {Change.LIGHT: other_light, Change.CAMERAS: cameras_off}.get(self.change)


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Entries of a field of MuJoCo's model: of `field`, those at `index`."""

    field: str
    index: tuple[Any, ...]

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Copies of the entries of one model's field."""
        return np.array(values[self.index])


def entries(scene: Scene, change: Change) -> tuple[Entries, ...]:
    """The entries of the scene's model that a change scales or adds to; none if it does neither."""
    find = _ENTRIES.get(change)
    return () if find is None else find(scene)


def _contact_friction(scene: Scene) -> tuple[Entries, ...]:
    """Sliding friction of all that is not the robot's: the task's geoms and the bench's."""
    model = scene.model
    touching = (model.geom_contype | model.geom_conaffinity) != 0
    theirs = ~np.isin(model.body_rootid[model.geom_bodyid], _robot_roots(scene))
    return _field_entries("geom_friction", np.flatnonzero(touching & theirs), 0)


def _masses(scene: Scene) -> tuple[Entries, ...]:
    """Mass and inertia of all bodies that hang together with a loose one of the task's."""
    model = scene.model
    free = model.jnt_bodyid[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]
    loose = np.setdiff1d(free, _robot_roots(scene))
    bodies = np.flatnonzero(np.isin(model.body_rootid, loose))
    return (*_field_entries("body_mass", bodies), *_field_entries("body_inertia", bodies))


def _stiffness(scene: Scene) -> tuple[Entries, ...]:
    """The stiffness of the task's joints that have some."""
    model = scene.model
    stiff = (model.jnt_stiffness.reshape(model.njnt, -1) != 0).any(axis=1)
    joints = [i for i in np.flatnonzero(stiff) if model.joint(i).name.startswith(PREFIX)]
    return _field_entries("jnt_stiffness", np.array(joints, np.int64))


def _kp(scene: Scene) -> tuple[Entries, ...]:
    """A servo's gain stands in two places: before the setpoint, and before the position."""
    at = np.concatenate([arm.actuators for arm in scene.arms])
    return (*_field_entries("actuator_gainprm", at, 0), *_field_entries("actuator_biasprm", at, 1))


def _kv(scene: Scene) -> tuple[Entries, ...]:
    return _field_entries(
        "actuator_biasprm", np.concatenate([arm.actuators for arm in scene.arms]), 2
    )


def _joint_friction(scene: Scene) -> tuple[Entries, ...]:
    dofs = np.concatenate([arm.dofs for arm in scene.arms])
    return _field_entries("dof_frictionloss", dofs[scene.model.dof_frictionloss[dofs] > 0])


def _pad_friction(scene: Scene) -> tuple[Entries, ...]:
    """Sliding friction of each arm's finger pads."""
    pads = np.concatenate([scene.finger_pads(arm) for arm in scene.arms])
    return _field_entries("geom_friction", pads, 0)


def _latency(scene: Scene) -> tuple[Entries, ...]:
    """The latency of all servos, the grippers' too."""
    at = [actuator for arm in scene.arms for actuator in (*arm.actuators, arm.gripper)]
    return _field_entries("actuator_delay", np.array(at, np.int64))


def _field_entries(field: str, at: NDArray[np.int64], *rest: int) -> tuple[Entries, ...]:
    return (Entries(field, (at, *rest)),) if len(at) else ()


def _robot_roots(scene: Scene) -> NDArray[np.int64]:
    """The bodies that the arms stand on."""
    model = scene.model
    roots: NDArray[np.int64] = np.array(
        [model.body_rootid[model.jnt_bodyid[arm.joints[0]]] for arm in scene.arms], np.int64
    )
    return roots


_ENTRIES: dict[Change, Callable[[Scene], tuple[Entries, ...]]] = {
    Change.CONTACT_FRICTION: _contact_friction,
    Change.MASS: _masses,
    Change.STIFFNESS: _stiffness,
    Change.KP: _kp,
    Change.KV: _kv,
    Change.JOINT_FRICTION: _joint_friction,
    Change.PAD_FRICTION: _pad_friction,
    Change.LATENCY: _latency,
}


class Perturber:
    """Applies one perturbation to the stations of a twin; without one it does nothing.

    The order for a station is `restore`, then what the episode itself draws and writes, then
    `scale`, and `delay` once the reset is over.
    """

    def __init__(self, perturbation: Perturbation | None, task: Task, twin: Twin) -> None:
        """Expand the model's fields that the perturbation changes."""
        self._task, self._twin = task, twin
        self._change = Change.NOTHING if perturbation is None else perturbation.change
        self._value = 0.0 if perturbation is None else perturbation.value
        self._entries = entries(twin.scene, self._change)
        self._fields = [twin.expand(each.field) for each in self._entries]
        self._clean: list[list[NDArray[Any]]] = [[] for _ in range(twin.stations)]
        self._centre: FloatArray = np.zeros(0)
        self._stretched: NDArray[np.bool_] = np.zeros(0, bool)
        if self._change is Change.POSES:
            rng = np.random.default_rng(0)
            self._centre = np.mean([drawn_of(task, rng) for _ in range(DRAWS)], axis=0)
            self._stretched = np.isin(task.variation_names, task.target_names)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw an initial condition as the task does; poses are then farther from their centre."""
        drawn = drawn_of(self._task, rng)
        if self._change is not Change.POSES:
            return drawn
        far = self._centre + self._value * (drawn - self._centre)
        return np.where(self._stretched, far, drawn)

    def restore(self, row: int) -> None:
        """Take the change back, before the model's fields are written for another reset."""
        for field, each, clean in zip(self._fields, self._entries, self._clean[row], strict=False):
            field[row][each.index] = clean
        self._clean[row] = []

    def scale(self, row: int) -> None:
        """Change what the episode has drawn for a station."""
        if not self._entries or self._change is Change.LATENCY:
            return
        self._keep(row)
        for field, each in zip(self._fields, self._entries, strict=True):
            field[row][each.index] *= self._value
        if self._change is Change.MASS:
            self._twin.set_const(row)  # what MuJoCo derives from masses

    def delay(self, row: int) -> None:
        """Add to the servos' latency, once a reset is over: its skills have none of it."""
        if self._change is not Change.LATENCY:
            return
        self._keep(row)
        for field, each in zip(self._fields, self._entries, strict=True):
            field[row][each.index] += self._value

    def _keep(self, row: int) -> None:
        """Remember a station's values without the change."""
        self._clean[row] = [
            each.of(field[row]) for field, each in zip(self._fields, self._entries, strict=True)
        ]
