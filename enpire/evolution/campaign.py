"""A campaign: agents propose experiments, the harness trains, tries and decides.

    proposed → training → trials → kept, dropped or failed

An experiment collects under the policy it improves on, is trained in a process beside the fleet,
and meets that policy on fresh seeds, pair by pair, until the sequential test decides. Where the
incumbent has changed meanwhile, whoever won meets it as well. Whoever is kept is the incumbent; it
is measured again on seeds that nobody was chosen by, and examined on sealed seeds once it looks
good enough. Experiments run side by side, a queue of the fleet's each, with equal shares of robot
time: none of them starves.

Nothing is saved but events, episodes and policies, each once and for all. A process that is killed
and begun again finds how far each experiment was and takes it up there; its writer's lock on the
run is the lease, so nobody else can do so at the same time. Events say how often that was.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from enpire.environment import Controller, Job, Workcells
from enpire.errors import CampaignError, RecipeError, UsageError
from enpire.evolution.agents import Agent
from enpire.evolution.board import Board
from enpire.evolution.confined import Either, foreign
from enpire.evolution.effect import Effect
from enpire.evolution.experiment import Experiment, State
from enpire.evolution.guarded import guarded
from enpire.evolution.limited import Ceilings
from enpire.evolution.quoting import one_line
from enpire.evolution.records import (
    EXPERIMENT,
    HELD,
    LEASE,
    MATCH,
    RELEASED,
    RETIRED,
    USED,
    Entry,
    Outcome,
    Used,
    folded,
    retirement,
)
from enpire.evolution.report import ENOUGH, write
from enpire.evolution.sandbox import Confinement
from enpire.evolution.selection import DEFAULT, Contender, choose, level
from enpire.improvement import recipe as recipes
from enpire.improvement.collection import Collection
from enpire.improvement.recipe import Candidate, Named
from enpire.improvement.training import FOLDER as TRAINING
from enpire.improvement.training import Asked, Trainer
from enpire.policies import ChunkSpec, Policy, load, metadata
from enpire.rollout.budget import Budget
from enpire.rollout.comparison import Decision
from enpire.rollout.fleet import Fleet
from enpire.rollout.loop import Loop, LoopSettings, LoopState
from enpire.rollout.match import JUDGED, Match
from enpire.rollout.scheduler import Queue
from enpire.rollout.seeds import fresh_entropy, stream
from enpire.rollout.statistics import estimate, misses_allowed, sealed_hopeless
from enpire.store import Decision as Note
from enpire.store import EpisodeWriter, EventRow, RoundRow, Run, SealedRow
from enpire.types import Episode, Estimate, Purpose

LOOK_S = 0.05  # between looks at what is under way while no episode ends
LEADING = 4.0  # share of robot time of the trials that it would go on with, others' being 1.0
EXAMINING = 4.0  # share of robot time of a sealed evaluation, an experiment's being 1.0
REPORT_S = 20.0  # between two reports, unless something was decided
DECIDED = (State.KEPT, State.DROPPED, State.FAILED)
WORDS = 300  # characters of what an agent says, in a decision
REFUSALS = 3  # in a row, after which an agent is retired

Life = Generator[None]
"""What is under way: goes on when it is asked, until it has to wait again."""


@dataclass(frozen=True, slots=True)
class _Trying:
    """A comparison under way, and the queue of its jobs."""

    match: Match
    queue: Queue


@dataclass(frozen=True, slots=True)
class Team:
    """Who proposes. sources: texts of recipes that may be run unconfined, with their files.

    confinement: of all other code.
    """

    agents: Sequence[Agent[Seat]]
    sources: Mapping[str, Path] = field(default_factory=dict)
    confinement: Confinement = Confinement.BUBBLEWRAP


class Campaign:
    """One campaign on one fleet."""

    def __init__(
        self,
        settings: LoopSettings,
        run: Run,
        writer: EpisodeWriter,
        fleet: Fleet,
        first: Named,
        trainer: Trainer,
        team: Team,
        budget: Budget,
        ceilings: Ceilings,
        state: LoopState,
    ) -> None:
        """settings: as of a loop; first: how the first policy is made, as a loop does."""
        self.settings, self.budget, self.ceilings, self.state = settings, budget, ceilings, state
        self.run_store = run
        self.record = folded(run.ledger.events())
        self.closed = ""  # why no experiment may begin any more
        self.lock = threading.RLock()  # held while anything here changes; tools take it to read
        self.changed = threading.Condition(self.lock)  # an event, a decision, or the end
        self.ended = False
        self._writer, self.fleet, self.team = writer, fleet, team
        self._trainer: Trainer = Either(trainer, team.confinement)
        self._first = first
        self.stations: Workcells = fleet.stations
        self._spec = ChunkSpec(
            settings.task, self.stations.observation_size, self.stations.action_size
        )
        self.known: dict[str, Episode] = {}
        self._policies: dict[str, Policy] = {}
        self._controllers: dict[str, Controller] = {}
        self._matches: dict[int, _Trying] = {}
        self._lives: dict[int, Life] = {}
        self._examiner = self._examine_good_ones()
        self._examining = False
        self._training: int | None = None
        self._refusals: dict[str, int] = {}
        self._looked = self._reported = 0.0
        self.board = Board.read(run.folder)

    def run(self) -> LoopState:
        """Go on until the target holds on sealed seeds, or nobody may begin anything any more.

        Raises:
            Stopped: a budget ended, or a person asked; everything is recorded.
        """
        self.board = Board.open(self.run_store.folder)
        try:
            self._begin()
            with contextlib.closing(self.fleet.go_on(self._over)) as running:
                for episode in running:
                    with self.lock:
                        self.known[episode.id] = episode
                        for trying in self._matches.values():
                            trying.match.add(episode)
                        self._looked = 0.0
            self.fleet.stop("the campaign has ended")
        finally:
            with self.changed:
                self.ended = True
                self.changed.notify_all()
            for agent in self.team.agents:
                agent.close()
            self.board.close()
        return self.state

    # What agents ask for

    def propose(self, experiment: Experiment, trials: bool = True) -> None:
        """Take up an experiment; without `trials` it is trained, and waits for `release`.

        Raises:
            CampaignError: it is refused, and nothing has been begun; why, and what to do.
        """
        with self.lock:
            self._require_room(experiment)
            self._require_sound(experiment)
            number = len(self.record.entries) + 1
            self._event(number, EXPERIMENT if trials else HELD, experiment.as_json())
            self._tell("proposed", number, f"{experiment.id}: {experiment.hypothesis}")
            self._lives[number] = self._life(number)

    def release(self, agent: str, id: str) -> None:
        """Have an agent's own experiment go on to trials, once it is trained.

        Raises:
            CampaignError: it is not the agent's, or not under way.
        """
        with self.lock:
            entry = self._own(agent, id)
            if not entry.released:
                self._event(entry.number, RELEASED, "")

    def withdraw(self, agent: str, id: str, reason: str) -> None:
        """Drop an agent's own experiment before its trials.

        Raises:
            CampaignError: it is not the agent's, or has come to trials: then the harness decides.
        """
        with self.lock:
            entry = self._own(agent, id)
            if entry.released:
                raise CampaignError(f"{id} has been released to trials: the harness decides it now")
            self._drop(entry, f"withdrawn: {one_line(reason, WORDS)}")

    def _own(self, agent: str, id: str) -> Entry:
        entry = self.record.named(id)
        if entry.experiment.agent != agent:
            raise CampaignError(f"{id} is {entry.experiment.agent}'s: ask for your own")
        if entry.experiment.decided:
            raise CampaignError(f"{id} is decided already: {entry.experiment.state}")
        return entry

    def _drop(self, entry: Entry, reason: str) -> None:
        life = self._lives.pop(entry.number, None)
        if life is not None:
            life.close()
        self._move(entry.number, State.DROPPED, reason=reason)

    def retire(self, agent: str, reason: str) -> None:
        """An agent has ended: what it has not released is dropped, the rest goes on."""
        with self.lock:
            if agent in self.record.retired:
                return
            self._event(0, RETIRED, retirement(agent, one_line(reason, WORDS)))
            self._tell("retired", 0, f"{agent}: {one_line(reason, WORDS)}")
            for entry in self.record.of(agent):
                if not entry.released:
                    self._drop(entry, "its agent ended before it asked for trials")

    def spend(self, agent: str, used: Used, classes: Mapping[str, int]) -> None:
        """An agent has used its model; classes: of tokens, as its API counts them."""
        with self.lock:
            self._event(0, USED, used.as_json(agent, classes))

    def _require_room(self, experiment: Experiment) -> None:
        own = self.record.of(experiment.agent)
        if own:
            raise CampaignError(
                f"{experiment.agent} has {own[0].experiment.id} under way: wait for its decision"
            )
        each = self._expected_s()
        reserved = sum(max(0.0, each - self.robot_s(e.number)) for e in self.record.under_way)
        self.closed = self.closed or self.ceilings.refuses(
            len(self.record.entries), self.fleet.robot_s, reserved, each
        )
        if self.closed:
            raise CampaignError(f"{self.closed}: no experiment begins any more")

    def _require_sound(self, experiment: Experiment) -> None:
        if experiment.state is not State.PROPOSED or experiment.effect is not None:
            raise CampaignError(f"{experiment.id} is {experiment.state}: propose new ones only")
        if self.run_store.ledger.policy(experiment.id) is not None:
            raise CampaignError(f"there is a policy {experiment.id} already: choose another id")
        if self.run_store.ledger.policy(experiment.base) is None:
            raise CampaignError(
                f"there is no policy {experiment.base!r} to improve on: the incumbent is "
                f"{self.record.incumbent}"
            )
        known = self.record.experiments
        if any(other.id == experiment.id for other in known):
            raise CampaignError(f"there is an experiment {experiment.id} already")
        for other in known:
            if not other.decided and _what(other) == _what(experiment):
                raise CampaignError(
                    f"{other.id} tries just that now: change something, or wait for its decision"
                )
        self._recipe(experiment).require(self.stations)

    def robot_s(self, number: int) -> float:
        """Robot time of an experiment so far [s]."""
        return sum(e.times.total for e in self.known.values() if _belongs(e, number))

    def _expected_s(self) -> float:
        """Robot time that an experiment may take: its collection, and a comparison [s]."""
        times = [e.times.total for e in self.known.values()]
        mean = sum(times) / len(times) if times else 0.0
        return mean * (self.settings.collect + 2 * self.settings.max_pairs)

    # What goes on

    def _begin(self) -> None:
        """Have the first policy, and take up what was under way."""
        Loop(
            self.settings,
            self.run_store,
            self._writer,
            self.fleet,
            self._first,
            (),
            self._trainer,
            self.budget,
            self.state,
        ).begin()
        self._writer.flush()
        with self.lock:
            self.known = {e.id: e for e in self.run_store.episodes(without=None)}
            for row in self.run_store.ledger.sealed():
                self._take(row)
            self._tell_decisions()
            for entry in self.record.under_way:
                self._lives[entry.number] = self._life(entry.number)

    def _over(self) -> bool:
        """Let whatever waited go on; whether the campaign has ended."""
        now = time.monotonic()
        if self.state.reached:
            return True
        if now - self._looked < LOOK_S:
            return False
        self._looked = now
        with self.lock:
            for number, life in list(self._lives.items()):
                self._go_on(number, life)
            self._favour()
            next(self._examiner)
            if not self.state.reached:
                self._turns()
            self._show(now)
            retired = all(a.name in self.record.retired for a in self.team.agents)
            over = bool(self.closed or retired) and not (self._lives or self._examining)
            return self.state.reached or over

    def _go_on(self, number: int, life: Life) -> None:
        try:
            next(life)
        except StopIteration:
            del self._lives[number]
        except (RecipeError, CampaignError, UsageError) as error:
            del self._lives[number]
            self._move(number, State.FAILED, reason=str(error))

    def _turns(self) -> None:
        """Each agent that has not ended has a turn."""
        for agent in self.team.agents:
            self.closed = self.closed or self.ceilings.used_up(self.record.spent) or ""
            if agent.name in self.record.retired:
                continue
            try:
                agent.turn(Seat(self, agent.name))
                self._refusals[agent.name] = 0
            except CampaignError as error:
                refusals = self._refusals[agent.name] = self._refusals.get(agent.name, 0) + 1
                if not self.closed and refusals >= REFUSALS:
                    self.retire(agent.name, str(error))

    def _life(self, number: int) -> Life:
        """An experiment, from where it is to its decision."""
        self._event(number, LEASE, "")
        if self._entry(number).experiment.state is State.PROPOSED:
            self._move(number, State.TRAINING)
        if self._entry(number).experiment.state is State.TRAINING:
            if self.run_store.ledger.policy(self._entry(number).policy) is None:
                yield from self._collect(number)
                yield from self._train(number)
            while not self._entry(number).released:
                yield
            self._move(number, State.TRIALS)
        while (opponent := self._opponent(number)) is not None:
            yield from self._play(number, opponent)
        self._decide(number)

    def _collect(self, number: int) -> Life:
        experiment, settings = self._entry(number).experiment, self.settings
        row = self.run_store.ledger.policy(experiment.base)
        earlier = (
            e for e in self.known.values() if e.round < number and e.purpose is not Purpose.SEALED
        )
        asked = Collection(
            stations=self.stations,
            base=experiment.base,
            parent=row.parent if row else "",
            policy=self._policy,
            controller=self._controller,
            round=number,
            count=settings.collect,
            seeds=stream(settings.seed, "collect", number),
            exploration=settings.exploration,
            seed=self._seed(number),
            episodes=sorted(earlier, key=lambda e: e.id),
        )
        recipe = self._recipe(experiment)
        errors: list[RecipeError] = []

        def jobs() -> Iterator[Job]:
            try:
                yield from recipe.collect(asked)
            except RecipeError as error:  # of this experiment, whichever asks for a job
                errors.append(error)

        yield from self._run_out(jobs())
        for error in errors:
            raise error

    def _train(self, number: int) -> Life:
        """Its candidate, made beside the stations; one at a time."""
        while self._training is not None:
            yield
        self._training = number
        try:
            candidate = yield from self._trained(number)
        finally:
            self._training = None
        entry = self._entry(number)
        self.run_store.save_policy(
            entry.policy,
            candidate.policy.tensors(),
            metadata(candidate.policy),
            parent=entry.experiment.base,
            recipe=entry.experiment.recipe,
            round=number,
        )
        shutil.rmtree(self.run_store.folder / TRAINING, ignore_errors=True)
        text = ", ".join(f"{key} {value:.4g}" for key, value in candidate.numbers.items())
        self._tell("trained", number, f"{entry.policy}: {text}", candidate.numbers)

    def _trained(self, number: int) -> Generator[None, None, Candidate]:
        experiment = self._entry(number).experiment
        self._writer.flush()
        asked = Asked(
            self._recipe(experiment),
            self._spec,
            number,
            experiment.base,
            self._seed(number),
            self.stations.parameters,
        )
        training = self._trainer.begin(self.run_store, asked)
        try:
            while (candidate := training.candidate(0.0)) is None:
                yield
        except RecipeError:
            raise
        except BaseException:
            training.cancel()
            raise
        return candidate

    def _opponent(self, number: int) -> str | None:
        """Whom its candidate meets next; None once that is decided.

        The policy that it improves on; then, if it won, whoever is the incumbent by now.
        """
        entry = self._entry(number)
        if not entry.matches:
            return entry.experiment.base
        last = entry.matches[-1]
        return (
            self.record.incumbent if last.won and last.opponent != self.record.incumbent else None
        )

    def _play(self, number: int, opponent: str) -> Life:
        entry, settings = self._entry(number), self.settings
        name = "compare" if not entry.matches else f"compare with {opponent}"
        match = Match(
            entry.policy,
            opponent,
            {name: self._controller(name) for name in (entry.policy, opponent)},
            number,
            stream(settings.seed, name, number),
            level(settings.alpha, len(self.team.agents)),
            settings.max_pairs,
        )
        for episode in self.known.values():
            match.add(episode)
        try:
            yield from self._run_out(match.jobs(), match=(number, match))
        finally:
            self._matches.pop(number, None)
        won = match.decision is Decision.PROMOTE
        self._event(number, MATCH, Outcome(opponent, match.record, won).as_json())

    def _decide(self, number: int) -> None:
        entry = self._entry(number)
        first, last = entry.matches[0], entry.matches[-1]
        effect = Effect(first.record)
        if last.won:
            reason = f"better than {last.opponent}: {Effect(last.record)}"
            self._move(number, State.KEPT, effect, reason)
        elif first.won:
            reason = (
                f"better than {first.opponent}, but not shown to be better than {last.opponent}, "
                f"which came meanwhile: {Effect(last.record)}"
            )
            self._move(number, State.DROPPED, effect, reason)
        else:
            reason = f"not shown to be better than {first.opponent}: {effect}"
            self._move(number, State.DROPPED, effect, reason)

    def _favour(self) -> None:
        """Have the trials that selection would go on with decided sooner; none of them starves."""
        trying = {str(n): on for n, on in self._matches.items()}
        contenders = [Contender(name, on.match.record) for name, on in trying.items()]
        leading = choose(DEFAULT, contenders, np.random.default_rng(0))
        for name, on in trying.items():
            on.queue.share = LEADING if name == leading else 1.0

    def _run_out(
        self, jobs: Iterator[Job], share: float = 1.0, match: tuple[int, Match] | None = None
    ) -> Life:
        """Have those of the jobs run that have no episode yet, beside whatever else is."""
        queue: Queue = self.fleet.beside(self._unknown(jobs), share)
        if match is not None:
            self._matches[match[0]] = _Trying(match[1], queue)
        try:
            while not queue.over:
                yield
        finally:
            self.fleet.drop(queue)

    def _unknown(self, jobs: Iterable[Job]) -> Iterator[Job]:
        return (job for job in jobs if job.id not in self.known)

    # Measured again, and examined

    def _examine_good_ones(self) -> Life:
        """Look at the incumbent on fresh seeds, and examine who looks good enough; for ever."""
        looked = -1
        while True:
            if looked == len(self.record.decided):
                self._examining = False
                yield
                continue
            self._examining = True
            looked = len(self.record.decided)
            name = self._being_sealed()
            if not name:
                incumbent = self.record.incumbent
                if not self._checked(incumbent):
                    yield from self._run_out(self._check(incumbent))
                    self._close_rounds()
                    self.state.success = self.fresh(incumbent)
                name = self._looks_good()
            if name:
                yield from self._examine(name)
                looked = -1

    def fresh(self, name: str) -> Estimate:
        """How good a policy is on seeds that it was not chosen by."""
        checks = set(self._check_seeds(name))
        number = self.record.number_of(name)
        judged = [
            e.success
            for e in self.known.values()
            if e.policy == name
            and e.purpose is Purpose.EVALUATION
            and e.verdict.outcome in JUDGED
            and (not number or e.round != number or e.seed in checks)
        ]
        return estimate(sum(judged), len(judged))

    def _check_seeds(self, name: str) -> list[int]:
        return list(
            islice(stream(self.settings.seed, "check", self.record.number_of(name)), ENOUGH)
        )

    def _check(self, name: str) -> Iterator[Job]:
        controller, number = self._controller(name), self.record.number_of(name)
        return (
            Job(seed, Purpose.EVALUATION, controller, name, number)
            for seed in self._check_seeds(name)
        )

    def _checked(self, name: str) -> bool:
        if self.fresh(name).trials >= ENOUGH:
            return True
        return all(job.id in self.known for job in self._check(name))

    def _looks_good(self) -> str:
        """Who is to be examined next, each once: the incumbent; or who could not be shown to be
        better than a good one, yet reaches the target too. Empty for nobody.
        """
        examined = {row.policy for row in self.run_store.ledger.sealed()}
        target, incumbent = self.settings.target, self.record.incumbent
        seen = self.fresh(incumbent)
        if incumbent not in examined and seen.trials >= ENOUGH and seen.rate >= target:
            return incumbent
        for number, _ in self.record.decided:
            entry = self._entry(number)
            if entry.policy in examined or not entry.matches or entry.policy == incumbent:
                continue
            record = entry.matches[-1].record
            own = [
                e.success
                for e in self.known.values()
                if e.policy == entry.policy
                and e.purpose is Purpose.EVALUATION
                and e.verdict.outcome in JUDGED
            ]
            if record.wins >= record.losses and len(own) >= ENOUGH and _rate(own) >= target:
                return entry.policy
        return ""

    def _being_sealed(self) -> str:
        """Whose sealed evaluation was begun and is not over; empty for nobody's."""
        done = len(self.run_store.ledger.sealed())
        for note in self.run_store.ledger.decisions():
            if note.kind == "sealing" and note.numbers["attempt"] == done + 1:
                return note.incumbent
        return ""

    def _examine(self, name: str) -> Life:
        settings = self.settings
        attempt = len(self.run_store.ledger.sealed()) + 1
        entropy = self._entropy(name, attempt)
        seeds = list(islice(stream(entropy, "sealed", attempt), settings.sealed_episodes))
        controller = self._controller(name)
        asked = [Job(seed, Purpose.SEALED, controller, name, attempt) for seed in seeds]

        def results() -> list[bool]:
            return [self.known[job.id].success for job in asked if job.id in self.known]

        def jobs() -> Iterator[Job]:
            for job in asked:
                failures = results().count(False)
                if sealed_hopeless(failures, settings.sealed_episodes, settings.target):
                    return
                yield job

        yield from self._run_out(jobs(), EXAMINING)
        measured = estimate(sum(results()), len(results()))
        row = SealedRow(
            attempt, name, entropy, measured.successes, measured.trials, measured.low, measured.high
        )
        self.run_store.ledger.add_sealed(row)
        self._tell("sealed", self.record.number_of(name), f"{name}, attempt {attempt}: {measured}")
        self._take(row)

    def _entropy(self, name: str, attempt: int) -> int:
        for note in self.run_store.ledger.decisions():
            if note.kind == "sealing" and note.numbers["attempt"] == attempt:
                return int(note.numbers["entropy"])
        entropy = fresh_entropy()
        text = f"{name} is frozen; its sealed seeds are drawn"
        numbers: dict[str, float] = {"attempt": attempt, "entropy": entropy}
        self.run_store.ledger.add_decision(
            Note(self.record.number_of(name), "sealing", text, name, "", numbers)
        )
        return entropy

    def _take(self, row: SealedRow) -> None:
        self.state.sealed_attempts = max(self.state.sealed_attempts, row.attempt)
        failures = row.trials - row.successes
        whole = row.trials >= self.settings.sealed_episodes
        if whole and failures <= misses_allowed(self.settings.target, row.trials):
            self.state.reached = True
            self.state.sealed = row

    # Records

    def _entry(self, number: int) -> Entry:
        return self.record.entries[number]

    def _event(self, number: int, kind: str, text: str) -> None:
        """First on the disk, then here."""
        self.run_store.ledger.add_event(EventRow(number, kind, text))
        self.record.take(EventRow(number, kind, text, time.time()))
        with self.changed:
            self.changed.notify_all()

    def _move(
        self, number: int, state: State, effect: Effect | None = None, reason: str = ""
    ) -> None:
        moved = self._entry(number).experiment.to(state, effect=effect, reason=reason)
        self._event(number, EXPERIMENT, moved.as_json())
        if moved.decided:
            self._tell_decisions()

    def _tell_decisions(self) -> None:
        """What follows from decisions, of which a process that died may have left something out:
        a line for people, the policy's state, and the row of a round each.
        """
        ledger = self.run_store.ledger
        finals = {
            state.value for state in State if state in (State.KEPT, State.DROPPED, State.FAILED)
        }
        told = {note.round for note in ledger.decisions() if note.kind in finals}
        for number, _ in self.record.decided:
            entry = self._entry(number)
            if number not in told:
                experiment = entry.experiment
                self._tell(experiment.state, number, f"{experiment.id}: {experiment.reason}")
            row = ledger.policy(entry.policy)
            kept = entry.experiment.state is State.KEPT
            if row is not None and kept and row.state != "incumbent":
                ledger.set_policy_state(entry.policy, "incumbent")
        self._close_rounds()
        self.board.learn(self.record.experiments)

    def _close_rounds(self) -> None:
        """A row for each decision, in their order, and the last one as it is now."""
        ledger = self.run_store.ledger
        done = len(ledger.rounds())
        for at, (_, incumbent) in enumerate(self.record.decided, 1):
            if at > done or at == len(self.record.decided):
                seen = self.fresh(incumbent)
                ledger.put_round(
                    RoundRow(
                        at,
                        incumbent,
                        seen.successes,
                        seen.trials,
                        seen.low,
                        seen.high,
                        self.fleet.robot_s,
                        self.budget.elapsed,
                    )
                )

    def _tell(
        self, kind: str, number: int, text: str, numbers: Mapping[str, float] | None = None
    ) -> None:
        entry = self.record.entries.get(number)
        candidate = entry.policy if entry else ""
        self.run_store.ledger.add_decision(
            Note(number, kind, text, self.record.incumbent, candidate, numbers or {})
        )
        with self.changed:
            self.changed.notify_all()

    def _show(self, now: float) -> None:
        """What a person sees; the report is kept current."""
        state, record = self.state, self.record
        state.incumbent, state.round = record.incumbent, len(record.decided)
        if state.doing != "experiments":
            state.success = self.fresh(record.incumbent)
        changed = (state.done, state.planned) != (state.round, len(record.entries))
        state.doing, state.done, state.planned = "experiments", state.round, len(record.entries)
        if now - self._reported >= REPORT_S or (changed and now - self._reported >= 1.0):
            self._reported = now
            write(self.run_store)

    def _seed(self, number: int) -> int:
        return self.settings.seed * 1000 + number

    def _recipe(self, experiment: Experiment) -> Named:
        """Raises CampaignError where there is none such, or it may not be run here."""
        name = experiment.recipe
        if experiment.source:
            path = self.team.sources.get(experiment.source)
            if path is None:
                return foreign(experiment.recipe, experiment.source, experiment.settings)
            name = str(path)
        try:
            (found,) = recipes.schedule(name, dict(experiment.settings))
        except (UsageError, ValueError) as error:
            raise CampaignError(f"{experiment.id}: {error}") from error
        return found

    def _policy(self, name: str) -> Policy:
        if name not in self._policies:
            tensors, said = self.run_store.load_policy(name)
            self._policies[name] = load(said, tensors)
        return self._policies[name]

    def _controller(self, name: str) -> Controller:
        if name not in self._controllers:
            inner = self._policy(name).controller(self.stations)
            self._controllers[name] = guarded(inner, name, self.stations.action_size)
        return self._controllers[name]


@dataclass(frozen=True, slots=True)
class Seat:
    """An agent's `Desk`: what it may see and ask for of a campaign."""

    campaign: Campaign
    agent: str

    def known(self) -> list[Experiment]:
        """See `Desk`."""
        with self.campaign.lock:
            return self.campaign.record.experiments

    @property
    def base(self) -> str:
        """See `Desk`."""
        return self.campaign.record.incumbent

    @property
    def free(self) -> bool:
        """See `Desk`."""
        return not (self.campaign.closed or self.campaign.record.of(self.agent))

    def leave(self, reason: str) -> None:
        """See `Desk`."""
        self.campaign.retire(self.agent, reason)

    def propose(self, experiment: Experiment) -> None:
        """See `Desk`; an agent proposes in its own name only."""
        if experiment.agent != self.agent:
            raise CampaignError(f"{self.agent} cannot propose for {experiment.agent}")
        self.campaign.propose(experiment)


def _what(experiment: Experiment) -> tuple[object, ...]:
    """What is tried, whoever tries it and whatever is expected of it."""
    return experiment.recipe, experiment.source, experiment.settings, experiment.base


def _belongs(episode: Episode, number: int) -> bool:
    return episode.round == number and episode.purpose is not Purpose.SEALED


def _rate(outcomes: Sequence[bool]) -> float:
    return sum(outcomes) / len(outcomes)
