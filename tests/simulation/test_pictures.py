"""What a simulated station's cameras show, and how often."""

from __future__ import annotations

import time

import pytest

from enpire.environment.cameras.camera import coloured
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.simulation.pictures import PERIOD_S, Pictures
from tests.simulation.test_cell import cell

WAIT_S = 60.0


def test_pictures_show_the_scene_of_their_time_and_come_no_oftener_than_a_camera_takes() -> None:
    one, clock = cell()
    try:
        pictures = Pictures(one.twin, ["front"], lambda views, at: (views, at))
    except NoGraphics as error:
        pytest.skip(str(error))
    try:
        measured = one.measured
        assert pictures.take(clock.now, measured) is None
        end = time.monotonic() + WAIT_S
        while (there := pictures.take(clock.now, measured)) is None and time.monotonic() < end:
            time.sleep(0.01)
        assert there is not None
        views, at = there
        assert at == measured
        assert {view.camera.name for view in views} == {"front", "side"}
        cube = one.twin.site_xpos[0, one.twin.model.site("task_cube").id]
        for view in views:
            red = coloured(view, (-15.0, 15.0), 100.0).points.mean(axis=0)
            assert red == pytest.approx(view.camera.project(cube), abs=4.0)
        time.sleep(0.1)
        assert pictures.take(clock.now, measured) is None  # its period is not over
        clock.now += round(PERIOD_S * 1e9)
        pictures.take(clock.now, measured)
        while (there := pictures.take(clock.now, measured)) is None and time.monotonic() < end:
            time.sleep(0.01)
        assert there is not None
    finally:
        pictures.close()
