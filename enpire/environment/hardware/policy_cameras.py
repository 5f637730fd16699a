"""What policies see of stations with arms: their cameras' pictures, cropped as on a twin."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import cv2
import numpy as np

from enpire.drivers.wire import Wire
from enpire.environment.cameras.camera import Camera
from enpire.environment.control.sensing import Sensors
from enpire.environment.core.policy_cameras import boxes, policy_cameras_of, square
from enpire.environment.core.task import Task
from enpire.environment.hardware.verifier_cameras import Lens, require_pictures
from enpire.errors import DriverError, UsageError
from enpire.types import FloatArray, Image


class HardwareFrameCapture:
    """The newest pictures of some stations' cameras; time goes on, so nobody waits for newer ones.

    How old they may be while the arms move is the supervisor's to say (`camera` of `[watchdogs]`).
    """

    def __init__(
        self,
        task: Task,
        sensors: Sensors,
        wires: Sequence[Wire],
        lenses: Sequence[Sequence[Lens]],
        size: int,
    ) -> None:
        """Take each station's wire and cameras, for pictures of `size` [px].

        Raises:
            UsageError: a station lacks a camera of the task's world, or one is silent or not as it
                was calibrated.
        """
        self.policy_cameras, self._wires = policy_cameras_of(task, sensors, size), wires
        corners = boxes(task.actions, sensors.twin.scene.robot)
        self._crops: list[list[Crop]] = []
        for wire, there in zip(wires, lenses, strict=True):
            found = {lens.camera.name: lens for lens in there}
            missing = [name for name in self.policy_cameras.cameras if name not in found]
            if missing:
                raise UsageError(
                    f"policies see by {', '.join(self.policy_cameras.cameras)}: a station has no "
                    f"{missing[0]} in `cameras` of its file"
                )
            self._crops.append(
                [Crop(found[name], corners, size) for name in self.policy_cameras.cameras]
            )
            for name in self.policy_cameras.cameras:
                require_pictures(wire, found[name].camera)

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """A station looks as it looks."""

    def capture(self, row: int) -> Future[Image]:
        """See `FrameCapture`."""
        wire, seen = self._wires[row], []
        for crop in self._crops[row]:
            picture = wire.picture(crop.camera.name)
            if picture is None:
                raise DriverError(f"camera {crop.camera.name} had a picture, and has none now")
            seen.append(crop.of(picture.image))
        taken: Future[Image] = Future()
        taken.set_result(np.stack(seen))
        return taken


class Crop:
    """The square of a camera's picture in which it sees some points, and no more of it.

    What of the square is beyond the picture is black.
    """

    def __init__(self, lens: Lens, points: FloatArray, size: int) -> None:
        """points: (n, 3), before the camera, in the world [m]. size: of what is made of it [px]."""
        self.camera: Camera = lens.camera
        self._straighten, self._size = lens.straighten, size
        camera = lens.camera
        middle, side = square((points - camera.position) @ camera.rotation)
        centre = (np.array([camera.width, camera.height]) - 1) / 2 + camera.focal * middle
        self._side = max(round(camera.focal * side), 1)  # px
        self._corner = np.round(centre - (self._side - 1) / 2).astype(int)  # x, y; may be below 0

    def of(self, image: Image) -> Image:
        """The square of a picture, (size, size, 3)."""
        straight = self._straighten(image)
        whole = np.array(straight.shape[1::-1])
        low, high = self._corner.clip(0, whole), (self._corner + self._side).clip(0, whole)
        cut = np.zeros((self._side, self._side, 3), np.uint8)
        (left, top), (right, bottom) = low - self._corner, high - self._corner
        cut[top:bottom, left:right] = straight[low[1] : high[1], low[0] : high[0]]
        small = cv2.resize(cut, (self._size, self._size), interpolation=cv2.INTER_AREA)
        return small.astype(np.uint8)
