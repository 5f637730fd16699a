"""A single Gymnasium environment of a task's scene, as somebody would write it around MuJoCo.

It has the model, the control and the observation of a station, and begins where one began: no more
than `mj_step` and two calls of compiled code are in its step. What a harness does besides is left
out: it resets to one state only, and verifies and records nothing.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import gymnasium
import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.environment import Stations, build_stations
from enpire.environment.cameras.twin_cameras import calibrated
from enpire.environment.control.cartesian_control import CartesianControl
from enpire.environment.control.sensing import Readings, Sensors
from enpire.environment.core.answers import looks_done
from enpire.gymnasium.environment import spaces
from enpire.twin.twin import STATE
from enpire.types import Float32Array, FloatArray

HERE = np.zeros(1, np.int64)  # the one station that there is


@dataclass(frozen=True, slots=True)
class Beginning:
    """A station at its first observation.

    state: of MuJoCo's integration. derived: other arrays of its data, by name. fields: of its model
    that it has as its own. command: setpoints. errors: of its sensors. observation: the first.
    """

    state: FloatArray
    derived: dict[str, NDArray[Any]]
    fields: dict[str, NDArray[Any]]
    command: FloatArray
    errors: tuple[FloatArray, ...]
    observation: Float32Array

    @classmethod
    def of(cls, stations: Stations, row: int, observation: Float32Array) -> Beginning:
        """Take it from a station that has just been reset, and waits for its first action."""
        twin, sensors = stations.twin, stations.sensors
        return cls(
            twin.state[row].copy(),
            {name: getattr(twin, name)[row].copy() for name in Sensors.READ},
            twin.variation(row),
            stations.control.command[row].copy(),
            tuple(each[row].copy() for each in sensors.errors),
            observation.copy(),
        )


class _OneData:
    """MuJoCo's model and data as control and sensors see a twin: arrays of one row."""

    stations = 1

    def __init__(self, stations: Stations) -> None:
        self.scene = stations.twin.scene
        self.model = copy.copy(stations.twin.model)
        self.data = mujoco.MjData(self.model)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)[None]


class PlainEnv(gymnasium.Env[Any, Float32Array]):
    """A step is a control period; it ends where the scene looks done, or time is over."""

    observation_space: gymnasium.Space[Any]

    def __init__(self, task: str, begins: Beginning, images: int = 0) -> None:
        """Of the task called `task`; every reset leads to where it `begins`.

        images: size of the pictures [px]; 0: none, and an observation is the vector alone.
        """
        stations = build_stations(task, 1, threads=1)
        self.task, self._begins = stations.task, begins
        self._substeps, self._periods = stations.substeps, stations.execute_periods
        self.observation_space, self.action_space = spaces(stations)
        one: Any = _OneData(stations)
        self._one = one
        self._control = CartesianControl(one, self.task.actions, stations.period)
        self._sensors = Sensors(
            self._control, self.task.tracked, self.task.noise, stations.sensors.periods
        )
        self._pictures = PlainPictures(one.model, images) if images else None
        if self._pictures is not None:
            space = gymnasium.spaces.Box(0, 255, self._pictures.shape, np.uint8)
            both: dict[str, gymnasium.Space[Any]] = {
                "state": self.observation_space,
                "pictures": space,
            }
            self.observation_space = gymnasium.spaces.Dict(both)
        self._at = 0
        self._readings: Readings
        self._jacobian: FloatArray

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Go back to where it began; no seed changes that."""
        super().reset(seed=seed)
        begins, one = self._begins, self._one
        for name, values in begins.fields.items():
            getattr(one.model, name)[...] = values
        mujoco.mj_setState(one.model, one.data, begins.state, STATE)
        for derive in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight):
            derive(one.model, one.data)  # what pictures show
        for name, values in begins.derived.items():
            getattr(one.data, name)[...] = values
        self._control.command[0] = begins.command
        for mine, values in zip(self._sensors.errors, begins.errors, strict=True):
            mine[0] = values
        self._at = 0
        return self._look(), {}

    def step(self, action: Float32Array) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carry out a control period."""
        one, force = self._one, self._readings.wrist_force
        self._control.apply(HERE, action[None], self._jacobian, force)
        mujoco.mj_step(one.model, one.data, self._substeps)
        self._at += 1
        seen = self._look()
        done = bool(looks_done(self.task, self._readings)[0])
        return seen, float(done), done, self._at >= self._periods, {}

    def close(self) -> None:
        """Give back the OpenGL context."""
        if self._pictures is not None:
            self._pictures.close()

    def _look(self) -> Any:
        self._readings, self._jacobian = self._sensors.read(HERE, [self._at])
        seen: Float32Array = self.task.observe(self._readings)[0].astype(np.float32)
        if self._pictures is None:
            return seen
        return {"state": seen, "pictures": self._pictures.take(self._one.data)}


class PlainPictures:
    """A picture of each camera that stands in the world."""

    def __init__(self, model: mujoco.MjModel, size: int) -> None:
        """size: of a picture, which is square [px]."""
        self._renderer = mujoco.Renderer(model, size, size)
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        self._cameras = [camera.name for camera in calibrated(model)]
        self.shape = (len(self._cameras), size, size, 3)

    def take(self, data: mujoco.MjData) -> NDArray[np.uint8]:
        """Render what they show of these data, (cameras, size, size, 3)."""
        taken = np.empty(self.shape, np.uint8)
        for picture, camera in zip(taken, self._cameras, strict=True):
            self._renderer.update_scene(data, camera)
            self._renderer.render(out=picture)
        return taken

    def close(self) -> None:
        """Give back the OpenGL context."""
        self._renderer.close()
