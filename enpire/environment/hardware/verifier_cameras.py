"""What the verifier sees of stations with arms: the pictures that come over their wires."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.calibration import CameraCalibration
from enpire.calibration.camera import WORLD
from enpire.drivers.wire import Wire
from enpire.environment.cameras.camera import Camera, CameraView
from enpire.errors import UsageError
from enpire.safety.station import StationFile
from enpire.types import Image

WAIT_S = 1.0  # for a picture of now; an older one is shown with its age, and is then stale
FIRST_S = 15.0  # for the first picture of a camera
POLL_S = 0.005


@dataclass(frozen=True, slots=True)
class Lens:
    """A camera of a station as a pinhole, and what makes of its pictures those of this pinhole."""

    camera: Camera
    straighten: Callable[[Image], Image]


class HardwareVerifierCameras:
    """The cameras of some stations: pictures taken after they were asked for, straightened."""

    def __init__(self, wires: Sequence[Wire], lenses: Sequence[Sequence[Lens]]) -> None:
        """Take each station's wire and cameras; waits for their first pictures.

        Raises:
            UsageError: a camera is silent, or its pictures have another size than it has.
        """
        self._wires, self._lenses = wires, lenses
        for wire, cameras in zip(wires, lenses, strict=True):
            for lens in cameras:
                require_pictures(wire, lens.camera)
        self._threads = ThreadPoolExecutor(len(wires), "cameras")

    def look[T](self, row: int, stamp: float, see: Callable[[list[CameraView]], T]) -> Future[T]:
        """See `VerifierCameras`. The arms rest, as nobody sends them anything meanwhile."""
        asked = time.monotonic_ns()
        return self._threads.submit(lambda: see(self._views(row, asked, stamp)))

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def _views(self, row: int, asked: int, stamp: float) -> list[CameraView]:
        wire, end = self._wires[row], time.monotonic() + WAIT_S
        views = []
        for lens in self._lenses[row]:
            picture = wire.picture(lens.camera.name)
            while (picture is None or picture.stamp < asked) and time.monotonic() < end:
                time.sleep(POLL_S)
                picture = wire.picture(lens.camera.name)
            if picture is not None:
                when = stamp + (picture.stamp - asked) * 1e-9
                views.append(CameraView(lens.camera, lens.straighten(picture.image), when))
        return views


def lenses(station: StationFile, simulated: Mapping[str, Camera]) -> list[Lens]:
    """The cameras that a station names, as it has calibrated them.

    simulated: by name, those of the scene: what a calibration of a simulated station would give.

    Raises:
        UsageError: one is not calibrated, or sits on a wrist.
    """
    found = []
    for name in station.cameras:
        if name in station.calibrated:
            found.append(_calibrated(name, station.calibrated[name]))
        elif name in simulated:
            found.append(Lens(simulated[name], lambda image: image))
        else:
            raise UsageError(
                f"{station.path}: camera {name} is not calibrated: enpire station calibrate"
            )
    return found


def _calibrated(name: str, said: CameraCalibration) -> Lens:
    if said.mount != WORLD:
        raise UsageError(f"camera {name} sits on {said.mount}: the verifier's stand in the world")
    rotation = Rotation.from_quat(said.quaternion, scalar_first=True).as_matrix()
    focal = float(np.mean(said.focal))
    camera = Camera(name, np.array(said.position), rotation, focal, said.width, said.height)
    return Lens(camera, said.straightener(focal, said.width, said.height))


def require_pictures(wire: Wire, camera: Camera) -> None:
    """Wait for a camera's first picture; raises UsageError for none, or one of another size."""
    end = time.monotonic() + FIRST_S
    while (picture := wire.picture(camera.name)) is None:
        if time.monotonic() > end:
            raise UsageError(f"no picture of camera {camera.name} in {FIRST_S:g} s")
        time.sleep(POLL_S)
    height, width = picture.image.shape[:2]
    if (width, height) != (camera.width, camera.height):
        raise UsageError(
            f"camera {camera.name} shows {width} x {height} pixels; calibrated with "
            f"{camera.width} x {camera.height}: calibrate it anew"
        )
