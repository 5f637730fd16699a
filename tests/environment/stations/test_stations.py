"""Stations: the order of an episode, its outcomes, and that nothing but its seed decides it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import ClassVar

import numpy as np
import pytest
import torch

from enpire.environment import (
    CartesianControl,
    Demonstrations,
    Evidence,
    Job,
    Readings,
    Stations,
    build_stations,
    load_task,
    time_left,
)
from enpire.environment.stations.resets import RESET_TRIES
from enpire.errors import PolicyError, PolicyFault, ResetFailed
from enpire.packs import find
from enpire.policies import ChunkPolicy, ChunkSpec, PolicyController
from enpire.twin import Twin
from enpire.twin.twin import Rows
from enpire.types import Episode, Float32Array, FloatArray, Outcome, Purpose, Verdict
from tests.environment.reach import Reach, Speed, reach_stations


def job(seed: int, controller: object, exploration: float = 0.0) -> Job:
    return Job(seed, Purpose.COLLECTION, controller, "p", 0, exploration)


def finish(stations: Stations, ahead: int = 0) -> list[Episode]:
    done: list[Episode] = []
    while stations.busy:
        done += stations.tick(ahead)
    return done


class Recorded(Reach):
    """Writes down what the station calls, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def after_compile(self, twin: Twin) -> None:
        self.calls.append("after_compile")

    def sample(self, rng: np.random.Generator) -> FloatArray:
        self.calls.append("sample")
        return super().sample(rng)

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        self.calls.append("set_initial_state")
        super().set_initial_state(twin, control, row, variation)

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        self.calls.append("settle")
        return super().settle(twin, control, row, elapsed)

    def observe(self, readings: Readings) -> Float32Array:
        self.calls.append("observe")
        return super().observe(readings)

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        self.calls.append("verification_action")
        return super().verification_action(evidence)

    def verify(self, evidence: Evidence) -> Verdict:
        self.calls.append("verify")
        return super().verify(evidence)


def test_an_episode_runs_in_one_order() -> None:
    task = Recorded()
    stations = reach_stations(task=task)
    stations.begin(0, job(3, Speed()))
    (episode,) = finish(stations)
    assert episode.success
    order = [name for name, _ in groupby(task.calls)]
    assert order == [
        "after_compile",
        "sample",
        "set_initial_state",
        "settle",
        "observe",
        "verification_action",
        "verify",
    ]
    assert len(episode) == len(episode.observations)
    assert task.calls.count("observe") == len(episode) + 1  # twice of the first readings
    assert task.calls.count("set_initial_state") == 2  # twice the first time
    assert task.calls.count("verify") == 1


class Planted(Reach):
    """Counts how often its physics' own rules ran on each station."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[int] = []

    def after_step(self, twin: Twin, row: int) -> None:
        self.ran.append(row)


def test_the_plants_own_rules_run_once_a_period_of_every_busy_station() -> None:
    task = Planted()
    stations = reach_stations(3, task=task)
    for row in (0, 2):
        stations.begin(row, job(row, Speed()))
    done = {episode.station: episode for episode in finish(stations)}
    for row in (0, 2):
        assert task.ran.count(row) == round(done[row].times.total / stations.period)
    assert 1 not in task.ran, "nothing runs there"


def test_rows_times_and_rewards_of_an_episode_agree() -> None:
    stations = reach_stations()
    stations.begin(0, job(3, Speed()))
    ticks, done = 0, []
    while stations.busy:
        done += stations.tick()
        ticks += 1
    episode = done[0]
    assert episode.times.execute == pytest.approx(len(episode) * stations.period)
    assert episode.times.total == pytest.approx(ticks * stations.period)
    np.testing.assert_allclose(np.diff(episode.stamps), stations.period)
    assert episode.rewards.sum() == episode.rewards[-1] == 1.0


def test_time_runs_out_on_a_policy_that_does_not_move() -> None:
    stations = reach_stations()
    stations.begin(0, job(3, Speed(0.0)))
    (episode,) = finish(stations)
    assert episode.verdict.outcome is Outcome.FAILURE
    assert episode.verdict.failed == ("near",)
    assert episode.times.execute == pytest.approx(Reach.time_limit)
    assert not episode.rewards.any()


def test_an_attempt_goes_on_from_where_the_last_one_has_led() -> None:
    def tried(attempts: int) -> tuple[Episode, int]:
        stations = reach_stations()
        stations.begin(0, replace(job(3, Speed(0.1)), attempts=attempts))
        ticks, done = 0, []
        while stations.busy:
            done += stations.tick()
            ticks += 1
        assert done[0].times.total == pytest.approx(ticks * stations.period)
        return done[0], len(done[0])

    (once, length), (twice, _), (often, more) = tried(1), tried(2), tried(8)
    assert not once.success
    assert not twice.success
    assert twice.attempts == 2
    assert often.success
    assert 2 < often.attempts < 8
    assert more > length
    np.testing.assert_array_equal(often.observations[:length], once.observations)
    gap = often.observations[:, 0]
    assert gap[length] <= gap[length - 1] + 0.01, "nobody put the hand back"
    assert often.times.reset == once.times.reset
    assert often.times.execute == pytest.approx(more * Reach().control_hz ** -1)
    assert often.times.verify == pytest.approx(often.attempts * once.times.verify, rel=0.4)
    assert often.rewards.sum() == often.rewards[-1] == 1.0


def test_plans_and_stations_that_run_ahead_change_no_attempt() -> None:
    def episodes(controller: Speed, ahead: int) -> dict[int, tuple[object, ...]]:
        stations = reach_stations(3)
        for row in range(3):
            stations.begin(row, replace(job(row, controller), attempts=3))
        return {e.seed: (_content(e), e.attempts) for e in finish(stations, ahead)}

    for controller in (Speed, Plans):
        one_by_one = episodes(controller(0.2), 0)
        assert max(attempts for _, attempts in one_by_one.values()) == 3
        assert episodes(controller(0.2), 5) == one_by_one
    slow = episodes(Speed(0.05), 0)  # nobody arrives, so that nobody has to look in time
    assert episodes(Plans(0.05, 0.05), 5) == slow


class Fails(Recorded):
    """A reset that fails the first `times` times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times
        self.variations: list[float] = []

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        self.variations.append(float(variation[0]))
        super().set_initial_state(twin, control, row, variation)

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        if elapsed > 0.05 and self.left:
            self.left -= 1
            raise ResetFailed("dropped it")
        return super().settle(twin, control, row, elapsed)


def test_a_failed_reset_is_tried_again_with_the_next_initial_condition() -> None:
    task = Fails(RESET_TRIES - 1)
    stations = reach_stations(task=task)
    stations.begin(0, job(3, Speed()))
    (episode,) = finish(stations)
    assert episode.success
    assert task.calls.count("set_initial_state") == RESET_TRIES + 2  # twice at times
    assert len(set(task.variations)) == RESET_TRIES


def test_a_reset_that_keeps_failing_is_invalid() -> None:
    task = Fails(100)
    controller = Speed()
    stations = reach_stations(task=task)
    stations.begin(0, job(3, controller))
    (episode,) = finish(stations)
    assert episode.verdict.outcome is Outcome.INVALID
    assert f"{RESET_TRIES} times: dropped it" in episode.verdict.reason
    assert task.calls.count("set_initial_state") == RESET_TRIES + 2  # twice at times
    assert len(episode) == 0
    assert episode.observations.shape == (0, 2)
    assert not controller.asked


class NeverSettles(Recorded):
    settle_limit = 0.2

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        return 1.0


def test_a_reset_that_never_settles_ends() -> None:
    stations = reach_stations(task=NeverSettles())
    stations.begin(0, job(3, Speed()))
    (episode,) = finish(stations)
    assert episode.verdict.outcome is Outcome.INVALID
    assert "not settled" in episode.verdict.reason
    assert episode.times.reset < RESET_TRIES * (NeverSettles.settle_limit + 0.1)


class Slow(Recorded):
    """Is to be seen to half a second after the reset, and ready after another."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        self.asked.append(elapsed)
        return time_left(elapsed, 0.5, 1.0)


@pytest.mark.parametrize("ahead", [0, 3, 100])
def test_a_scene_that_settles_is_left_alone(ahead: int) -> None:
    task = Slow()
    stations = reach_stations(task=task)
    stations.begin(0, job(3, Speed()))
    (episode,) = finish(stations, ahead)
    assert episode.times.reset == pytest.approx(1.0, abs=stations.period)
    assert task.asked[0] == 0.0
    assert task.asked[-1] == pytest.approx(1.0, abs=stations.period)
    if ahead == 100:
        assert task.asked[1:-1] == pytest.approx([0.5], abs=stations.period)


class Weak(Reach):
    """Its force limit is below what moving an arm takes."""

    force_limit = 0.02


def test_too_much_force_ends_the_execution_as_a_failure() -> None:
    stations = reach_stations(task=Weak())
    stations.begin(0, job(3, Speed()))
    (episode,) = finish(stations)
    assert episode.verdict.outcome is Outcome.FAILURE
    assert episode.verdict.stage == "stopped"
    (force,) = episode.verdict.predicates
    assert force.name == "force"
    assert force.value > force.threshold == Weak.force_limit
    assert not force.holds


@pytest.mark.parametrize("field", ["qpos", "qvel"])
@pytest.mark.parametrize("value", [np.nan, 1e12])
def test_diverged_physics_is_invalid_and_the_others_go_on(field: str, value: float) -> None:
    stations = reach_stations(3)
    for row in range(3):
        stations.begin(row, job(row, Speed()))
    for _ in range(4):
        stations.tick()
    stations.wait()
    getattr(stations.twin, field)[1, 2] = value
    episodes = {e.station: e for e in finish(stations)}
    assert episodes[1].verdict.outcome is Outcome.INVALID
    assert "diverged" in episodes[1].verdict.reason
    assert episodes[0].success
    assert episodes[2].success


def test_a_station_recovers_from_diverged_physics() -> None:
    stations = reach_stations(1)
    stations.begin(0, job(3, Speed()))
    (expected,) = finish(stations)
    stations.begin(0, job(4, Speed()))
    stations.tick()
    stations.wait()
    stations.twin.qvel[0] = np.nan
    (broken,) = finish(stations)
    assert broken.verdict.outcome is Outcome.INVALID
    stations.begin(0, job(3, Speed()))
    (again,) = finish(stations)
    assert _content(again) == _content(expected)


class Returns(Speed):
    """Hands over whatever it is told to."""

    def __init__(self, result: Callable[[int], Float32Array]) -> None:
        super().__init__()
        self.result = result

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        return self.result(len(rows))


@pytest.mark.parametrize(
    "result",
    [
        lambda m: np.full((m, 7), np.nan, np.float32),
        lambda m: np.full((m, 7), np.inf, np.float32),
        lambda m: np.zeros((m, 6), np.float32),
        lambda m: np.zeros((m + 1, 7), np.float32),
        lambda m: np.zeros(7, np.float32),
    ],
)
def test_what_is_no_action_is_a_policy_error(result: Callable[[int], Float32Array]) -> None:
    stations = reach_stations(2)
    stations.begin(0, job(1, Returns(result)))
    with pytest.raises(PolicyError):
        finish(stations)
    assert np.isfinite(stations.twin.ctrl).all()
    (aborted,) = stations.abort("policy error")
    assert aborted.verdict.outcome is Outcome.ABORTED
    assert not stations.busy


def test_actions_are_recorded_as_carried_out() -> None:
    stations = reach_stations()
    stations.begin(0, job(3, Returns(lambda m: np.full((m, 7), 3.0, np.float32))))
    (episode,) = finish(stations)
    assert (episode.actions == 1.0).all()


def test_abort_ends_and_labels_everything_under_way() -> None:
    stations = reach_stations(3)
    for row in (0, 2):
        stations.begin(row, job(row, Speed()))
    for _ in range(4):
        stations.tick()
    aborted = stations.abort("by hand")
    assert [e.station for e in aborted] == [0, 2]
    assert {e.verdict.outcome for e in aborted} == {Outcome.ABORTED}
    assert {e.verdict.reason for e in aborted} == {"by hand"}
    assert stations.idle == [0, 1, 2]


@pytest.mark.parametrize("ahead", [0, 8])
def test_a_job_gives_an_episode_up_and_the_others_go_on(ahead: int) -> None:
    asked: list[float] = []

    def give_up(seen: Float32Array, elapsed: float) -> str | None:
        asked.append(elapsed)
        return f"it is at {seen[1]:.2f}" if elapsed > 0.5 else None

    stations = reach_stations(2)
    stations.begin(0, replace(job(1, Speed(0.0)), give_up=give_up))
    stations.begin(1, job(1, Speed(0.0)))
    given_up, whole = finish(stations, ahead)
    assert (given_up.station, given_up.verdict.outcome) == (0, Outcome.ABORTED)
    assert given_up.verdict.reason == f"it is at {whole.observations[7, 1]:.2f}"
    assert whole.verdict.outcome is Outcome.FAILURE
    assert [round(13 * elapsed) for elapsed in asked] == [2, 4, 5, 7], "of 13 periods, by eighths"
    assert (len(given_up), len(whole)) == (7, 13)
    assert given_up.times.verify == stations.period, "no probe, no verdict but this"
    assert np.array_equal(given_up.observations, whole.observations[:7])
    assert not given_up.rewards.any()


def test_an_episode_that_is_not_given_up_is_the_same() -> None:
    stations = reach_stations(2)
    stations.begin(0, replace(job(1, Speed(0.7)), give_up=lambda seen, elapsed: None))
    stations.begin(1, job(1, Speed(0.7)))
    asked, other = finish(stations)
    assert asked.times == other.times
    assert np.array_equal(asked.observations, other.observations)


def test_controllers_are_asked_once_a_period_for_all_their_stations() -> None:
    stations = reach_stations(3)
    one, other = Speed(), Speed()
    for row, controller in enumerate((one, other, one)):
        stations.begin(row, job(row, controller))
    for _ in range(4):
        stations.tick()
    assert {tuple(rows) for rows in one.asked} == {(0, 2)}
    assert {tuple(rows) for rows in other.asked} == {(1,)}


def _content(episode: Episode) -> tuple[object, ...]:
    """Everything but which station it was."""
    return (
        episode.verdict,
        episode.times,
        episode.observations.tobytes(),
        episode.actions.tobytes(),
    )


def _random_policy(name: str) -> ChunkPolicy:
    task = load_task(find("tasks", name))
    torch.manual_seed(0)
    policy = ChunkPolicy(ChunkSpec(name, len(task.observation_names), task.actions.size)).eval()
    policy.spread.fill_(0.2)
    return policy


def _episodes(task: str, stations: int, threads: int, seeds: list[int]) -> dict[int, Episode]:
    built = build_stations(task, stations, threads)
    controller = Demonstrations(built.task)
    waiting, done = list(seeds), []
    while waiting or built.busy:
        for row in built.idle:
            if waiting:
                built.begin(row, job(waiting.pop(0), controller))
        done += built.tick()
    return {e.seed: e for e in done}


SEEDS = [11, 12, 13, 14, 15, 16]


@pytest.mark.medium
@pytest.mark.parametrize(
    "task",
    [
        "pick_cube",
        # `repeat` in tests/packs/test_every_pack.py holds it for each pack, in every lane.
        pytest.param("zip_tie", marks=pytest.mark.slow),
        pytest.param("tool_use", marks=pytest.mark.slow),
    ],
)
def test_an_episode_depends_on_its_seed_alone(task: str) -> None:
    """Not on the station, what ran there before, how many there are, or the threads."""
    seeds = SEEDS if task == "pick_cube" else SEEDS[:2]
    alone = _episodes(task, 1, 1, seeds)
    for stations, threads in ((1, 1), (4, 1), (4, 2)):
        together = _episodes(task, stations, threads, seeds[::-1])
        assert {s: _content(e) for s, e in together.items()} == {
            s: _content(e) for s, e in alone.items()
        }
    assert len({_content(e) for e in alone.values()}) == len(seeds)


class Plans(Speed):
    """Decides three periods at a time, and keeps what it was shown."""

    def __init__(self, speed: float = 1.0, last: float | None = None) -> None:
        super().__init__(speed)
        self.left: dict[int, list[Float32Array]] = {}
        self.shown: dict[int, list[Float32Array]] = {}
        self.last = speed if last is None else last  # of the three actions

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        self.left[row], self.shown[row] = [], []

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        actions = super().act(rows, observations, readings)
        for row, observation, action in zip(rows.tolist(), observations, actions, strict=True):
            self.shown[row].append(observation)
            last = action.copy()
            last[0] = self.last
            self.left[row] = [action, last]
        return actions

    def plan(self, row: int) -> Float32Array:
        return np.array(self.left[row])

    def saw(self, row: int, observations: Float32Array) -> None:
        self.shown[row].extend(observations)


def test_what_is_decided_before_changes_no_episode() -> None:
    def episodes(controller: Speed, ahead: int = 0) -> dict[int, Episode]:
        stations = reach_stations(3)
        for row in range(2):
            stations.begin(row, job(row, controller))
        stations.tick()
        stations.begin(2, job(2, controller))
        return {e.seed: e for e in finish(stations, ahead)}

    asked, plans = Speed(0.2), Plans(0.2)
    always, planned = episodes(asked), episodes(plans, ahead=5)
    assert {e.verdict.outcome for e in always.values()} == {Outcome.FAILURE}, "nobody arrives"
    assert {s: _content(e) for s, e in planned.items()} == {
        s: _content(e) for s, e in always.items()
    }
    assert sum(map(len, plans.asked)) < sum(map(len, asked.asked)) / 2
    for seed, episode in planned.items():
        shown = np.array(plans.shown[seed])
        np.testing.assert_array_equal(shown, episode.observations[: len(shown)])
        assert len(episode) - len(shown) < 3, "all but the last plan's"


@pytest.mark.parametrize("controller", [Speed(0.2), Plans(0.2)])
def test_what_a_task_keeps_no_policy_chooses(controller: Speed) -> None:
    class Kept(Reach):
        fixed_action_dims: ClassVar[dict[int, float]] = {0: 0.1, 6: -1.0}

    stations = reach_stations(2, task=Kept())
    for row in range(2):
        stations.begin(row, job(row, controller))
    for episode in finish(stations):
        np.testing.assert_array_equal(episode.actions[:, 0], np.float32(0.1))
        np.testing.assert_array_equal(episode.actions[:, 6], -1.0)
        assert episode.observations[-1, 1] - episode.observations[0, 1] < 0.012, "0.1 is done"


def test_a_plan_is_carried_out_before_anyone_looks_whether_the_work_is_done() -> None:
    stations = reach_stations(9)
    for row in range(9):
        stations.begin(row, job(row, Plans()))
    episodes = finish(stations)
    in_time = [len(e) for e in episodes if len(e) < stations.execute_periods]
    assert in_time
    assert {length % 3 for length in in_time} == {0}


def test_a_plan_ends_where_a_hand_feels_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(ahead: int) -> Episode:
        stations = build_stations("pick_cube", 1)
        policy = _random_policy("pick_cube")
        stations.begin(0, job(1, PolicyController(policy)))
        (episode,) = finish(stations, ahead)
        return episode

    monkeypatch.setattr(type(build_stations("pick_cube", 1).task), "force_limit", 0.22)
    at_once, ahead = ended(0), ended(16)  # the sensor's noise reaches the limit before long
    assert at_once.verdict.stage == "stopped"
    assert len(at_once) % 8, "in the middle of a plan"
    assert _content(at_once) == _content(ahead)


class Asked:
    """A policy's controller that is asked in every period."""

    def __init__(self, controller: PolicyController) -> None:
        self.begin, self.act = controller.begin, controller.act


def test_a_policys_plans_change_no_episode() -> None:
    def episodes(controller: object) -> list[tuple[object, ...]]:
        stations = build_stations("pick_cube", 2, 2)
        for row in range(2):
            stations.begin(row, job(row, controller, 0.3))
        return [_content(e) for e in sorted(finish(stations), key=lambda e: e.seed)]

    policy = _random_policy("pick_cube")
    assert episodes(PolicyController(policy)) == episodes(Asked(PolicyController(policy)))


def test_a_plan_of_no_numbers_is_a_policy_error() -> None:
    stations = reach_stations(1)
    stations.begin(0, job(1, Plans(last=np.nan)))
    with pytest.raises(PolicyError, match="not finite"):
        finish(stations)
    (aborted,) = stations.abort("policy error")
    assert len(aborted) == len(aborted.observations) == 0


@pytest.mark.parametrize("planned", [False, True])
def test_stations_that_run_ahead_change_nothing(planned: bool) -> None:
    """Not an episode, nor on which station it runs, nor the tick that returns it."""

    def ended(ahead: int) -> list[tuple[object, ...]]:
        stations = build_stations("pick_cube", 4, 2)
        policy = PolicyController(_random_policy("pick_cube"))
        controller = policy if planned else Demonstrations(stations.task)
        waiting, found, ticks = list(SEEDS), [], 0
        while waiting or stations.busy:
            for row in stations.idle:
                if waiting:
                    stations.begin(row, job(waiting.pop(0), controller))
            done = stations.tick(ahead)
            ticks += 1
            found += [(ticks, e.station, e.seed, _content(e)) for e in done]
        return found

    assert ended(16) == ended(0)


def test_stations_run_ahead_by_so_many_periods_and_no_more() -> None:
    task = Planted()
    stations = reach_stations(2, threads=2, task=task)
    for row in range(2):
        stations.begin(row, job(row, Speed(0.0)))
    for _ in range(3):
        stations.tick(5)
    deadline = time.monotonic() + 60.0
    while len(task.ran) < 16 and time.monotonic() < deadline:
        time.sleep(0.001)  # the other thread goes on meanwhile
    stations.wait()
    assert 3 <= task.ran.count(0) <= 8
    assert 3 <= task.ran.count(1) <= 8
    assert len(task.ran) > 6, "nobody ran ahead"


class Raises(Speed):
    """Raises after so many periods."""

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        if len(self.asked) == 3:
            raise PolicyError("no idea")
        return super().act(rows, observations, readings)


def test_an_error_ahead_is_raised_by_the_tick_it_belongs_to() -> None:
    def ticks(ahead: int) -> int:
        stations = reach_stations(1)
        stations.begin(0, job(1, Raises()))
        done: list[int] = []

        def tick_on() -> None:
            while True:
                stations.tick(ahead)
                done.append(1)

        with pytest.raises(PolicyError, match="no idea"):
            tick_on()
        (aborted,) = stations.abort("policy error")
        assert len(aborted) == len(aborted.observations) == 3
        stations.begin(0, job(3, Speed()))
        assert finish(stations)[0].success, "the station goes on"
        return len(done)

    assert ticks(8) == ticks(0)


def test_an_episode_under_a_policy_depends_on_its_seed_alone() -> None:
    """Not on how many other stations ask the network at the same time."""

    def episodes(stations: int, threads: int) -> dict[int, tuple[object, ...]]:
        built = build_stations("pick_cube", stations, threads)
        controller = PolicyController(_random_policy("pick_cube"))
        waiting, done = SEEDS[:4], []
        for _ in range(200):
            for row in built.idle if waiting else ():
                built.begin(row, job(waiting.pop(), controller, 0.3))
            done += built.tick()
        done += built.abort("enough")
        return {e.seed: (e.observations[:20].tobytes(), e.actions[:20].tobytes()) for e in done}

    together = episodes(4, 2)
    assert len(together) == 4
    alone = episodes(1, 1)
    assert alone == {seed: together[seed] for seed in alone}


def test_the_same_seed_gives_the_same_state_to_the_last_bit() -> None:
    stations = build_stations("pick_cube", 2, 1)
    controller = Demonstrations(stations.task)
    for row in range(2):
        stations.begin(row, job(5, controller))
    for _ in range(30):
        stations.tick()
        stations.wait()
        for name in ("qpos", "qvel", "ctrl", "history"):
            state = getattr(stations.twin, name)
            assert state[0].tobytes() == state[1].tobytes(), name


class Draws(Speed):
    """Uses its randomness up as it explores."""

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        if exploration:
            rng.standard_normal(100)


def test_exploration_does_not_change_the_initial_condition() -> None:
    """So that exploring and evaluating on one seed meet the same scene and sensor noise."""
    firsts = []
    for exploration in (0.0, 0.5):
        stations = build_stations("pick_cube", 1, 1)
        stations.begin(0, job(5, Draws(0.1), exploration))
        for _ in range(8):
            stations.tick()
        (episode,) = stations.abort("enough")
        firsts.append(episode.observations[:2].tobytes())
    assert firsts[0] == firsts[1]


def test_a_variant_is_another_episode_from_the_same_initial_condition() -> None:
    first = replace(job(5, Speed()), exploration=0.3)
    variants = [first, *(replace(first, variant=n) for n in (1, 2))]
    assert first.id == "collection-0-p-0000000000000005"
    assert [v.id for v in variants[1:]] == [f"{first.id}-1", f"{first.id}-2"]
    drawn = [
        [stream.random() for stream in (s.variation, s.noise, s.exploration, s.handling)]
        for s in (v.streams() for v in variants)
    ]
    assert drawn[0] == [rng.random() for rng in np.random.default_rng(5).spawn(4)]
    assert len({draws[0] for draws in drawn}) == 1, "the initial condition"
    for others in zip(*(draws[1:] for draws in drawn), strict=True):
        assert len(set(others)) == 3


def test_a_forked_variant_sees_what_the_seeds_own_episode_saw_and_then_something_else() -> None:
    """As long as it does the same; its own noise begins where it forks."""

    def seen(variant: int, forked: int) -> Float32Array:
        stations = build_stations("pick_cube", 1, 1)
        asked = replace(job(5, Speed(0.1)), variant=variant, forked=forked)
        stations.begin(0, asked)
        for _ in range(20):
            stations.tick()
        (episode,) = stations.abort("enough")
        assert (episode.variant, episode.forked) == (variant, forked)
        return episode.observations[:10]

    own, variant, forked = seen(0, 0), seen(1, 0), seen(1, 6)
    assert (variant[0] != own[0]).any()
    np.testing.assert_array_equal(forked[:6], own[:6])
    assert (forked[6:] != own[6:]).any(axis=1).all()
    tracked = abs(own[6:, :3] - forked[6:, :3]).max() * 0.05
    assert tracked < 8 * 0.0015, "what stays for an episode has stayed"


class Failing(Speed):
    """Its program dies when it is asked for the fourth time."""

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        if len(self.asked) >= 3:
            raise PolicyFault("the policy's program died")
        return super().act(rows, observations, readings)


def test_policy_at_fault_has_failed_and_others_go_on() -> None:
    stations = reach_stations(3)
    failing = Failing()
    stations.begin(0, job(1, failing))
    stations.begin(1, job(1, Demonstrations(stations.task)))
    stations.begin(2, job(2, failing))
    ended = {episode.station: episode for episode in finish(stations, ahead=4)}
    for row in (0, 2):
        verdict = ended[row].verdict
        assert verdict.outcome is Outcome.FAILURE
        assert verdict.reason == "the policy's program died"
        assert len(ended[row].observations) == len(ended[row].actions)
        assert ended[row].times.execute == pytest.approx(stations.period * len(ended[row]))
    assert ended[1].success
    assert stations.idle == [0, 1, 2]  # none is set aside
