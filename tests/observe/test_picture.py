"""Pictures, where the machine can make them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from enpire.environment import build_stations
from enpire.observe.picture import go_to


def test_go_to_stops_in_the_demonstration() -> None:
    stations = build_stations("pick_cube", 1)
    go_to(stations, 0, -1.0)
    start = stations.twin.qpos[0].copy()
    go_to(stations, 0, 1.0)
    assert stations.busy
    assert abs(stations.twin.qpos[0] - start).max() > 0.05


@pytest.mark.medium
@pytest.mark.parametrize(
    ("environment", "code", "words"),
    [
        ({}, 0, ""),
        ({"MUJOCO_GL": "nothing"}, 2, "MUJOCO_GL"),
        ({"__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent"}, 1, "libEGL"),
    ],
)
def test_render(environment: dict[str, str], code: int, words: str, tmp_path: Path) -> None:
    picture = tmp_path / "new" / "cube.png"
    size = ["--width", "64", "--height", "48", "--at", "0.2"]
    done = subprocess.run(
        [sys.executable, "-m", "enpire.cli", "render", "pick_cube", str(picture), *size],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    if not environment and "no OpenGL" in done.stderr:
        pytest.skip("this machine has no EGL")
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert picture.is_file() == (code == 0)
    if code == 0:
        assert picture.read_bytes().startswith(b"\x89PNG")
