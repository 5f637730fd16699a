"""Recordings come back as they were saved, from flight records, and from a run's episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enpire.drivers import Reading
from enpire.environment import Demonstrations, Job, build_stations
from enpire.environment.resets.varied_arms import VariedArms
from enpire.errors import StoreError
from enpire.identification import recording as recordings
from enpire.identification.arms import ArmsModel
from enpire.identification.recording import COLUMNS, Recording, read
from enpire.identification.runs import of_episodes
from enpire.safety.machine import Mode
from enpire.safety.recorder import Recorder
from enpire.safety.rules import GateRule
from enpire.types import Purpose


def test_what_is_saved_is_loaded(tmp_path, recording) -> None:
    recording.save(tmp_path / "a.npz")
    (back,) = recordings.read([tmp_path], "so101")
    assert (back.robot, back.name, back.effort_window) == ("so101", "twin", pytest.approx(0.01))
    for name in recordings.COLUMNS:
        np.testing.assert_array_equal(getattr(back, name), getattr(recording, name))
    assert recordings.robot_of(tmp_path) == "so101"
    with pytest.raises(StoreError, match=r"of so101, not of yam"):
        recordings.read([tmp_path], "yam")


def test_what_is_no_recording_is_refused(tmp_path, recording) -> None:
    (tmp_path / "a.npz").write_bytes(b"no")
    with pytest.raises(StoreError, match="cannot be read"):
        recordings.read([tmp_path / "a.npz"], "so101")
    with pytest.raises(StoreError, match="increasing"):
        replace(recording, stamps=recording.stamps[::-1])
    with pytest.raises(StoreError, match="not a number"):
        replace(recording, sent=np.full_like(recording.sent, np.nan))


def test_a_flight_record_gives_the_stretches_in_which_arms_were_sent_somewhere(tmp_path) -> None:
    recorder = Recorder(tmp_path, 7, 1, 0.01)
    for row in range(300):
        speed = 0.5 * (100 <= row < 250)
        at = np.full(7, 0.005 * max(row - 100, 0))
        reading = Reading(row * 10**7, at, np.full(7, speed), np.zeros(7), np.zeros((1, 3)))
        sent = at if row == 20 or 80 <= row < 150 or row >= 200 else None
        recorder.note(row * 10**7, Mode.MOVING, GateRule.NONE, reading, at, sent)
    recorder.dump(0, Mode.HOLDING, GateRule.ASKED, "")
    recorder.wait()
    found = recordings.read([tmp_path / "00001.npz"], "yam")
    assert [len(each) for each in found] == [70, 50]  # the second one begins where it rests
    assert found[0].stamps[0] == pytest.approx(0.8)
    assert found[1].stamps[0] == pytest.approx(2.5)


def test_a_flight_record_knows_that_readings_are_older_than_setpoints(tmp_path) -> None:
    recorder = Recorder(tmp_path, 7, 1, 0.01)
    for row in range(100):
        seen = row * 10**7 - 4 * 10**6 * (row % 2)
        none = np.full(7, np.nan)
        at = Reading(seen, np.full(7, 1e-3 * row), np.zeros(7), none, np.ones((1, 3)))
        recorder.note(row * 10**7, Mode.MOVING, GateRule.NONE, at, np.zeros(7), np.zeros(7))
    recorder.dump(0, Mode.HOLDING, GateRule.ASKED, "")
    recorder.wait()
    (found,) = recordings.read([tmp_path / "00001.npz"], "yam")
    assert found.age == pytest.approx(0.004 * (np.arange(100) % 2))


def test_arms_respond_at_the_times_at_which_they_were_read(scene) -> None:
    arms = ArmsModel(scene, ("arm/latency",), threads=1)
    begin = arms.scene.robot.arms[0]
    stamps, rest = np.arange(100) / 100, np.array([*begin.home, begin.gripper_range[1]])
    sent = rest + 0.3 * stamps[:, None] * np.eye(6)[0]
    nothing, now = np.full_like(sent, np.nan), np.zeros(100)
    each = Recording("so101", "ramp", stamps, sent, np.tile(rest, (100, 1)), nothing, nothing, now)
    on_time = arms.respond(np.zeros((1, 1)), each).position[0, -1, 0]
    early = arms.respond(np.zeros((1, 1)), replace(each, age=now + 0.01)).position[0, -1, 0]
    assert on_time - early == pytest.approx(0.003, rel=0.05)


def test_episodes_say_what_their_arms_were_sent(scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VariedArms, "vary", lambda *_: None)  # the arms as their model has them
    stations = build_stations("pick_cube", 1, threads=1)
    stations.begin(0, Job(5, Purpose.DEMONSTRATION, Demonstrations(stations.task), "d"))
    done: list = []
    while not done:
        done = stations.tick()
    (episode,) = done
    assert episode.joints.shape == episode.setpoints.shape == (len(episode), 6)
    assert np.isfinite(episode.setpoints).all()
    moved = abs(np.diff(episode.setpoints[:, :5], axis=0)).max(0)
    assert (moved <= np.array(scene.robot.limits.joint_speed) * stations.period + 1e-6).all()
    (recording,) = of_episodes("so101", [episode])
    # The twin's arms alone, sent the same, go the same way until they touch something.
    arms = ArmsModel(scene, ("arm/latency",), threads=1)
    values = np.arange(0.0, 0.031, 0.002)[:, None]
    error = arms.respond(values, recording).position - recording.position
    best = np.sqrt((error[:, :25, arms.joint_axes] ** 2).mean((1, 2))).min()
    assert best < 2e-3


LONG = 0.01 * np.arange(600)
SWUNG = np.repeat(0.5 * (1.0 - np.cos(2.0 * LONG))[:, None], 6, axis=1)


def written(tmp_path, **changed) -> list[Recording]:
    """Read a motion of six axes that is slightly wrong, once it is written."""
    columns = {
        "stamps": LONG,
        "sent": SWUNG + 0.05 * np.sin(2.0 * LONG)[:, None],
        "position": SWUNG,
        "velocity": np.repeat(np.sin(2.0 * LONG)[:, None], 6, axis=1),
        "effort": np.repeat(np.sin(2.0 * LONG)[:, None], 6, axis=1),
        "age": np.zeros(len(LONG)),
    }
    columns |= {name: change(columns[name]) for name, change in changed.items()}
    Recording("so101", "swing", *columns.values()).save(tmp_path / "a.npz")
    return read([tmp_path / "a.npz"], "so101")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"velocity": np.degrees}, "by its velocities 57.3 times as fast"),
        ({"velocity": np.zeros_like}, "by its velocities 0 times as fast"),
        ({"stamps": lambda s: 2.0 * s}, "by its velocities 2 times as fast"),
        ({"stamps": lambda s: s + 10.0 * (s > 3.8)}, "no row for 10 s after 3.8 s, while an arm"),
        ({name: lambda c: c[60:] for name in COLUMNS}, "begins in motion"),
        ({"sent": lambda _: SWUNG}, "is sent, in every row, where it is measured"),
        ({"position": lambda p: p * (1, 0, 1, 1, 1, 1)}, "axis 1 stands still to the last bit"),
        ({"effort": np.zeros_like}, "its efforts are all nought"),
        ({"effort": np.negative}, "has efforts against the way to its setpoint"),
    ],
)
def test_rows_that_no_arm_has_are_refused(changed, said, tmp_path) -> None:
    with pytest.raises(StoreError, match=said):
        written(tmp_path, **changed)


def test_right_rows_are_taken_and_the_same_ones_twice_are_not(tmp_path) -> None:
    (good,) = written(tmp_path, stamps=lambda s: 1.1 * s)
    replace(good, name="again", stamps=good.stamps + 100.0).save(tmp_path / "b.npz")
    with pytest.raises(StoreError, match="again is swing once more, row by row"):
        read([tmp_path], "so101")


def test_a_recording_of_other_axes_or_of_impossible_efforts_is_not_played(scene) -> None:
    arms = ArmsModel(scene, ("arm/latency",), threads=1)
    rest = np.zeros((100, 7))
    stamps, none = 0.01 * np.arange(100), np.full_like(rest, np.nan)
    wide = Recording("so101", "wide", stamps, rest, rest, none, none, np.zeros(100))
    with pytest.raises(StoreError, match="wide has 7 axes, and so101 has 6"):
        arms.respond(np.zeros((1, 1)), wide)
    pulled = [each[:, :6] for each in (rest, rest, none, np.full_like(rest, 900.0))]
    strong = Recording("so101", "strong", stamps, *pulled, np.zeros(100))
    with pytest.raises(StoreError, match=r"an effort of 900, and its servo at most 2\.94"):
        arms.respond(np.zeros((1, 1)), strong)
