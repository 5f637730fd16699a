"""A station's arms explore through their supervisor; its records tell what they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from enpire.cli import main
from tests.simulation.running import realtime, simulated, written

TRIES = 5  # on a busy machine a heartbeat may lapse, which stops a motion


@pytest.mark.slow
def test_a_station_explores_and_is_fitted(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    station = written(tmp_path, "lab", "twin", realtime())
    lab, motion = str(station.path), ["--confirm-motion", "--seconds", "6", "--evaluations", "0"]
    with simulated(station):
        assert main(["station", "check", lab]) == 0
        explore = ["twin", "explore", "--station", lab, *motion]
        assert any(main([*explore, "--seed", str(n)]) == 0 for n in range(TRIES))
    world = tmp_path / "sim" / "lab"
    assert main(["twin", "fit", "--station", lab, "--held-out", "0", "--out", str(world)]) == 0
    assert "dynamics.toml" in {path.name for path in world.iterdir()}
    errors = []
    for bench in ("bench", str(world)):
        assert main(["twin", "gap", "--station", lab, "--world", bench, "--json"]) == 0
        said = json.loads(capsys.readouterr().out.splitlines()[-1])
        errors.append(max(said["rms_rad"]["moving"][:5]))
    assert errors[1] < 0.5 * errors[0]
