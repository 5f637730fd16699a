"""What a pack says of how its scene may be moved."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from enpire.environment import (
    Idleness,
    ObservedLead,
    ObservedPoint,
    Symmetry,
    load_task,
    read_symmetry,
)
from enpire.errors import PackError
from enpire.packs import find
from enpire.packs.finder import SYMMETRY

SAID = (find("tasks", "pick_cube").folder / SYMMETRY).read_text()


def parsed(folder: Path, text: str) -> object:
    pack = find("tasks", "pick_cube")
    (folder / SYMMETRY).write_text(text)
    task = load_task(pack)
    task.folder = folder
    return read_symmetry(task)


def test_names_become_places_in_an_observation(tmp_path: Path) -> None:
    symmetry = read_symmetry(load_task(find("tasks", "pick_cube")))
    assert symmetry is not None
    assert symmetry.points == (ObservedPoint((5, 6, 7), 0.03, (0.21, 0.0, 0.04)),)
    assert symmetry.vectors[0] == (0, 1)
    assert symmetry.actions == ((0, 1), (3, 4))


def test_a_pack_need_not_say_it(tmp_path: Path) -> None:
    task = load_task(find("tasks", "push_t"))
    task.folder = tmp_path
    assert read_symmetry(task) is None


def test_a_block_to_see_and_act_along_and_a_mirror() -> None:
    symmetry = read_symmetry(load_task(find("tasks", "push_t")))
    assert symmetry is not None
    assert symmetry.heading is not None
    assert (symmetry.heading.cosine, symmetry.heading.sine) == (2, 3)
    assert symmetry.heading.seen[0] == (0, 1)
    assert symmetry.heading.done == ((0, 1), (3, 4))
    assert symmetry.mirror is not None
    assert symmetry.mirror.signs == (3, 4, 6, 8, 10)
    assert symmetry.idle == Idleness(0.3, (0, 1, 2)), "its hand does not turn"
    assert Symmetry.from_json(symmetry.to_json()) == symmetry


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("idle = 0", "idle is 0, and must be above 0"),
        ("[heading]\ncosine = 'cube_cos'\nsine = 'lead_x'", "observes no cube_cos"),
        ("[heading]\ncosine = 'lead_x'", "sine"),
        ("[mirror]\naxis = 0.0\nsigns = ['lead_x']", "points cannot be mirrored"),
    ],
)
def test_what_is_wrong_with_them_is_said(tmp_path: Path, more: str, said: str) -> None:
    before, points, after = SAID.partition("[points]")
    text = f"{before}{more}\n{points}{after}"
    with pytest.raises(PackError, match=said):
        parsed(tmp_path, text)


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('"opening"', '"openings"', "observes no openings_x"),
        ("unit = 0.03", "unit = 0.0", "unit is 0.0"),
        ("turn = 3.1416", "turn = 180", "turn is from 0 to pi"),
        ("shift = [0.09, 0.09, 0.0]", "shift = [0.09, 0.09]", "shift must be 3 numbers"),
        ("vectors", "vector", "do you mean vectors"),
        ("centre = [0.21, 0.0, 0.04]", "centre = [0.21]", "centre must be 3 numbers"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, was: str, becomes: str, said: str) -> None:
    assert was in SAID
    with pytest.raises(PackError, match=said):
        parsed(tmp_path, SAID.replace(was, becomes))


def test_an_up_that_is_no_unit_vector_is_refused(tmp_path: Path) -> None:
    rotation = "\n[rotations]\nopening = { unit = 0.1, up = [0.0, 0.0, 2.0] }\n"
    with pytest.raises(PackError, match="observes no opening_rx"):
        parsed(tmp_path, SAID + rotation)


def test_a_lead_names_its_entries_and_the_actions_that_move_its_setpoint() -> None:
    symmetry = read_symmetry(load_task(find("tasks", "zip_tie")))
    assert symmetry is not None
    step = (0.0024, 0.0024, 0.0024)
    assert symmetry.leads == (ObservedLead((37, 38, 39), 0.01, 0.005, (7, 8, 9), step),)
    assert Symmetry.from_json(symmetry.to_json()) == symmetry


@pytest.mark.parametrize(
    ("lead", "said"),
    [
        ("leading = { unit = 0.01, by = 0.005 }", "observes no leading_x"),
        ("lead = { unit = 0.01, by = 0.0 }", "by is 0 m, and must be above 0"),
        ("lead = { unit = 0.0, by = 0.005 }", "unit is 0.0"),
        ("lead = { unit = 0.01, by = 0.005, arm = 1 }", "arm is 1, and the task has 1"),
        ("lead = { unit = 0.01, by = 0.005, arm = 0.5 }", "arm is 0.5, and the task has 1"),
        ("lead = { unit = 0.01, by = 0.005, arms = 0 }", "do you mean arm"),
    ],
)
def test_what_is_wrong_with_a_lead_is_said(tmp_path: Path, lead: str, said: str) -> None:
    with pytest.raises(PackError, match=said):
        parsed(tmp_path, f"{SAID}\n[leads]\n{lead}\n")


DISPLACED = """
[displaced]
by = 0.004
points = ["hand"]
"""


def test_a_hand_elsewhere_names_what_goes_with_it() -> None:
    symmetry = read_symmetry(load_task(find("tasks", "zip_tie")))
    assert symmetry is not None
    assert symmetry.displaced is not None
    hand, (place,) = symmetry.displaced.hand, symmetry.displaced.relative
    assert (hand.arm, hand.by, hand.actions) == (1, 0.005, (7, 8, 9))
    assert symmetry.displaced.held == (1,)
    assert symmetry.displaced.points == symmetry.points[2:]
    assert (place.entries, place.axes) == ((0, 1, 2), symmetry.rotations[0])
    assert [each.entry for each in symmetry.displaced.enlarged] == [6, 7, 8, 9]
    face = symmetry.displaced.face
    assert face is not None
    assert (face.place, face.out) == (place, -0.012)
    felt = [(each.entries[0], each.by, each.of, each.arm) for each in face.felt]
    assert felt == [(37, 1.0, "lead", 1), (31, 250.0, "force", 1), (28, -250.0, "force", 0)]
    assert Symmetry.from_json(symmetry.to_json()) == symmetry


def test_what_was_written_before_hands_were_shown_elsewhere_is_read() -> None:
    symmetry = read_symmetry(load_task(find("tasks", "zip_tie")))
    assert symmetry is not None
    said = json.loads(symmetry.to_json())
    del said["displaced"]
    assert Symmetry.from_json(json.dumps(said)) == replace(symmetry, displaced=None)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("held = ['task_pin']", "held has task_pin: the task tracks task_cube"),
        ("hold = ['task_cube']", "do you mean held"),
        ("arm = 1", "arm is 1, and the task has 1"),
        ("relative.lead = { unit = 0.01, axes = 'cube' }", "axes has cube, which the file does"),
        ("enlarged.lead_x = { of = 'opening_x', near = 0.0 }", "near is 0, and must be above 0"),
        ("enlarged.lead_x = { of = 'openings_x', near = 1.0 }", "observes no openings_x"),
        ("enlarged.hand_x = { of = 'lead_x', near = 1.0 }", "enlarged have hand_x twice"),
        ("within.lead_x = [1.0, 0.5]", "lead_x is from 1 to 0.5: from less to more"),
        ("within.lead_x = [1.0]", "lead_x must be 2 numbers"),
    ],
)
def test_what_is_wrong_with_a_hand_elsewhere_is_said(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(PackError, match=said):
        parsed(tmp_path, f"{SAID}\n{DISPLACED}{more}\n")


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('place = "tip_in_head"', 'place = "head"', "place has head, which the file does not name"),
        ("out = -0.012", "out = 0.0", "out is 0 and near -0.009: out is the farther one"),
        ("aside = 0.001", "aside = -0.001", "aside .-0.001. and ahead .0.018. are not below 0"),
        ("ahead = 0.018", "ahead = 18.0", "18"),
        ('of = "lead"', 'of = "torque"', "of is torque, and must be one of"),
        ('of = "force", arm = 1', 'of = "force", arm = 2', "arm is 2, and the task has 2"),
        ("left_force = {", "left_push = {", "observes no left_push_x"),
    ],
)
def test_what_is_wrong_with_a_face_is_said(
    tmp_path: Path, was: str, becomes: str, said: str
) -> None:
    pack = find("tasks", "zip_tie")
    text, task = (pack.folder / SYMMETRY).read_text(), load_task(pack)
    assert was in text
    (tmp_path / SYMMETRY).write_text(text.replace(was, becomes))
    task.folder = tmp_path
    with pytest.raises(PackError, match=said):
        read_symmetry(task)


def test_places_that_the_file_does_not_name_cannot_be_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="points has opening, which the file does not name: hand"):
        parsed(tmp_path, SAID + DISPLACED.replace("hand", "opening"))


def test_steps_that_differ_along_x_and_y_cannot_be_turned(tmp_path: Path) -> None:
    task = load_task(find("tasks", "pick_cube"))
    (arm,) = task.actions.arms
    task.actions = replace(task.actions, arms=(replace(arm, translation=(0.01, 0.02, 0.01)),))  # type: ignore[misc]
    with pytest.raises(PackError, match="along x and y are not the same"):
        read_symmetry(task)


def test_it_is_no_part_of_the_packs_hash(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(find("tasks", "pick_cube").folder, folder)
    before = find("tasks", str(folder)).sha256
    (folder / SYMMETRY).unlink()
    assert find("tasks", str(folder)).sha256 == before
