"""What is seen of stations with arms: pictures of now, with their age, by calibrated cameras."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Timer

import numpy as np
import pytest

from enpire.calibration import CameraCalibration
from enpire.drivers import Picture
from enpire.environment.cameras.camera import Camera, fresh
from enpire.environment.hardware import verifier_cameras
from enpire.environment.hardware.verifier_cameras import HardwareVerifierCameras, Lens, lenses
from enpire.errors import UsageError
from tests.simulation.running import written

TOP = Camera("top", np.zeros(3), np.eye(3), 100.0, 4, 3)
SAID = CameraCalibration(
    mount="world",
    width=4,
    height=3,
    focal=(100.0, 100.0),
    centre=(1.5, 1.0),
    distortion=(0.0, 0.0, 0.0, 0.0, 0.0),
    position=(1.0, 2.0, 3.0),
    quaternion=(0.0, 1.0, 0.0, 0.0),
    pictures=20,
    intrinsics_rms=0.1,
    hand_eye_rms=0.1,
    held_out_rms=0.1,
    position_deviation=0.001,
    angle_deviation=0.001,
)


class Wire:
    """Of one camera, that has taken its only picture."""

    def __init__(self, height: int = 3) -> None:
        self.taken = Picture(time.monotonic_ns(), np.full((height, 4, 3), 7, np.uint8))

    def picture(self, camera: str):
        return self.taken


@pytest.fixture
def opened():
    made: list[HardwareVerifierCameras] = []

    def looking(wire: Wire) -> HardwareVerifierCameras:
        made.append(HardwareVerifierCameras([wire], [[Lens(TOP, lambda image: 2 * image)]]))
        return made[-1]

    yield looking
    for each in made:
        each.close()


def test_a_look_waits_for_a_picture_that_was_taken_after_it(opened) -> None:
    wire = Wire()
    sees = opened(wire)

    def take() -> None:
        wire.taken = Picture(time.monotonic_ns(), np.full((3, 4, 3), 9, np.uint8))

    look = sees.look(0, 3.0, list)
    Timer(0.1, take).start()
    (view,) = look.result(30.0)
    assert (view.image == 18).all()  # straightened
    assert view.stamp > 3.05
    assert fresh([view], 3.0) == [view]


def test_a_look_that_was_asked_for_before_another_shows_what_was_before(opened) -> None:
    """As when a task watches its probe: the second one is asked for while the first still waits."""
    wire = Wire()
    sees = opened(wire)

    def take(value: int) -> None:
        wire.taken = Picture(time.monotonic_ns(), np.full((3, 4, 3), value, np.uint8))

    before = sees.look(0, 1.0, list)
    take(5)
    (early,) = before.result(30.0)
    first, last = sees.look(0, 1.24, list), sees.look(0, 1.48, list)
    Timer(0.1, take, [9]).start()
    assert (early.image == 10).all()
    assert not fresh([early], 1.48)
    for look, asked in ((first, 1.24), (last, 1.48)):
        (view,) = look.result(30.0)
        assert (view.image == 18).all()
        assert view.stamp > asked


def test_what_a_camera_showed_that_is_silent_now_is_as_old_as_it_is(opened, monkeypatch) -> None:
    monkeypatch.setattr(verifier_cameras, "WAIT_S", 0.05)
    wire = Wire()
    wire.taken = replace(wire.taken, stamp=time.monotonic_ns() - 10**9)
    (view,) = opened(wire).look(0, 3.0, list).result(30.0)
    assert view.stamp < 2.1
    assert not fresh([view], 3.0)


def test_what_a_camera_is_not_is_refused(opened, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(verifier_cameras, "FIRST_S", 0.05)
    with pytest.raises(UsageError, match="shows 4 x 5 pixels"):
        opened(Wire(5))
    silent = Wire()
    silent.taken = None
    with pytest.raises(UsageError, match="no picture of camera top"):
        opened(silent)
    station = written(tmp_path, "left", "ros2", 'cameras = ["top"]')
    with pytest.raises(UsageError, match="camera top is not calibrated"):
        lenses(station, {})
    on_wrist = replace(station, calibrated={"top": replace(SAID, mount="arm")})
    with pytest.raises(UsageError, match="sits on arm"):
        lenses(on_wrist, {"top": TOP})


def test_a_calibration_counts_over_what_a_simulation_has(tmp_path) -> None:
    station = written(tmp_path, "left", "ros2", 'cameras = ["top"]')
    (scene,) = lenses(station, {"top": TOP})
    assert scene.camera is TOP
    (own,) = lenses(replace(station, calibrated={"top": SAID}), {"top": TOP})
    assert own.camera.position == pytest.approx([1, 2, 3])
    assert own.camera.rotation == pytest.approx(np.diag([1.0, -1.0, -1.0]))
    picture = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
    assert (own.straighten(picture) == picture).all()
