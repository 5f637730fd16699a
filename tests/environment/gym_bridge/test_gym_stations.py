"""Gymnasium environments as stations, in this process and in workers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from enpire.environment import (
    Job,
    Order,
    RandomActions,
    ResetMode,
    build_stations,
    open_stations,
)
from enpire.environment.gym_bridge import gym_process
from enpire.environment.gym_bridge.gym_stations import SEEDS, GymStations
from enpire.errors import (
    EnpireError,
    EnvironmentFault,
    PolicyError,
    PolicyFault,
    UsageError,
)
from enpire.twin.twin import Rows
from enpire.types import LOST, Episode, Float32Array, Outcome, Purpose

pytestmark = pytest.mark.medium

ROOT = Path(__file__).parents[3]
FAR = 5  # a seed whose goal is far from the start
Make = Callable[..., GymStations]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Stations of a toy, whose workers are ended after the test."""
    monkeypatch.chdir(ROOT)  # from where a worker imports the toy
    made: list[GymStations] = []

    def stations(
        name: str, count: int = 1, worker: bool = False, success: str = "", shown_by: str = ""
    ) -> GymStations:
        python = sys.executable if worker else ""
        name, _, given = name.partition("?")
        task = f"gym:tests.environment.toy:toy/{name}-v0" + (f"?{given}" if given else "")
        made.append(GymStations(task, count, python, success, shown_by))
        return made[-1]

    yield stations
    for one in made:
        one.close()


class Straight:
    """Goes to the goal at a share of full speed."""

    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed
        self.asked: list[int] = []

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: Rows, observations: Float32Array, readings: object) -> Float32Array:
        self.asked.append(len(rows))
        goal, point = observations.T
        action: Float32Array = (self.speed * ((goal - point) / 0.2).clip(-1, 1))[:, None]
        return action.astype(np.float32)


def run(
    stations: GymStations, seeds: list[int], controller: object, exploration: float = 0.0
) -> dict[int, Episode]:
    waiting, done = list(seeds), []
    while waiting or stations.busy:
        for row in stations.idle:
            if waiting:
                job = Job(
                    waiting.pop(0), Purpose.EVALUATION, controller, "p", exploration=exploration
                )
                stations.begin(row, job)
        done += stations.tick()
    return {episode.seed: episode for episode in done}


def content(episode: Episode) -> tuple[object, ...]:
    arrays = (episode.observations, episode.actions, episode.rewards)
    return (episode.verdict, episode.times, *(array.tobytes() for array in arrays))


def test_an_episode_is_what_the_environment_did(make: Make) -> None:
    stations = make("Line")
    assert (stations.observation_size, stations.action_size) == (2, 1)
    assert stations.period == pytest.approx(0.1)
    episode = run(stations, [FAR], Straight())[FAR]
    goal, point = episode.observations.T
    assert (goal == goal[0]).all()
    np.testing.assert_allclose(np.diff(point), 0.2 * episode.actions[:-1, 0], atol=1e-6)
    assert episode.success
    assert (episode.rewards[:-1] == 0).all()
    assert episode.rewards[-1] == 1
    assert episode.times.execute == pytest.approx(0.1 * len(episode))
    assert episode.times.reset == pytest.approx(0.1)
    assert episode.task == stations.name
    assert "gymnasium" in episode.packs[stations.name]


def test_an_episode_says_what_its_job_says(make: Make) -> None:
    stations = make("Line")
    job = Job(FAR, Purpose.COLLECTION, Straight(), "p", round=2, exploration=0.5, staleness=1)
    stations.begin(stations.idle[0], job)
    while not (done := stations.tick()):
        pass
    assert job.labels == {name: getattr(done[0], name) for name in job.labels}


@pytest.mark.parametrize(("count", "worker"), [(3, False), (1, True), (3, True)])
def test_an_episode_depends_on_its_seed_alone(make: Make, count: int, worker: bool) -> None:
    seeds = [3, 2**62, 7, 8, SEEDS - 1]
    alone = run(make("Line"), seeds, RandomActions(1))
    together = run(make("Line", count, worker), seeds[::-1], RandomActions(1))
    assert {s: content(e) for s, e in alone.items()} == {s: content(e) for s, e in together.items()}
    assert len({content(e) for e in alone.values()}) == len(seeds)


def test_time_that_runs_out_is_a_failure(make: Make) -> None:
    episode = run(make("Line"), [FAR], Straight(0.0))[FAR]
    assert episode.verdict.outcome is Outcome.FAILURE
    assert episode.verdict.failed == ("success",)
    assert len(episode) == 20
    assert not episode.rewards.any()


def test_a_controller_is_asked_once_for_all_its_stations(make: Make) -> None:
    straight = Straight(0.0)
    run(make("Line", 3), [FAR] * 3, straight)
    assert straight.asked == [3] * 20


@pytest.mark.parametrize(
    ("name", "rule", "speed", "success"),
    [
        ("Success", "", 1.0, True),
        ("Silent", "terminated", 1.0, True),
        ("Silent", "terminated", 0.0, False),
        ("Silent", "return >= -10", 1.0, True),
        ("Line", "return>=0.5", 1.0, False),
    ],
)
def test_rules_of_success(make: Make, name: str, rule: str, speed: float, success: bool) -> None:
    episode = run(make(name, success=rule), [FAR], Straight(speed))[FAR]
    assert episode.success is success
    assert bool(episode.verdict.failed) is not success


def test_who_does_not_say_is_asked_for_a_rule(make: Make) -> None:
    stations = make("Silent")
    with pytest.raises(UsageError, match="--success 'return>=X'"):
        run(stations, [FAR], Straight())


@pytest.mark.parametrize("rule", ["return", "return>=x", "return>=nan", "reward>=3", "yes"])
def test_what_is_no_rule(make: Make, rule: str) -> None:
    with pytest.raises(UsageError, match="no rule"):
        make("Line", success=rule)


@pytest.mark.parametrize("worker", [False, True])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Discrete", "Box with bounds"),
        ("Lin", "doesn't exist"),
        ("Seen?only=true", "images only"),
        ("Line?says", "no KEY=VALUE"),
        ("Forgetful", "reset_mask"),
    ],
)
def test_what_cannot_be_a_station(make: Make, name: str, words: str, worker: bool) -> None:
    with pytest.raises(UsageError, match=words):
        make(name, 2, worker)


def test_what_it_is_made_with(make: Make) -> None:
    episode = run(make("Line?says=success"), [FAR], Straight())[FAR]
    assert episode.success
    assert episode.task == "gym:tests.environment.toy:toy/Line-v0?says=success"


def test_images_are_left_out(make: Make) -> None:
    stations = make("Seen")
    assert stations.observation_size == 2
    assert "without images" in stations.packs[stations.name]
    assert "without images" not in make("Line").packs["gym:tests.environment.toy:toy/Line-v0"]
    same = run(make("Line"), [FAR], Straight())[FAR]
    assert content(run(stations, [FAR], Straight())[FAR]) == content(same)


@pytest.mark.parametrize("name", ["Early", "Shared", "Tabled"])
def test_a_seed_fixes_what_is_drawn_elsewhere(make: Make, name: str) -> None:
    """Before the seed is passed on, from a generator of the whole process, or as it is made."""
    seeds = [3, 7, 8]
    forth = run(make(name), seeds, Straight(0.5))
    back = run(make(name), seeds[::-1], Straight(0.5))
    assert {s: content(e) for s, e in forth.items()} == {s: content(e) for s, e in back.items()}


def test_a_namespace_without_its_module() -> None:
    with pytest.raises(UsageError, match="MODULE:ID"):
        GymStations("gym:Meta-Toy/Line-v0", 1)


# Vector environments


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("worker", [False, True])
def test_a_vector_of_environments(make: Make, mode: str, worker: bool) -> None:
    """Episodes are those of the environments alone, whoever else steps or resets beside them."""
    seeds = [3, FAR, 2**62, 7, 8]
    alone = run(make("Line"), seeds, Straight(0.7))
    stations = make(f"Lines?autoreset_mode={mode}", 3, worker)
    assert len(stations) == 3
    together = run(stations, seeds, Straight(0.7))
    assert {e.station for e in together.values()} == {0, 1, 2}
    assert len({len(e) for e in together.values()}) > 2, "they do not end together"
    assert {s: content(e) for s, e in alone.items()} == {s: content(e) for s, e in together.items()}


def test_a_vector_of_another_number(make: Make) -> None:
    assert len(make("ThreeLines", 3)) == 3
    with pytest.raises(UsageError, match="is 3 stations: give --robots"):
        make("ThreeLines", 2)


def test_an_action_that_is_no_number_is_refused(make: Make) -> None:
    stations = make("Line")
    with pytest.raises(PolicyError):
        run(stations, [FAR], Straight(float("nan")))
    (aborted,) = stations.abort("policy error")
    assert aborted.verdict.outcome is Outcome.ABORTED
    assert not stations.busy


# Workers


def test_only_who_has_a_job_has_a_worker(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """And those that start at one time are not waited for one after the other."""
    stations = make("Line", 8)
    assert len(stations) == len(stations.idle) == 8
    assert len(stations._environments) == 1, "which says what the environment is"
    run(stations, [FAR, FAR + 1], Straight())
    assert len(stations._environments) == 2
    made: list[int] = []
    started = gym_process.GymWorker.started

    def waited(worker: gym_process.GymWorker) -> None:
        made.append(len(stations._environments))
        started(worker)

    monkeypatch.setattr(gym_process.GymWorker, "started", waited)
    assert len(run(stations, [*range(4)], Straight())) == 4
    assert made == [4, 4]


def test_a_worker_that_starts_no_more(make: Make) -> None:
    def refused() -> gym_process.GymWorker:
        raise UsageError("no worker starts: too many files are open")

    stations = make("Line", 2)
    stations._connected = refused
    for row in (0, 1):
        stations.begin(row, Job(FAR, Purpose.EVALUATION, Straight(), "p"))
    (fault,) = stations.tick()
    assert (fault.station, fault.verdict.outcome) == (1, Outcome.INVALID)
    assert "too many files" in fault.verdict.reason
    while not (done := stations.tick()):
        pass
    assert done[0].success


def test_a_worker_that_dies(make: Make) -> None:
    stations = make("Die", 2)
    stations.begin(0, Job(FAR, Purpose.EVALUATION, Straight(0.0), "p"))
    stations.begin(1, Job(FAR, Purpose.EVALUATION, Straight(0.0), "p"))
    done: list[Episode] = []
    while len(done) < 2:
        done += stations.tick()
    assert {e.verdict.stage for e in done} == {LOST}
    assert all("no more memory" in e.verdict.reason for e in done)


def test_a_worker_that_hangs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gym_process, "ANSWER_S", 0.5)
    episode = run(make("Hang"), [FAR], Straight(0.0))[FAR]
    assert (episode.verdict.outcome, episode.verdict.stage) == (Outcome.INVALID, LOST)
    assert "hangs" in episode.verdict.reason


def test_what_an_environment_prints_is_no_answer(make: Make) -> None:
    assert len(run(make("Print", worker=True), [FAR], Straight(0.0))[FAR]) == 20


@pytest.mark.parametrize(
    ("python", "error", "words"),
    [
        ("/nonexistent/python", UsageError, "does not start"),
        ("/bin/false", EnvironmentFault, "exit code 1"),
    ],
)
def test_what_is_no_interpreter(python: str, error: type[EnpireError], words: str) -> None:
    with pytest.raises(error, match=words):
        GymStations("gym:CartPole-v1", 1, python)


# Scripts

STRAIGHT = """
def act(seen):
    return np.clip(seen["goal"] - seen["point"] + 0.2, 0.0, 0.4)
"""
BEGUN = """
begun = 0

def begin(env):
    global begun
    begun += 1
    if begun > 2:
        raise RuntimeError("no third episode")
    return act
"""


@pytest.mark.parametrize("name", ["Line", "Lines"])
def test_a_script_acts_where_the_environment_is(make: Make, tmp_path: Path, name: str) -> None:
    """In the environment's own observations and actions; what is recorded is in ours."""
    script = tmp_path / "straight.py"
    script.write_text("import numpy as np\n" + STRAIGHT)
    seeds = [3, FAR, 7, 8]
    stations = make(name, 3, shown_by=str(script))
    who, acts = stations.starter
    assert who == "demonstrator"
    shown, ours = run(stations, seeds, acts), run(make("Line"), seeds, Straight())
    assert all(episode.success for episode in shown.values())
    for seed in seeds:
        np.testing.assert_allclose(shown[seed].actions, ours[seed].actions, atol=1e-5)
        np.testing.assert_allclose(shown[seed].observations, ours[seed].observations, atol=1e-5)


def test_a_script_that_is_pushed_goes_back_and_what_it_was_pushed_to_is_told(
    make: Make, tmp_path: Path
) -> None:
    script = tmp_path / "straight.py"
    script.write_text("import numpy as np\n" + STRAIGHT)
    stations = make("Line", shown_by=str(script))
    _, acts = stations.starter
    pushed = run(stations, [3, FAR, 7, 8], acts, exploration=0.4)
    plain = run(stations, [3, FAR, 7, 8], acts)
    assert not any(episode.helped for episode in plain.values())
    assert all(episode.success for episode in pushed.values())
    seen = np.concatenate([episode.observations for episode in pushed.values()])
    done = np.concatenate([episode.actions[:, 0] for episode in pushed.values()])
    free = np.concatenate([e.intervened if e.helped else e.rewards >= 0 for e in pushed.values()])
    goal, point = seen.T
    own = ((goal - point) / 0.2).clip(-1, 1)
    np.testing.assert_allclose(done[free], own[free], atol=1e-5)
    assert 0.1 < (~free).mean() < 0.7
    assert (np.abs(done - own)[~free] > 1e-3).mean() > 0.5


def test_a_script_begins_anew_each_episode_and_may_fail(make: Make, tmp_path: Path) -> None:
    script = tmp_path / "begun.py"
    script.write_text("import numpy as np\n" + STRAIGHT + BEGUN)
    stations = make("Line", shown_by=str(script))
    _, acts = stations.starter
    first = run(stations, [3, FAR], acts)
    assert all(episode.success for episode in first.values())
    assert len(run(stations, [FAR], Straight(0.0))[FAR]) == 20, "a policy begins no script"
    third = run(stations, [7], acts)[7]
    assert third.verdict.outcome is Outcome.INVALID
    assert "no third episode" in third.verdict.reason
    assert "begun.py:" in third.verdict.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "neither begin"),
        (None, "no Python file"),
        ("def act(seen): return [0.1, 0.2]", r"has shape \(2,\)"),
        ("def begin(env): return 3", "a function is needed"),
        ("def act(seen): return [float('nan')]", "nan"),
    ],
)
def test_what_is_no_script(make: Make, tmp_path: Path, text: str | None, words: str) -> None:
    script = tmp_path / "odd.py"
    if text is not None:
        script.write_text(text)
    if not text:
        with pytest.raises(UsageError, match=words):
            make("Line", shown_by=str(script))
        return
    stations = make("Line", shown_by=str(script))
    reason = run(stations, [FAR], stations.starter[1])[FAR].verdict.reason
    assert re.search(words, reason), reason


# Names


def test_a_name_says_which_stations() -> None:
    assert open_stations(Order("pick_cube"), 1).name == "pick_cube"
    assert isinstance(open_stations(Order("gym:Pendulum-v1"), 2), GymStations)
    with pytest.raises(UsageError, match="task pack"):
        open_stations(Order("pick_cube", success="terminated"), 1)
    with pytest.raises(UsageError, match=r"whose task\.py has one"):
        open_stations(Order("pick_cube", demonstrator="mine.py"), 1)
    with pytest.raises(UsageError, match="at least 1"):
        open_stations(Order("gym:Pendulum-v1"), 0)
    with pytest.raises(UsageError, match="resets itself"):
        open_stations(Order("gym:Pendulum-v1", reset=ResetMode.PHYSICAL), 1)
    with pytest.raises(UsageError, match="`loop` and `eval`"):
        build_stations("gym:Pendulum-v1", 1)


def test_policy_at_fault_has_failed(make: Make) -> None:
    class Failing(Straight):
        def act(self, rows: Rows, observations: Float32Array, readings: object) -> Float32Array:
            if len(self.asked) >= 1:
                raise PolicyFault("the policy's program died")
            return super().act(rows, observations, readings)

    stations = make("Line")
    episode = run(stations, [FAR], Failing())[FAR]
    assert episode.verdict.outcome is Outcome.FAILURE
    assert episode.verdict.reason == "the policy's program died"
    assert len(episode.actions) == len(episode.observations) == 1
    assert run(stations, [FAR], Straight())[FAR].success
