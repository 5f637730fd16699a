"""Packs are held to what they say of how their scenes may be moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.certification.symmetry import require_symmetry
from enpire.environment import Stations, build_stations, load_task, read_symmetry
from enpire.errors import PackError
from enpire.packs import available, find
from enpire.packs.finder import SYMMETRY

TASKS = [name for name in available("tasks") if read_symmetry(load_task(find("tasks", name)))]


def test_all_tasks_say_how_they_may_be_moved() -> None:
    assert list(available("tasks")) == TASKS


@pytest.mark.parametrize("name", TASKS)
def test_a_moved_scene_is_observed_as_the_pack_says(name: str) -> None:
    require_symmetry(build_stations(name, 1, 1))


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("pin_box", 1, 1)


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
    text = (find("tasks", "pin_box").folder / SYMMETRY).read_text()
    assert was in text
    (tmp_path / SYMMETRY).write_text(text.replace(was, becomes))
    folder, stations.task.folder = stations.task.folder, tmp_path
    try:
        with pytest.raises(PackError, match=said):
            require_symmetry(stations)
    finally:
        stations.task.folder = folder


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
