"""A loop whose recipe learns online: its rounds, and that it may be killed anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from enpire.errors import EnpireError, RecipeError, TrainerKilledError
from enpire.improvement.checkpoint import TrainingState
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.training_process import TrainingRequest, recipe_inputs
from enpire.policies import Policy
from enpire.rollout.collection import online
from enpire.rollout.evaluation.statistics import estimate
from enpire.rollout.loop import loop as loops
from enpire.rollout.loop import online_rounds, round_decisions
from enpire.store import Phase, Run
from enpire.types import Episode, Estimate, Purpose
from tests.improvement.here import Done
from tests.rollout.loop.test_loop import FAST, SLOW, TINY, Killed, Moves, Steps, go, notes

SETTINGS = TINY.but(collect=24, target=0.95, max_pairs=20)
COLLECTS = SETTINGS.but(max_pairs=2)  # what comes after a round's collection is short


class Grows:
    """A learner whose policy moves faster with every block, whatever is in it.

    It is killed so many times after a block; after that, or without that, it fails after one.
    """

    def __init__(
        self, start: float = SLOW, gain: float = 0.2, fails_after: int = 99, killed: int = 0
    ) -> None:
        self.start, self.gain, self.fails_after, self.killed = start, gain, fails_after, killed
        self.first: list[int] = []

    def learner(self, given: RecipeInputs) -> GrowingTensors:
        self.first.append(len(given.episodes))
        return GrowingTensors(self, given)

    def improve(self, given: RecipeInputs) -> Candidate:
        return self.learner(given).candidate()


class GrowingTensors:
    def __init__(self, settings: Grows, given: RecipeInputs) -> None:
        self.settings, self.given = settings, given
        self.blocks: list[list[str]] = []

    def add(self, episodes: Sequence[Episode]) -> dict[str, float]:
        self.blocks.append([e.id for e in episodes])
        if self.settings.killed and len(self.blocks) > 2:
            self.settings.killed -= 1
            raise TrainerKilledError("it was killed")
        if len(self.blocks) > self.settings.fails_after:
            raise RecipeError("the loss is nan")
        return {}

    def policy(self) -> Policy:
        speed = min(self.settings.start + self.settings.gain * len(self.blocks), FAST)
        return Moves(speed).improve(self.given).policy

    def candidate(self) -> Candidate:
        return Candidate(self.policy(), {"blocks": len(self.blocks)})

    def state(self) -> TrainingState:
        raise NotImplementedError

    def restore(self, episodes: Sequence[Episode], kept: TrainingState) -> None:
        raise NotImplementedError


class HereOnline:
    """`OnlineProcess`, in this process and at once."""

    begun: ClassVar[list[HereOnline]] = []

    def __init__(self, run: Path, asked: TrainingRequest, first: int) -> None:
        self.asked, self.first, self.handed = asked, first, list[list[str]]()
        self.run = Run.open(run, following=True)
        before = [e for e in self.run.episodes() if e.round < first]
        self.learner: Any = asked.recipe.recipe.learner(recipe_inputs(self.run, asked, before))  # type: ignore[attr-defined]
        self.versions: list[Policy] = [self.learner.policy()]
        self.error: RecipeError | None = None
        self.due: list[Candidate] = []
        HereOnline.begun.append(self)

    def hand_over(self, ids: Sequence[str]) -> None:
        self.handed.append(list(ids))
        known = {e.id: e for e in self.run.episodes()}
        try:
            self.learner.add([known[id] for id in ids])
        except RecipeError as error:
            self.error = error
        self.versions.append(self.learner.policy())

    def newest(self) -> int:
        if self.error:
            raise self.error
        return len(self.versions) - 1

    def has(self, version: int) -> bool:
        return version <= self.newest()

    def policy(self, version: int) -> Policy:
        return self.versions[version]

    def ask_candidate(self, now: bool) -> None:
        self.due.append(self.learner.candidate())

    def candidate(self) -> Candidate | None:
        self.newest()
        return self.due.pop() if self.due else None

    def close(self) -> None:
        self.run.close()


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online_rounds, "OnlineProcess", HereOnline)
    monkeypatch.setattr(online, "BLOCK", 4)
    monkeypatch.setattr(online, "LAG", 1)
    monkeypatch.setattr(online, "RECENT", 8)
    monkeypatch.setattr(round_decisions, "ENOUGH", 8)
    HereOnline.begun = []


def collected(folder: Path, number: int) -> list[Episode]:
    with Run.open(folder) as run:
        found = [e for e in run.episodes(Purpose.COLLECTION) if e.round == number]
    return sorted(found, key=lambda e: (online.version_of(e.policy), e.id))


def speed_of(folder: Path, name: str) -> float:
    with Run.open(folder) as run:
        tensors, _ = run.load_policy(name)
    return float(tensors["centre"][0])


def test_what_is_learned_meanwhile_is_promoted_and_passes(tmp_path: Path) -> None:
    folder, recipe = tmp_path / "run", Grows()
    state = go(folder, Moves(SLOW), recipe, settings=SETTINGS)
    assert state.incumbent == "policy-1"
    assert state.reached
    episodes = collected(folder, 1)
    assert [online.version_of(e.policy) for e in episodes[:12]] == [0] * 8 + [1] * 4
    assert len(episodes) % 4 == 0
    successes = [e.success for e in episodes]
    assert sum(successes[-8:]) > sum(successes[:8]), "later versions act"
    (note,) = notes(folder, "trained")[1:]
    assert "of the latest" in note.text
    assert HereOnline.begun[0].handed == [
        [e.id for e in sorted_block] for sorted_block in blocks(HereOnline.begun[0], episodes)
    ]


def blocks(process: HereOnline, episodes: list[Episode]) -> list[list[Episode]]:
    by_id = {e.id: e for e in episodes}
    return [[by_id[id] for id in ids] for ids in process.handed]


@pytest.mark.parametrize("learns_online", [True, False])
def test_what_trained_is_let_go_where_the_next_round_learns_online(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learns_online: bool
) -> None:
    let_go = []
    monkeypatch.setattr(Done, "cancel", lambda self: let_go.append(self.asked.number))
    recipe = Grows() if learns_online else Moves(FAST)
    go(tmp_path / "run", Moves(SLOW), recipe, settings=SETTINGS)
    assert let_go == ([0] if learns_online else [])


def test_the_learner_goes_on_from_round_to_round(tmp_path: Path, patient: None) -> None:
    folder, recipe = tmp_path / "run", Grows(gain=0.01)
    go(folder, Moves(SLOW), recipe, rounds=2, settings=SETTINGS)
    (process,) = HereOnline.begun
    assert len(process.handed) == 12
    assert online.version_of(collected(folder, 2)[0].policy) == 5, "of the round before"
    assert speed_of(folder, "policy-2") > speed_of(folder, "policy-1")


def test_a_learner_that_fails_leaves_the_incumbent_and_another_begins(
    tmp_path: Path, patient: None
) -> None:
    folder, recipe = tmp_path / "run", Grows(fails_after=2)
    state = go(folder, Moves(SLOW), recipe, rounds=2, settings=SETTINGS)
    assert (state.round, state.incumbent) == (2, "policy-0")
    rejected = notes(folder, "rejected")
    assert [note.round for note in rejected] == [1, 2]
    assert "the loss is nan" in rejected[0].text
    assert [process.first for process in HereOnline.begun] == [1, 2]
    assert recipe.first[1] > recipe.first[0], "it has what the first one collected"


def test_a_learner_that_is_killed_is_begun_again_to_the_same_weights_and_that_is_told(
    tmp_path: Path, patient: None
) -> None:
    whole, hit = tmp_path / "whole", tmp_path / "hit"
    for folder, killed in ((whole, 0), (hit, 1)):
        go(folder, Moves(SLOW), Grows(killed=killed), rounds=2, settings=SETTINGS)
    (note,) = notes(hit, "retried")
    assert (note.round, note.candidate) == (1, "policy-1")
    assert note.text.startswith("it was killed; another learns from the same episodes")
    assert not notes(whole, "retried")
    for number in (1, 2):
        ids = [[e.id for e in collected(folder, number)] for folder in (whole, hit)]
        assert ids[0] == ids[1]
        assert speed_of(whole, f"policy-{number}") == speed_of(hit, f"policy-{number}")


def test_a_learner_that_is_killed_twice_in_a_round_leaves_the_incumbent_and_the_loop_goes_on(
    tmp_path: Path, patient: None
) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Grows(killed=2), rounds=2, settings=SETTINGS)
    assert state.round == 2
    (retried,), (rejected,) = notes(folder, "retried"), notes(folder, "rejected")
    assert (retried.round, rejected.round) == (1, 1)
    assert rejected.text == "round 1: it was killed"
    with Run.open(folder) as run:
        assert run.ledger.rounds()[0].policy == "policy-0"
        assert run.ledger.policy("policy-2"), "another learned in the next round"


def test_robots_are_not_kept_at_rounds_that_make_no_candidate(
    tmp_path: Path, patient: None
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(EnpireError, match="3 rounds in a row made no candidate"):
        go(folder, Moves(SLOW), Grows(fails_after=0), rounds=9, settings=SETTINGS)
    assert [note.round for note in notes(folder, "rejected")] == [1, 2, 3]
    go(folder, Moves(SLOW), Grows(gain=0.01), rounds=4, settings=SETTINGS)  # once it is mended
    with Run.open(folder) as run:
        assert run.ledger.policy("policy-4") is not None


@pytest.mark.parametrize("after", [16, 29])
@pytest.mark.usefixtures("patient")
def test_a_loop_that_was_killed_comes_to_the_same(tmp_path: Path, after: int) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    go(whole, Moves(SLOW), Grows(gain=0.05), settings=COLLECTS)
    with pytest.raises(Killed):
        go(cut, Moves(SLOW), Grows(gain=0.05), Steps(after), settings=COLLECTS)
    with Run.open(cut) as run:
        assert run.ledger.policy("policy-1") is None, "in the middle of its round"
    go(cut, Moves(SLOW), Grows(gain=0.05), settings=COLLECTS)
    one, other = (collected(folder, 1) for folder in (whole, cut))
    assert [e.id for e in one] == [e.id for e in other]
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine.actions, theirs.actions)
    assert speed_of(whole, "policy-1") == speed_of(cut, "policy-1")


@pytest.mark.parametrize("stations", [1, 3])
@pytest.mark.usefixtures("patient")
def test_what_is_learned_does_not_hang_on_how_many_stations_there_are(
    tmp_path: Path, stations: int
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    go(one, Moves(SLOW), Grows(gain=0.05), settings=COLLECTS)
    go(other, Moves(SLOW), Grows(gain=0.05), settings=COLLECTS.but(robots=stations))
    assert [e.id for e in collected(one, 1)] == [e.id for e in collected(other, 1)]


def test_a_learner_that_is_not_likely_to_be_better_is_not_compared_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient: None
) -> None:
    monkeypatch.setattr(loops, "LIKELY", 1.0)
    monkeypatch.setattr(loops, "WORSE", 0.0)
    folder, recipe = tmp_path / "run", Grows(gain=0.0)
    state = go(folder, Moves(SLOW), recipe, rounds=2, settings=SETTINGS)
    assert state.incumbent == "policy-0"
    kept = notes(folder, "kept")
    assert [note.round for note in kept] == [1, 2]
    assert all("is not compared" in note.text for note in kept)
    with Run.open(folder) as run:
        evaluated = {e.policy for e in run.episodes(Purpose.EVALUATION)}
    assert evaluated == {"policy-0"}, "no robot time for the candidates"
    (process,) = HereOnline.begun
    assert len(process.handed) == 12, "one learner, two rounds of six blocks"


def test_a_loop_that_was_killed_after_it_compared_nothing_goes_on_as_if_it_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "LIKELY", 1.0)
    monkeypatch.setattr(loops, "WORSE", 0.0)
    folder, recipe = tmp_path / "run", Grows(gain=0.0)

    def killed(self: loops.Loop, number: int) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(loops.Loop, "_close_round", killed)
        with pytest.raises(Killed):
            go(folder, Moves(SLOW), recipe, rounds=1, settings=SETTINGS)
    go(folder, Moves(SLOW), recipe, rounds=1, settings=SETTINGS)
    (kept,) = notes(folder, "kept")
    assert "is not compared" in kept.text
    with Run.open(folder) as run:
        evaluated = {e.policy for e in run.episodes(Purpose.EVALUATION)}
    assert evaluated == {"policy-0"}, "no robot time for the candidate"


def test_a_learner_that_has_become_worse_is_given_up_and_another_begins_from_the_incumbent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient: None
) -> None:
    monkeypatch.setattr(online, "RECENT", 12)
    folder, recipe = tmp_path / "run", Grows(start=FAST, gain=-FAST)
    state = go(folder, Moves(FAST), recipe, rounds=2, settings=SETTINGS)
    assert state.incumbent == "policy-0"
    assert [note.round for note in notes(folder, "rejected")] == [1, 2]
    assert not notes(folder, "kept")
    assert [process.first for process in HereOnline.begun] == [1, 2]
    assert [process.asked.parent for process in HereOnline.begun] == ["policy-0", "policy-0"]


def test_a_learner_whose_latest_episodes_reach_the_target_is_examined_before_it_is_compared(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Grows(), settings=SETTINGS)
    assert state.reached
    assert state.incumbent == "policy-1"
    assert not notes(folder, "promoted")


def test_one_failure_in_few_does_not_rule_out_a_learner_whose_latest_episodes_succeed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = round_decisions.RoundDecisions.measured

    def unlucky(self: round_decisions.RoundDecisions, name: str, until: int) -> Estimate:
        return estimate(7, 8) if name == "policy-1" else measured(self, name, until)

    monkeypatch.setattr(round_decisions.RoundDecisions, "measured", unlucky)
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Grows(), settings=SETTINGS.but(target=0.9))
    assert state.incumbent == "policy-1"
    assert state.reached
    assert not notes(folder, "promoted"), "it was examined before any comparison"


@pytest.mark.parametrize(("successes", "compared"), [(10, False), (20, True)])
def test_what_missed_the_target_is_compared_only_where_its_sealed_episodes_speak_for_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    patient: None,
    successes: int,
    compared: bool,
) -> None:
    def sealed(self: round_decisions.RoundDecisions, name: str) -> Estimate:
        return estimate(successes, 20) if name == "policy-1" else estimate(0, 0)

    def measured(self: round_decisions.RoundDecisions, name: str, until: int) -> Estimate:
        return estimate(16, 20)

    monkeypatch.setattr(round_decisions.RoundDecisions, "sealed", sealed)
    monkeypatch.setattr(round_decisions.RoundDecisions, "measured", measured)
    monkeypatch.setattr(loops.SealedEvaluations, "passes", lambda self, *of: False)
    folder = tmp_path / "run"
    go(folder, Moves(SLOW), Grows(), rounds=1, settings=SETTINGS)
    texts = [note.text for note in notes(folder, "kept") + notes(folder, "promoted")]
    assert ["is not compared" in text for text in texts] == [not compared]
    assert compared or "of its learner and its sealed ones" in texts[0]


@pytest.mark.parametrize(("most", "compared"), [(3, True), (30, False)])
def test_a_comparison_that_takes_more_episodes_than_were_learned_from_is_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    patient: None,
    most: int,
    compared: bool,
) -> None:
    monkeypatch.setattr(loops, "LIKELY", 0.0)
    monkeypatch.setattr(round_decisions, "expected_pairs", lambda *of: most)
    monkeypatch.setattr(loops.SealedEvaluations, "passes", lambda self, *of: False)
    folder = tmp_path / "run"
    go(folder, Moves(SLOW), Grows(), rounds=1, settings=SETTINGS.but(max_pairs=0))
    (text,) = [note.text for note in notes(folder, "kept") + notes(folder, "promoted")]
    assert ("is not compared: that takes 60 episodes" in text) is not compared
    with Run.open(folder) as run:
        evaluated = {e.policy for e in run.episodes(Purpose.EVALUATION)}
    assert ("policy-1" in evaluated) is compared


def test_comparisons_together_take_no_more_episodes_than_were_learned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient: None
) -> None:
    monkeypatch.setattr(loops, "LIKELY", 0.0)
    monkeypatch.setattr(loops, "WORSE", 0.0)
    pairs = iter([10, 20, 20])
    monkeypatch.setattr(round_decisions, "enough_pairs", lambda *of: 10)
    monkeypatch.setattr(round_decisions, "expected_pairs", lambda *of: next(pairs))
    monkeypatch.setattr(loops.SealedEvaluations, "passes", lambda self, *of: False)
    folder = tmp_path / "run"
    go(folder, Moves(SLOW), Grows(gain=0.0), rounds=3, settings=SETTINGS.but(max_pairs=0))
    texts = [note.text for note in notes(folder, "kept")]
    assert ["is not compared" in text for text in texts] == [False, True, False]
    assert (
        "40 episodes on average, after 20 in earlier rounds, and learners collected 48" in texts[1]
    )


WALL = SETTINGS.but(pace="real", robots=5)  # a clock that goes on, on which stations wait for none


def idle_s(folder: Path) -> float:
    """Return how long stations were idle between the first policy and the last collection [s]."""
    with Run.open(folder) as run:
        purposes = {e.id: e.purpose for e in run.episodes()}
        done = run.ledger.intervals()
    shown = [i.end_s for i in done if purposes.get(i.episode) is Purpose.DEMONSTRATION]
    collected = [i.end_s for i in done if purposes.get(i.episode) is Purpose.COLLECTION]
    idle = [i for i in done if i.phase is Phase.IDLE and max(shown) <= i.start_s]
    return sum(i.end_s - i.start_s for i in idle if i.end_s <= max(collected))


def handed(process: HereOnline) -> list[str]:
    return [id for ids in process.handed for id in ids]


@pytest.mark.usefixtures("patient")
def test_what_would_be_idle_collects_for_the_next_round_on_the_clock_of_the_wall(
    tmp_path: Path,
) -> None:
    for name, settings in (("free", SETTINGS.but(robots=5)), ("wall", WALL)):
        HereOnline.begun = []
        go(tmp_path / name, Moves(SLOW), Grows(gain=0.01), rounds=2, settings=settings)
    (process,) = HereOnline.begun
    folder = tmp_path / "wall"
    assert idle_s(folder) < 0.3 * idle_s(tmp_path / "free"), "the last round has none after it"
    first, second = ([e.id for e in collected(folder, number)] for number in (1, 2))
    assert sorted(handed(process)[:24]) == sorted(first), "in its round"
    assert sorted(handed(process)) == sorted(first + second), "each once"
    assert online.version_of(collected(folder, 1)[0].policy) == 0
    assert online.version_of(collected(folder, 2)[0].policy) > 3, "of the round before"


@pytest.mark.usefixtures("patient")
def test_what_began_early_under_a_learner_that_fails_goes_to_the_next_one(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    go(folder, Moves(SLOW), Grows(fails_after=2), rounds=2, settings=WALL)
    assert [note.round for note in notes(folder, "rejected")] == [1, 2]
    assert [process.first for process in HereOnline.begun][:2] == [1, 2]
    for process in HereOnline.begun:
        ids = handed(process)
        assert len(ids) == len(set(ids))
    with Run.open(folder) as run:
        seeds = [e.seed for e in run.episodes(Purpose.COLLECTION) if e.round == 2]
    assert len(seeds) == len(set(seeds)), "none is run twice"


@pytest.mark.parametrize("killed", [1, 2])
@pytest.mark.usefixtures("patient")
def test_a_learner_killed_on_the_clock_of_the_wall_costs_no_episode(
    tmp_path: Path, killed: int
) -> None:
    folder = tmp_path / "run"
    state = go(folder, Moves(SLOW), Grows(killed=killed), rounds=2, settings=WALL)
    assert state.round == 2
    process = HereOnline.begun[-1]
    ids = [e.id for number in (1, 2) for e in collected(folder, number)]
    assert len(ids) == len(set(ids))
    assert set(handed(process)) <= set(ids)


@pytest.mark.parametrize("after", [14, 22, 33, 41, 47])
@pytest.mark.usefixtures("patient")
def test_a_loop_killed_on_the_clock_of_the_wall_goes_on(tmp_path: Path, after: int) -> None:
    folder = tmp_path / "run"
    settings = WALL.but(max_pairs=2)
    with pytest.raises(Killed):
        go(folder, Moves(SLOW), Grows(gain=0.01), Steps(after), rounds=2, settings=settings)
    HereOnline.begun = []
    state = go(folder, Moves(SLOW), Grows(gain=0.01), rounds=2, settings=settings)
    assert state.round == 2
    ids = handed(HereOnline.begun[-1])
    assert len(ids) == len(set(ids)) == 48
