"""A policy that sees acts on a station with arms, by the newest pictures: time goes on there."""

from __future__ import annotations

import numpy as np

from enpire.drivers import Picture
from enpire.environment import Job
from enpire.environment.cameras.twin_cameras import HEIGHT, WIDTH, calibrated
from enpire.environment.core.policy_cameras import EVERY
from enpire.environment.hardware.policy_cameras import HardwareFrameCapture
from enpire.environment.hardware.verifier_cameras import Lens
from enpire.environment.stations.episode_state import StationPhase
from enpire.policies.asynchronous import Asynchronous, live_controller
from enpire.policies.picture import PicturePolicy, PictureSpec
from enpire.types import Outcome, Purpose
from tests.environment.hardware.rig import Bench, stations

SIZE, PERIODS = 16, 60


def test_it_is_shown_a_picture_for_each_chunk_and_they_are_kept() -> None:
    bench = Bench("pick_cube")
    shown = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    bench.wire.picture = lambda camera: Picture(bench.now, shown)
    cells = stations(bench)
    lenses = [Lens(camera, lambda image: image) for camera in calibrated(cells.twin.model)]
    cells.frame_capture = HardwareFrameCapture(
        cells.task, cells.sensors, [bench.wire], [lenses], SIZE
    )
    policy_cameras = cells.policy_cameras
    assert policy_cameras is not None
    spec = PictureSpec(
        task=cells.task.name,
        observation=cells.observation_size,
        action=cells.action_size,
        history=1,
        chunk=8,
        execute=4,
        hidden=(8,),
        cameras=policy_cameras.cameras,
        size=SIZE,
        felt=policy_cameras.felt,
        channels=(4, 6),
    )
    controller = live_controller(PicturePolicy(spec), cells)
    assert isinstance(controller, Asynchronous)
    cells.begin(0, Job(0, Purpose.EVALUATION, controller, "sees"))
    while cells.phase(0) is StationPhase.RESET or controller.periods < PERIODS:
        assert not cells.tick()
    (ended,) = cells.abort("it has been seen")
    assert ended.verdict.outcome is Outcome.ABORTED
    assert ended.pictures.shape[1:] == (2, SIZE, SIZE, 3)
    assert (ended.pictures == 90).all()
    apart = np.diff(ended.pictured)
    assert ended.pictured[0] == 0
    assert (apart > 0).all()
    assert apart.max() <= EVERY
    assert len(ended.actions) >= PERIODS - 1
