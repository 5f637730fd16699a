"""Arms of one robot, alone or with an object in hand, simulated under many parameters at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.batch import Batch

from enpire.errors import PackError, StoreError
from enpire.identification.recording import Recording, summed
from enpire.packs import Robot, World
from enpire.twin import Scene, compose, dynamics, objects
from enpire.types import FloatArray

STRONGEST = 3.0  # times a servo's limit: an effort beyond is in another unit
RECORD = ("qpos", "qvel", "actuator_force")
AT_ONCE = 16  # candidates: all that their substeps give is kept for a moment


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """What arms do, each (candidates, T, axes): position, velocity, effort."""

    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


def arms_alone(world: World, robot: Robot) -> Scene:
    """The arms of a robot with hands that can carry a payload; nothing touches anything.

    Raises:
        PackError: they do not compile.
    """
    scene = compose(world, robot, lambda spec: dynamics.add_payloads(spec, robot))
    scene.model.geom_contype[:] = 0
    scene.model.geom_conaffinity[:] = 0
    return scene


def with_task(world: World, robot: Robot, build: Callable[[mujoco.MjSpec], None]) -> Scene:
    """The same arms, with a task's objects that they can touch; build: adds them.

    Raises:
        PackError: they do not compile, or there is not one loose object but none or several.
    """

    def both(spec: mujoco.MjSpec) -> None:
        dynamics.add_payloads(spec, robot)
        build(spec)

    scene = compose(world, robot, both)
    loose = {name.split("/")[0] for name in objects.things(scene)}
    if len(loose) != 1:
        said = ", ".join(sorted(loose)) or "none"
        raise PackError(f"an object is handled where a task has one that is loose; here: {said}")
    return scene


class ArmsModel:
    """Answers how a scene's arms would have moved, had their parameters been these."""

    def __init__(self, scene: Scene, names: tuple[str, ...], threads: int = 0) -> None:
        """names: of the parameters in question, as in `dynamics`; scene: of `arms_alone`."""
        self.scene, self.names = scene, names
        self._threads = threads
        known = dynamics.parameters(scene)
        self._places = [known[name] for name in names]
        self._batches: dict[int, Batch] = {}
        model = scene.model
        self.actuators = np.concatenate([[*arm.actuators, arm.gripper] for arm in scene.arms])
        joints = len(scene.arms[0].joints)
        self.joint_axes = np.flatnonzero(np.arange(len(self.actuators)) % (joints + 1) < joints)
        self._arm_of_axis = np.arange(len(self.actuators)) // (joints + 1)
        # Length and velocity of an actuator are linear in the joints: (axes, dofs).
        self._moment = np.array([_moment(model, int(a)) for a in self.actuators])

    @property
    def nominal(self) -> FloatArray:
        """The parameters as the packs have them."""
        fields = dynamics.model_fields(self.scene.model)
        values = [dynamics.read(self.scene, place, fields)[0] for place in self._places]
        return np.array([0.0 if v <= dynamics.NOTHING else v for v in values])

    def respond(self, values: FloatArray, recording: Recording) -> Response:
        """Play a recording's setpoints to arms with parameters `values`, (candidates, names).

        They begin where the recorded ones were, at rest, and are read when they were. A setpoint
        holds from its stamp plus the arm's latency; one that changes within a substep counts in
        that substep by the part it holds for, so that the response is smooth in the latency.
        """
        parts = [
            self._response(values[first : first + AT_ONCE], recording)
            for first in range(0, len(values), AT_ONCE)
        ]
        names = ("position", "velocity", "effort")
        whole = {n: np.concatenate([getattr(p, n) for p in parts]) for n in names}
        return Response(**whole)

    def _response(self, values: FloatArray, recording: Recording) -> Response:
        batch = self._batch(len(values))
        latency = self._write(batch, values)
        self._begin(batch, recording)
        model, h = self.scene.model, self.scene.model.opt.timestep
        stamps = recording.stamps - recording.stamps[0]
        steps = int(np.ceil(stamps[-1] / h - 1e-9)) + 1
        edges = h * np.arange(steps + 1)
        control = np.zeros((len(values), steps, model.nu))
        control[:, :, self.actuators] = self._mean_setpoints(stamps, recording.sent, latency, edges)
        begins = {name: getattr(batch, name).copy()[:, None] for name in ("qpos", "qvel")}
        kept = batch.rollout(steps, control, record=RECORD)
        read = np.maximum(stamps - recording.age, 0.0)
        place = read / h
        low = np.minimum(place.astype(int), steps - 1)
        part = (place - low)[:, None]
        moved: dict[str, FloatArray] = {}
        for name, begin in begins.items():  # the state at the edges
            there = np.concatenate([begin, kept[name]], axis=1)
            between = (1 - part) * there[:, low] + part * there[:, low + 1]
            moved[name] = self._axes(name, between)
        force = kept["actuator_force"][..., self.actuators]
        if not recording.effort_window:
            return Response(moved["qpos"], moved["qvel"], force[:, np.maximum(low - 1, 0)])
        area = np.concatenate([np.zeros_like(force[:, :1]), np.cumsum(h * force, axis=1)], axis=1)
        ends, before = _between(area, place), np.maximum(read - recording.effort_window, 0.0)
        window = np.maximum(read - before, 1e-12)[:, None]
        effort = (ends - _between(area, before / h)) / window
        return Response(moved["qpos"], moved["qvel"], effort)

    def at(self, axes: FloatArray) -> FloatArray:
        """Joint positions (qpos,) of lengths of the axes, (axes,); fingers share theirs."""
        model = self.scene.model
        qpos: FloatArray = model.qpos0.copy()
        for length, row in zip(axes, self._moment, strict=True):
            dofs = np.flatnonzero(row)
            qpos[model.jnt_qposadr[model.dof_jntid[dofs]]] = length / (row[dofs] * len(dofs))
        return qpos

    def _batch(self, count: int) -> Batch:
        if count not in self._batches:
            self._batches[count] = Batch(self.scene.model, count, self._threads)
        return self._batches[count]

    def _write(self, batch: Batch, values: FloatArray) -> FloatArray:
        """Give each simulation its parameters; returns the latencies, (candidates, arms) [s]."""
        fields = dynamics.model_fields(self.scene.model)
        known = dynamics.places(self.scene)
        arms = self.scene.arms
        latency = np.empty((len(values), len(arms)))
        for i, arm in enumerate(arms):
            latency[:, i] = dynamics.read(self.scene, known[f"{arm.name}/latency"], fields)[0]
        for place, column in zip(self._places, values.T, strict=True):
            if isinstance(place, dynamics.ParameterPlace) and place.kind == dynamics.LATENCY:
                latency[:, arms.index(place.arm)] = column
            else:
                dynamics.write(self.scene, place, batch.expand, column)
        batch.expand("actuator_delay")[:] = 0.0  # the setpoints come late by themselves
        batch.set_const()
        return latency

    def _begin(self, batch: Batch, recording: Recording) -> None:
        self._require_fit(recording)
        batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        batch.qpos[:] = self.at(recording.position[0])
        batch.ctrl[:, self.actuators] = recording.sent[0]
        batch.forward()

    def _require_fit(self, recording: Recording) -> None:
        """Raises StoreError for other axes, or efforts that its servos do not have."""
        axes, model = recording.sent.shape[1], self.scene.model
        if axes != len(self.actuators):
            raise StoreError(
                f"{recording.name} has {axes} axes, and {recording.robot} has "
                f"{len(self.actuators)}: is it of another robot?"
            )
        known = np.where(np.isfinite(recording.effort), np.abs(recording.effort), 0.0)
        ends = np.abs(model.actuator_forcerange[self.actuators]).max(axis=1)
        limited = model.actuator_forcelimited[self.actuators].astype(bool)
        for axis in np.flatnonzero(limited & (known.max(axis=0) > STRONGEST * ends)):
            raise StoreError(
                f"{recording.name}: axis {axis} has an effort of {known[:, axis].max():.3g}, and "
                f"its servo at most {ends[axis]:.3g}: efforts are in N m or N, no N mm and no per "
                "cent, and NaN where nobody measures them"
            )

    def _mean_setpoints(
        self, stamps: FloatArray, sent: FloatArray, latency: FloatArray, edges: FloatArray
    ) -> FloatArray:
        """The mean setpoint between edges (n + 1,), of each candidate, (candidates, n, axes)."""
        result = np.empty((len(latency), len(edges) - 1, sent.shape[1]))
        for axis, arm in enumerate(self._arm_of_axis):
            at = edges[None] - latency[:, arm, None]
            result[:, :, axis] = np.diff(summed(stamps, sent[:, axis], at), axis=1)
        result /= edges[1] - edges[0]
        return result

    def _axes(self, name: str, values: FloatArray) -> FloatArray:
        """Lengths or speeds of the axes, (..., axes), of joints (..., nq) or (..., nv)."""
        model = self.scene.model
        if name == "qpos":  # hinges and slides only: an arm alone has no other
            values = values[..., model.jnt_qposadr[model.dof_jntid]]
        moved: FloatArray = values @ self._moment.T
        return moved


class Handling:
    """Arms that move alone in some recordings, and handle an object in others.

    names: of their parameters: the arms', then the object's.
    """

    def __init__(
        self, free: Scene, held: Scene, names: tuple[str, ...] = (), threads: int = 0
    ) -> None:
        """free: of `arms_alone`; held: of `with_task`, with the same arms.

        names: of the arms' parameters in question; none: all of them.
        """
        of_arms, of_object = names or tuple(dynamics.places(free)), tuple(objects.things(held))
        self.names = (*of_arms, *of_object)
        self.free, self.held = (
            ArmsModel(free, of_arms, threads),
            ArmsModel(held, self.names, threads),
        )
        self.object = of_object[0].split("/")[0]

    @property
    def nominal(self) -> FloatArray:
        """The parameters as the packs have them."""
        return self.held.nominal


def _between(values: FloatArray, place: FloatArray) -> FloatArray:
    """Values (candidates, n, axes) at places (T,) among the n, straight between two."""
    low = np.minimum(place.astype(int), values.shape[1] - 2)
    part = (place - low)[:, None]
    result: FloatArray = (1 - part) * values[:, low] + part * values[:, low + 1]
    return result


def _moment(model: mujoco.MjModel, actuator: int) -> FloatArray:
    """How an actuator's length moves with each dof, (dofs,); it is linear."""
    row = np.zeros(model.nv)
    target, gear = int(model.actuator_trnid[actuator, 0]), model.actuator_gear[actuator, 0]
    if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT:
        row[model.jnt_dofadr[target]] = gear
        return row
    first, count = model.tendon_adr[target], model.tendon_num[target]
    for wrap in range(first, first + count):
        row[model.jnt_dofadr[model.wrap_objid[wrap]]] += gear * model.wrap_prm[wrap]
    return row
