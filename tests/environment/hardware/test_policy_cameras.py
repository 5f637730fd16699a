"""What policies see of a station with arms is what they see of a twin, cut from its pictures."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from enpire.drivers import Picture
from enpire.environment import build_stations
from enpire.environment.cameras.camera import Camera
from enpire.environment.cameras.twin_cameras import NoGraphics, TwinVerifierCameras, calibrated
from enpire.environment.core.policy_cameras import TwinFrameCapture
from enpire.environment.hardware.policy_cameras import Crop, HardwareFrameCapture
from enpire.environment.hardware.verifier_cameras import Lens
from enpire.errors import UsageError
from enpire.simulation.pictures import _without_shadows

SIZE = 64


def lens(camera: Camera) -> Lens:
    return Lens(camera, lambda image: image)


def test_it_is_what_a_twin_shows_of_the_same_scene() -> None:
    made = build_stations("pick_cube", 1, 1)
    try:
        rendered = TwinFrameCapture(made.task, made.sensors, SIZE)
        verifier_cameras = TwinVerifierCameras(made.twin, _without_shadows)
    except NoGraphics as error:
        pytest.skip(str(error))
    expected = rendered.capture(0).result()
    pictures = {
        view.camera.name: view.image for view in verifier_cameras.look(0, 0.0, list).result()
    }
    wire = SimpleNamespace(picture=lambda camera: Picture(1, pictures[camera]))
    lenses = [lens(camera) for camera in reversed(calibrated(made.twin.model))]
    frame_capture = HardwareFrameCapture(made.task, made.sensors, [wire], [lenses], SIZE)
    assert frame_capture.policy_cameras == rendered.policy_cameras
    seen = frame_capture.capture(0).result()
    assert seen.shape == expected.shape == (2, SIZE, SIZE, 3)
    away = abs(seen.astype(float) - expected).mean()
    shifted = abs(np.roll(seen, 2, axis=2).astype(float) - expected).mean()
    assert away < 6.0
    assert away < 0.7 * shifted
    with pytest.raises(UsageError, match="has no side"):
        HardwareFrameCapture(made.task, made.sensors, [wire], [lenses[1:]], SIZE)
    verifier_cameras.close()
    rendered.close()


def test_what_is_beyond_the_picture_is_black() -> None:
    camera = Camera("top", np.zeros(3), np.eye(3), 100.0, 40, 30)
    corners = np.array([[-0.2, -0.1, 1.0], [0.2, 0.3, 1.0]])  # 40 by 40 px, 5 below the picture
    crop = Crop(lens(camera), corners, 40)
    image = np.full((30, 40, 3), 200, np.uint8)
    image[5] = 100  # where the square begins
    seen = crop.of(image)
    assert (seen[0] == 100).all()
    assert (seen[1:25] == 200).all()
    assert (seen[25:] == 0).all()
