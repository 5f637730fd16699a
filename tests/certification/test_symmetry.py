"""Packs are held to what they say of how their scenes may be moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.certification.symmetry import require_symmetry
from enpire.environment import Readings, Stations, build_stations, load_task, read_symmetry
from enpire.errors import PackError
from enpire.packs import available, find
from enpire.packs.finder import SYMMETRY
from enpire.types import Float32Array

TASKS = [name for name in available("tasks") if read_symmetry(load_task(find("tasks", name)))]


def test_all_tasks_say_how_they_may_be_moved() -> None:
    assert list(available("tasks")) == TASKS


@pytest.mark.parametrize("name", TASKS)
def test_a_moved_scene_is_observed_as_the_pack_says(name: str) -> None:
    require_symmetry(build_stations(name, 1, 1))


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("pin_box", 1, 1)


@pytest.fixture(scope="module")
def pushing() -> Stations:
    return build_stations("push_t", 1, 1)


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('["force", "lead"]', '["force"]', "lead_x"),
        ("up = [0.0, 1.0, 0.0]", "up = [0.0, 0.0, 1.0]", "hand_r"),
        ("box = { unit = 0.01", "box = { unit = 0.02", "box_x"),
        ("centre = [0.48, 0.0]", "centre = [0.40, 0.0]", "box_"),
        ("unit = 0.01, axes", "unit = 0.02, axes", "elsewhere by .* pin_from_hole_"),
        ("near = 0.15", "near = 0.2", "pin_near_"),
        ('held = ["task_pin2"]', 'held = ["task_pin1"]', "pin_from_h"),
        ('points = ["hand"]', 'points = ["box"]', "elsewhere by .* box_"),
        ("[yaws]\nbox_yaw = { unit = 0.1, sines = false }", "", "box_yaw"),
    ],
)
def test_a_pack_that_is_wrong_is_told_where(
    stations: Stations, tmp_path: Path, was: str, becomes: str, said: str
) -> None:
    require_told(stations, tmp_path, was, becomes, said)


SIGNS = ("block_sin", "goal_in_block_x", "near_x", "near_yaw")


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        *((f'"{sign}", ', "", f"mirrored, {sign}") for sign in SIGNS),
        ('"near_yaw", "hand_in_block_x"', '"near_yaw"', "mirrored, hand_in_block_x"),
        *((f'"{sign}", ', '"near_y", ', "the scene is mirrored") for sign in SIGNS),
        *((f'"{sign}", ', '"block_cos", ', "the scene is mirrored") for sign in SIGNS),
        *(('"near_x"', f'"near_x", "{sign}"', sign) for sign in ("off", "force_z", "hand_z")),
        *(("axis = 2.3562", f"axis = {axis}", "mirrored") for axis in (-2.3562, 0.0, 0.7854, 2.3)),
        ("through = [0.2, 0.0]", "through = [0.2, 0.01]", "mirrored, block_x"),
        ("through = [0.2, 0.0]", "through = [0.0, 0.0]", "mirrored, block_x"),
        ('hand = "y"', 'hand = "x"', "mirrored, opening_"),
        ('hand = "y"', 'hand = "z"', "mirrored, approach_"),
        ('hand = "y" #', "#", "hand is left out"),
        ('block = "x"', 'blok = "x"', "to name block, hand, and nothing else"),
        ('block = "x"', 'block = "y"', "block is not its own mirror image across its y"),
        *(
            (f'"{stem}", ', "", f"mirrored, {stem}")
            for stem in ("block", "hand", "opening", "approach", "force")
        ),
    ],
)
def test_a_mirror_that_is_wrong_is_told(
    pushing: Stations, tmp_path: Path, was: str, becomes: str, said: str
) -> None:
    require_told(pushing, tmp_path, was, becomes, said)


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('cosine = "block_cos"', 'cosine = "near_x"', "near_x and block_sin are no cosine and"),
        ('sine = "block_sin"', 'sine = "near_yaw"', "block_cos and near_yaw are no cosine and"),
        ('"lead"]', '"lead", "hand_in_block"]', "turned by 0.40 rad, hand_in_block_x"),
        ('"lead"]', '"lead", "goal_in_block"]', "turned by 0.40 rad, goal_in_block_x"),
    ],
)
def test_a_heading_that_is_wrong_is_told(
    pushing: Stations, tmp_path: Path, was: str, becomes: str, said: str
) -> None:
    require_told(pushing, tmp_path, was, becomes, said, until="[mirror]")


def test_a_sine_of_the_other_sense_is_told(
    pushing: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe, at = pushing.task.observe, pushing.task.observation_names.index("block_sin")

    def otherwise(readings: Readings) -> Float32Array:
        seen = observe(readings)
        seen[:, at] *= -1.0
        return seen

    monkeypatch.setattr(pushing.task, "observe", otherwise)
    with pytest.raises(PackError, match=r"turned by 0.40 rad, block_"):
        require_symmetry(pushing)


def require_told(
    stations: Stations, folder: Path, was: str, becomes: str, said: str, until: str = "\0"
) -> None:
    """Fail unless a task's file with other text in one place is refused in words that fit."""
    text = (stations.task.folder / SYMMETRY).read_text().partition(until)[0]
    assert was in text
    (folder / SYMMETRY).write_text(text.replace(was, becomes))
    own, stations.task.folder = stations.task.folder, folder
    try:
        with pytest.raises(PackError, match=said):
            require_symmetry(stations)
    finally:
        stations.task.folder = own


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("right_lead = { unit = 0.01, by = 1.0", "right_lead = { unit = 0.02, by = 1.0", "right_l"),
        ('of = "force", arm = 0', 'of = "force", arm = 1', "holds hand 1 back by 0.018 m"),
    ],
)
def test_a_face_that_is_wrong_is_told(tmp_path: Path, was: str, becomes: str, said: str) -> None:
    stations = build_stations("zip_tie", 1, 1)
    text = (stations.task.folder / SYMMETRY).read_text()
    assert was in text
    before, at, after = text.partition("[displaced.face")
    (tmp_path / SYMMETRY).write_text(before + (at + after).replace(was, becomes))
    stations.task.folder = tmp_path
    with pytest.raises(PackError, match=said):
        require_symmetry(stations)
