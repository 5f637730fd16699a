"""Simulators that others made, each run by an interpreter of its own (`docs/simulators.md`).

They pin older physics, so none is of our packages: `ENPIRE_SIMULATORS` is the folder that has their
virtual environments, by name, and what is not there is skipped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from enpire.cli import main
from enpire.environment import Job, Order, RandomActions, open_stations
from enpire.environment.gym_bridge.gym_stations import GymStations
from enpire.types import JUDGED, Episode, Purpose

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]  # test_gym_stations.py has quicker ones

SCRIPTS = Path(__file__).parents[3] / "examples" / "simulators"
WHERE = Path(os.environ.get("ENPIRE_SIMULATORS", "/nowhere"))
# Of each virtual environment: its task, what makes its episodes a success, and its script.
SIMULATORS = {
    "metaworld": (
        "gym:metaworld:Meta-World/MT1?env_name=peg-insert-side-v3",
        "any",
        "metaworld_peg.py",
    ),
    "fetch": ("gym:gymnasium_robotics:FetchPickAndPlace-v4", "", "fetch_pick.py"),
    "hil": (
        "gym:gym_hil/PandaPickCube-v0?random_block_position=true&reset_delay_seconds=0",
        "",
        "hil_pick.py",
    ),
    "so101": (
        "gym:lerobot_env_so101/SO101PickPlace-v0?random_block_position=true&action_scale=0.025",
        "",
        "so101_place.py",
    ),
    "libero": ("gym:libero_state:mine/Libero-v0", "", "libero_state.py"),
    "pusht": ("gym:gym_pusht/PushT-v0", "", ""),
}
SCRIPTED = [name for name, (_, _, script) in SIMULATORS.items() if script]


def python_of(name: str) -> str:
    """The interpreter of a simulator; skips the test where there is none."""
    python = WHERE / name / "bin" / "python"
    if not python.is_file():
        pytest.skip(f"ENPIRE_SIMULATORS has no {name}: docs/simulators.md says how to make it")
    return str(python)


@pytest.fixture(autouse=True)
def beside_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SCRIPTS)
    monkeypatch.setenv("MUJOCO_GL", "egl")


def run(stations: GymStations, seeds: list[int], controller: object) -> dict[int, Episode]:
    waiting, done = list(seeds), []
    while waiting or stations.busy:
        for row in stations.idle:
            if waiting:
                stations.begin(row, Job(waiting.pop(0), Purpose.EVALUATION, controller, "p"))
        done += stations.tick()
    return {episode.seed: episode for episode in done}


@pytest.mark.parametrize("name", SIMULATORS)
def test_episodes_are_judged_and_a_seed_fixes_them(name: str) -> None:
    task, success, script = SIMULATORS[name]
    order = Order(task, python_of(name), success, demonstrator=str(SCRIPTS / script) * bool(script))
    stations = open_stations(order, 2)
    assert isinstance(stations, GymStations)
    try:
        forth, back = (
            run(stations, seeds, RandomActions(stations.action_size)) for seeds in ([1, 2], [2, 1])
        )
        assert all(episode.verdict.outcome in JUDGED for episode in forth.values())
        for seed in forth:
            first, again = forth[seed].observations, back[seed].observations
            assert (first[0] == again[0]).all(), "a seed fixes the start"
        assert (forth[1].observations[0] != forth[2].observations[0]).any()
        if script:
            shown = run(stations, [3, 4, 5, 6], stations.starter[1])
            assert sum(episode.success for episode in shown.values()) >= 3
    finally:
        stations.close()


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_loop_begins_with_its_script(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, success, script = SIMULATORS[name]
    run_folder = tmp_path / "run"
    words = ["loop", "--task", task, "--python", python_of(name), "--run", str(run_folder)]
    words += ["--demonstrator", script, "--robots", "2", "--demonstrations", "8"]
    words += ["--start-episodes", "4", "--collect", "8", "--max-pairs", "4", "--max-rounds", "1"]
    words += ["--sealed-episodes", "4", "--recipe.warm_steps", "50"]
    code = main(words + (["--success", success] if success else []))
    assert code in (0, 3), capsys.readouterr().err
    result = json.loads((run_folder / "result.json").read_text())
    assert result["rounds"] == 1 or result["reached"]


def test_a_loop_without_a_success_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["loop", "--task", SIMULATORS["pusht"][0], "--python", python_of("pusht")]
    words += ["--run", str(tmp_path / "run"), "--robots", "2", "--demonstrations", "4"]
    assert main(words) != 0
    assert "nothing to begin with" in capsys.readouterr().err
