"""Plays a motion to a twin's arms and records what an arm's own sensors would say."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import mujoco
import numpy as np

from enpire.identification.arms import ArmsModel
from enpire.identification.recording import Recording
from enpire.twin import Scene, dynamics, objects
from enpire.types import FloatArray


@dataclass(frozen=True, slots=True)
class ArmNoise:
    """Standard deviations of white noise of an arm's own sensors.

    position [rad], velocity [rad/s]; effort, of an actuator's limit. For grippers too, in theirs.
    """

    position: float = 1e-4
    velocity: float = 5e-3
    effort: float = 2e-3


def play(
    scene: Scene,
    values: dict[str, float],
    stamps: FloatArray,
    sent: FloatArray,
    noise: ArmNoise,
    rng: np.random.Generator,
    name: str = "twin",
    handled: str = "",
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Recording:
    """Send setpoints (T, axes) at stamps (T,) [s] to arms with parameters `values`, by name.

    scene: of `arms.alone`, or of `arms.with_task` with the object `handled`, which lies `shift` off
    its place there: along x and y [m], and turned [rad]. The arms begin at rest where the first
    setpoint is. MuJoCo's own delay of actuators is the latency, in whole substeps. Efforts are
    means over a period, as of an arm that filters its currents; stamps are evenly spaced.

    Raises:
        ValueError: MuJoCo keeps too few samples for this latency.
    """
    model, h = _with(scene, values), scene.model.opt.timestep
    data = mujoco.MjData(model)
    arms = ArmsModel(scene, ())
    start = arms.at(sent[0])
    data.qpos[:] = start
    if handled:
        _place_object(model, data, handled, shift)
    data.ctrl[arms.actuators] = sent[0]
    for _ in range(round(0.5 / h)):  # history of the setpoint, and friction's own rest
        mujoco.mj_step(model, data)
    position, velocity, effort = (np.empty_like(sent) for _ in range(3))
    done = 0
    for row, stamp in enumerate(stamps - stamps[0]):
        due, forces = round(stamp / h), []
        for _ in range(due - done):
            mujoco.mj_step(model, data)
            forces.append(data.actuator_force[arms.actuators])
        done = due
        mujoco.mj_forward(model, data)  # what sensors say now, not a substep ago
        position[row] = data.actuator_length[arms.actuators]
        velocity[row] = data.actuator_velocity[arms.actuators]
        effort[row] = np.mean(forces, axis=0) if forces else data.actuator_force[arms.actuators]
        data.ctrl[arms.actuators] = sent[row]
    limit = model.actuator_forcerange[arms.actuators, 1]
    position += noise.position * rng.standard_normal(position.shape)
    velocity += noise.velocity * rng.standard_normal(velocity.shape)
    effort += noise.effort * limit * rng.standard_normal(effort.shape)
    measured = position, velocity, effort
    now, window = np.zeros(len(stamps)), stamps[1] - stamps[0]
    return Recording(scene.robot.name, name, stamps, sent, *measured, now, window, handled)


def _place_object(
    model: mujoco.MjModel, data: mujoco.MjData, name: str, shift: tuple[float, float, float]
) -> None:
    """Put it where it lies in the scene, but a little off, turned about the vertical."""
    joint = model.body_jntadr[model.body(objects.PREFIX + name).id]
    address = model.jnt_qposadr[joint]
    data.qpos[address : address + 2] += shift[:2]
    half, lying = shift[2] / 2, data.qpos[address + 3 : address + 7].copy()
    turn = np.array([np.cos(half), 0.0, 0.0, np.sin(half)])
    mujoco.mju_mulQuat(data.qpos[address + 3 : address + 7], turn, lying)


def _with(scene: Scene, values: dict[str, float]) -> mujoco.MjModel:
    """The scene's model with these parameters; the scene keeps its own."""
    model = copy.copy(scene.model)
    # A setpoint's age is compared with the delay: half a substep keeps rounding out of it.
    early = {n: max(v - model.opt.timestep / 2, 0.0) for n, v in values.items() if _late(n)}
    dynamics.apply(scene, {**values, **early}, model)
    longest = model.actuator_history[:, 0].min() * model.opt.timestep
    if model.actuator_delay.max() > longest:
        raise ValueError(f"a latency above {longest:g} s needs a larger nsample in the arm's MJCF")
    return model


def _late(name: str) -> bool:
    return name.rsplit("/", 1)[1] == dynamics.LATENCY
