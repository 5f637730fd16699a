"""The command line, from its messages to a whole small loop."""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.cli import main
from enpire.cli.command_line import INTERRUPTED
from enpire.cli.helpers.summary import resume_command
from enpire.cli.options.parser import Parser
from enpire.cli.verbs import VERBS
from enpire.session.loop_settings import SETTINGS, flag
from enpire.store import Run
from enpire.types import Episode, Outcome, Purpose, Verdict

TINY = (
    *("loop", "--task", "pick_cube", "--robots", "3", "--recipe", "bc", "--demonstrations", "3"),
    *("--start-episodes", "4", "--collect", "4", "--max-pairs", "2", "--json"),
    # Of another process's training. The first policy fails for sure: one that succeeds on three of
    # four seeds is looked at more closely.
    *("--recipe.steps", "10", "--first-recipe.steps", "1"),
)
SMALL = (*TINY, "--max-rounds", "1")
NO_ROUND = (*TINY, "--max-rounds", "0")
PLANNED = {"demonstration": 3, "evaluation": 4, "collection": 4}  # the comparison apart
HEAVY = ("torch", "mujoco", "numpy", "scipy", "zarr", "rich", "lerobot")


def _last(text: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(text.splitlines()[-1])
    return result


def _raise_after(calls: int, what: Callable[[], object], inner: Any) -> Any:
    """`inner`, with `what` called just before call number `calls`."""
    seen = 0

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == calls:
            what()
        return inner(*args, **kwargs)

    return wrapped


# Help and messages


@pytest.mark.parametrize("argv", [["--help"], ["loop", "--help"], ["eval", "--help"]])
def test_help_imports_nothing_heavy(argv: list[str]) -> None:
    code = (
        "import sys; from enpire.cli import main; code = main(sys.argv[1:]);"
        f"sys.exit(code or ', '.join(m for m in {HEAVY} if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage: enpire" in done.stdout


def test_every_verb_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in VERBS:
        assert main([*verb.split(), "--help"]) == 0
        assert f"usage: enpire {verb}" in capsys.readouterr().out


def test_loop_options_are_the_settings() -> None:
    from enpire.rollout.loop.settings import LoopSettings

    apart = ("task", "recipe_settings", "first_recipe_settings", "helper_settings")
    declared = {name: of for name, of in LoopSettings.of("t").values().items() if name not in apart}
    assert {name: read(text) for name, (read, text, _) in SETTINGS.items()} == declared


def test_the_short_help_of_a_loop_fits_a_screen_and_says_where_the_rest_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["loop", "--help"]) == 0
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 50
    assert "--robots N" in short
    assert "--alpha" not in short
    assert "enpire loop --help-all" in short
    assert main(["loop", "--help-all"]) == 0
    whole = capsys.readouterr().out
    assert all(f"{flag(name)} " in whole for name in SETTINGS)
    assert "when a policy is promoted" in whole


def test_the_whole_help_of_a_verb_with_few_options_is_its_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tasks", "--help"]) == 0
    short = capsys.readouterr().out
    assert main(["tasks", "--help-all"]) == 0
    assert capsys.readouterr().out == short


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["lop"], ["'lop'", "loop"]),
        (["loop", "--task", "zip_ty"], ["unknown task", "zip_tie"]),
        (["loop", "--task", "pick_cube", "--recipe", "bcc"], ["unknown recipe", "bc"]),
        (["loop", "--task", "pick_cube", "--recipe.x", "1"], ["--recipe.x", "recipes show"]),
        (["loop", "--task", "pick_cube", "--recipe.lr"], ["--recipe.lr", "value"]),
        (["loop", "--task", "pick_cube", "--first-recipe.x", "1"], ["--first-recipe.x"]),
        (
            ["loop", "--task", "pick_cube", "--first-recipe.policy", "oracle"],
            ["--first-recipe.policy", "oracle"],
        ),
        (["loop", "--task", "pick_cube", "--recipe", "./no.py"], ["no.py", "not there"]),
        (["loop", "--task", "pick_cube", "--abort"], ["--abort", "best_of_n", "--recipe"]),
        (["recipes", "show"], ["which one"]),
        (["recipes", "shw", "bc"], ["shw", "show"]),
        (["loop", "--resume", "r", "--begin", "start"], ["--begin cannot be given", "budgets"]),
        (["loop", "--task", "pick_cube", "--robot", "2"], ["'--robot'", "--robots"]),
        (["loop", "--task", "pick_cube", "--robots", "0"], ["--robots", "at least 1"]),
        (["loop", "--task", "pick_cube", "--robots", "two"], ["--robots", "whole number"]),
        (["loop", "--task", "pick_cube", "--target", "1.5"], ["--target", "success rate"]),
        (["loop", "--task", "pick_cube", "--alpha", "nan"], ["--alpha", "between 0 and 1"]),
        (["loop", "--task", "pick_cube", "--max-time", "30"], ["--max-time", "30m"]),
        (["loop", "--task", "pick_cube", "--reset", "soft"], ["--reset", "fast or physical"]),
        (["loop", "--task", "gym:CartPole-v1", "--reset", "physical"], ["--reset", "itself"]),
        (["loop", "--task", "pick_cube", "--recover", "true"], ["--recover", "physical"]),
        (["loop"], ["--task", "--resume"]),
        (["loop", "--resume", "x", "--robots", "2"], ["--robots", "config.toml"]),
        (["bench", "twins"], ["unknown subject", "twin"]),
        (["bench", "fleet", "--stations", "1,x"], ["--stations 1,x", "1,2,4,8"]),
        (["list", "/nonexistent"], ["/nonexistent"]),
        (["render", "pick_cube", "picture.jpg"], [".png"]),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    argv: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert all(word in err for word in words), err


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("10h", 36000), ("1h30m", 5400), ("0.5m", 30)]
)
def test_durations(text: str, seconds: float) -> None:
    from enpire.option_values import duration

    assert duration(text) == seconds


def test_resume_command_gives_the_budgets_again(tmp_path: Path) -> None:
    words = resume_command(tmp_path, {"max_time": 5400.0, "max_rounds": 6}).split()
    assert words[1:] == [
        "loop",
        "--resume",
        str(tmp_path),
        "--max-time",
        "5400s",
        "--max-rounds",
        "6",
    ]


# Folders and packs that are not as they should be


def test_half_written_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.toml").write_text("")
    assert main(["show", str(tmp_path)]) == 1
    assert main(["loop", "--resume", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("never fully created") == 2


def without_a_script(name: str) -> None:
    """A task of one's own, where one is: it has none."""
    assert main(["new", "task", name]) == 0
    assert "PARAMETERS" not in (Path("tasks") / name / "task.py").read_text()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["mine", "--recipe", "bc,heuristic"], "mine has none"),
        (["mine", "--first-recipe", "heuristic"], "mine has none"),
        (["asking"], "tasks/asking/loop.toml asks for it: change it there, or give --recipe"),
    ],
)
def test_a_recipe_that_stations_cannot_serve_begins_no_run(
    argv: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    without_a_script("mine")
    without_a_script("asking")
    Path("tasks/asking/loop.toml").write_text('recipe = "heuristic"\n')
    assert main(["loop", "--task", *argv, "--run", str(tmp_path / "r")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_unwritable_run_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main([*SMALL, "--run", str(tmp_path / "file" / "run")]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("enpire: ")
    assert "file" in last


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class Broken(:\n", ["task.py:1", "SyntaxError"]),
        (
            "from enpire.environment import Task\n\n\nclass Bare(Task): ...\n",
            ["task.py:4", "lacks"],
        ),
    ],
)
def test_bad_pack_is_named_with_its_line(
    text: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tasks" / "broken"
    folder.mkdir(parents=True)
    (folder / "task.py").write_text(text)
    assert (
        main(["loop", "--task", str(folder), "--recipe", "bc", "--run", str(tmp_path / "r")]) == 1
    )
    err = capsys.readouterr().err
    assert all(word in err for word in words), err
    assert not (tmp_path / "r").exists()


# A whole loop


@pytest.mark.medium
def test_loop_runs_to_its_end_and_is_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "runs" / "one"
    assert main([*SMALL, "--run", str(folder)]) == 3
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    figures = json.loads((folder / "result.json").read_text())
    assert lines[-1] == figures
    events = [line["event"] for line in lines[:-1]]
    assert events[0] == "run"
    assert set(events) == {"run", "progress", "decision"}
    assert "trained" in [line["kind"] for line in lines if line.get("event") == "decision"]
    assert (figures["task"], figures["robots"], figures["reached"]) == ("pick_cube", 3, False)
    assert (figures["rounds"], figures["sealed_attempts"]) == (1, 0)
    assert figures["start"]["n"] == 4
    assert figures["final"]["sealed"] is False
    assert figures["wall_s"] > 0
    assert 0 < figures["mru"] <= 1
    assert set(figures["packs"]) == {"tasks/pick_cube", "robots/so101", "sim/bench"}
    with Run.open(folder) as run:
        rows = run.ledger.episodes()
        assert figures["episodes"] == len(rows)
        compared = [row for row in rows if row.round == 1 and row.purpose == "evaluation"]
        assert len(compared) >= 2 * 2
        assert Counter(row.purpose for row in rows if row not in compared) == PLANNED
        total = sum(row.reset_s + row.execute_s + row.verify_s for row in rows)
        assert figures["robot_hours"] == pytest.approx(total / 3600)
    config = tomllib.loads((folder / "config.toml").read_text())
    assert config["loop"]["collect"] == 4

    assert main(["list", str(folder.parent), "--json"]) == 0
    (row,) = _last(capsys.readouterr().out)["runs"]
    assert row["task"] == "pick_cube"
    assert row["robot_hours"] == pytest.approx(figures["robot_hours"])

    assert main(["show", str(folder), "--json"]) == 0
    shown = _last(capsys.readouterr().out)
    assert [r["round"] for r in shown["rounds"]] == [1]
    assert "trained" in [d["kind"] for d in shown["decisions"]]
    assert sum(shown["failures_by_stage"].values()) <= len(rows)
    assert main(["show", str(folder)]) == 0
    assert "failures by predicate" in capsys.readouterr().out

    asked = ["eval", "--policy", str(folder), "--episodes", "3", "--robots", "2", "--json"]
    assert main([*asked, "--seed", "5"]) == 0
    measured = _last(capsys.readouterr().out)
    assert (measured["n"], measured["entropy"], measured["fresh"]) == (3, 5, False)
    assert measured["ci95"][0] <= measured["success"] <= measured["ci95"][1]
    assert main([*asked, "--task", "zip_tie"]) == 1
    assert "made for pick_cube" in capsys.readouterr().err
    assert main(["eval", "--policy", f"{folder}:policy-9"]) == 1
    assert "policy-1" in capsys.readouterr().err

    both = [f"{folder}:policy-0", f"{folder}:policy-1"]
    assert main(["rank", *both, "--episodes", "3", "--robots", "2", "--seed", "5", "--json"]) == 0
    ranked = _last(capsys.readouterr().out)["policies"]
    assert sorted(row["policy"] for row in ranked) == both
    assert [row["n"] for row in ranked] == [3, 3]
    assert main(["rank", both[0], both[0]]) == 2
    assert "two different" in capsys.readouterr().err

    assert main(["loop", "--resume", str(folder), "--json"]) == 3
    again = _last(capsys.readouterr().out)
    assert again["episodes"] == figures["episodes"]
    assert again["wall_s"] > figures["wall_s"]

    with Run.open(folder, writable=True) as run:
        packs = json.loads(run.ledger.facts()["packs"])
        run.ledger.set_facts({"packs": json.dumps(packs | {"tasks/pick_cube": "0" * 64})})
    assert main(["loop", "--resume", str(folder)]) == 1
    assert "tasks/pick_cube changed" in capsys.readouterr().err


@pytest.mark.medium
def test_target_on_sealed_seeds_ends_the_loop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy that is always right, in the words of a verifier that is asked to be kind."""
    from enpire.environment import Stations
    from enpire.rollout.loop import round_decisions

    finish = Stations._finish

    def kind(self: Stations, row: int, verdict: Verdict) -> Episode:
        return finish(self, row, Verdict(Outcome.SUCCESS))

    monkeypatch.setattr(Stations, "_finish", kind)
    monkeypatch.setattr(round_decisions, "ENOUGH", 4)
    assert main([*SMALL, "--target", "0.5", "--sealed-episodes", "3", "--run", str(tmp_path)]) == 0
    figures = _last(capsys.readouterr().out)
    assert figures["reached"] is True
    assert figures["rounds"] == 0
    assert figures["final"]["sealed"] is True
    assert (figures["final"]["success"], figures["final"]["n"]) == (1.0, 3)
    assert (figures["final"]["attempt"], figures["sealed_attempts"]) == (1, 1)
    assert 0.25 <= figures["final"]["at_least"] < 0.5, "with three episodes"
    assert figures["speed"]["successes"] == 3
    assert figures["robot_hours_sealed"] > 0
    with Run.open(tmp_path) as run:
        sealed = run.ledger.episodes({Purpose.SEALED})
        spent = sum(row.reset_s + row.execute_s + row.verify_s for row in sealed)
    assert figures["robot_hours_sealed"] == pytest.approx(spent / 3600)


@pytest.mark.medium
def test_interrupted_loop_goes_on_and_repeats_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from enpire.environment import Stations

    before = signal.getsignal(signal.SIGINT)
    stop = functools.partial(signal.raise_signal, signal.SIGINT)
    monkeypatch.setattr(Stations, "tick", _raise_after(250, stop, Stations.tick))
    assert main([*SMALL, "--run", str(tmp_path)]) == INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is before
    out, err = capsys.readouterr()
    assert f"loop --resume {tmp_path}" in err, "stdout is for programs"
    cut = _last(out)
    assert cut["ended"] == "interrupted"
    with Run.open(tmp_path) as run:
        first = {row.id: row.outcome for row in run.ledger.episodes()}
    assert Outcome.ABORTED in first.values()

    assert main(["loop", "--resume", str(tmp_path), "--json"]) == 3
    figures = _last(capsys.readouterr().out)
    assert figures["wall_s"] > cut["wall_s"]
    with Run.open(tmp_path) as run:
        rows = run.ledger.episodes()
        done = [r for r in rows if r.outcome is not Outcome.ABORTED]
        intervals = run.ledger.intervals(station=0)
    assert set(first) <= {row.id for row in rows}
    keys = [(row.purpose, row.policy, row.round, row.seed) for row in done]
    assert len(set(keys)) == len(keys)
    counts = Counter(row.purpose for row in done if row.round == 0 or row.purpose != "evaluation")
    assert counts == PLANNED
    ends = [interval.end_s for interval in intervals]
    starts = [interval.start_s for interval in intervals]
    assert all(a <= b + 1e-9 for a, b in zip(ends, starts[1:], strict=False))


def test_a_station_of_a_run_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from enpire.rollout.fleet.requests import Request, Requests

    folder = tmp_path / "run"
    assert main(["station", "pause", str(folder), "0"]) != 0
    with Run.create(folder, {"loop": {"task": "reach", "robots": 2}}) as run:
        requests = Requests(run.folder)
        assert main(["station", "pause", str(folder), "2"]) == 2
        assert "no station 2: 0 to 1" in capsys.readouterr().err
        assert main(["station", "resume", str(folder), "1", "--why", "new cable"]) == 0
        assert requests.take() == [Request(1, False, "resumed by a person: new cable")]
    assert main(["station", "resume", str(folder), "1"]) == 1
    assert "no loop works on" in capsys.readouterr().err


@pytest.mark.medium
def test_real_pace_takes_its_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Robot time is time on the wall, and where it went adds up."""
    real = ("--pace", "real", "--reset-time", "1s", "--latency", "0.1s", "--fault-every", "0")
    assert main([*NO_ROUND, *real, "--run", str(tmp_path)]) == 3
    figures = _last(capsys.readouterr().out)
    spent = figures["robot_s_by_phase"]
    assert spent["reset"] > 0.5 * figures["episodes"]
    assert sum(spent.values()) <= 3 * figures["wall_s"]
    with Run.open(tmp_path) as run:
        assert run.config["loop"]["staleness"] == 1
        assert run.config["loop"]["repair_time"] == 60.0
        ends = [max(i.end_s for i in run.ledger.intervals(row)) for row in range(3)]
    assert max(ends) - min(ends) < 0.1


def test_a_run_is_called_after_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*SMALL, "--max-robot-hours", "0.001"]) == 3
    (folder,) = Path("runs").iterdir()
    assert re.fullmatch(r"\d{8}-pick_cube-1", folder.name)


@pytest.mark.medium
def test_interrupt_drops_a_training_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from enpire.improvement.training_process import SubprocessTrainer

    stop = functools.partial(signal.raise_signal, signal.SIGTERM)
    monkeypatch.setattr(SubprocessTrainer, "begin", _raise_after(1, stop, SubprocessTrainer.begin))
    assert main([*NO_ROUND, "--run", str(tmp_path)]) == INTERRUPTED
    assert _last(capsys.readouterr().out)["policy"] == ""
    assert main(["loop", "--resume", str(tmp_path)]) == 3


def test_robot_hours_end_a_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--max-robot-hours", "0.001", "--run", str(tmp_path)]) == 3
    out = capsys.readouterr().out
    assert "--max-robot-hours is used up" in out
    assert _last(out)["robot_hours"] < 0.02


# What goes wrong on the way


@pytest.mark.medium
def test_actions_that_are_no_numbers_end_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from enpire.policies.chunk import Inference

    infer = Inference.__call__

    def nothing(self: Inference, history: Any) -> Any:
        return np.full_like(infer(self, history), np.nan)

    monkeypatch.setattr(Inference, "__call__", nothing)
    assert main([*SMALL, "--run", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert "not finite" in err
    assert "Traceback" not in err
    with Run.open(tmp_path) as run:
        outcomes = [row.outcome for row in run.ledger.episodes({Purpose.EVALUATION})]
        assert outcomes == [Outcome.ABORTED] * 3
        assert len(run.episodes()) == 3 + 3
        assert run.ledger.facts()["state"].startswith("failed")


@pytest.mark.medium
def test_full_disk_ends_the_run_and_leaves_it_readable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from enpire.store import run as runs
    from enpire.store.durable import full_disk

    def fail() -> None:
        raise full_disk(tmp_path)

    monkeypatch.setattr(runs, "write_frozen", _raise_after(2, fail, runs.write_frozen))
    assert main([*SMALL, "--run", str(tmp_path)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("enpire: ")] == lines[-1:]
    assert str(tmp_path) in lines[-1]
    monkeypatch.undo()
    with Run.open(tmp_path) as run:
        assert len(run.episodes()) == 3  # the demonstrations, flushed before the training


def test_list_survives_a_broken_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.toml").write_text("")
    assert main(["list", str(tmp_path), "--json"]) == 0
    listed = _last(capsys.readouterr().out)
    assert listed["runs"] == []
    assert "never fully created" in listed["unreadable"][0]["error"]


@pytest.mark.parametrize(
    ("verb", "name"), [("tasks", "pick_cube"), ("robots", "so101"), ("recipes", "residual_rl")]
)
def test_what_is_there_is_listed(verb: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb]) == 0
    assert any(line.startswith(f"{name} ") for line in capsys.readouterr().out.splitlines())


def test_reader_that_leaves_early_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    code = "import sys; from enpire.cli import main; sys.exit(main(['--help']))"
    with os.fdopen(write, "wb") as gone:
        done = subprocess.run([sys.executable, "-c", code], stdout=gone, stderr=subprocess.PIPE)
    assert b"Traceback" not in done.stderr


def test_where_a_task_begins_may_still_be_said_by_its_old_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for verb in ("loop", "eval", "collect"):
        module, _ = VERBS[verb]
        parser = Parser(verb, "")
        importlib.import_module(f"enpire.cli.{module}").add_options(parser)
        policy = ["--policy", "random"] if verb == "eval" else []
        words = ["--task", "zip_tie", *policy]
        assert parser.parse_args([*words, "--from", "start"]).begin == "start"
        assert "--begin start" in capsys.readouterr().err
        assert parser.parse_args([*words, "--begin", "start"]).begin == "start"
        assert not capsys.readouterr().err
