"""Datasets that nobody has thought of: anything in one place of a good one.

Each is refused with a sentence, or taken as exactly what it says; docs/inputs.md.
"""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.datasets import Imported, demonstrations
from enpire.errors import StoreError
from tests.datasets import wrong
from tests.datasets.wrong import EPISODES, LENGTH, STATE, WANTED, Made

COUNT = EPISODES * LENGTH
UNTOLD = ("by next.success",)  # nothing else was assumed
NUMBERS = st.one_of(
    st.floats(width=32), st.sampled_from([57.3, -180.0, 1e3, 1e30, float("nan"), float("-inf")])
)
LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(0, 9), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2),
)
MANY = settings(max_examples=60, deadline=None)


def came_of(made: Made) -> Imported | None:
    """What it is taken as; None if it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return demonstrations(made.write(Path(folder)), WANTED)
        except StoreError as error:
            said = str(error)
        assert said.startswith(folder), "it names the dataset, or the file"
        return None


def require_as_written(found: Imported | None, made: Made) -> None:
    """Whatever is taken are the numbers that stand there, each sound, and nothing was assumed."""
    if found is None:
        return
    assert found.said == UNTOLD
    for name, values in (
        (STATE, [e.observations for e in found.episodes]),
        ("action", [e.actions for e in found.episodes]),
    ):
        there = np.concatenate(values)
        assert np.isfinite(there).all()
        written = np.asarray(made.columns[name], np.float32)
        np.testing.assert_allclose(there, written, atol=2e-5)  # an action a hair beyond 1 is 1
    assert [len(e) for e in found.episodes] == [LENGTH] * EPISODES
    flags = made.columns["next.success"].reshape(EPISODES, LENGTH).any(axis=1)
    assert [e.success for e in found.episodes] == flags.tolist()


@MANY
@given(
    row=st.integers(0, COUNT - 1),
    entry=st.integers(0, 2),
    value=NUMBERS,
    column=st.sampled_from([STATE, "action"]),
)
def test_any_number_in_any_place(row: int, entry: int, value: float, column: str) -> None:
    made = wrong.good()
    made.columns[column][row, entry] = value
    found = came_of(made)
    require_as_written(found, made)
    if not np.isfinite(value) or abs(value) > 1e6 or (column == "action" and abs(value) > 1.001):
        assert found is None


@MANY
@given(
    factor=st.sampled_from([57.29578, 1000.0, 100.0, -57.29578, 0.0, 1e12, float("nan")]),
    column=st.sampled_from([STATE, "action"]),
)
def test_another_unit_is_never_taken(factor: float, column: str) -> None:
    made = wrong.good()
    made.columns[column] = made.columns[column] * np.float32(factor)
    assert came_of(made) is None


@MANY
@given(
    at=st.integers(0, EPISODES - 1),
    key=st.sampled_from(sorted(wrong.good().episodes[0])),
    value=LEAF,
)
def test_anything_that_is_said_of_an_episode(at: int, key: str, value: Any) -> None:
    made = wrong.good()
    whole = made.episodes[at][key]
    for episode in made.episodes:  # a column is of one type
        episode[key] = value if episode is made.episodes[at] else episode[key]
    try:
        found = came_of(made)
    except Exception as error:  # the file itself cannot be written
        if type(error).__module__.startswith("pyarrow"):
            return
        raise
    require_as_written(found, made)
    if found is not None:
        assert value == whole, "what is another extent is never taken"


@MANY
@given(data=st.data(), value=LEAF)
def test_anything_in_the_description(data: st.DataObject, value: Any) -> None:
    """Any leaf of `meta/info.json`, or a whole branch of it."""
    made = wrong.good()
    before = copy.deepcopy(made.info)
    node: Any = made.info
    while True:
        key = data.draw(st.sampled_from(sorted(node)))
        if not isinstance(node[key], dict) or data.draw(st.booleans()):
            break
        node = node[key]
    old = node[key]
    node[key] = value
    found = came_of(made)
    if found is None or key in ("dtype", "codebase_version"):
        return
    require_as_written(found, made)
    if key in ("fps", "features", STATE, "action"):
        assert node[key] == old, f"{before} became {made.info}"


@MANY
@given(
    name=st.sampled_from(["index", "frame_index", "episode_index", "timestamp", "next.success"]),
    row=st.integers(0, COUNT - 1),
    value=st.integers(-5, 50),
)
def test_anything_in_a_column_of_places(name: str, row: int, value: int) -> None:
    made = wrong.good()
    column = made.columns[name].astype(np.float64)
    old, column[row] = column[row], value
    made.columns[name] = column
    found = came_of(made)
    if found is None:
        return
    if name == "next.success":
        assert value in (0, 1)
        made.columns[name] = column.astype(bool)
    elif name == "timestamp":
        assert abs(old - value) <= 0.5 / wrong.FPS
    else:
        assert value == old
    require_as_written(found, made)


@MANY
@given(order=st.permutations(range(4)), column=st.sampled_from([STATE, "names"]))
def test_entries_in_another_order(order: list[int], column: str) -> None:
    """Told by their names: never taken in silence, nor names without their numbers."""
    made = wrong.good()
    made.info["features"][STATE]["names"] = [wrong.OBSERVATION[i] for i in order]
    if column == STATE:
        made.columns[STATE] = made.columns[STATE][:, order]
    assert (came_of(made) is None) is (list(order) != [0, 1, 2, 3])


@MANY
@given(rows=st.lists(st.integers(0, COUNT - 1), min_size=1, max_size=COUNT, unique=True))
def test_rows_that_are_lost_or_in_another_order(rows: list[int]) -> None:
    made = wrong.good()
    made.columns = {name: values[rows] for name, values in made.columns.items()}
    found = came_of(made)
    assert (found is None) is (rows != list(range(COUNT)))
