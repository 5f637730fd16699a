"""`enpire stress`, from what it refuses to a table that is kept and shown."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.certification.grid import BASELINE
from enpire.certification.stress import measure
from enpire.cli import main
from enpire.environment import build_stations
from enpire.policies import SkillPolicy, SkillSpec, metadata
from enpire.policies.skill import SkillController
from enpire.rollout.evaluation.seeds import stream
from enpire.store import Run
from enpire.store.stress import keep_stress

SMALL = ("--episodes", "4", "--seed", "5", "--robots", "2", "--threads", "1", "--json")
POINTS = ["latency+30ms", "baseline", "stiffness-x0.6"]
# Slow and late, so that it misses what is far or turned. Whatever succeeds has half the time left,
# and the rest tries again in vain: rounding, which differs by machine, does not mix the two.
SLUGGISH = {"gain": 0.1, "above": 0.06, "newest": 0.1}


def saved(folder: Path, **changed: float) -> Path:
    """Make a run whose policy is the skill script, with some of its plain values changed."""
    stations = build_stations("pick_cube", 1, 1)
    values = {parameter.name: parameter.plain for parameter in stations.parameters} | changed
    spec = SkillSpec("pick_cube", stations.observation_size, stations.action_size, tuple(values))
    policy = SkillPolicy(spec, np.array(list(values.values())))
    with Run.create(folder, {"loop": {"task": "pick_cube"}}) as run:
        run.save_policy("policy-0", policy.tensors(), metadata(policy), state="incumbent")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run whose policy is the skill script."""
    return saved(tmp_path / "run")


def last(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return result


def test_a_policy_under_some_points_is_kept_and_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stress", str(folder), "--only", ",".join(POINTS), *SMALL]) == 0
    output = capsys.readouterr().out
    assert "holds" in output
    measured = json.loads(output.splitlines()[-1])
    rows = {row["point"]: row for row in measured["points"]}
    assert set(rows) == set(POINTS)
    assert [rows[name]["n"] for name in POINTS] == [4, 4, 0]
    assert 0 < rows["baseline"]["audited"] <= 4, "all but what a force has ended"
    assert rows["stiffness-x0.6"]["missing"] == "the scene has none"
    assert (measured["entropy"], measured["fresh"], measured["passed"]) == (5, False, True)
    assert measured["kept"] == str(folder / "stress" / "policy-0.json")

    assert main(["show", str(folder)]) == 0
    assert "latency+30ms" in capsys.readouterr().out
    assert main(["show", str(folder), "--json"]) == 0
    assert set(last(capsys)["stress"]) == {"policy-0"}


def test_a_row_of_another_version_is_told_as_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = {"task": "pick_cube", "sha256": "", "packs": {}, "verified_by": "sensors only"}
    keep_stress(folder, "policy-0", same | {"points": [{"point": "baseline", "audited": 3}]})
    assert main(["show", str(folder)]) == 0
    assert "cannot be read" in capsys.readouterr().out
    assert main(["report", str(folder)]) == 0


@pytest.mark.medium
def test_without_a_change_it_is_what_eval_measures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved(tmp_path / "run", **SLUGGISH)
    asked = ["--episodes", "12", "--seed", "5", "--robots", "2", "--json"]
    assert main(["eval", "--policy", str(folder), *asked]) in (0, 1)
    evaluated = last(capsys)
    seeds = list(islice(stream(5, "eval"), 12))

    def act(stations: Any) -> SkillController:
        plain = {p.name: p.plain for p in stations.parameters}
        return SkillController(stations.task, plain | SLUGGISH)

    result = measure(
        lambda point: build_stations("pick_cube", 2, 1, perturbation=point),
        act,
        BASELINE,
        seeds,
        "policy-0",
    )
    assert result.success.successes == evaluated["successes"]
    assert result.success.trials == evaluated["n"]
    assert dict(result.failures) == evaluated["failures_by_predicate"]
    assert 0 < result.success.successes < 12, "with and without success: the counts tell something"


@pytest.mark.parametrize("controller", ["demonstrator", "skill"])
def test_a_script_belongs_to_no_run(controller: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["stress", "--task", "pick_cube", "--controller", controller, "--only", "baseline"]
    assert main([*asked, *SMALL]) == 0
    measured = last(capsys)
    assert (measured["policy"], measured["kept"]) == (controller, None)
    assert measured["points"][0]["n"] == 4


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ([], 2, "say what is to be measured"),
        (["--controller", "skill"], 2, "give --task too"),
        (["RUN", "--controller", "skill", "--task", "pick_cube"], 2, "one of them acts"),
        (["RUN", "--only", "latency"], 2, "did you mean latency+30ms"),
        (["--controller", "skill", "--task", "gym:CartPole-v1"], 2, "a world of its own"),
        (["RUN", "--task", "zip_tie", "--only", "baseline"], 1, "made for pick_cube"),
        (["RUN:policy-9"], 1, "policy-0"),
    ],
)
def test_what_cannot_be_measured(
    argv: list[str], code: int, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word.replace("RUN", str(folder)) for word in argv]
    assert main(["stress", *given]) == code
    assert said in capsys.readouterr().err
    assert not (folder / "stress").exists()
