"""The loop: what it promotes, what it seals, and that it may be killed anywhere."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from enpire.environment import Job, StationBackend
from enpire.errors import RecipeError, TrainerKilledError, UsageError
from enpire.improvement.collection import Collection
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.recipe import Candidate, Recipe, RecipeInputs
from enpire.improvement.training_process import Trainer
from enpire.policies import ChunkPolicy, Policy
from enpire.rollout.fleet.fleet import Fleet, Stopped
from enpire.rollout.loop import round_decisions
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.loop import Loop
from enpire.rollout.loop.pairs_ahead import AHEAD
from enpire.rollout.loop.settings import LoopSettings
from enpire.rollout.loop.state import LoopState
from enpire.store import EpisodeWriter, Run
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.environment.reach import Reach, reach_stations
from tests.improvement.here import Here

SLOW, FAST = 0.3, 1.0  # reaches about half of the goals in time; reaches all
TINY = LoopSettings.of(
    task="reach",
    robots=2,
    seed=1,
    target=0.9,
    demonstrations=2,
    demonstration_starts="drawn",  # at once: `spread` places a thousand
    start_episodes=8,
    collect=3,
    max_pairs=40,
    sealed_episodes=27,
)


class Moves:
    """A recipe whose candidate moves along x at one speed, whatever it sees."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self.given: list[Sequence[Episode]] = []

    def improve(self, given: RecipeInputs) -> Candidate:
        self.given.append(given.episodes)
        spec = replace(given.spec, execute=1)  # it is asked in time to stop at the goal
        policy = ChunkPolicy(spec)
        with torch.no_grad():
            policy.spread.zero_()
            policy.centre[0] = self.speed
        return Candidate(policy, {"speed": self.speed})


class Diverges(Moves):
    """A recipe that fails."""

    def improve(self, given: RecipeInputs) -> Candidate:
        raise RecipeError("the loss is nan")


class Particular(Moves):
    """A recipe that improves no policy there is."""

    def require_policy(self, policy: Policy | None) -> None:
        raise RecipeError(f"it does not improve {policy.kind if policy else 'nothing'}")


class Dies(Moves):
    """A recipe whose process is killed so many times, before it ends well."""

    def __init__(self, speed: float, times: int) -> None:
        super().__init__(speed)
        self.times = times

    def improve(self, given: RecipeInputs) -> Candidate:
        self.times -= 1
        if self.times >= 0:
            raise TrainerKilledError("it was killed")
        return super().improve(given)


@pytest.fixture(autouse=True)
def soon_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dozen evaluations are enough to seal after."""
    monkeypatch.setattr(round_decisions, "ENOUGH", 8)


class Killed(BaseException):
    """The process is gone."""


class Steps:
    """Counts episodes and writes to the ledger; kills the process after the last allowed one.

    after: kill it after the first write of this name instead.
    """

    WRITES = ("add_policy", "set_policy_state", "add_decision", "put_round", "add_sealed")

    def __init__(self, allowed: float = np.inf, after: str = "") -> None:
        self.allowed = allowed
        self.after = after
        self.done = 0

    @property
    def deadly(self) -> bool:
        return self.allowed < np.inf or bool(self.after)

    def step(self, *_: object) -> None:
        self.done += 1
        if self.done >= self.allowed:
            raise Killed

    def watch(self, ledger: Any) -> None:
        for name in self.WRITES:
            setattr(ledger, name, self._watched(name, getattr(ledger, name)))

    def _watched(self, name: str, write: Any) -> Any:
        def wrapped(*given: object) -> None:
            write(*given)
            self.step()
            if name == self.after:
                raise Killed

        return wrapped


def go(
    folder: Path,
    first: Recipe,
    recipe: Recipe | list[Recipe],
    steps: Steps | None = None,
    rounds: int = 1,
    settings: LoopSettings = TINY,
    budget: Budget | None = None,
    state: LoopState | None = None,
    *,
    trainer: Trainer | None = None,
) -> LoopState:
    """Start or continue the loop in `folder`."""
    steps = steps or Steps()
    exists = folder.exists()
    run = Run.open(folder, writable=True) if exists else Run.create(folder, {"task": "reach"})
    with run, EpisodeWriter(run) as writer:
        stations = reach_stations(settings.environment.robots)
        limit = budget or Budget(rounds=rounds)
        fleet = Fleet(stations, writer, limit.spent, steps.step)
        if steps.deadly:
            stations.abort = lambda reason: []  # the dead record nothing
            steps.watch(run.ledger)
        recipes = [recipe] if not isinstance(recipe, list) else recipe
        schedule = [ConfiguredRecipe(f"recipe-{i}", each) for i, each in enumerate(recipes)]
        named = ConfiguredRecipe("first", first)
        trains = trainer or Here()
        loop = Loop(
            settings, run, writer, fleet, named, schedule, trains, limit, state or LoopState()
        )
        return loop.run()


def ids(folder: Path, *purposes: Purpose, round: int | None = None) -> list[str]:
    with Run.open(folder) as run:
        return sorted(
            e.id
            for e in run.episodes(without=None)
            if e.purpose in purposes and round in (None, e.round)
        )


def notes(folder: Path, *kinds: str) -> list[Any]:
    with Run.open(folder) as run:
        return [note for note in run.ledger.decisions() if note.kind in kinds]


def test_a_better_candidate_is_promoted_and_passes_the_sealed_evaluation(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Moves(FAST))
    assert state.incumbent == "policy-1"
    assert state.reached
    (note,) = notes(folder, "promoted", "kept", "rejected")
    assert note.kind == "promoted"
    assert note.numbers["wins"] >= 7
    assert note.numbers["losses"] == 0
    with Run.open(folder) as run:
        (row,) = run.ledger.rounds()
        assert (row.number, row.policy) == (1, "policy-1")
        assert {p.name: p.state for p in run.ledger.policies()}["policy-1"] == "incumbent"
        (sealed,) = run.ledger.sealed()
        assert sealed.policy == "policy-1"
        # Its seeds are drawn anew each time: with a failure among them it takes more than 27.
        assert sealed.trials >= TINY.evaluation.sealed_episodes
        assert sealed.successes >= TINY.evaluation.target * sealed.trials
        assert run.ledger.policy("policy-1").parent == "policy-0"
    assert state.sealed == sealed


@pytest.mark.parametrize(("ours", "candidate"), [(SLOW, SLOW), (FAST, SLOW), (SLOW, 0.0)])
def test_a_candidate_that_is_no_better_is_kept_out(
    tmp_path: Path, ours: float, candidate: float, patient: None
) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(ours), Moves(candidate))
    assert state.incumbent == "policy-0"
    assert not state.reached
    (note,) = notes(folder, "promoted", "kept", "rejected")
    assert note.kind == "kept"
    if ours == candidate:
        assert note.numbers["ties"] == TINY.evaluation.max_pairs


@pytest.mark.medium
@pytest.mark.parametrize(("candidate", "base"), [(SLOW, "policy-1"), (0.0, "policy-0")])
def test_the_next_candidate_goes_on_from_the_last_unless_that_did_worse(
    tmp_path: Path, candidate: float, base: str, patient: None
) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Moves(candidate), rounds=2)
    assert state.incumbent == "policy-0"
    with Run.open(folder) as run:
        assert run.ledger.policy("policy-2").parent == base
        second = [e for e in run.episodes() if e.round == 2]
    collected = {e.policy for e in second if e.purpose is Purpose.COLLECTION}
    compared = {e.policy for e in second if e.purpose is Purpose.EVALUATION}
    assert collected == {base}
    assert compared == {"policy-0", "policy-2"}


def test_the_limit_of_pairs_follows_from_the_incumbent_and_stays_when_resumed(
    tmp_path: Path, patient: None
) -> None:
    folder, growing = tmp_path / "run", TINY.but(max_pairs=0, target=0.99)
    comparing = allowed(TINY.rounds.collect) + AHEAD + 7  # steps, some pairs are complete
    with pytest.raises(Killed):
        go(folder, Moves(SLOW), Moves(FAST), Steps(comparing), settings=growing)
    (limit,) = notes(folder, "limit")
    assert limit.numbers["max_pairs"] == 100, "of an incumbent that fails often"
    assert limit.text.startswith("policy-0 succeeds at 0.")
    go(folder, Moves(SLOW), Moves(FAST), settings=growing)
    assert [note.text for note in notes(folder, "limit")] == [limit.text]
    assert notes(folder, "promoted")


def test_both_are_compared_on_the_same_fresh_seeds(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    go(folder, Moves(SLOW), Moves(FAST))
    with Run.open(folder) as run:
        episodes = run.episodes()
    compared = [e for e in episodes if e.purpose is Purpose.EVALUATION and e.round == 1]
    theirs, ours = ([e.seed for e in compared if e.policy == f"policy-{i}"] for i in (0, 1))
    assert len(set(theirs)) == len(theirs)
    assert ours
    assert set(ours) <= set(theirs)  # whose first ones were run while the candidate was made
    earlier = {e.seed for e in episodes if e not in compared}
    assert not earlier & set(theirs)


@pytest.mark.parametrize(("speed", "evaluated"), [(FAST, 8), (0.0, 3)])
def test_what_looks_good_on_few_episodes_is_looked_at_more_closely(
    tmp_path: Path, speed: float, evaluated: int
) -> None:
    few = TINY.but(start_episodes=3)
    state = go(tmp_path / "run", Moves(speed), Moves(FAST), rounds=0, settings=few)
    assert len(ids(tmp_path / "run", Purpose.EVALUATION)) == evaluated
    assert state.sealed_attempts == (1 if evaluated == 8 else 0)


@pytest.mark.parametrize("speed", [SLOW, FAST])
def test_a_candidate_that_looks_good_is_examined_even_if_no_better(
    tmp_path: Path, speed: float
) -> None:
    settings = TINY.but(max_pairs=3)
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Moves(speed), settings=settings)
    (note,) = notes(folder, "promoted", "kept", "rejected")
    assert note.kind == "kept"
    assert state.reached == (speed == FAST)
    assert state.incumbent == ("policy-1" if speed == FAST else "policy-0")
    assert state.sealed_attempts == (1 if speed == FAST else 0)
    with Run.open(folder) as run:
        assert run.ledger.rounds()[-1].policy == state.incumbent
    again = go(folder, Moves(SLOW), Moves(speed), settings=settings)
    assert (again.reached, again.incumbent, again.sealed) == (
        state.reached,
        state.incumbent,
        state.sealed,
    )


def test_sealed_seeds_are_new_and_no_recipe_sees_them(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    recipe = Moves(SLOW)
    go(folder, Moves(FAST), recipe, rounds=0)
    sealed = ids(folder, Purpose.SEALED)
    assert len(sealed) >= TINY.evaluation.sealed_episodes
    with Run.open(folder) as run:
        every = run.episodes(without=None)
    seeds = {e.seed for e in every if e.purpose is Purpose.SEALED}
    assert not seeds & {e.seed for e in every if e.purpose is not Purpose.SEALED}
    other = tmp_path / "other"
    go(other, Moves(FAST), recipe, rounds=0)
    assert ids(other, Purpose.EVALUATION) == ids(folder, Purpose.EVALUATION)
    assert not set(ids(other, Purpose.SEALED)) & set(sealed), "drawn anew, whatever the run's seed"


@pytest.mark.medium
def test_a_sealed_evaluation_that_fails_leaves_the_target_unreached(tmp_path: Path) -> None:
    # Sealed seeds are drawn anew in every run: enough of them that luck is out of the question.
    many = {"sealed_episodes": 60}
    lucky = TINY.but(**many, start_episodes=1, collect=2)
    round_decisions.ENOUGH = 1
    for seed in range(20):
        settings = lucky.but(seed=seed)
        folder = tmp_path / str(seed)
        state = go(folder, Moves(SLOW), Diverges(0.0), settings=settings)
        if state.sealed_attempts:
            break
    else:
        pytest.fail("no seed begins with a success")
    assert not state.reached
    assert state.sealed is None
    with Run.open(folder) as run:
        (row,) = run.ledger.sealed()
    assert row.successes < 0.9 * lucky.evaluation.sealed_episodes
    assert row.trials < lucky.evaluation.sealed_episodes, (
        "ended as soon as the target was out of reach"
    )


def test_a_recipe_that_fails_leaves_the_incumbent(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Diverges(0.0), rounds=2)
    assert (state.round, state.incumbent) == (2, "policy-0")
    assert [(n.round, n.kind) for n in notes(folder, "promoted", "kept", "rejected")] == [
        (1, "rejected"),
        (2, "rejected"),
    ]
    assert "the loss is nan" in notes(folder, "rejected")[0].text


def test_nothing_is_collected_for_a_recipe_that_does_not_improve_such_a_policy(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), [Particular(FAST), Moves(FAST)], rounds=2)
    assert state.incumbent == "policy-2", "the next recipe in the schedule is tried"
    assert "does not improve chunk" in notes(folder, "rejected")[0].text
    with Run.open(folder) as run:
        collected = {e.round for e in run.episodes() if e.purpose is Purpose.COLLECTION}
    assert collected == {2}


def test_a_candidate_that_returns_no_actions_is_rejected(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Moves(float("nan")))
    assert state.incumbent == "policy-0"
    (note,) = notes(folder, "promoted", "kept", "rejected")
    assert note.kind == "rejected"
    assert "not finite" in note.text


class Strange(Moves):
    """A recipe with a fault of its own, whatever it is."""

    def __init__(self, fault: object) -> None:
        super().__init__(FAST)
        self.fault = fault

    def improve(self, given: RecipeInputs) -> Any:
        if self.fault == "raises":
            return [][0]
        if self.fault == "another shape":
            return super().improve(replace(given, spec=replace(given.spec, action=9)))
        if self.fault == "not finite":
            candidate = super().improve(given)
            with torch.no_grad():
                next(candidate.policy.net.parameters())[0] = float("inf")
            return candidate
        return super().improve(given).policy


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raises", r"recipe-0: .*test_loop\.py:\d+: IndexError: list index out of range"),
        ("another shape", "observations to 9 actions"),
        ("not finite", r"not finite: net\.0\.weight"),
        ("no candidate", "returned a ChunkPolicy, no Candidate"),
    ],
)
def test_a_recipe_with_a_fault_leaves_the_incumbent(tmp_path: Path, fault: str, words: str) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Strange(fault))
    assert (state.round, state.incumbent) == (1, "policy-0")
    (note,) = notes(folder, "promoted", "kept", "rejected")
    assert note.kind == "rejected"
    assert re.search(words, note.text)


@pytest.mark.medium
def test_recipes_take_turns_and_the_last_goes_on(tmp_path: Path) -> None:
    one, two = Moves(SLOW), Moves(SLOW)
    go(tmp_path / "run", Moves(SLOW), [one, two], rounds=3)
    assert (len(one.given), len(two.given)) == (1, 2)
    with Run.open(tmp_path / "run") as run:
        made = [(p.name, p.recipe) for p in run.ledger.policies()]
    assert made == [
        ("policy-0", "first"),
        ("policy-1", "recipe-0"),
        ("policy-2", "recipe-1"),
        ("policy-3", "recipe-1"),
    ]


def test_a_first_recipe_that_fails_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(RecipeError):
        go(tmp_path / "run", Diverges(0.0), Moves(FAST))


def test_first_episodes_that_nobody_judged_end_the_run_with_their_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_known = Verdict(Outcome.INVALID, (), reason="the goal is gone")
    monkeypatch.setattr(Reach, "verify", lambda *_: nothing_known)
    with pytest.raises(RecipeError, match=r"none was judged \(.*the goal is gone.*\)\. Mend that"):
        go(tmp_path / "run", Moves(SLOW), Moves(FAST))


@pytest.mark.parametrize("number", [0, 1])
def test_a_training_that_was_killed_is_tried_once_more_and_that_is_told(
    tmp_path: Path, number: int
) -> None:
    recipes = [Moves(SLOW), Moves(FAST)]
    recipes[number] = Dies(recipes[number].speed, 1)
    assert go(tmp_path / "run", *recipes).incumbent == "policy-1"
    (note,) = notes(tmp_path / "run", "retried")
    assert (note.round, note.candidate) == (number, f"policy-{number}")
    assert note.text == "it was killed; it is tried once more, from its checkpoint"


def test_a_first_training_that_is_killed_twice_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(TrainerKilledError):
        go(tmp_path / "run", Dies(SLOW, 2), Moves(FAST))
    assert len(notes(tmp_path / "run", "retried")) == 1


def test_recipes_are_told_how_much_of_a_chunk_is_carried_out(tmp_path: Path) -> None:
    told: list[int] = []

    class Told(Moves):
        def improve(self, given: RecipeInputs) -> Candidate:
            told.append(given.spec.execute)
            return super().improve(given)

    few = TINY.but(execute=2)
    go(tmp_path / "run", Told(SLOW), Told(FAST), settings=few)
    assert told == [2, 2]


def test_recipes_are_given_everything_but_sealed_episodes(tmp_path: Path) -> None:
    recipe = Moves(FAST)
    go(tmp_path / "run", Moves(SLOW), recipe)
    (given,) = recipe.given
    purposes = Counter(e.purpose for e in given)
    assert purposes == {
        Purpose.DEMONSTRATION: TINY.first.demonstrations,
        Purpose.EVALUATION: TINY.first.start_episodes,
        Purpose.COLLECTION: TINY.rounds.collect,
    }


class Again(Moves):
    """Collects what failed once more, several times, and says what it was asked."""

    def __init__(self, speed: float) -> None:
        super().__init__(speed)
        self.asked: list[Collection] = []

    def require(self, stations: StationBackend) -> None:
        if not stations.repeatable:
            raise UsageError("not here")

    def collect(self, asked: Collection) -> Iterator[Job]:
        self.asked.append(asked)
        yield from asked.plain(1)
        failed = [e for e in asked.episodes if e.policy == asked.base and not e.success]
        for episode, variant in itertools.product(failed[:2], (1, 2)):
            controller = asked.controller(asked.base)
            seed, policy = episode.seed, asked.base
            yield Job(seed, Purpose.COLLECTION, controller, policy, asked.round, 0.5, variant)


@pytest.mark.medium
def test_a_recipe_says_what_a_rounds_episodes_are(tmp_path: Path, patient: None) -> None:
    recipe = Again(SLOW)
    go(tmp_path / "run", Moves(SLOW), recipe, rounds=2)
    with Run.open(tmp_path / "run") as run:
        episodes = run.episodes(without=None)
    for asked, number in zip(recipe.asked, (1, 2), strict=True):
        assert (asked.round, asked.count) == (number, TINY.rounds.collect)
        assert [e.id for e in asked.episodes] == sorted(
            e.id for e in episodes if e.round < number
        ), "all of earlier rounds, none of this"
        collected = [e for e in episodes if e.purpose is Purpose.COLLECTION and e.round == number]
        assert sorted(e.variant for e in collected) == [0, 1, 1, 2, 2]
        assert len({e.seed for e in collected}) == 3
    assert (recipe.asked[0].base, recipe.asked[0].parent) == ("policy-0", "")
    assert (recipe.asked[1].base, recipe.asked[1].parent) == ("policy-1", "policy-0")


@pytest.mark.medium
@pytest.mark.parametrize("after", [2, 4])
def test_a_round_cut_short_asks_for_the_same_episodes(
    tmp_path: Path, patient: None, after: int
) -> None:
    """From the store alone: the second process knows nothing that the first one held."""
    for name in ("whole", "cut"):
        folder = tmp_path / name
        recipe = Again(SLOW)
        with contextlib.suppress(Killed):
            go(folder, Moves(SLOW), recipe, Steps(allowed(after) if name == "cut" else np.inf))
        if name == "cut":
            collected = ids(folder, Purpose.COLLECTION, round=1)
            assert 0 < len(collected) < 5, "in the middle of collecting"
            shown = Shown()
            go(folder, Moves(SLOW), Again(SLOW), shown, state=shown.state)
            collecting = [done for doing, done in shown.lines if doing == "collecting"]
            assert collecting[0] == len(collected), "it counts on from those"
            assert max(collecting) == 4
    one, other = (ids(tmp_path / name, Purpose.COLLECTION) for name in ("whole", "cut"))
    assert one == other
    assert len(one) == 5


class Shown(Steps):
    """Keeps what a loop's line says whenever an episode has ended: what it does, and how many."""

    def __init__(self) -> None:
        super().__init__()
        self.state = LoopState()
        self.lines: list[tuple[str, int]] = []

    def step(self, *_: object) -> None:
        super().step()
        self.lines.append((self.state.doing, self.state.done))


def allowed(collected: int) -> int:
    """Steps up to so many episodes of the first round; a policy and a note come before."""
    return TINY.first.demonstrations + TINY.first.start_episodes + 2 + collected


class Astray(Again):
    """Asks for what is no collection of the round."""

    def collect(self, asked: Collection) -> Iterator[Job]:
        (job,) = asked.plain(1)
        match self.fault:
            case "evaluation":
                yield replace(job, purpose=Purpose.EVALUATION)
            case "another round":
                yield replace(job, round=7)
            case "twice":
                yield from (job, job)
            case "fault":
                yield replace(job, seed=1 // 0)

    def __init__(self, fault: str) -> None:
        super().__init__(SLOW)
        self.fault = fault


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("evaluation", "is no collection of round 1"),
        ("another round", "is no collection of round 1"),
        ("twice", "two jobs of one id"),
        ("fault", r"test_loop\.py:\d+: ZeroDivisionError"),
    ],
)
def test_a_collection_that_goes_astray_ends_the_round(
    tmp_path: Path, patient: None, fault: str, words: str
) -> None:
    state = go(tmp_path / "run", Moves(SLOW), Astray(fault))
    assert state.incumbent == "policy-0"
    (note,) = notes(tmp_path / "run", "rejected")
    assert re.search(words, note.text)
    sound = 1 if fault == "twice" else 0  # asked for before it went astray
    assert len(ids(tmp_path / "run", Purpose.COLLECTION)) <= sound


FIXED = (Purpose.DEMONSTRATION, Purpose.COLLECTION)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    kept, round_decisions.ENOUGH = round_decisions.ENOUGH, 8
    go(folder, Moves(SLOW), Moves(FAST))
    round_decisions.ENOUGH = kept
    return folder


@pytest.mark.medium
@pytest.mark.parametrize("lives", [pytest.param((1, 2), marks=pytest.mark.slow), (7, 3, 12)])
def test_a_loop_that_is_killed_again_and_again_comes_to_the_same_end(
    tmp_path: Path, whole: Path, lives: tuple[int, ...]
) -> None:
    """Each process dies after as many steps as it has; some steps may be done twice, to no harm."""
    folder = tmp_path / "run"
    kills, state = 0, None
    while state is None:
        try:
            state = go(folder, Moves(SLOW), Moves(FAST), Steps(lives[kills % len(lives)]))
        except Killed:
            kills += 1
            assert kills < 100, "it never ends"
    assert kills > 5
    same_end(folder, whole, state)


@pytest.mark.parametrize("write", Steps.WRITES)
def test_a_loop_that_is_killed_after_a_write_comes_to_the_same_end(
    tmp_path: Path, whole: Path, write: str
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(Killed):
        go(folder, Moves(SLOW), Moves(FAST), Steps(after=write))
    same_end(folder, whole, go(folder, Moves(SLOW), Moves(FAST)))


def same_end(folder: Path, whole: Path, state: LoopState) -> None:
    """Whether a run that was killed came to what an undisturbed one comes to."""
    assert state.reached
    assert state.incumbent == "policy-1"

    assert ids(folder, *FIXED) == ids(whole, *FIXED)
    assert ids(folder, Purpose.EVALUATION, round=0) == ids(whole, Purpose.EVALUATION, round=0)
    with Run.open(folder) as run:
        (sealed,) = run.ledger.sealed()
        assert len(ids(folder, Purpose.SEALED)) == sealed.trials >= TINY.evaluation.sealed_episodes
        every_id = [e.id for e in run.episodes(without=None)]
        assert len(set(every_id)) == len(every_id)
        assert all(e.verdict.outcome is not Outcome.ABORTED for e in run.episodes(without=None))
        assert [row.number for row in run.ledger.rounds()] == [1]
        assert [row.policy for row in run.ledger.sealed()] == ["policy-1"]
        assert len(run.ledger.policies()) == 2
    (decision,), (expected,) = (notes(f, "promoted", "kept") for f in (folder, whole))
    assert decision.text == expected.text
    assert len(notes(folder, "sealing")) == 1
    # Pairs under way when the test decided may differ, those that decided may not.
    deciding = set(ids(whole, Purpose.EVALUATION, round=1))
    assert (
        len(deciding ^ set(ids(folder, Purpose.EVALUATION, round=1))) <= 2 * TINY.environment.robots
    )


EARLY = TINY.but(staleness=1)


@pytest.mark.medium
def test_a_collection_may_begin_before_the_last_candidate_is_there(
    tmp_path: Path, patient: None
) -> None:
    recipe, folder = Moves(FAST), tmp_path / "run"
    go(folder, Moves(SLOW), recipe, rounds=3, settings=EARLY)
    with Run.open(folder) as run:
        collected = [e for e in run.episodes() if e.purpose is Purpose.COLLECTION]
    assert Counter((e.round, e.policy, e.staleness) for e in collected) == {
        (1, "policy-0", 0): TINY.rounds.collect,
        (2, "policy-0", 1): TINY.rounds.collect,
        (3, "policy-1", 1): TINY.rounds.collect,
    }
    for number, given in enumerate(recipe.given, 1):
        assert {e.round for e in given if e.purpose is Purpose.COLLECTION} == set(
            range(1, number + 1)
        ), "nothing that is collected ahead of a later round"


class Capped(Moves):
    """Learns from what its own policy does only."""

    max_staleness = 0


@pytest.mark.medium
def test_a_recipe_may_cap_staleness(tmp_path: Path, patient: None) -> None:
    folder = tmp_path / "run"
    go(folder, Moves(SLOW), Capped(FAST), rounds=2, settings=EARLY)
    with Run.open(folder) as run:
        collected = [e for e in run.episodes() if e.purpose is Purpose.COLLECTION]
    assert {(e.round, e.policy, e.staleness) for e in collected} == {
        (1, "policy-0", 0),
        (2, "policy-1", 0),
    }


@pytest.mark.medium
def test_a_round_that_fails_takes_none_of_the_next_ones_episodes(
    tmp_path: Path, patient: None
) -> None:
    folder = tmp_path / "run"
    recipes: list[Recipe] = [Diverges(0.0), Moves(np.nan), Moves(FAST)]
    state = go(folder, Moves(SLOW), recipes, rounds=3, settings=EARLY)
    assert state.incumbent == "policy-3"
    for number in (1, 2, 3):
        found = ids(folder, Purpose.COLLECTION, round=number)
        assert len([id for id in found if "aborted" not in id]) == TINY.rounds.collect


@pytest.mark.medium
@pytest.mark.parametrize("lives", [pytest.param((3, 5), marks=pytest.mark.slow), (11,)])
def test_a_loop_that_collects_ahead_may_be_killed_too(
    tmp_path: Path, patient: None, lives: tuple[int, ...]
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "run"
    go(whole, Moves(SLOW), Again(FAST), rounds=2, settings=EARLY)
    kills, state = 0, None
    while state is None:
        steps = Steps(lives[kills % len(lives)])
        try:
            state = go(folder, Moves(SLOW), Again(FAST), steps, rounds=2, settings=EARLY)
        except Killed:
            kills += 1
            assert kills < 100, "it never ends"
    assert kills > 3
    assert ids(folder, *FIXED) == ids(whole, *FIXED)
    decided = [[note.text for note in notes(f, "promoted", "kept")] for f in (folder, whole)]
    assert decided[0] == decided[1]


def test_a_finished_loop_that_is_continued_does_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    go(folder, Moves(SLOW), Moves(FAST))
    steps = Steps()
    state = go(folder, Diverges(0.0), Diverges(0.0), steps)
    assert state.reached
    assert steps.done == 0


def test_an_interrupted_loop_records_what_was_under_way_and_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    budget = Budget(rounds=1)

    class Interrupts(Steps):
        def step(self, *_: object) -> None:
            super().step()
            budget.interrupted = self.done == 7

    with pytest.raises(Stopped, match="interrupted"):
        go(folder, Moves(SLOW), Moves(FAST), Interrupts(), budget=budget)
    with Run.open(folder) as run:
        outcomes = Counter(e.verdict.outcome for e in run.episodes())
    assert outcomes[Outcome.ABORTED] == TINY.environment.robots
    assert go(folder, Moves(SLOW), Moves(FAST)).incumbent == "policy-1"
    assert ids(folder, *FIXED)
