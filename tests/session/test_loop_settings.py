"""What a task's `loop.toml` may say, and what is given over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.errors import PackError, StoreError, UsageError
from enpire.improvement.online import is_online
from enpire.improvement.recipe_finding import find as find_recipe
from enpire.improvement.recipe_finding import schedule
from enpire.improvement.recipes.bc import BehaviourCloning
from enpire.packs import find
from enpire.packs.finder import available
from enpire.rollout.loop.settings import LoopSettings
from enpire.session.loop_settings import first, least_sealed, merged, of_task, read_settings
from enpire.store import Run

SAID = """
recipe = "heuristic"
first_recipe = "mine.py"
demonstrations = 150
exploration = 0.25
execute = 2
[recipe_settings]
candidates = 10
[first_recipe_settings]
policy = "flow"
training.steps = 3000
"""


def said(folder: Path, text: str) -> dict[str, object]:
    (folder / "task.py").touch()
    (folder / "loop.toml").write_text(text)
    return of_task(find("tasks", str(folder)))


def test_a_task_has_a_loop_of_its_own(tmp_path: Path) -> None:
    assert said(tmp_path, SAID) == {
        "recipe": "heuristic",
        "first_recipe": str(tmp_path / "mine.py"),
        "demonstrations": 150,
        "exploration": 0.25,
        "execute": 2,
        "recipe_settings": {"candidates": "10"},
        "first_recipe_settings": {"policy": "flow", "training.steps": "3000"},
    }
    assert said(tmp_path, "") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("demonstrations = ", "loop.toml"),
        ("demonstrations = 0", "demonstrations"),
        ("exploration = 1.5", "exploration"),
        ("execute = 9", "a chunk has 8 actions"),
        ("seed = 3", "unknown 'seed'"),
        ("[settings]\nlr = 1", "unknown 'settings'"),
        ("recipe_settings = 3", "unknown 'recipe_settings'"),
        ("collect = -3", "-3 is too few"),
        ("exploration = nan", "nan is out of range"),
        ("collect = 1.5", "no whole number"),
    ],
)
def test_what_is_no_setting_is_named(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(PackError, match=words) as error:
        said(tmp_path, text)
    assert str(tmp_path / "loop.toml") in str(error.value)


def test_a_file_as_other_editors_leave_it(tmp_path: Path) -> None:
    """With a byte order mark, another end of lines; in another encoding; a folder in its place."""
    assert said(tmp_path, "\ufeffcollect = 3\r\n") == {"collect": 3}
    path = tmp_path / "loop.toml"
    path.write_bytes(b'recipe = "\xe9"')
    with pytest.raises(PackError, match=r"loop\.toml does not parse"):
        of_task(find("tasks", str(tmp_path)))
    path.unlink()
    path.mkdir()
    with pytest.raises(PackError, match=r"loop\.toml does not parse: .*directory"):
        of_task(find("tasks", str(tmp_path)))


def test_what_is_given_counts_over_what_the_task_says() -> None:
    own = {"recipe": "heuristic", "demonstrations": 150, "recipe_settings": {"a": "1", "b": "2"}}
    assert merged(own, {}) == own
    assert merged(own, {"demonstrations": 40})["demonstrations"] == 40
    assert merged(own, {"recipe_settings": {"b": "3"}})["recipe_settings"] == {"a": "1", "b": "3"}


def test_settings_of_a_recipe_do_not_count_for_another() -> None:
    own = {"recipe": "heuristic", "recipe_settings": {"candidates": "10"}}
    assert merged(own, {"recipe": "bc"}) == {"recipe": "bc"}
    given = {"recipe": "bc", "recipe_settings": {"training.lr": "1e-3"}}
    assert merged(own, given) == given


@pytest.mark.parametrize(
    ("target", "episodes", "least"),
    [(0.99, 20, "297"), (0.9, 20, "27"), (0.99, 300, ""), (0.5, 3, "")],
)
def test_too_few_sealed_episodes_are_said(target: float, episodes: int, least: str) -> None:
    said = least_sealed(LoopSettings.of("t", target=target, sealed_episodes=episodes))
    assert (f"takes at least {least} episodes, not {episodes}" in said) == bool(least)
    assert bool(said) == bool(least)


def test_a_lower_bound_of_1_cannot_be_asked_for() -> None:
    with pytest.raises(UsageError, match="no lower bound can be 1"):
        least_sealed(LoopSettings.of("t", target=1.0, target_bound="lower"))


@pytest.mark.parametrize(
    ("rounds", "said", "kind"),
    [
        ("best_of_n", {}, "flow"),
        ("best_of_n,rlpd", {}, "flow"),
        ("rlpd", {}, "chunk"),
        ("best_of_n", {"policy": "chunk"}, "chunk"),
        ("rlpd", {"policy": "flow"}, "flow"),
    ],
)
def test_the_first_policy_is_of_the_kind_that_the_first_round_begins_from(
    rounds: str, said: dict[str, str], kind: str
) -> None:
    made = first(LoopSettings.of("t", first_recipe_settings=said), schedule(rounds, {})).recipe
    assert isinstance(made, BehaviourCloning)
    assert made.policy == kind


@pytest.mark.parametrize("task", available("tasks"))
def test_no_task_of_ours_has_a_script_in_the_place_of_what_learns(task: str) -> None:
    assert of_task(find("tasks", task))["recipe"] in ("best_of_n", "replay_bc")


def test_a_task_that_says_nothing_has_what_learns_online(tmp_path: Path) -> None:
    (tmp_path / "task.py").touch()
    given = merged(of_task(find("tasks", str(tmp_path))), {})
    assert is_online(find_recipe(LoopSettings.of("t", **given).rounds.recipe))


def test_settings_of_an_earlier_version_are_read(tmp_path: Path) -> None:
    """Where a setting that is gone was off; else the loop would go on otherwise than it began.

    Its demonstrations began where they were drawn, so they are not asked for at other starts.
    """
    said = {"task": "t", "seed": 3, "allocate": False, "hard": 0.0}
    with Run.create(tmp_path / "off", {"loop": said}) as run:
        assert read_settings(run) == LoopSettings.of("t", seed=3, demonstration_starts="drawn")
    with (
        Run.create(tmp_path / "on", {"loop": said | {"hard": 0.25}}) as run,
        pytest.raises(StoreError, match="collects with --hard"),
    ):
        read_settings(run)
