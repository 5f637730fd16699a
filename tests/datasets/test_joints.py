"""Datasets as people own them: joint positions of an arm and its leader, as `lerobot-record` has.

They are converted, and what comes of it does on the twin what was done there; or they are refused.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from enpire.datasets import (
    Allowed,
    ArmModel,
    Imported,
    Shown,
    TaskInterface,
    demonstrations,
    first_seen,
    moved_by,
    random_motion,
    shown_of,
)
from enpire.datasets.folder import DATA_PATH
from enpire.environment import Job, Readings, Stations, build_stations
from enpire.environment.core.motors import Motors, axes_of
from enpire.environment.core.policy_cameras import EVERY
from enpire.errors import StoreError
from enpire.types import Episode, Float32Array, FloatArray, Purpose
from tests.datasets import wrong
from tests.datasets.recorder import KEYS, MOTORS, Setup, Take, between, record, take

STATE, ACTION = "observation.state", "action"
EPISODES = "meta/episodes/*/*.parquet"
DATA = DATA_PATH.format(chunk_index=0, file_index=0)
TICKS = {motor: (800 + 10 * i, 3300 - 20 * i) for i, motor in enumerate(MOTORS[:4])}
TICKS["wrist_roll"] = (0, 4095)  # a whole turn, as lerobot-calibrate writes it
CAMERAS = {"top": "front", "wrist": "side"}
SEEN = {"top": "front", "wrist": "side"}
SIZE = 32


@dataclass(frozen=True, slots=True)
class Bench:
    """What a dataset is held against, and two good ones: in degrees, and normalised."""

    stations: Stations
    takes: list[Take]
    wanted: TaskInterface
    arms: ArmModel
    shown: Shown
    degrees: Path
    normalised: Path
    calibration: Path

    def taken(self, folder: Path, shown: Shown | None = None, **allowed: Any) -> Imported:
        """Import a dataset; by default it is in degrees, of successes, with cameras renamed."""
        usual = {"success": "all", "degrees": "calibration" not in allowed, "rename": SEEN}
        said = Allowed(**(usual | allowed))
        return demonstrations(folder, self.wanted, said, self.arms, shown or self.shown)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("joints")
    stations = build_stations("pick_cube", 1, 1)
    names, actions = stations.task.observation_names, stations.action_size
    starts = first_seen(stations)
    moves, gains = moved_by(stations, random_motion(stations))
    wanted = TaskInterface(
        "pick_cube",
        tuple(names),
        tuple(f"action_{i}" for i in range(actions)),
        1.0 / stations.period,
        starts,
        moves,
        gains,
        "so101",
        KEYS,
    )
    takes = take(stations, [3, 4, 5])
    model = build_stations("pick_cube", 1, 1)
    axes = axes_of(model.twin.scene.robot)
    assert axes is not None
    plain = Setup(cameras=CAMERAS, size=(64, 48), video=False, blank=True)
    ends = Setup(cameras=CAMERAS, size=(64, 48), video=False, blank=True, calibration=TICKS)
    calibration = folder / "follower.json"
    said = {
        motor: {"id": 1, "drive_mode": 0, "homing_offset": 0, "range_min": low, "range_max": high}
        for motor, (low, high) in TICKS.items()
    }
    calibration.write_text(json.dumps(said))
    return Bench(
        stations,
        takes,
        wanted,
        ArmModel(model, axes),
        shown_of(model, SIZE),
        record(takes, stations, folder / "degrees", plain),
        record(takes, stations, folder / "normalised", ends),
        calibration,
    )


class Played:
    """Actions one after the other; hands then stand, with grippers as they were told last."""

    def __init__(self, actions: Float32Array, motions: Sequence[int]) -> None:
        self._actions, self._motions, self._at = actions, list(motions), 0

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        self._at = 0

    def act(self, rows: Any, observations: Float32Array, readings: Readings) -> Float32Array:
        action = self._actions[min(self._at, len(self._actions) - 1)].copy()
        if self._at >= len(self._actions):
            action[self._motions] = 0.0
        self._at += 1
        return action[None]


def played(stations: Stations, actions: Float32Array, seed: int) -> Episode:
    """An episode of a seed in which actions are carried out, whatever is seen."""
    motions = () if stations.task.joint_actions else range(6)
    stations.begin(0, Job(seed, Purpose.DEMONSTRATION, Played(actions, motions), "played"))
    done: list[Episode] = []
    while not done:
        done = stations.tick()
    return done[0]


def hands(bench: Bench, axes: Float32Array) -> FloatArray:
    """Where the hand is by axes (periods, 6), (periods, 3) [m]."""
    joints = axes.astype(np.float64)[:, None, :5]
    return np.array([bench.arms.hands(each)[0][0] for each in joints])


@pytest.mark.medium
@pytest.mark.parametrize("units", ["degrees", "normalised"])
def test_the_twin_does_again_what_the_leader_did(bench: Bench, units: str) -> None:
    """Open loop, by actions that went through two rates and kinematics: the cube is lifted."""
    if units == "degrees":
        found = bench.taken(bench.degrees)
    else:
        found = bench.taken(bench.normalised, calibration=str(bench.calibration))
    assert len(found.episodes) == len(bench.takes)
    for one, given in zip(found.episodes, bench.takes, strict=True):
        again = played(bench.stations, one.actions, given.episode.seed)
        assert again.success
        path = np.concatenate([given.begins[None], given.episode.setpoints])
        fine = between(path, np.arange(0, len(path) - 1, 0.2)).astype(np.float32)
        there, here = hands(bench, fine), hands(bench, again.setpoints)
        near = np.linalg.norm(here[:, None] - there[None], axis=2).min(axis=1)
        assert near.max() < 0.004, "the hand is sent where it was sent, to 4 mm"
        gripper = given.episode.actions[:, 6]
        assert np.isin(one.actions[3:, 6].round(2), gripper.round(2)).mean() > 0.9


@pytest.mark.medium
def test_where_policies_set_joints_they_are_taken_as_they_are(bench: Bench) -> None:
    stations = build_stations("pick_cube@joints", 1, 1)
    motors = Motors.of(stations.task)
    assert motors is not None
    assert motors.keys == KEYS
    names = stations.task.observation_names
    wanted = replace(
        bench.wanted,
        task=stations.name,
        observation=names,
        action=names[:6],
        starts=first_seen(stations),
        moves=np.zeros((6, len(names))),
        gains=np.zeros((6, len(names))),
    )
    arms = ArmModel(build_stations("pick_cube", 1, 1), motors.axes, motors)
    allowed = Allowed(success="all", degrees=True, rename=SEEN)
    found = demonstrations(bench.degrees, wanted, allowed, arms, bench.shown)
    assert "actions are where the joints were sent" in found.said
    assert not any("kinematics" in text for text in found.said)
    with pytest.raises(StoreError, match="only policies that see by cameras"):
        demonstrations(bench.degrees, wanted, allowed, arms)
    for one, given in zip(found.episodes, bench.takes, strict=True):
        assert np.flatnonzero(np.isfinite(one.observations).all(axis=0)).tolist() == [*range(6)]
        sent = motors.shown(motors.told(one.actions))
        path = np.concatenate([given.begins[None], given.episode.setpoints])
        fine = between(path, np.arange(0, len(path) - 1, 0.1)).astype(np.float32)
        near = np.abs(sent[:, None, :5] - fine[None, :, :5]).max(axis=2).min(axis=1)
        corner = np.abs(np.diff(path[:, :5], axis=0)).max() / 2  # that straight lines cut off
        assert near.max() < corner, "joints are sent where the leader was"
        assert played(stations, one.actions, given.episode.seed).success


def test_what_is_felt_is_as_it_was_and_nothing_is_tracked(bench: Bench) -> None:
    found = bench.taken(bench.degrees)
    felt = list(bench.arms.felt)
    assert {"hand_x", "gripper", "lead_z"} <= {bench.wanted.observation[i] for i in felt}
    for one, given in zip(found.episodes, bench.takes, strict=True):
        known = np.isfinite(one.observations).all(axis=0)
        assert np.flatnonzero(known).tolist() == felt
        seen = given.episode.observations[:, felt]
        there = one.observations[:, felt]
        assert abs(len(there) - len(seen)) <= 2
        assert np.abs(there[0] - seen[0]).max() < 0.1
        assert np.abs(there[-3:].mean(axis=0) - seen[-3:].mean(axis=0)).max() < 0.3
        np.testing.assert_allclose(np.diff(one.stamps), 0.04)


def test_what_was_assumed_is_said(bench: Bench) -> None:
    said = "; ".join(bench.taken(bench.degrees).said)
    assert "30 frames a second resampled to 25" in said
    assert "joints taken as degrees" in said
    assert "kinematics of so101" in said
    assert "leader stood still" in said
    assert "cameras front by top, side by wrist" in said
    said = "; ".join(bench.taken(bench.normalised, calibration=str(bench.calibration)).said)
    assert "from -100 to 100 by follower.json" in said


def test_pictures_are_those_of_their_periods(bench: Bench) -> None:
    """Each of the recorder's pictures has the shade of its frame's number."""
    one = bench.taken(bench.degrees).episodes[0]
    assert one.pictures.shape[1:] == (2, SIZE, SIZE, 3)
    assert one.pictured.tolist() == list(range(0, len(one), EVERY))
    shades = one.pictures[:, :, SIZE // 2, SIZE // 2, 0]
    assert (shades[:, 1] - shades[:, 0] == 40).all(), "each camera's own, modulo 256"
    times = (shades[:, 0] - float(shades[0, 0])) / 30
    np.testing.assert_allclose(times, one.stamps[one.pictured], atol=1.01 / 30)


# What is refused


Spoil = Callable[[dict[str, FloatArray]], None]


def copied(folder: Path, to: Path, spoil: Spoil, info: Callable[[Any], None] | None = None) -> Path:
    """A dataset with other numbers in state and action, and another description."""
    shutil.copytree(folder, to)
    table = pq.read_table(to / DATA)
    values = {name: np.array(table[name].to_pylist(), np.float64) for name in (STATE, ACTION)}
    spoil(values)
    for name, column in values.items():
        at = table.column_names.index(name)
        rows = pa.array(column.astype(np.float32).tolist(), pa.list_(pa.float32()))
        table = table.set_column(at, name, rows)
    pq.write_table(table, to / DATA)
    if info is not None:
        path = to / "meta" / "info.json"
        said = json.loads(path.read_text())
        info(said)
        path.write_text(json.dumps(said))
    return to


def times(factor: float) -> Spoil:
    def spoil(values: dict[str, FloatArray]) -> None:
        for name in values:
            values[name] = values[name] * factor

    return spoil


def of_motor(motor: str, factor: float, offset: float = 0.0) -> Spoil:
    def spoil(values: dict[str, FloatArray]) -> None:
        at = MOTORS.index(motor)
        for column in values.values():
            column[:, at] = factor * column[:, at] + offset

    return spoil


def exchanged(values: dict[str, FloatArray]) -> None:
    for column in values.values():
        column[:, [2, 3]] = column[:, [3, 2]]


def moves_alone(values: dict[str, FloatArray]) -> None:
    values[ACTION] = values[ACTION] - values[STATE]


def actions_in_radians(values: dict[str, FloatArray]) -> None:
    values[ACTION] = values[ACTION] * np.pi / 180


def no_number(values: dict[str, FloatArray]) -> None:
    values[STATE][7, 2] = np.nan


def nothing_recorded(values: dict[str, FloatArray]) -> None:
    values[STATE][:] = values[STATE][0]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (times(np.pi / 180), "another unit"),  # radians
        (times(4096 / 360), "another unit"),  # ticks
        (of_motor("shoulder_lift", -1.0, 90.0), "another unit, another zero"),
        (of_motor("elbow_flex", 1.0, 90.0), "another unit, another zero"),  # zeros of an SO-100
        (of_motor("wrist_flex", -1.0), "begins with|another unit"),
        (of_motor("wrist_roll", 1.0, 90.0), "another unit, another zero"),
        (of_motor("gripper", 0.01), "gripper, is|begins with"),  # from 0 to 1
        (exchanged, "another unit|begins with"),
        (moves_alone, "another unit|away from where action wants it"),
        (actions_in_radians, "away from where action wants it"),
        (no_number, "frame 7: observation.state, elbow_flex.pos, is nan"),
        (nothing_recorded, "the same in all"),
    ],
)
def test_joints_of_another_meaning_are_refused(
    bench: Bench, tmp_path: Path, spoil: Spoil, words: str
) -> None:
    with pytest.raises(StoreError, match=words):
        bench.taken(copied(bench.degrees, tmp_path / "set", spoil))


def test_units_are_asked_for(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not say in what: --degrees"):
        bench.taken(bench.degrees, degrees=False)
    wide = copied(bench.degrees, tmp_path / "set", of_motor("wrist_roll", 1.3))
    with pytest.raises(StoreError, match=r"wrist_roll\.pos is beyond 100"):
        bench.taken(wide, calibration=str(bench.calibration))
    with pytest.raises(StoreError, match="cannot be read"):
        bench.taken(bench.normalised, calibration=str(tmp_path / "none.json"))
    other = tmp_path / "other.json"
    other.write_text('{"shoulder_pan": {"range_min": 5, "range_max": 5}}')
    with pytest.raises(StoreError, match="no range_min and range_max of shoulder_pan"):
        bench.taken(bench.normalised, calibration=str(other))


def called(*names: str, columns: tuple[str, ...] = (STATE, ACTION)) -> Callable[[Any], None]:
    def change(info: Any) -> None:
        for column in columns:
            info["features"][column]["names"] = list(names)

    return change


def as_they_are(values: dict[str, FloatArray]) -> None:
    """Change nothing."""


def test_names_are_the_motors_or_are_renamed(bench: Bench, tmp_path: Path) -> None:
    old = [f"main_{motor}" for motor in MOTORS]
    folder = copied(bench.degrees, tmp_path / "old", as_they_are, called(*old))
    with pytest.raises(StoreError, match=r"Joint positions of so101 are called shoulder_pan\.pos"):
        bench.taken(folder)
    same = bench.taken(bench.degrees).episodes
    for allowed in (
        {"rename": SEEN | dict(zip(old, KEYS, strict=True))},
        {"accept_names": True},
    ):
        found = bench.taken(folder, **allowed).episodes
        np.testing.assert_array_equal(found[0].actions, same[0].actions)

    def back_to_front(values: dict[str, FloatArray]) -> None:
        for name in values:
            values[name] = values[name][:, ::-1]

    turned = copied(bench.degrees, tmp_path / "turned", back_to_front, called(*KEYS[::-1]))
    found = bench.taken(turned, by_name=True).episodes
    np.testing.assert_array_equal(found[0].actions, same[0].actions)
    another = copied(
        bench.degrees, tmp_path / "other", as_they_are, called(*(f"j{i}.pos" for i in range(6)))
    )
    with pytest.raises(StoreError, match="LeRobot calls the motors of so101"):
        bench.taken(another)


@pytest.mark.parametrize("column", [STATE, ACTION])
def test_one_column_of_other_names_is_named(bench: Bench, tmp_path: Path, column: str) -> None:
    """What is complained of is the column that is wrong, and the name that is."""
    other = ACTION if column == STATE else STATE
    strange = called(*KEYS[:-1], "grip.pos", columns=(column,))
    folder = copied(bench.degrees, tmp_path / "misspelt", as_they_are, strange)
    words = rf"{column} lacks gripper\.pos; .*grip\.pos.*--rename {column}:THEIRS=OURS"
    with pytest.raises(StoreError, match=words):
        bench.taken(folder, degrees=False)
    same = bench.taken(bench.degrees).episodes[0]
    found = bench.taken(folder, rename=SEEN | {f"{column}:grip.pos": "gripper.pos"}).episodes[0]
    np.testing.assert_array_equal(found.actions, same.actions)
    letters = called(*"abcdef", columns=(column,))
    folder = copied(bench.degrees, tmp_path / "letters", as_they_are, letters)
    with pytest.raises(StoreError, match=rf"^{tmp_path}/letters: {other} has the joint positions"):
        bench.taken(folder)
    nameless = copied(bench.degrees, tmp_path / "none", as_they_are, called(columns=(column,)))
    with pytest.raises(StoreError, match=rf"{column} does not name .*--accept-names"):
        bench.taken(nameless)


@pytest.mark.parametrize(
    ("spoil", "allowed", "words"),
    [
        ("none", {}, "of shape .6,.*Joint positions of so101 are called"),
        ("none", {"accept_names": True, "degrees": False}, "does not say in what: --degrees"),
        ("radians", {"accept_names": True}, "the hand is outside|another unit"),
        ("from -1 to 1", {"accept_names": True}, "the hand is outside|another unit"),
    ],
)
def test_names_that_say_nothing_are_asked_for_their_units(
    bench: Bench, tmp_path: Path, spoil: str, allowed: dict[str, bool], words: str
) -> None:
    """`act_0_1` may stand for any joint in any unit."""
    changes = {
        "none": as_they_are,
        "radians": times(np.pi / 180),
        "from -1 to 1": times(1 / 100),
    }
    names = ("act_0_1", *(f"act_{i}" for i in range(1, 6)))
    folder = copied(bench.degrees, tmp_path / "set", changes[spoil], called(*names))
    with pytest.raises(StoreError, match=words):
        bench.taken(folder, **allowed)


def test_cameras_are_the_worlds(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"has no camera front: .* it has top, wrist"):
        bench.taken(bench.degrees, rename={})

    def wide(info: Any) -> None:
        info["features"]["observation.images.top"]["shape"] = [48, 80, 3]

    folder = copied(bench.degrees, tmp_path / "wide", as_they_are, wide)
    with pytest.raises(StoreError, match="80 x 48 pixels"):
        bench.taken(folder)
    with pytest.raises(StoreError, match="calls nothing nobody"):
        bench.taken(bench.degrees, rename=SEEN | {"nobody": "gripper.pos"})


def test_who_does_not_see_is_told_to(bench: Bench) -> None:
    allowed = Allowed(success="all", degrees=True)
    with pytest.raises(StoreError, match="only policies that see by cameras do without"):
        demonstrations(bench.degrees, bench.wanted, allowed, bench.arms)


def test_a_task_that_feels_forces_is_refused(bench: Bench, tmp_path: Path) -> None:
    """A dataset that shows what the task does tells the forces, too: that is held to its names."""
    stations = build_stations("push_t", 1, 1)
    axes = axes_of(stations.twin.scene.robot)
    assert axes is not None
    arms, allowed = ArmModel(stations, axes), Allowed(success="all", degrees=True)
    with pytest.raises(StoreError, match=r"degrees has joint positions, .* feel forces \(force_x"):
        demonstrations(bench.degrees, bench.wanted, allowed, arms)
    names = stations.task.observation_names
    actions = tuple(f"action_{i}" for i in range(stations.action_size))
    wanted = TaskInterface("push_t", tuple(names), actions, float(wrong.FPS))
    made = wrong.good()
    for column, called in ((STATE, names), (ACTION, actions)):
        rng = np.random.default_rng(0)
        made.columns[column] = rng.uniform(-0.3, 0.3, (40, len(called))).astype(np.float32)
        made.info["features"][column] |= {"shape": [len(called)], "names": list(called)}
    assert len(demonstrations(made.write(tmp_path), wanted, None, arms).episodes) == 4


def begin_earlier(folder: Path, column: str, seconds: float) -> None:
    """Say of the second episode's video that it begins so much earlier than it does."""
    (path,) = folder.glob(EPISODES)
    table, name = pq.read_table(path), f"videos/{column}/from_timestamp"
    begins = table[name].to_pylist()
    begins[1] -= seconds
    table = table.set_column(table.column_names.index(name), name, pa.array(begins))
    pq.write_table(table, path)


def test_videos_are_read_at_their_frames(bench: Bench, tmp_path: Path) -> None:
    """Of two episodes in one file, whose shades tell the frame."""
    filmed = Setup(cameras=CAMERAS, size=(64, 48), blank=True)
    folder = record(bench.takes[:2], bench.stations, tmp_path / "videos", filmed)
    there, here = (bench.taken(each).episodes[:2] for each in (bench.degrees, folder))
    for one, other in zip(there, here, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)
        assert np.abs(one.pictures.astype(int) - other.pictures).max() <= 3
    (video,) = (folder / "videos" / "observation.images.top").glob("*/*.mp4")
    data = video.read_bytes()
    lengths = [e["length"] for e in pq.read_table(next(folder.glob(EPISODES))).to_pylist()]
    begin_earlier(folder, "observation.images.top", -10 / 30)
    words = rf"{video}: episode 1 .* needs {lengths[1]} frames, and the video has {lengths[1] - 10}"
    with pytest.raises(StoreError, match=words):
        bench.taken(folder)
    begin_earlier(folder, "observation.images.top", 15 / 30)
    words = rf"{video}: episode 0 .* needs {lengths[0]} frames, and the video has {lengths[0] - 5}"
    with pytest.raises(StoreError, match=words):
        bench.taken(folder)
    begin_earlier(folder, "observation.images.top", -5 / 30)
    bench.taken(folder)
    video.write_bytes(data[: len(data) // 2])
    with pytest.raises(StoreError, match="cannot be read from it"):
        bench.taken(folder)
    video.unlink()
    with pytest.raises(StoreError, match="is missing, the video of"):
        bench.taken(folder)
