"""A dataset as `lerobot-record` makes it of an SO-101 and its leader, out of a twin's episodes.

The twin's demonstrator stands for the person, and its setpoints for where the leader arm is. Frames
lie on a straight line between control periods, as they do not fall on them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from enpire.environment import Demonstrations, Job, Readings, Stations
from enpire.environment.cameras.twin_cameras import SAMPLES
from enpire.environment.core.motors import axes_of
from enpire.packs import find, load_robot
from enpire.types import Episode, Float32Array, FloatArray, Purpose

MOTORS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
KEYS = tuple(f"{motor}.pos" for motor in MOTORS)


@dataclass(frozen=True, slots=True)
class Take:
    """An episode of a twin.

    states: its whole state before each of its control periods, (T, nq). begins: where its axes were
    sent before the first of them, (axes,).
    """

    episode: Episode
    states: FloatArray
    begins: FloatArray


class Watching:
    """A demonstrator, and what the state of its one station is whenever it is asked."""

    def __init__(self, stations: Stations) -> None:
        self._stations, self._expert = stations, Demonstrations(stations.task)
        self.states: list[FloatArray] = []
        self.begins: FloatArray = np.zeros(0)

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        self._expert.begin(row, rng, exploration)
        self.states = []

    def act(self, rows: Any, observations: Float32Array, readings: Readings) -> Float32Array:
        if not self.states:
            self.begins = self._stations.control.command[0].ravel().copy()
        self.states.append(self._stations.twin.qpos[0].copy())
        return self._expert.act(rows, observations, readings)


def take(stations: Stations, seeds: Sequence[int]) -> list[Take]:
    """Successes of the task's demonstrator, one after the other on one station."""
    takes: list[Take] = []
    for seed in seeds:
        watching = Watching(stations)
        stations.begin(0, Job(seed, Purpose.DEMONSTRATION, watching, "demonstrator"))
        done: list[Episode] = []
        while not done:
            done = stations.tick()
        (episode,) = done
        if episode.success:
            states = np.array(watching.states)[: len(episode)]
            takes.append(Take(episode, states, watching.begins))
    return takes


@dataclass(frozen=True, slots=True)
class Setup:
    """How it is recorded.

    fps: frames a second. cameras: the world's by what the person calls them. size: of pictures,
    width and height [px]; none without cameras. calibration: ends of each motor's range in ticks;
    where it is given, joints go from -100 to 100. video: and not pictures. still: how long the
    person does nothing at first [s]. blank: nothing is rendered: each picture is of one shade.
    """

    fps: int = 30
    cameras: dict[str, str] = field(default_factory=dict)
    size: tuple[int, int] = (320, 240)
    calibration: dict[str, tuple[int, int]] = field(default_factory=dict)
    video: bool = True
    still: float = 0.2
    blank: bool = False


def record(takes: Sequence[Take], stations: Stations, folder: Path, setup: Setup) -> Path:
    """Write it through LeRobot's own writer."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    logging.getLogger("lerobot").setLevel(logging.WARNING)
    joint = {"dtype": "float32", "shape": (len(KEYS),), "names": list(KEYS)}
    width, height = setup.size
    picture = {
        "dtype": "video" if setup.video else "image",
        "shape": (height, width, 3),
        "names": ["height", "width", "channels"],
    }
    dataset = LeRobotDataset.create(
        folder.name,
        setup.fps,
        {"action": joint, "observation.state": joint}
        | {f"observation.images.{name}": picture for name in setup.cameras},
        root=folder,
        robot_type="so101_follower",
        use_videos=setup.video,
        video_backend="pyav",
        streaming_encoding=setup.video,
        encoder_queue_maxsize=1 << 16,
    )
    camera = Camera(stations, width, height) if setup.cameras and not setup.blank else None
    for one in takes:
        measured, wanted, states = frames_of(one, stations.period, setup)
        for i in range(len(states)):
            frame: dict[str, Any] = {
                "observation.state": measured[i],
                "action": wanted[i],
                "task": "Pick up the cube.",
            }
            if setup.blank:
                shade = np.full((height, width, 3), i % 256, np.uint8)
                shades = {name: shade + 40 * n for n, name in enumerate(setup.cameras)}
                frame |= {f"observation.images.{name}": shades[name] for name in shades}
            elif camera is not None:
                seen = camera.look(states[i], list(setup.cameras.values()))
                for name, image in zip(setup.cameras, seen, strict=True):
                    frame[f"observation.images.{name}"] = image
            dataset.add_frame(frame)
        dataset.save_episode(parallel_encoding=False)
    dataset.finalize()
    if camera is not None:
        camera.close()
    return folder


class Camera:
    """Whole pictures of the world's cameras, without shadows, as policies are shown them."""

    def __init__(self, stations: Stations, width: int, height: int) -> None:
        self._model = stations.twin.scene.model
        self._data = mujoco.MjData(self._model)
        quality = self._model.vis.quality
        before, quality.offsamples = quality.offsamples, SAMPLES
        self._renderer = mujoco.Renderer(self._model, height, width)
        quality.offsamples = before
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False

    def look(self, state: FloatArray, names: Sequence[str]) -> list[Any]:
        """At a state (nq,)."""
        self._data.qpos[:] = state
        mujoco.mj_forward(self._model, self._data)
        seen = []
        for name in names:
            self._renderer.update_scene(self._data, name)
            seen.append(self._renderer.render().copy())
        return seen

    def close(self) -> None:
        """Give back the OpenGL context."""
        self._renderer.close()


def frames_of(
    one: Take, period: float, setup: Setup
) -> tuple[Float32Array, Float32Array, FloatArray]:
    """Where LeRobot says that axes were, where they were sent, and the state; (frames, any)."""
    episode = one.episode
    last = setup.still + (len(episode) - 1) * period
    times = np.arange(int(last * setup.fps + 1e-6) + 1) / setup.fps - setup.still
    at = times / period
    sent = np.concatenate([one.begins[None], episode.setpoints])
    return (
        theirs(between(episode.joints, at), setup),
        theirs(between(sent, at + 1), setup),
        between(one.states, at),
    )


def between(values: Any, at: FloatArray) -> FloatArray:
    """Rows of values (T, n) at places of their own, by straight lines."""
    rows = np.arange(len(values))
    return np.stack([np.interp(at, rows, column) for column in np.asarray(values).T], axis=1)


def theirs(axes: FloatArray, setup: Setup) -> Float32Array:
    """Axes (frames, 6) in our units as LeRobot says them: degrees, or from -100 to 100."""
    known = axes_of(load_robot(find("robots", "so101")))
    assert known is not None
    said = np.array([list(known.theirs(row).values()) for row in axes])
    for at, motor in enumerate(MOTORS):
        if motor in setup.calibration:
            low, high = setup.calibration[motor]
            said[:, at] *= 4095 / 360 * 200 / (high - low)
    return said.astype(np.float32)
