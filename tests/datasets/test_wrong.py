"""Datasets that are slightly wrong are converted by an option that is named.

Those that are refused are in `tests/inputs/datasets.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enpire.cli import main
from enpire.datasets import Allowed, Imported, demonstrations
from enpire.errors import StoreError
from tests.datasets import wrong
from tests.datasets.wrong import DEGREES, FPS, STATE, WANTED, Made


def taken(folder: Path, made: Made, **allowed: object) -> Imported:
    return demonstrations(made.write(folder), WANTED, Allowed(**allowed))  # type: ignore[arg-type]


def spoiled(*spoils: Callable[[Made], None]) -> Made:
    made = wrong.good()
    for spoil in spoils:
        spoil(made)
    return made


def test_a_good_one_is_taken_whole(tmp_path: Path) -> None:
    made = wrong.good()
    found = taken(tmp_path, made)
    assert found.said == ("by next.success",)
    assert [e.success for e in found.episodes] == [True, True, False, True]
    together = np.concatenate([e.observations for e in found.episodes])
    assert together.tobytes() == made.columns[STATE].tobytes()
    assert [e.rewards.sum() for e in found.episodes] == [1, 1, 0, 1]
    assert found.episodes[1].stamps[-1] == pytest.approx(9 / FPS)


PERMUTED = [2, 0, 3, 1]


def permuted(made: Made) -> None:
    """Another order of entries, which the names tell."""
    made.columns[STATE] = made.columns[STATE][:, PERMUTED]
    made.info["features"][STATE]["names"] = [wrong.OBSERVATION[i] for i in PERMUTED]


def test_names_put_entries_in_order(tmp_path: Path) -> None:
    found = taken(tmp_path, spoiled(permuted), by_name=True)
    assert "observation.state put in order by its names" in found.said
    together = np.concatenate([e.observations for e in found.episodes])
    assert together.tobytes() == wrong.good().columns[STATE].tobytes()


def test_names_are_accepted_as_they_stand(tmp_path: Path) -> None:
    found = taken(tmp_path, spoiled(permuted), accept_names=True)
    assert any("in its own order, called hand_z, hand_x" in said for said in found.said)


def test_entries_are_renamed(tmp_path: Path) -> None:
    made = spoiled(permuted)
    called = made.info["features"][STATE]["names"]
    made.info["features"][STATE]["names"] = {"axes": ["x" if n == "hand_x" else n for n in called]}
    with pytest.raises(StoreError, match="hand_x not at all"):
        taken(tmp_path, made, by_name=True)
    found = taken(tmp_path, made, rename={"x": "hand_x"})
    together = np.concatenate([e.observations for e in found.episodes])
    assert together.tobytes() == wrong.good().columns[STATE].tobytes()


def both_called_x(made: Made) -> None:
    """State and action call their first entry alike, and mean something else by it."""
    for column in (STATE, "action"):
        called = made.info["features"][column]["names"]
        made.info["features"][column]["names"] = ["x", *called[1:]]


def test_an_entry_is_renamed_in_one_column_alone(tmp_path: Path) -> None:
    made = spoiled(both_called_x)
    with pytest.raises(StoreError, match=r"action_0 not at all in action.* or action:THEIRS=OURS"):
        taken(tmp_path, made, rename={"x": "hand_x"})
    for rename in (
        {"observation.state:x": "hand_x", "action:x": "action_0"},
        {"x": "hand_x", "action:x": "action_0"},
    ):
        found = taken(tmp_path, made, rename=rename)
        together = np.concatenate([e.observations for e in found.episodes])
        assert together.tobytes() == wrong.good().columns[STATE].tobytes()
    with pytest.raises(StoreError, match=r"calls nothing state:x;.* action:THEIRS"):
        taken(tmp_path, made, rename={"x": "hand_x", "action:x": "action_0", "state:x": "hand_x"})


@pytest.mark.parametrize(
    ("called", "words"),
    [
        ({"hand_x": 0, "hand_y": 1, "hand_z": 2, "gripper": 3}, ()),
        ({"axes": list(wrong.OBSERVATION)}, ()),
        ({"hand_y": 1, "gripper": 3, "hand_x": 0, "hand_z": 2}, ()),
    ],
)
def test_names_in_each_form_that_datasets_have(
    tmp_path: Path, called: object, words: tuple[str, ...]
) -> None:
    assert taken(tmp_path, spoiled(wrong.names(STATE, called))).said == ("by next.success", *words)


def test_a_rate_is_given(tmp_path: Path) -> None:
    made = spoiled(wrong.info(fps=10))
    found = taken(tmp_path, made, fps=25.0)
    assert "taken at 25 frames a second, not at 10" in found.said
    assert found.episodes[0].stamps[1] == pytest.approx(0.04)
    with pytest.raises(StoreError, match="30 frames a second"):
        taken(tmp_path, made, fps=30.0)


def test_actions_are_clipped_if_asked(tmp_path: Path) -> None:
    found = taken(tmp_path, spoiled(wrong.put("action", 3, 0, 1.2)), clip=True)
    assert "1 of 40 actions clipped to [-1, 1]" in found.said
    assert found.episodes[0].actions[3, 0] == 1.0


def test_integers_are_told(tmp_path: Path) -> None:
    found = taken(
        tmp_path, spoiled(wrong.column(STATE, lambda v: np.sign(v).astype(np.int64) // 2))
    )
    assert "observation.state of integers" in found.said
    assert found.episodes[0].observations.dtype == np.float32


def good_flag(made: Made) -> None:
    made.columns["good"] = made.columns.pop("next.success")
    made.info["features"]["good"] = made.info["features"].pop("next.success")


def test_success_is_named(tmp_path: Path) -> None:
    made = spoiled(good_flag)
    with pytest.raises(StoreError, match="--success-column all"):
        taken(tmp_path, made)
    found = taken(tmp_path, made, success="good")
    assert sum(e.success for e in found.episodes) == 3
    assert "by good" in found.said
    every = taken(tmp_path, made, success="all")
    assert all(e.success for e in every.episodes)
    assert "all taken as successes (--success-column all)" in every.said
    with pytest.raises(StoreError, match="no column better; there are action, good"):
        taken(tmp_path, made, success="better")


def test_success_of_the_whole_episode_is_the_same_in_all_frames(tmp_path: Path) -> None:
    made = wrong.good()
    made.columns["success"] = made.columns["next.success"]
    made.info["features"]["success"] = made.info["features"]["next.success"]
    with pytest.raises(StoreError, match="true in some frames and false in others"):
        taken(tmp_path, made)


@pytest.mark.parametrize("seed", [-1, 0.5, float("nan")])
def test_a_seed_that_is_none(tmp_path: Path, seed: float) -> None:
    made = wrong.good()
    made.columns["seed"] = np.full(40, seed)
    made.info["features"]["seed"] = {"dtype": "int64", "shape": [1], "names": None}
    with pytest.raises(StoreError, match="its seed is"):
        taken(tmp_path, made)


def test_actions_that_are_text_and_starts_that_are_not_known(tmp_path: Path) -> None:
    """Without starts of the task nothing is held against them."""
    made = spoiled(wrong.times(STATE, DEGREES)).write(tmp_path)
    anywhere = replace(WANTED, starts=np.zeros((0, 4), np.float32))
    assert len(demonstrations(made, anywhere).episodes) == 4


MOVED = replace(WANTED, moves=np.array([[0.8, 0, 0, 0], [0, -0.7, 0, 0], [0, 0, 0.1, 0]]))


def moving(signs: tuple[float, float, float]) -> Made:
    """Frames in which each action moves an entry, the way its sign says."""
    made = wrong.good()
    actions = np.random.default_rng(4).uniform(-1, 1, (40, 3)).astype(np.float32)
    made.columns["action"] = actions
    for each in range(4):
        rows = slice(each * 10, each * 10 + 10)
        steps = np.cumsum(0.02 * actions[rows] * signs, axis=0)
        start = np.random.default_rng(each).uniform(-0.1, 0.1, 3)
        made.columns[STATE][rows, :3] = start + np.vstack([np.zeros((1, 3)), steps[:-1]])
    return made


def test_actions_that_move_things_the_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that hardly goes with anything in the task tells nothing."""
    monkeypatch.setattr("enpire.datasets.compatibility.FEWEST", 40)
    folder = moving((1, -1, -1)).write(tmp_path / "good")
    assert demonstrations(folder, MOVED).said == ("by next.success",)
    for name, signs, words in (
        ("x", (-1, -1, 1), "action_0, moves hand_x the other way"),
        ("y", (1, 1, 1), "action_1, moves hand_y the other way"),
    ):
        folder = moving(signs).write(tmp_path / name)
        with pytest.raises(StoreError, match=words):
            demonstrations(folder, MOVED)
        found = demonstrations(folder, MOVED, Allowed(accept_motion=True))
        assert any("the other way" in said for said in found.said)


def test_actions_that_hardly_move_what_they_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States that lag by some frames, or two axes exchanged, are told."""
    monkeypatch.setattr("enpire.datasets.compatibility.FEWEST", 40)
    swapped, late = moving((1, -1, 1)), moving((1, -1, 1))
    swapped.columns["action"] = swapped.columns["action"][:, [1, 0, 2]]
    for each in range(4):
        rows = slice(each * 10, each * 10 + 10)
        late.columns[STATE][rows] = np.roll(late.columns[STATE][rows], 4, axis=0)
    for name, made in (("swapped", swapped), ("late", late)):
        said = demonstrations(made.write(tmp_path / name), MOVED, Allowed(accept_motion=True)).said
        assert any("hardly moves" in text or "the other way" in text for text in said), said


VALUES = st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e9, -1e12, 1e300])


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    row=st.integers(0, 39),
    entry=st.integers(0, 2),
    value=VALUES,
    column=st.sampled_from([STATE, "action"]),
)
def test_no_value_anywhere_passes_that_is_none(
    tmp_path: Path, row: int, entry: int, value: float, column: str
) -> None:
    made = wrong.good()
    made.columns[column] = made.columns[column].astype(np.float64)
    made.columns[column][row, entry] = value
    where = rf"episode {row // 10}, frame {row % 10}: {column}"
    with pytest.raises(StoreError, match=where):
        taken(tmp_path, made)


# The command line


TOY = "gym:tests.environment.toy:toy/Line-v0"


def of_the_toy(factor: float = 1.0) -> Made:
    """A dataset for an environment: two observations, one action, ten frames a second."""
    made = wrong.good()
    made.columns[STATE] = made.columns[STATE][:, :2] * factor
    made.columns["action"] = made.columns["action"][:, :1]
    made.columns["timestamp"] = made.columns["frame_index"] / 10
    features = made.info["features"]
    features[STATE] |= {"shape": [2], "names": ["observation_0", "observation_1"]}
    features["action"] |= {"shape": [1], "names": ["action_0"]}
    made.info["fps"] = 10
    return made


def test_a_failed_import_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from enpire.store import Run

    run = tmp_path / "run"
    asked = ["import", "lerobot", str(tmp_path / "set"), str(run), "--task", TOY]
    of_the_toy(1000.0).write(tmp_path / "set")
    assert main(asked) == 1
    assert "another unit" in capsys.readouterr().err
    assert not run.exists()
    of_the_toy().write(tmp_path / "set")
    with monkeypatch.context() as patch:
        patch.setattr(Run, "add_episodes", lambda *rest: (_ for _ in ()).throw(KeyboardInterrupt))
        main(asked)
    assert not run.exists(), "what began and was cut short is gone"
    assert main(asked) == 0
    assert "4 demonstrations" in (said := capsys.readouterr().out)
    assert "3 of them successes (by next.success)" in said
    with Run.open(run) as made:
        assert len(list(made.episodes())) == 4


def test_options_that_contradict_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["import", "lerobot", str(tmp_path), str(tmp_path / "run"), "--task", TOY]
    assert main([*asked, "--accept-names", "--by-name"]) == 2
    assert "without --by-name" in capsys.readouterr().err
    assert main([*asked, "--rename", "x"]) == 2
    assert "THEIRS=OURS" in capsys.readouterr().err
    assert main([*asked, "--rename", "x=a,x=b"]) == 2
    assert "'x' is renamed twice: write COLUMN:x=OURS" in capsys.readouterr().err
