"""The command line between runs of ours and what LeRobot has: policies and datasets."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.cli import main
from enpire.policies import Correction, CorrectionSpec, LeRobotPolicy, ResidualPolicy, metadata
from enpire.store import Run
from enpire.types import Purpose
from tests.policies.lerobots import folder_of

pytestmark = pytest.mark.medium

SEEN, DONE = 16, 7  # of pick_cube
FEW = ("--robots", "2", "--start-episodes", "2", "--max-rounds", "0", "--json")
NOT_REACHED = 3


@pytest.fixture(autouse=True)
def _quick_training(monkeypatch: pytest.MonkeyPatch) -> None:
    from enpire.improvement.behaviour_cloning import Training
    from enpire.improvement.recipes import bc

    quick = functools.partial(bc.BehaviourCloning, training=Training(steps=10))
    monkeypatch.setattr(bc, "RECIPE", quick)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of("act", tmp_path_factory.mktemp("policies") / "act", SEEN, DONE)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with some demonstrations of pick_cube."""
    folder = tmp_path_factory.mktemp("runs") / "shown"
    asked = ("loop", "--task", "pick_cube", "--demonstrations", "3", "--run", str(folder))
    assert main([*asked, *FEW, "--first-recipe.steps", "10"]) == NOT_REACHED
    return folder


def last(text: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(text.splitlines()[-1])
    return said


def test_a_dataset_goes_out_and_in_and_begins_a_loop(
    shown: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset, back, run = tmp_path / "set", tmp_path / "back", tmp_path / "run"
    assert main(["export", "lerobot", str(shown), str(dataset), "--purpose", "demonstration"]) == 0
    assert "3 episodes" in capsys.readouterr().out
    assert main(["import", "lerobot", str(dataset), str(back), "--task", "pick_cube"]) == 0
    with Run.open(shown) as one, Run.open(back) as other:
        pairs = zip(one.episodes(Purpose.DEMONSTRATION), other.episodes(), strict=True)
        for there, here in pairs:
            assert there.observations.tobytes() == here.observations.tobytes()
            assert there.actions.tobytes() == here.actions.tobytes()
            assert there.stamps.tobytes() == here.stamps.tobytes()
    asked = ["loop", "--task", "pick_cube", "--demonstrations-of", str(back), "--run", str(run)]
    assert main([*asked, *FEW, "--first-recipe.steps", "10"]) == NOT_REACHED
    with Run.open(run) as begun:
        ids = [episode.id for episode in begun.episodes(Purpose.DEMONSTRATION)]
    assert len(ids) == 3, "none is recorded beside those that were given"
    assert all(id.startswith("adopted-imported-set-") for id in ids)


def test_joint_actions_go_out_and_in_as_motors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, dataset, back = tmp_path / "shown", tmp_path / "set", tmp_path / "back"
    task = "pick_cube@joints"
    asked = ("loop", "--task", task, "--demonstrations", "2", "--run", str(shown))
    assert main([*asked, *FEW, "--first-recipe.steps", "10"]) == NOT_REACHED
    assert main(["export", "lerobot", str(shown), str(dataset), "--purpose", "demonstration"]) == 0
    features = json.loads((dataset / "meta/info.json").read_text())["features"]
    motors = ["shoulder_pan.pos", "shoulder_lift.pos", "elbow_flex.pos", "wrist_flex.pos"]
    motors += ["wrist_roll.pos", "gripper.pos"]
    assert features["action"]["names"] == features["observation.state"]["names"] == motors
    assert "cube_from_hand_x" in features["observation.environment_state"]["names"]
    into = ["import", "lerobot", str(dataset), str(back)]
    assert main([*into, "--task", task]) == 1
    assert "--degrees" in capsys.readouterr().err
    assert main([*into, "--task", task, "--degrees"]) == 0
    with Run.open(shown) as one, Run.open(back) as other:
        pairs = zip(one.episodes(Purpose.DEMONSTRATION), other.episodes(), strict=True)
        for there, here in pairs:
            left_out = len(there) - len(here)  # in which the arm stood still
            assert 0 <= left_out < 10
            np.testing.assert_allclose(here.actions, there.actions[left_out:], atol=1e-5)
            np.testing.assert_allclose(here.observations, there.observations[left_out:], atol=1e-5)


def test_a_policy_is_measured_and_ranked(
    given: Path, shown: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--episodes", "2", "--robots", "2", "--json"]
    assert main(["eval", "--policy", str(given), "--task", "pick_cube", *few]) == 0
    said = last(capsys.readouterr().out)
    assert (said["n"], said["policy"]) == (2, str(given))
    assert said["sha256"] == LeRobotPolicy.read(given).sha256
    assert main(["rank", str(given), str(shown), *few]) == 0
    ranked = last(capsys.readouterr().out)
    assert {row["policy"] for row in ranked["policies"]} == {str(given), str(shown)}


def test_without_a_task_it_asks_for_one(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--policy", str(given)]) == 2
    assert "give --task" in capsys.readouterr().err
    assert main(["eval", "--policy", str(given), "--task", "zip_tie"]) == 1
    assert "maps 16 observations to 7 actions" in capsys.readouterr().err


def test_a_loop_begins_with_it_and_gives_it_back(given: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    asked = ["loop", "--task", "pick_cube", "--policy", str(given), "--run", str(run)]
    assert main([*asked, *FEW]) == NOT_REACHED
    with Run.open(run) as begun:
        (row,) = begun.ledger.policies()
        assert (row.name, row.recipe, row.state) == ("policy-0", "given", "incumbent")
        assert begun.config["loop"]["recipe"] == "dagger"
        assert [e.purpose for e in begun.episodes()] == [Purpose.EVALUATION] * 2
    assert main(["export", "policy", str(run), str(tmp_path / "out")]) == 0
    assert LeRobotPolicy.read(tmp_path / "out").files == LeRobotPolicy.read(given).files


def test_other_policies_are_not_lerobots(
    shown: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "policy", str(shown), str(tmp_path / "out")]) == 2
    assert "of kind 'flow'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_round_finetunes_it(given: Path, shown: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    begin = ["loop", "--task", "pick_cube", "--policy", str(given), "--run", str(run)]
    few = ["--robots", "2", "--start-episodes", "2", "--max-rounds", "1", "--collect", "2"]
    tiny = [
        "--max-pairs",
        "2",
        "--recipe",
        "finetune",
        "--recipe.steps",
        "3",
        "--recipe.batch",
        "4",
    ]
    code = main([*begin, "--demonstrations-of", str(shown), *few, *tiny])
    assert code == NOT_REACHED
    with Run.open(run) as ended:
        kept = {row.name: row for row in ended.ledger.policies()}
        assert kept["policy-1"].recipe == "finetune"
        before, _ = ended.load_policy("policy-0")
        after, _ = ended.load_policy("policy-1")
    assert before.keys() == after.keys()
    weights = "model.safetensors"
    assert not np.array_equal(before[weights], after[weights])


def test_one_that_sees_acts_and_its_run_is_exported(tmp_path: Path) -> None:
    """Stations take the pictures that it wants; the dataset has them, and the state that it had."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    from enpire.environment import build_stations
    from enpire.environment.core.policy_cameras import policy_cameras_of

    stations = build_stations("pick_cube", 1, 1)
    policy_cameras = policy_cameras_of(stations.task, stations.sensors, 64)
    seeing = folder_of(
        "act", tmp_path / "act", len(policy_cameras.felt), DONE, policy_cameras.cameras[:1], 64
    )
    run, dataset = tmp_path / "run", tmp_path / "set"
    asked = ["loop", "--task", "pick_cube", "--policy", str(seeing), "--run", str(run)]
    assert main([*asked, *FEW]) == NOT_REACHED
    assert main(["export", "lerobot", str(run), str(dataset)]) == 0
    assert main(["export", "policy", str(run), str(tmp_path / "out")]) == 0
    assert LeRobotPolicy.read(tmp_path / "out").files == LeRobotPolicy.read(seeing).files
    with Run.open(run) as begun:
        assert begun.config["loop"]["images"] == 64
        first = next(iter(begun.episodes()))
    assert first.pictured[0] == 0
    row = LeRobotDataset("set", dataset, video_backend="pyav")[0]
    np.testing.assert_array_equal(
        row["observation.state"], first.observations[0, list(policy_cameras.felt)]
    )
    for i, camera in enumerate(policy_cameras.cameras):
        picture = row[f"observation.images.{camera}"].permute(1, 2, 0) * 255
        np.testing.assert_array_equal(picture.round(), first.pictures[0, i])


def test_of_what_stands_on_it_lerobot_gets_the_base(
    given: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = LeRobotPolicy.read(given)
    head = Correction(CorrectionSpec(SEEN, DONE, history=1, chunk=4, reach=1.0))
    policy = ResidualPolicy(base, head)
    with Run.create(tmp_path / "run", {}) as run:
        run.save_policy("p", policy.tensors(), metadata(policy), state="incumbent")
    asked = ["export", "policy", f"{tmp_path / 'run'}:p", str(tmp_path / "out")]
    assert main(asked) == 2
    assert "--base writes the first" in capsys.readouterr().err
    assert main([*asked, "--base"]) == 0
    assert LeRobotPolicy.read(tmp_path / "out").files == base.files
    few = ["--episodes", "2", "--robots", "2", "--json"]
    assert main(["eval", "--policy", asked[2], "--task", "pick_cube", *few]) == 0
    assert last(capsys.readouterr().out)["n"] == 2
