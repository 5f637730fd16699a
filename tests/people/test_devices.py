"""Devices: a leader arm is followed from wherever it is taken up; a pad steers and has words."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from enpire.drivers.driver import Reading
from enpire.environment import Job, Stations, build_stations
from enpire.environment.kinematics import Forward
from enpire.environment.stations.episode_state import StationPhase
from enpire.errors import UsageError
from enpire.people import Hands, Leading, OperatorCommand, Person, Posture, TwistDevice
from enpire.people.devices import DEAD, GAIN, LET_GO_S, SILENT_S, SLIP
from enpire.types import Episode, FloatArray, Purpose

PERIOD = 40_000_000  # ns


class Arm:
    """A leader arm at the places that it is put to, and a clock."""

    def __init__(self, axes: FloatArray) -> None:
        self.axes, self.now, self.stamp = axes.astype(np.float64), PERIOD, PERIOD

    def read(self) -> Reading:
        none = np.full(len(self.axes), np.nan)
        return Reading(self.stamp, self.axes.copy(), none, none, np.full((1, 3), np.nan))

    def send_setpoint(self, axes: FloatArray | None = None, silent: bool = False) -> None:
        self.axes = self.axes if axes is None else axes.astype(np.float64)
        self.now += PERIOD
        self.stamp = self.stamp if silent else self.now


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("pick_cube", 1)


@pytest.fixture(scope="module")
def shown(stations: Stations) -> Episode:
    who, script = stations.starter
    return run(stations, Job(5, Purpose.DEMONSTRATION, script, who))


@pytest.fixture
def forward(stations: Stations) -> Forward:
    scene = stations.twin.scene
    return Forward(scene.world, scene.robot)


def turned(axes: FloatArray, *by: float) -> FloatArray:
    """Its first axes by so much [rad]."""
    return axes + np.pad(np.array(by), (0, len(axes) - len(by)))


def still(action: FloatArray) -> bool:
    """Whether it moves no hand."""
    return bool((abs(action[:6]) < 1e-9).all())


def run(stations: Stations, job: Job, every: Any = lambda: None) -> Episode:
    stations.begin(0, job)
    done: list[Episode] = []
    while not done:
        every()
        done = stations.tick()
    return done[0]


def leading(stations: Stations, forward: Forward, arm: Arm) -> Leading:
    return Leading(arm, stations.twin.scene.robot, forward, lambda: arm.now)


def posture(stations: Stations, forward: Forward, axes: FloatArray) -> Posture:
    position, rotation = forward.hands(axes[None, :-1])
    return Posture(position, rotation, np.ones(1), np.full((1, 6), 0.01))


def test_hands_are_where_the_twin_has_them(
    stations: Stations, shown: Episode, forward: Forward
) -> None:
    assert len(shown)
    stations.wait()
    position, rotation = forward.hands(stations.control.measured(np.array([0]))[0])
    grasp = stations.twin.scene.arms[0].grasp
    np.testing.assert_allclose(position[0], stations.twin.site_xpos[0, grasp], atol=0.01)
    np.testing.assert_allclose(rotation[0] @ rotation[0].T, np.eye(3), atol=1e-9)


def test_a_leader_that_goes_through_a_demonstration_gives_one(
    stations: Stations, shown: Episode, forward: Forward
) -> None:
    assert shown.success
    arm = Arm(shown.setpoints[0])
    hands = Hands(leading(stations, forward, arm))
    person = Person(hands, stations.task.actions, stations.twin.scene.robot)
    task = stations.task

    halves = itertools.count()

    def lead() -> None:
        half = next(halves) if stations.phase(0) is StationPhase.EXECUTE else 0
        at = min(half // 2, len(shown) - 1)
        # A leader is where the hand was: a soft arm's setpoints bear its weight too.
        arm.send_setpoint(np.append(shown.joints[at, :-1], shown.setpoints[at, -1]))

    job = Job(5, Purpose.DEMONSTRATION, person, "person", overtime=4 * task.time_limit)
    made = run(stations, job, lead)
    assert made.success, made.verdict
    assert len(made) > 1.5 * len(shown), "half as fast"


def test_it_is_followed_from_where_it_was_taken_up(stations: Stations, forward: Forward) -> None:
    home = np.append(stations.twin.scene.robot.arms[0].home, 1.0)
    elsewhere = turned(home, 0.4, 0.2, -0.1)
    arm = Arm(elsewhere)
    device = leading(stations, forward, arm)
    here = posture(stations, forward, home)
    assert still(device.act(here)[0]), "nothing moves because of where it is"
    arm.send_setpoint(turned(elsewhere, 0.0, 0.02))
    moved = forward.hands(arm.axes[None, :5])[0] - forward.hands(elsewhere[None, :5])[0]
    action = device.act(here)
    np.testing.assert_allclose(action[:, :3], (GAIN * moved / 0.01).clip(-1, 1), atol=1e-9)
    device.let_go()
    assert still(device.act(here)[0]), "let go: the next hand stands where it is"


def test_what_a_hand_cannot_follow_slips(stations: Stations, forward: Forward) -> None:
    home = np.append(stations.twin.scene.robot.arms[0].home, 1.0)
    arm = Arm(home)
    device = leading(stations, forward, arm)
    here = posture(stations, forward, home)
    device.act(here)
    arm.send_setpoint(turned(home, 1.0))
    far = device.act(here)
    assert abs(far[0, :6]).max() == 1.0
    back = forward.hands(home[None, :5])[0] - forward.hands(arm.axes[None, :5])[0]
    assert abs(back).max() > SLIP * 0.01, "farther than it may be behind"
    arm.send_setpoint(home)
    assert abs(device.act(here)[0, :3]).max() > 0.5, "so where it began is behind it now"


def test_a_silent_leader_moves_nothing_and_nothing_is_made_up_for(
    stations: Stations, forward: Forward
) -> None:
    home = np.append(stations.twin.scene.robot.arms[0].home, 1.0)
    arm = Arm(home)
    device = leading(stations, forward, arm)
    here = posture(stations, forward, home)
    device.act(here)
    away = turned(home, 0.3, 0.0, 0.0, 0.0, 0.0, -1.5)
    for _ in range(round(SILENT_S * 1e9 / PERIOD) + 1):
        arm.send_setpoint(away, silent=True)
    action = device.act(here)
    assert not action[:, :6].any()
    assert action[0, 6] == 1.0
    arm.send_setpoint(away)
    assert still(device.act(here)[0])


def test_it_is_touched_when_it_moves_and_not_when_it_lies_there(
    stations: Stations, forward: Forward
) -> None:
    home = np.append(stations.twin.scene.robot.arms[0].home, 1.0)
    arm = Arm(home)
    device = leading(stations, forward, arm)
    for k in range(100):  # it sinks, slowly
        arm.send_setpoint(home + 0.002 * k)
        assert not device.touched
    arm.send_setpoint(turned(arm.axes, 0.0, 0.0, 0.2))
    assert device.touched
    device.let_go()
    assert not device.touched


def test_a_gripper_keeps_what_it_holds_until_the_leaders_has_come_to_it(
    stations: Stations, forward: Forward
) -> None:
    robot = stations.twin.scene.robot
    closed, opened = robot.arms[0].gripper_range
    home = np.array(robot.arms[0].home)
    arm = Arm(np.append(home, opened))
    device = leading(stations, forward, arm)
    here = posture(stations, forward, arm.axes)
    here.gripper[0] = -1.0
    told = []
    for share in (1.0, 0.5, 0.3, 0.05, 0.5, 1.0):
        arm.send_setpoint(np.append(home, closed + share * (opened - closed)))
        here.gripper[0] = device.act(here)[0, 6]
        told.append(here.gripper[0])
    np.testing.assert_allclose(told, [-1.0, -1.0, -1.0, -0.9, 0.0, 1.0], atol=1e-9)


class Pad:
    """What `Deltas` reads of a pad."""

    def __init__(self, speaks: bool = True) -> None:
        self.wanted, self.speaks, self.intervenes = np.zeros(4), speaks, False
        self.events: set[str] = set()
        self.now = self.stamp = PERIOD

    def read(self) -> Reading:
        none = np.full(4, np.nan)
        return Reading(self.stamp, self.wanted.copy(), none, none, np.full((1, 3), np.nan))

    def take_events(self) -> set[str]:
        events, self.events = self.events, set()
        return events


def steering(pad: Pad) -> TwistDevice:
    return TwistDevice(pad, lambda: pad.now)  # type: ignore[arg-type]


HERE = Posture(np.zeros((1, 3)), np.eye(3)[None], np.array([-1.0]), np.full((1, 6), 0.01))


def test_a_pad_steers() -> None:
    pad = Pad()
    device = steering(pad)
    pad.wanted[:] = [1.0, -0.5, 0.9 * DEAD, 0.0]
    assert device.act(HERE).tolist() == [[1.0, -0.5, 0.0, 0.0, 0.0, 0.0, -1.0]]
    pad.wanted[3] = 1.0
    assert device.act(HERE)[0, 6] == 1.0
    pad.now += round(2e9 * SILENT_S)
    assert device.act(HERE).tolist() == [[0.0] * 6 + [-1.0]], "silent: it holds what it held"


def test_who_does_not_intervene_for_a_while_gives_back() -> None:
    pad = Pad()
    device = steering(pad)
    assert not device.touched
    assert not device.was_given(OperatorCommand.GIVE_BACK), "he has not begun"
    pad.intervenes = True
    assert device.touched
    pad.intervenes = False
    pad.now += round(0.5e9 * LET_GO_S)
    assert not device.was_given(OperatorCommand.GIVE_BACK)
    pad.now += round(0.6e9 * LET_GO_S)
    assert device.was_given(OperatorCommand.GIVE_BACK)
    assert not device.was_given(OperatorCommand.GIVE_BACK)


@pytest.mark.parametrize(
    ("events", "command"),
    [
        ({"success"}, OperatorCommand.DONE),
        ({"terminate_episode"}, OperatorCommand.DONE),
        ({"terminate_episode", "rerecord_episode"}, OperatorCommand.DISCARD),
    ],
)
def test_a_pad_ends_episodes(events: set[str], command: OperatorCommand) -> None:
    pad = Pad()
    hands = Hands(steering(pad))
    pad.events = set(events)
    other = OperatorCommand.DONE if command is OperatorCommand.DISCARD else OperatorCommand.DISCARD
    assert not hands.was_given(other)
    assert hands.was_given(command)
    pad.events = set(events)
    hands.forget()
    assert not hands.was_given(command), "it was for something else"


def test_a_pad_that_says_nothing_is_touched_when_it_moves() -> None:
    pad = Pad(speaks=False)
    hands = Hands(steering(pad))
    assert not hands.touched
    pad.wanted[2] = 0.3
    assert hands.touched


def test_keys_move_too_and_the_leader_goes_on_from_there(
    stations: Stations, forward: Forward
) -> None:
    home = np.append(stations.twin.scene.robot.arms[0].home, 1.0)
    arm = Arm(home)
    hands = Hands(leading(stations, forward, arm))
    person = Person(hands, stations.task.actions, stations.twin.scene.robot)
    rng = np.random.default_rng(0)
    person.begin(0, rng, 0.0)
    readings = stations.sensors.read(np.array([0]), [0])[0]
    seen = np.zeros((1, stations.observation_size), np.float32)

    def act() -> FloatArray:
        return person.act(np.array([0]), seen, readings)[0]

    assert still(act())
    arm.send_setpoint(turned(home, 0.02))
    assert not still(act())
    hands.hear(["KeyR"])
    np.testing.assert_allclose(act()[:6], [0, 0, 1, 0, 0, 0], atol=1e-9)
    hands.hear([])
    assert still(act()), "what it did until then is not done any more"


def test_a_device_has_one_arm_or_as_many_as_the_station(stations: Stations) -> None:
    class Three(TwistDevice):
        arms = 3

    hands = Hands(Three(Pad()))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="3 arms, and the station has 1"):
        Person(hands, stations.task.actions, stations.twin.scene.robot)
