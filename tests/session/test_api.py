"""`enpire.improve` and `enpire.evaluate`: what the command line does, without printing a word."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import enpire
from enpire.cli.options.parser import Parser
from enpire.errors import PolicyError, StoreError, UsageError
from enpire.session import api
from enpire.session.api_options import EvaluateOptions, ImproveOptions
from enpire.session.improvement import LoopEnd
from enpire.store import Run

SMALL: dict[str, Any] = {
    "robots": 2,
    "demonstrations": 3,
    "start_episodes": 4,
    "collect": 4,
    "max_pairs": 2,
    "max_rounds": 1,
    "recipe": "bc",
    "recipe_settings": {"steps": 10},
    "first_recipe_settings": {"training": {"steps": 10}},
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> enpire.Improvement:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return enpire.improve("pick_cube", run=folder, seed=5, **SMALL)


@pytest.mark.medium
def test_a_loop_is_told_as_its_run_has_it(result: enpire.Improvement) -> None:
    run = enpire.Run(result.run.folder)
    loop = run.config["loop"]
    assert (loop["robots"], loop["seed"], loop["collect"]) == (2, 5, 4)
    assert loop["first_recipe_settings"] == {"deviation": "1.0", "training.steps": "10"}
    assert run.config["budget"] == {"max_rounds": 1}
    assert (result.task, result.rounds, result.reached, result.sealed) == (
        *("pick_cube", 1),
        *(False, False),
    )
    assert result.success == run.success
    assert result.start.trials == 4
    assert result.robot_hours == pytest.approx(run.robot_hours)
    assert result.ended == run.state == "--max-rounds is used up"
    assert "pick_cube: success from" in str(result)
    assert {e.purpose for e in run.episodes} >= {"demonstration", "evaluation", "collection"}


@pytest.mark.medium
def test_a_run_goes_on_and_a_budget_is_the_only_thing_to_change(
    result: enpire.Improvement, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    again = enpire.improve(resume=result.run, max_rounds=1)
    assert capfd.readouterr() == ("", ""), "a library prints nothing that nobody asked for"
    assert (again.rounds, len(again.run.episodes)) == (1, len(result.run.episodes))
    with pytest.raises(UsageError, match="robots cannot be given with resume"):
        enpire.improve(resume=result.run, robots=3)


@pytest.mark.medium
def test_an_evaluation_is_that_of_the_command_line(
    result: enpire.Improvement, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from enpire.cli import main

    measured = enpire.evaluate(result, episodes=4, seed=9, run=tmp_path / "kept")
    assert capfd.readouterr() == ("", "")
    at = str(result.run.folder)
    assert main(["eval", "--policy", at, "--episodes", "4", "--seed", "9"]) == 0
    said = capfd.readouterr().out
    assert said.startswith(str(measured)), said
    assert measured.run is not None
    assert [e.outcome for e in measured.run.episodes] == [
        e.outcome for e in enpire.Run(tmp_path / "kept").episodes
    ]
    assert sum(measured.outcomes.values()) == 4
    loaded = enpire.evaluate(result.run.load_policy(), task="pick_cube", episodes=4, seed=9)
    assert loaded.success == measured.success


@pytest.mark.medium
def test_a_function_of_ones_own_is_measured(tmp_path: Path) -> None:
    seen: list[int] = []

    class Counting:
        """Says once an episode what acts in it."""

        def begin(self, task: Any) -> Callable[[Any], Any]:
            seen.append(0)
            return lambda observation: np.full(7, 0.1)

    def still(observation: Any) -> Any:
        seen.append(len(observation))
        return np.zeros(7)

    measured = enpire.evaluate(still, task="pick_cube", episodes=2, robots=1, seed=1)
    assert set(seen) == {16}, "the observation of pick_cube"
    assert (measured.policy, measured.success.successes) == ("still", 0)
    assert "actions are the same, (0, 0, 0, etc), whatever" in " ".join(measured.notes)
    assert all(note in str(measured) for note in measured.notes), "who prints it reads them"
    seen.clear()
    own = cast(Callable[[Any], Any], Counting())
    assert enpire.evaluate(own, task="pick_cube", episodes=2, seed=1).policy == "Counting"
    assert len(seen) == 2


@pytest.mark.medium
def test_what_acts_in_no_sense_is_told_with_its_line() -> None:
    def short(observation: Any) -> Any:
        return np.zeros(3)

    def broken(observation: Any) -> Any:
        return 1 / 0

    with pytest.raises(PolicyError, match=r"test_api.py: an action has shape \(3,\), not \(7,\)"):
        enpire.evaluate(short, task="pick_cube", episodes=1)
    with pytest.raises(PolicyError, match=r"test_api.py:\d+: ZeroDivisionError"):
        enpire.evaluate(broken, task="pick_cube", episodes=1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"task": "pick_cub"}, "unknown task 'pick_cub'; did you mean pick_cube"),
        ({"robots": 0}, "robots=0: 0 is too few: give at least 1"),
        ({"robots": True}, "robots=True: give a number or a text"),
        ({"robots": 1.5}, "robots=1.5: '1.5' is no whole number"),
        ({"target": 99}, "target=99: 99 is no success rate"),
        ({"max_time": -1}, "max_time=-1: '-1s' is no duration"),
        ({"robot": 3}, "improve: unknown keyword 'robot'; did you mean robots"),
        ({"recipe": "lookahed"}, "unknown recipe 'lookahed'"),
        ({"recipe": "bc", "recipe_settings": {"stps": 1}}, "stps: no such setting"),
        ({"recipe_settings": 3}, "recipe_settings=3: give a dictionary"),
        ({"vary_looks": "yes"}, "vary_looks='yes': give True or False"),
        ({"begin": "middle"}, "begin='middle': 'middle' is no place to begin"),
        ({"track": "paper"}, "unknown tracker 'paper'"),
        ({"resume": "runs/x"}, "a task, or a run to resume"),
        ({"task": ""}, "a task, or a run to resume"),
        ({"run": 3}, "run=3: give a path"),
        ({"dry_run": True}, "are for arms"),
        ({"recover": "true"}, "--recover is for --reset physical"),
    ],
)
def test_a_wrong_keyword_is_one_sentence_and_no_run(
    given: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as raised:
        enpire.improve(**{"task": "pick_cube"} | given)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("policy", "given", "kind", "words"),
    [
        ("nowhere", {}, StoreError, "there is no run at nowhere"),
        (".", {}, StoreError, "is not a run folder"),
        ("random", {}, UsageError, "give --task too"),
        ("mine.py", {"task": "pick_cube"}, UsageError, "there is no such file"),
        (None, {}, UsageError, "policy=None: give a run"),
        (3, {}, UsageError, "policy=3: give a run"),
        ("random", {"task": "pick_cube", "episodes": 0}, UsageError, "episodes=0: 0 is too few"),
        ("random", {"task": "pick_cube", "episode": 1}, UsageError, "did you mean episodes"),
        ("random", {"task": "pick_cube", "station": ["a"], "reset": "fast"}, UsageError, "arms"),
    ],
)
def test_a_wrong_evaluation_is_one_sentence(
    policy: Any, given: dict[str, Any], kind: type[Exception], words: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=words):
        enpire.evaluate(policy, **given)
    assert list(tmp_path.iterdir()) == []


def test_a_policy_of_another_task_is_refused(tmp_path: Path) -> None:
    from enpire.policies import ChunkPolicy, ChunkSpec, metadata

    policy = ChunkPolicy(ChunkSpec("other", 5, 2))
    with Run.create(tmp_path / "run", {"loop": {"task": "other"}}) as run:
        run.save_policy("policy-0", policy.tensors(), metadata(policy))
    with pytest.raises(PolicyError, match="made for other, maps 5 observations to 2 actions"):
        enpire.evaluate(tmp_path / "run", task="pick_cube", episodes=1)


def test_who_interrupts_gets_the_interrupt_once_all_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = LoopEnd(Path("runs/x"), {}, reached=False, interrupted=True)
    monkeypatch.setattr(api, "begin_loop", lambda *_: end)
    with pytest.raises(KeyboardInterrupt, match="runs/x is recorded"):
        enpire.improve("pick_cube")


def test_the_process_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads(), sys.getswitchinterval()
    during = []

    def stop(*_: Any) -> LoopEnd:
        during.append((torch.get_num_threads(), sys.getswitchinterval()))
        raise UsageError("enough")

    monkeypatch.setattr(api, "begin_loop", stop)
    torch.set_num_threads(2)
    try:
        with pytest.raises(UsageError, match="enough"):
            enpire.improve("pick_cube")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before[0])
    assert sys.getswitchinterval() == before[1]
    assert during[0][0] == 1


@pytest.mark.parametrize(
    ("verb", "module", "call", "keywords"),
    [
        ("loop", "loop", enpire.improve, ImproveOptions),
        ("eval", "evaluate", enpire.evaluate, EvaluateOptions),
    ],
)
def test_keywords_are_the_options_of_the_command_line(
    verb: str, module: str, call: Callable[..., Any], keywords: Any
) -> None:
    parser = Parser(verb, "")
    importlib.import_module(f"enpire.cli.{module}").add_options(parser)
    options = {action.dest for action in parser._actions} - {
        "help",
        "help_all",
        "json",
        "menagerie",
    }
    named = {
        n for n, p in inspect.signature(call).parameters.items() if p.kind is not p.VAR_KEYWORD
    }
    tables = set(api.TABLES) if verb == "loop" else set()
    assert named | set(keywords.__annotations__) == options | tables | {"progress"}
