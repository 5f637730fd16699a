"""`enpire report` of a large run, as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from enpire.environment import Job, build_stations
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.observe.filming import HoldStill, TwinCamera
from enpire.observe.picture import Viewpoint
from enpire.types import Episode, Purpose
from tests.observe.report.ledgers import write_run

LIMIT_S, LIMIT_BYTES = 5.0, 20e6


def _failures(seeds: range) -> list[Episode]:
    """Episodes of a policy that does nothing, which a twin carries out again."""
    stations = build_stations("pick_cube", 1, 1)
    try:
        with TwinCamera(stations, Viewpoint(width=32, height=32)):
            pass
    except NoGraphics as error:
        pytest.skip(str(error))
    still = HoldStill(stations.task.actions.size)
    episodes: list[Episode] = []
    for seed in seeds:
        stations.begin(0, Job(seed, Purpose.SEALED, still, "policy-1"))
        done: list[Episode] = []
        while not done:
            done = stations.tick()
        episodes.append(replace(done[0], packs=stations.packs))
    return episodes


@pytest.mark.slow
def test_ten_thousand_episodes_take_five_seconds_of_the_processor(tmp_path: Path) -> None:
    folder, out = tmp_path / "run", tmp_path / "out.html"
    with write_run(folder, scale=100) as run:
        run.add_episodes(_failures(range(3)))
        assert len(run.ledger.episodes()) == 10_003
    command = [sys.executable, "-m", "enpire.cli", "report", str(folder), "-o", str(out)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    took = usage.ru_utime + usage.ru_stime  # whoever else has the processor; its start as well
    print(f"{took:.2f} s, {out.stat().st_size / 1e6:.2f} MB")
    assert process.returncode == 0
    assert out.read_text().count('src="data:image/jpeg') >= 6, "and a failure is seen again"
    assert out.stat().st_size < LIMIT_BYTES
    assert took < LIMIT_S
