"""Help: when it comes, where it goes back to, and that it is written down."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment import (
    Controller,
    Demonstrations,
    FailureDetector,
    InterventionWrapper,
    Job,
    PeriodCommand,
    Stations,
)
from enpire.environment.core.intervention import SLACK, Everywhere
from enpire.types import Episode, Float32Array, Outcome, Purpose
from tests.environment.reach import Reach, Speed, reach_stations

LIMIT = round(Reach.time_limit / Reach.control_hz**-1)


class At(FailureDetector):
    """Trouble in the period `now`; all was well in the period `back`."""

    def __init__(self, now: int, back: int = 0) -> None:
        self.now, self.back = now, back
        self.asked: list[int] = []

    def begin(self, row: int, rng: np.random.Generator) -> None:
        self.asked.append(0)

    def trouble(self, row: int, observation: Float32Array) -> int | None:
        self.asked[-1] += 1
        return self.back if self.asked[-1] > self.now else None


class Shuts(Speed):
    """Shuts the gripper in its fourth period."""

    def __init__(self, speed: float) -> None:
        super().__init__(speed)
        self.period = 0

    def act(self, *seen: object) -> Float32Array:
        actions = super().act(*seen)  # type: ignore[arg-type]
        actions[:, 6] = 1.0 if self.period < 3 else -1.0
        self.period += 1
        return actions


def run(
    stations: Stations, controller: Controller, overtime: float = 0.0, seed: int = 3
) -> Episode:
    row = stations.idle[0]
    stations.begin(
        row, Job(seed, Purpose.COLLECTION, controller, "p+demonstrator", 1, overtime=overtime)
    )
    done: list[Episode] = []
    while not done:
        done = stations.tick()
    return done[0]


def helped(stations: Stations, policy: Controller, watch: FailureDetector) -> InterventionWrapper:
    return InterventionWrapper(policy, Demonstrations(stations.task), watch, stations.task.actions)


def test_help_comes_goes_back_and_does_it_right() -> None:
    stations = reach_stations()
    alone = run(stations, Speed(-0.6))
    assert not alone.success
    episode = run(stations, helped(stations, Speed(-0.6), At(8, back=2)), overtime=1.0)
    assert episode.success
    assert episode.intervened.tolist() == [False] * 8 + [True] * (len(episode) - 8)
    np.testing.assert_array_equal(episode.actions[:8], alone.actions[:8])
    hand = episode.observations[:, 1]
    back = int(np.argmax(hand[8:] > hand[2] - 0.004)) + 8
    assert 8 < back <= 8 + 6 + SLACK
    assert (np.diff(hand[10:back]) > 0).all(), "back the way it came, not further astray"
    rewound = np.flatnonzero(episode.rewound)
    assert rewound[0] == 8
    assert back <= rewound[-1] + 1 < len(episode)
    assert (np.diff(rewound) == 1).all()
    assert episode.times.execute == pytest.approx(len(episode) * stations.period)


def test_grippers_open_where_they_were_shut() -> None:
    stations = reach_stations()
    episode = run(stations, helped(stations, Shuts(-0.6), At(8, back=1)), overtime=1.0)
    told = episode.actions[:, 6]
    assert told[:8].tolist() == [1.0] * 3 + [-1.0] * 5
    opened = int(np.argmax(told[8:] == 1.0))
    assert opened > 0
    assert (told[8 : 8 + opened] == -1.0).all(), "only once it is back where it was open"


def test_without_trouble_nobody_helps_and_nothing_differs() -> None:
    stations = reach_stations()
    alone = run(stations, Speed(0.3))
    watched = run(stations, helped(stations, Speed(0.3), At(99)))
    assert not watched.helped
    assert watched.actions.tobytes() == alone.actions.tobytes()
    assert watched.observations.tobytes() == alone.observations.tobytes()
    assert not alone.intervened.any()
    assert not alone.rewound.any()
    assert len(alone.intervened) == len(alone)


def test_time_over_is_over_without_overtime() -> None:
    stations = reach_stations()
    for overtime in (0.0, 0.2):
        episode = run(stations, Speed(0.0), overtime)
        assert len(episode) == LIMIT + round(overtime / stations.period)


def test_a_policy_may_help_another() -> None:
    stations = reach_stations()
    controller = InterventionWrapper(Speed(0.0), Speed(1.0), At(3), stations.task.actions)
    episode = run(stations, controller)
    assert episode.success
    assert episode.helped


def test_stations_are_helped_each_by_itself() -> None:
    stations = reach_stations(2)
    watches = [At(4), At(99)]

    class Both(FailureDetector):
        def begin(self, row: int, rng: np.random.Generator) -> None:
            watches[row].begin(row, rng)

        def trouble(self, row: int, observation: Float32Array) -> int | None:
            return watches[row].trouble(row, observation)

    controller = helped(stations, Speed(-0.5), Both())
    for row in (0, 1):
        stations.begin(row, Job(row, Purpose.COLLECTION, controller, "p", 1, overtime=1.0))
    done: dict[int, Episode] = {}
    while stations.busy:
        done |= {e.station: e for e in stations.tick()}
    assert (done[0].helped, done[1].helped) == (True, False)
    assert (done[0].success, done[1].success) == (True, False)


class Queue(Everywhere):
    """One helper, who comes to station 0 first, and takes or gives back when told to."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.take = self.give_back = False

    def ask(self, row: int) -> None:
        self.asked.append(row)

    def serves(self, row: int) -> bool:
        return self.asked[:1] == [row]

    def takes(self, row: int) -> bool:
        if self.take:
            self.ask(row)
        return self.take

    def gives_back(self, row: int) -> bool:
        return self.give_back

    def leave(self, row: int) -> None:
        if row in self.asked:
            self.asked.remove(row)


class Says(Speed):
    """Moves as told, and has a word about it in its fourth period."""

    def __init__(self, word: PeriodCommand) -> None:
        super().__init__(1.0)
        self.said, self.left = word, 4
        self.over: list[int] = []

    def word(self, row: int) -> PeriodCommand:
        self.left -= 1
        return PeriodCommand.GO_ON if self.left else self.said

    def ended(self, row: int) -> None:
        self.over.append(row)


def test_stations_wait_for_one_helper_and_nothing_of_that_is_recorded() -> None:
    stations = reach_stations(2)
    desk, task = Queue(), stations.task
    controller = InterventionWrapper(Speed(-0.3), Demonstrations(task), At(4), task.actions, desk)
    for row in (0, 1):
        stations.begin(row, Job(row, Purpose.COLLECTION, controller, "p", 1, overtime=1.0))
    done: dict[int, Episode] = {}
    while stations.busy:
        done |= {e.station: e for e in stations.tick()}
    assert all(e.success and e.helped for e in done.values())
    times = {row: e.times.execute - len(e) * stations.period for row, e in done.items()}
    first, second = sorted(times, key=times.__getitem__)
    assert times[first] == pytest.approx(0.0)
    assert times[second] > 5 * stations.period, "it waited until the other one was over"
    assert not desk.asked
    moved = abs(np.diff(done[second].observations[:, 1]))
    assert (moved[6:-1] > 1e-4).mean() > 0.8, "no rows of standing still"


def test_who_helps_takes_over_unasked_and_gives_back() -> None:
    stations = reach_stations()
    desk, task = Queue(), stations.task

    class Then(Speed):
        def act(self, *seen: object) -> Float32Array:
            desk.take, desk.give_back = False, len(self.asked) >= 2
            return super().act(*seen)  # type: ignore[arg-type]

    desk.take = True
    controller = InterventionWrapper(Speed(-0.1), Then(1.0), At(99), task.actions, desk)
    episode = run(stations, controller)
    assert episode.intervened.tolist() == [True] * 3 + [False] * (len(episode) - 3)
    assert (episode.actions[:3, 0] == 1.0).all()
    assert (episode.actions[3:, 0] == np.float32(-0.1)).all()
    assert not desk.asked


@pytest.mark.parametrize(
    ("word", "outcome"),
    [(PeriodCommand.DONE, Outcome.FAILURE), (PeriodCommand.DISCARD, Outcome.ABORTED)],
)
def test_who_has_the_hands_may_end_it(word: PeriodCommand, outcome: Outcome) -> None:
    stations = reach_stations()
    says = Says(word)
    episode = run(stations, says)
    assert episode.verdict.outcome is outcome
    assert len(episode) == 3
    assert says.over == [0]


class Leaves(Queue):
    """One helper, who goes after a while."""

    def __init__(self, periods: int) -> None:
        super().__init__()
        self.left = periods

    @property
    def open(self) -> bool:  # type: ignore[override]
        return self.left > 0

    def gives_back(self, row: int) -> bool:
        self.left -= 1
        return False


@pytest.mark.parametrize("after", [0, 4])
def test_a_policy_goes_on_alone_once_who_helps_has_left(after: int) -> None:
    stations = reach_stations(2)
    desk, task = Leaves(after), stations.task
    controller = InterventionWrapper(Speed(-0.3), Demonstrations(task), At(4), task.actions, desk)
    for row in (0, 1):
        stations.begin(row, Job(row, Purpose.COLLECTION, controller, "p", 1))
    done: list[Episode] = []
    while stations.busy:
        done += stations.tick()
    assert len(done) == 2, "nobody waits for ever"
    assert not any(e.success for e in done)
    assert sum(e.helped for e in done) == (2 if after else 0)
    assert not any(e.intervened[-1] for e in done)
    assert not desk.asked
