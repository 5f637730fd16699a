"""A supervisor, period by period: what makes it stop, how, and what lets it go on."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from enpire.errors import SafetyError
from enpire.safety.machine import Mode
from enpire.safety.messages import SetpointRequest
from enpire.safety.rules import GateRule
from tests.safety.rig import PERIOD, Rig, broken


@pytest.fixture
def rig(tmp_path) -> Rig:
    return Rig(tmp_path)


def test_setpoints_reach_the_arms_and_rest_ends_the_motion(rig: Rig) -> None:
    rig.supervisor.arm()
    target = rig.arms.home + np.array([0.1, 0, 0, 0, 0, 0, -0.02])
    rig.follow(target, 80)
    assert np.allclose(rig.arms.position, target)
    assert rig.supervisor.mode is Mode.MOVING
    rig.want(target, rest=True)
    rig.tick(2)
    assert rig.supervisor.mode is Mode.ARMED
    rig.settle()
    assert rig.supervisor.mode is Mode.ARMED  # at rest nobody has to say anything
    assert rig.supervisor.rules is GateRule.NONE


def test_nothing_is_sent_before_it_is_armed(rig: Rig) -> None:
    rig.want(rig.arms.home)
    rig.tick(5)
    assert rig.arms.sent == []


def nan(rig):
    rig.want(rig.arms.home * np.nan)


def short(rig):
    rig.want(rig.arms.home[:3])


def scrap(rig):
    rig.put(b"\x01\x02\x03")


def old(rig):
    rig.want(rig.arms.home, age=0.05)


def early(rig):
    rig.want(rig.arms.home, age=-0.05)


def backwards(rig):
    rig.want(rig.arms.position, age=0.012)


def flood(rig):
    rig.put(SetpointRequest(rig.supervisor.epoch, rig.now, rig.arms.home).encoded(), skipped=500)


def jump(rig):
    rig.want(rig.arms.home + 0.5)


def camera(rig):
    rig.beats[0] = rig.now - 10**9


def verifier(rig):
    rig.beats[1] = rig.now - 10**10


def asked(rig):
    rig.supervisor.stop()


def held_up(rig):
    rig.now += 10**8


BRAKING = {
    nan: GateRule.FINITE,
    short: GateRule.SIZE,
    scrap: GateRule.SIZE,
    old: GateRule.STALE,
    early: GateRule.FUTURE,
    backwards: GateRule.STALE,
    flood: GateRule.FLOOD,
    jump: GateRule.JUMP,
    camera: GateRule.CAMERA,
    verifier: GateRule.VERIFIER,
    asked: GateRule.ASKED,
    held_up: GateRule.OVERRUN,
}


@pytest.mark.parametrize("fault", BRAKING)
def test_a_fault_brakes_in_the_same_period_within_all_limits(rig: Rig, fault) -> None:
    rig.moving()
    speed = abs(rig.supervisor._motion.velocity[0])
    fault(rig)
    rig.tick()
    assert BRAKING[fault] in rig.supervisor.rules
    assert rig.supervisor.mode is Mode.STOPPING
    assert rig.supervisor.stopped == rig.now
    assert abs(rig.supervisor._motion.velocity[0]) < speed
    rig.settle()
    assert rig.supervisor.mode is Mode.HOLDING
    sent = len(rig.arms.sent)
    rig.settle()
    assert len(rig.arms.sent) == sent
    assert broken(rig.arms.sent, rig.limits, rig.space, PERIOD) == []


def test_a_silent_policy_lapses_after_its_heartbeat(rig: Rig) -> None:
    rig.moving()
    rig.tick()
    assert rig.supervisor.mode is Mode.MOVING
    rig.tick(2)
    assert rig.supervisor.mode is Mode.STOPPING
    assert GateRule.HEARTBEAT in rig.supervisor.rules


@pytest.mark.parametrize(
    ("fault", "rule", "after"),
    [
        (("broken", True), GateRule.DRIVER, Mode.LATCHED),
        (("frozen", True), GateRule.DRIVER_AGE, Mode.HOLDING),
        (("force", 60.0), GateRule.WRIST_FORCE, Mode.HOLDING),
        (("pushed", np.full(7, -0.05)), GateRule.LAG, Mode.HOLDING),
    ],
)
def test_where_no_setpoint_is_lawful_the_arm_holds_by_itself(rig: Rig, fault, rule, after) -> None:
    rig.moving()
    stops = rig.arms.stops
    setattr(rig.arms, *fault)
    for _ in range(12):
        if rig.supervisor.mode is Mode.MOVING:
            rig.follow(rig.arms.position + np.array([0.01, 0, 0, 0, 0, 0, 0]))
    for _ in range(10):
        rig.tick()
    assert rule in rig.supervisor.rules
    assert rig.supervisor.mode is after
    assert rig.arms.stops == stops + 1
    assert broken(rig.arms.sent, rig.limits, rig.space, PERIOD) == []


def test_after_a_stop_no_setpoint_of_before_moves_anything(rig: Rig) -> None:
    rig.moving()
    before = rig.supervisor.epoch
    rig.supervisor.stop()
    rig.settle()
    rig.supervisor.recover()
    sent = len(rig.arms.sent)
    rig.put(SetpointRequest(before, rig.now, rig.arms.home).encoded())
    rig.tick(5)
    assert rig.supervisor.mode is Mode.ARMED
    assert len(rig.arms.sent) == sent


def test_three_recoveries_an_episode_then_a_person(rig: Rig) -> None:
    rig.moving()
    for _ in range(3):
        rig.supervisor.stop()
        rig.settle()
        rig.supervisor.recover()
    rig.supervisor.stop()
    rig.settle()
    with pytest.raises(SafetyError, match="after 3 recoveries"):
        rig.supervisor.recover()
    assert rig.supervisor.mode is Mode.LATCHED
    for ask in (rig.supervisor.recover, rig.supervisor.arm, rig.supervisor.park):
        with pytest.raises(SafetyError, match="clear"):
            ask()
    with pytest.raises(SafetyError, match="clear"):
        rig.supervisor.episode()
    rig.supervisor.clear()
    rig.supervisor.recover()
    assert rig.supervisor.recoveries.count == 1


def test_a_new_episode_has_its_recoveries(rig: Rig) -> None:
    rig.moving()
    rig.supervisor.stop()
    rig.settle()
    rig.supervisor.recover()
    rig.supervisor.episode()
    assert rig.supervisor.recoveries.count == 0


def test_parking_goes_home_calmly_and_is_idle_then(rig: Rig) -> None:
    rig.moving()
    rig.supervisor.stop()
    rig.settle()
    rig.supervisor.park()
    before = len(rig.arms.sent)
    rig.tick(300)
    assert rig.supervisor.mode is Mode.IDLE
    assert np.allclose(rig.arms.position[:6], rig.arms.home[:6], atol=1e-5)
    way = np.array([sent for sent, _ in rig.arms.sent[before:] if sent is not None])
    assert (abs(np.diff(way, axis=0)) <= rig.limits.speed * 0.5 * PERIOD + 1e-9).all()


@pytest.mark.parametrize("mode", ["idle", "armed", "moving", "stopping", "holding", "parking"])
def test_the_emergency_stop_latches_from_everywhere(rig: Rig, mode) -> None:
    if mode == "armed":
        rig.supervisor.arm()
    elif mode == "parking":
        rig.supervisor.park()
    elif mode != "idle":
        rig.moving()
        if mode != "moving":
            rig.supervisor.stop()
            rig.tick(1 if mode == "stopping" else 100)
    rig.tick(0 if mode in ("moving", "stopping") else 1)
    assert rig.supervisor.mode.name.lower() in (mode, "idle")
    rig.supervisor.stop(GateRule.EMERGENCY)
    rig.tick()
    assert rig.supervisor.mode is Mode.LATCHED
    sent = len(rig.arms.sent)
    rig.follow(rig.arms.position, 5)
    assert len(rig.arms.sent) == sent


def test_arms_that_move_or_are_not_heard_of_are_not_armed(rig: Rig) -> None:
    rig.now += 10**9
    with pytest.raises(SafetyError, match="bus"):
        rig.supervisor.arm()
    rig.tick()
    rig.arms._setpoint = rig.arms.home + 0.3
    rig.tick(3)
    with pytest.raises(SafetyError, match="stand still"):
        rig.supervisor.arm()


def test_every_stop_leaves_a_record_of_what_led_to_it(rig: Rig, tmp_path) -> None:
    rig.moving()
    nan(rig)
    rig.settle()
    rig.recorder.wait()
    said = json.loads((tmp_path / "00001.json").read_text())
    assert said["rules"] == ["finite"]
    assert said["mode"] == "holding"
    with np.load(tmp_path / "00001.npz", allow_pickle=False) as record:
        assert record["position"].shape == record["sent"].shape
        rows = len(record["stamp"])
        assert rows >= 13
        assert (np.diff(record["stamp"]) > 0).all()
        assert np.isnan(record["wanted"][-1]).all()
        assert Mode(record["mode"][-2]) is Mode.STOPPING
        asked = [row for row in record["rules"] if row & GateRule.FINITE]
        assert len(asked) == 1
    rig.supervisor.recover()
    rig.supervisor.stop(GateRule.EMERGENCY)
    rig.tick()
    rig.recorder.wait()
    assert json.loads((tmp_path / "00002.json").read_text())["mode"] == "latched"


def test_a_record_says_what_the_driver_raised(rig: Rig, tmp_path) -> None:
    rig.moving()
    rig.arms.broken = True
    rig.tick()
    rig.recorder.wait()
    said = json.loads((tmp_path / "00001.json").read_text())
    assert said["rules"] == ["driver"]
    assert said["driver"] == "OSError: bus"
    rig.supervisor.clear()
    with pytest.raises(SafetyError, match=r"nothing of where the arms are \(OSError: bus\)"):
        rig.supervisor.recover()
    rig.arms.broken = False
    rig.tick()
    rig.supervisor.recover()
    rig.supervisor.stop(GateRule.EMERGENCY)
    rig.tick()
    rig.recorder.wait()
    assert json.loads((tmp_path / "00002.json").read_text())["driver"] == "", "that was before"


def test_the_ring_keeps_thirty_seconds(rig: Rig, tmp_path) -> None:
    rig.tick(3100)
    rig.supervisor.stop(GateRule.EMERGENCY)
    rig.tick()
    rig.recorder.wait()
    with np.load(tmp_path / "00001.npz", allow_pickle=False) as record:
        assert len(record["stamp"]) == 3000
        assert np.diff(record["stamp"]).tolist() == [10**7] * 2999


def test_rules_have_one_bit_each() -> None:
    assert all(not a & b for a, b in itertools.combinations(GateRule, 2))


@pytest.mark.parametrize("off", [-0.3, 0.12])
def test_a_joint_that_is_said_to_be_where_it_cannot_be_holds_the_arms(rig: Rig, off) -> None:
    rig.moving()
    rig.arms.position = rig.arms.position + off * np.eye(7)[3]
    rig.tick()
    assert GateRule.IMPLAUSIBLE in rig.supervisor.rules
    assert rig.supervisor.mode is Mode.HOLDING


def test_an_arm_that_is_moved_by_hand_while_nothing_is_asked_of_it_stops_nothing(rig: Rig) -> None:
    rig.arms.position = rig.arms.position + 0.3 * np.eye(7)[3]
    rig.tick()
    assert rig.supervisor.mode is Mode.IDLE
    assert rig.supervisor.rules is GateRule.NONE
