"""What policies see by cameras: small pictures of where the hands of a task may go.

A camera's picture is cropped to the task's own boxes (`ArmAction`), with a margin, and made small:
what a policy needs of a bench, in as few pixels as it takes. On a twin the crop is rendered alone.
"""

from __future__ import annotations

import copy
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment.cameras.domain_randomization import DrawLooks, Looks
from enpire.environment.cameras.twin_cameras import SAMPLES, Renderings, calibrated
from enpire.environment.control.cartesian_control import ActionSpec
from enpire.environment.control.sensing import Readings, Sensors
from enpire.environment.core.task import Task
from enpire.errors import UsageError
from enpire.packs import Robot
from enpire.types import FloatArray, Image

MARGIN = 0.03  # around the boxes: what hands hold, and the bench below [m]
SIZES = (32, 224)  # of a picture, least and most [px]
TURNED = Rotation.from_rotvec((0.3, -0.2, 0.1)).as_matrix()  # any
EVERY = 4  # control periods between pictures of who decides more often and needs no more of them


@dataclass(frozen=True, slots=True)
class PolicyCameras:
    """What a policy sees."""

    cameras: tuple[str, ...]  # by name, in their order
    size: int  # of each picture, width and height [px]
    # Entries of the task's observation that no tracker has to tell: what an arm feels of itself.
    felt: tuple[int, ...]


def require_size(size: int) -> None:
    """Raise UsageError for pictures that nothing would be seen in, or that are too large."""
    if size and not SIZES[0] <= size <= SIZES[1]:
        raise UsageError(f"--images {size}: from {SIZES[0]} to {SIZES[1]} pixels, or 0")


class FrameCapture(Protocol):
    """Takes a station's pictures for its policy."""

    @property
    def policy_cameras(self) -> PolicyCameras: ...

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """A new episode begins at station `row`; rng: for how it looks."""

    def capture(self, row: int) -> Future[Image]:
        """Take a picture of station `row`, (cameras, size, size, 3); returns at once."""


class TwinFrameCapture:
    """Renders the pictures; without shadows, which take most of the time and show the least."""

    def __init__(
        self, task: Task, sensors: Sensors, size: int, draw_looks: DrawLooks | None = None
    ) -> None:
        """Pictures of `size` [px]; raises NoGraphics where nothing can be rendered.

        draw_looks: each episode has looks of its own, that this draws.
        """
        twin = sensors.twin
        drawn = twin.model.vis.global_
        if size > (most := min(drawn.offwidth, drawn.offheight)):
            raise UsageError(f"pictures of {size} px: the world's offwidth and -height are {most}")
        cameras = calibrated(twin.model)
        model = copy.copy(twin.model)
        model.vis.quality.offsamples = SAMPLES
        corners = boxes(task.actions, twin.scene.robot)
        for camera in cameras:
            crop(model, camera.name, (corners - camera.position) @ camera.rotation)
        self.policy_cameras = policy_cameras_of(task, sensors, size)
        shape = size, size
        self._renderings = Renderings(
            twin, model, self.policy_cameras.cameras, shape, shadows=False
        )
        self._as_built, self._draw_looks = copy.copy(model), draw_looks
        self._looks: dict[int, Looks] = {}

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """See `FrameCapture`."""
        if self._draw_looks is not None:
            self._looks[row] = self._draw_looks(self._as_built, rng)

    def capture(self, row: int) -> Future[Image]:
        """See `FrameCapture`; the station must not be under way."""
        return self._renderings.of(row, _stacked, self._looks.get(row, {}))

    def close(self) -> None:
        """Give back the OpenGL context; the end of the process does so too."""
        self._renderings.close()


def _stacked(images: list[Image]) -> Image:
    return np.stack(images)


def policy_cameras_of(task: Task, sensors: Sensors, size: int) -> PolicyCameras:
    """What policies see of a twin in pictures of `size` [px], whether or not it can be rendered."""
    cameras = tuple(camera.name for camera in calibrated(sensors.twin.model))
    return PolicyCameras(cameras, size, felt_entries(task, sensors))


def boxes(actions: ActionSpec, robot: Robot) -> FloatArray:
    """Corners (8, 3) of a box about all in which the arms' hands may go [m]."""
    low = np.min([arm.low for arm in actions.arms], axis=0)
    high = np.max([arm.high for arm in actions.arms], axis=0)
    low = np.maximum(low, robot.limits.workspace_low) - MARGIN
    high = np.minimum(high, robot.limits.workspace_high) + MARGIN
    return np.array(list(product(*zip(low, high, strict=True))))


def crop(model: mujoco.MjModel, camera: str, points: FloatArray) -> None:
    """Have a camera show the smallest square that holds points (n, 3) before it, and no more.

    points: in the camera's frame as in OpenCV [m]. What it shows is a part of what it showed, to
    the pixel: it has not been turned.
    """
    middle, side = square(points)
    at = model.camera(camera).id
    model.cam_sensorsize[at] = side
    model.cam_intrinsic[at] = (1.0, 1.0, *middle)  # y down, as in OpenCV


def square(points: FloatArray) -> tuple[FloatArray, float]:
    """The smallest one that a camera sees points (n, 3) before it in: middle (2,) and side.

    As tangents of angles from where it looks, right and down.
    """
    tangents = points[:, :2] / points[:, 2:]
    low, high = tangents.min(axis=0), tangents.max(axis=0)
    return (low + high) / 2, float((high - low).max())


def made_up(sensors: Sensors, force: float = 0.5) -> Readings:
    """Make up one reading of an arm that feels so much at its wrist, where nothing is tracked.

    A task may ask what the hand's rotation is about: it is one.
    """
    blank, _ = sensors.blank(1)
    for values in blank:
        values[...] = 0.5
    readings = Readings(*blank).untracked()
    readings.hand_rotation[...] = TURNED
    readings.wrist_force[...] = force
    return readings


def felt_entries(task: Task, sensors: Sensors) -> tuple[int, ...]:
    """Entries of the task's observation that are there without a tracker.

    Where policies set joints they are the joints alone, as a policy of LeRobot's is shown them.
    """
    if task.joint_actions is not None:
        return tuple(range(task.joint_actions.size))
    with np.errstate(invalid="ignore"):
        (seen,) = task.observe(made_up(sensors))
    return tuple(np.flatnonzero(np.isfinite(seen)).tolist())
