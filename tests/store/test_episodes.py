"""A batch gives back what it was given, opens with zarr, and is refused when it was altered."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import given, settings

from enpire.errors import StoreError
from enpire.store import zarr3
from enpire.store.episodes import (
    LAYOUT,
    digest,
    frozen,
    iterate,
    read_attributes,
    read_batch,
    read_episode,
    read_files,
    write_batch,
)
from enpire.types import Episode, Purpose

from .samples import alter, as_folder, episode, group, same
from .strategies import batches


@given(batches())
@settings(max_examples=60)
def test_round_trip_is_exact(episodes: list[Episode]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        batch = write_batch(Path(folder, "b.zip"), episodes)
        assert same(read_batch(batch.path, batch.sha256), episodes)
        assert os.listdir(folder) == ["b.zip"]
        assert same(read_batch(as_folder(batch.path), batch.sha256), episodes), "as it once was"


def test_plain_zarr_opens_a_batch(tmp_path: Path) -> None:
    episodes = [episode("a", 4), episode("b", 0), episode("c", 7)]
    write_batch(tmp_path / "b.zip", episodes)
    opened = group(tmp_path / "b.zip")
    offsets = opened.attrs["offsets"]
    assert offsets == [0, 4, 4, 11]
    for name in ("observations", "actions", "stamps", "rewards"):
        whole = np.concatenate([getattr(e, name) for e in episodes])
        array = opened[name]
        assert isinstance(array, zarr.Array)
        assert array.dtype == whole.dtype
        np.testing.assert_array_equal(array[...], whole)


def test_what_arms_were_sent_survives(tmp_path: Path) -> None:
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    recorded = replace(episode("a", 4), joints=rows, setpoints=rows + 1)
    batch = write_batch(tmp_path / "b.zip", [recorded, episode("b", 3)])
    first, second = read_batch(batch.path, batch.sha256)
    np.testing.assert_array_equal(first.joints, rows)
    np.testing.assert_array_equal(first.setpoints, rows + 1)
    assert np.isnan(second.setpoints).all()
    assert second.setpoints.shape == (3, 2)
    other = replace(episode("c", 4), joints=rows[:, :1], setpoints=rows[:, :1])
    with pytest.raises(StoreError, match="different robots"):
        write_batch(tmp_path / "c.zip", [recorded, other])


def test_who_intervened_survives(tmp_path: Path) -> None:
    helped = episode("a", 4, intervened=np.array([False, False, True, True]))
    batch = write_batch(tmp_path / "b.zip", [helped, episode("b", 3)])
    first, second = read_batch(batch.path, batch.sha256)
    assert first.intervened.tolist() == [False, False, True, True]
    assert first.helped
    assert second.intervened.tolist() == [False] * 3
    assert not second.helped
    column = group(batch.path)["intervened"]
    assert isinstance(column, zarr.Array)
    assert column.dtype == bool
    np.testing.assert_array_equal(column[...], [False, False, True, True, False, False, False])


def test_the_way_back_before_help_survives(tmp_path: Path) -> None:
    flags = np.array([False, True, True, True])
    back = np.array([False, True, True, False])
    batch = write_batch(tmp_path / "b.zip", [episode("a", 4, intervened=flags, rewound=back)])
    (read,) = read_batch(batch.path, batch.sha256)
    assert read.rewound.tolist() == back.tolist()
    assert read.intervened.tolist() == flags.tolist()
    assert group(batch.path).attrs["layout"] == 4
    write_batch(tmp_path / "c.zip", [episode("a", 4, intervened=flags)])
    opened = group(tmp_path / "c.zip")
    assert opened.attrs["layout"] == 2, "others can be read by who knows of no way back"
    assert "rewound" not in opened
    assert not read_episode(tmp_path / "c.zip", 0).rewound.any()


def test_where_nobody_intervened_a_batch_is_as_it_always_was(tmp_path: Path) -> None:
    write_batch(tmp_path / "b.zip", [episode("a", 4)])
    opened = group(tmp_path / "b.zip")
    assert sorted(opened) == ["actions", "observations", "rewards", "stamps"]
    assert opened.attrs["layout"] == 1
    assert read_episode(tmp_path / "b.zip", 0).intervened.tolist() == [False] * 4


@pytest.mark.parametrize("purpose", [Purpose.EVALUATION, Purpose.SEALED])
def test_an_evaluation_in_which_somebody_helped_is_none(purpose: Purpose) -> None:
    helped = episode("a", 2, intervened=np.array([False, True]), purpose=purpose)
    with pytest.raises(StoreError, match="somebody helped in it"):
        frozen(helped)


def test_plain_zarr_opens_an_empty_batch(tmp_path: Path) -> None:
    write_batch(tmp_path / "b.zip", [episode("a", 0)])
    array = group(tmp_path / "b.zip")["observations"]
    assert isinstance(array, zarr.Array)
    assert array[...].shape == (0, 6)  # type: ignore[union-attr]


def test_one_episode_and_all_of_a_folder(tmp_path: Path) -> None:
    write_batch(tmp_path / "2.zip", [episode("c")])
    write_batch(tmp_path / "1.zip", [episode("a"), episode("b")])
    assert read_episode(tmp_path / "1.zip", 1).id == "b"
    assert [e.id for e in iterate(tmp_path)] == ["a", "b", "c"]
    with pytest.raises(StoreError, match="holds 2 episodes, none at 2"):
        read_episode(tmp_path / "1.zip", 2)


def test_size_and_hash_are_those_of_the_files(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b.zip", [episode()])
    files = read_files(batch.path)
    assert batch.bytes == sum(map(len, files.values()))
    assert batch.sha256 == digest(files)
    folder = as_folder(batch.path)
    assert read_files(folder) == files
    assert digest(read_files(folder)) == batch.sha256


def test_what_a_batch_is_about_is_read_without_its_arrays(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b.zip", [episode("a"), episode("b")])
    said = read_attributes(batch.path)
    assert [each["id"] for each in said["episodes"]] == ["a", "b"]
    assert read_attributes(as_folder(batch.path)) == said


def test_hash_sees_where_a_name_ends() -> None:
    assert digest({"ab": b"c"}) != digest({"a": b"bc"})


def test_an_altered_batch_is_refused(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b.zip", [episode()])
    alter(batch.path, "stamps/c.0", bytes(40))
    with pytest.raises(StoreError, match="sha256 differs"):
        read_batch(batch.path, batch.sha256)


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("damage", ["actions/c.0.0", "actions/zarr.json", "zarr.json"])
def test_a_batch_that_lost_a_file_is_refused(tmp_path: Path, damage: str, folder: bool) -> None:
    path = write_batch(tmp_path / "b.zip", [episode()]).path
    if folder:
        path = as_folder(path)
        (path / damage).unlink()
    else:
        alter(path, damage, None)
    with pytest.raises(StoreError, match=r"damaged.*replace it"):
        read_batch(path)


def test_a_newer_layout_is_refused(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b.zip", [episode()])
    newer = zarr3.group_file({"layout": LAYOUT + 1, "offsets": [], "episodes": []})
    alter(batch.path, "zarr.json", newer)
    with pytest.raises(StoreError, match="newer than 4: update enpire"):
        read_batch(batch.path)


def test_frozen_does_not_share_the_callers_arrays() -> None:
    given_ = episode()
    kept = frozen(given_)
    before = kept.actions.copy()
    given_.actions[:] = 9.0
    np.testing.assert_array_equal(kept.actions, before)
    with pytest.raises(ValueError, match="read-only"):
        kept.actions[0] = 0.0


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"id": ""}, "id is empty"),
        ({"seed": -1}, "seed -1"),
        ({"seed": 2**63}, "not an unsigned integer of 63 bits"),
        ({"stamps": np.zeros(4)}, "stamps has 4 rows, actions have 5"),
        ({"observations": np.zeros(5, np.float32)}, "not 2 dimensions"),
    ],
)
def test_an_episode_against_its_contract_is_refused(changes: dict[str, object], what: str) -> None:
    with pytest.raises(StoreError, match=what):
        frozen(replace(episode(), **changes))  # type: ignore[arg-type]


def test_a_batch_of_two_widths_is_refused(tmp_path: Path) -> None:
    odd = episode("b", actions=np.zeros((5, 2), np.float32))
    with pytest.raises(StoreError, match="'b' has 2 actions a row, 'a' has 3"):
        write_batch(tmp_path / "b.zip", [episode("a"), odd])
    with pytest.raises(StoreError, match="empty"):
        write_batch(tmp_path / "b.zip", [])
    assert not list(tmp_path.iterdir())


def test_other_numbers_are_not_stored_as_arrays() -> None:
    with pytest.raises(ValueError, match="int16"):
        zarr3.encode({"a": np.arange(3, dtype=np.int16)}, {})


def test_pictures_survive_with_the_rows_they_are_of(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (2, 1, 4, 4, 3), dtype=np.uint8)
    filmed = episode("a", 4, pictures=pictures, pictured=np.array([0, 4]))
    episodes = [episode("b", 3), filmed, episode("c", 2)]
    batch = write_batch(tmp_path / "b.zip", episodes)
    assert same(read_batch(batch.path, batch.sha256), episodes)
    column = group(batch.path)["pictures"]
    assert isinstance(column, zarr.Array)
    np.testing.assert_array_equal(column[...], pictures)


@pytest.mark.parametrize(
    ("pictured", "message"), [([0], "have shapes"), ([0, 5], "belongs to none of its 4 rows")]
)
def test_pictures_belong_to_rows(pictured: list[int], message: str) -> None:
    pictures = np.zeros((2, 1, 4, 4, 3), np.uint8)
    with pytest.raises(StoreError, match=message):
        frozen(episode("a", 4, pictures=pictures, pictured=np.array(pictured)))
