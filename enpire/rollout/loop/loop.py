"""The loop: reset → execute → verify → refine, until the target holds on sealed seeds.

    start    demonstrations → first policy → how good is it
    round    collect and explore → recipe → candidate → compare on fresh seeds → promote or keep
    sealed   a frozen policy on seeds drawn after it was frozen → target reached, or go on

Every step derives its episodes from streams of seeds and looks first at what the store already
holds, so a loop that was killed anywhere goes on where it was: there is no other saved state.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from enpire.environment import (
    Job,
    Operator,
    ResetMode,
    StationBackend,
    Tasked,
)
from enpire.errors import EnpireError, PolicyError, RecipeError, TrainerKilledError
from enpire.improvement.collection import caught
from enpire.improvement.online import is_online
from enpire.improvement.recipe import Candidate, ConfiguredRecipe
from enpire.improvement.training_process import Trainer, TrainingHandle, TrainingRequest, keep
from enpire.policies import shape_for
from enpire.policies.asynchronous import live_controller
from enpire.rollout.collection.demonstration_starts import demonstration_seeds
from enpire.rollout.collection.online import OnlineCollection, recent
from enpire.rollout.evaluation.comparison import Decision
from enpire.rollout.evaluation.paired_comparison import PairedComparison
from enpire.rollout.evaluation.sealed import Sealed
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.evaluation.statistics import chance_above, estimate
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.fleet.scheduler import Queue
from enpire.rollout.loop import round_decisions
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.online_rounds import OnlineRounds
from enpire.rollout.loop.round_collections import RoundCollections
from enpire.rollout.loop.round_decisions import POLICY, RoundDecisions
from enpire.rollout.loop.settings import REAL, SPREAD, LoopSettings
from enpire.rollout.loop.state import LoopState
from enpire.store import EpisodeWriter, RoundRow, Run
from enpire.store.fault_points import fault_point
from enpire.types import Episode, Estimate, Purpose

AHEAD = 20  # pairs whose one half is run while the candidate is made: as few decide nearly never
FRUITLESS = 3  # rounds in a row without a candidate, after which robots are not kept at it
LIKELY = 0.8  # chance that a learner is better, from which on a comparison is worth robot time
RETRIED = "retried"  # kind of the note on a training whose process was killed
WORSE = 0.01  # the same chance, below which what it has learned is given up


class Loop:
    """One run of the loop on one fleet."""

    def __init__(
        self,
        settings: LoopSettings,
        run: Run,
        writer: EpisodeWriter,
        fleet: Fleet,
        first: ConfiguredRecipe,
        schedule: Sequence[ConfiguredRecipe],
        trainer: Trainer,
        budget: Budget,
        state: LoopState,
        helper: Operator | None = None,
        known: EpisodeCache | None = None,
    ) -> None:
        """helper: beside policies in collections. known: the episodes, if not those of `run`."""
        self.settings = settings
        self.run_store = run
        self.writer = writer
        self.fleet = fleet
        self.stations: StationBackend = fleet.stations
        self.first = first
        self.schedule = schedule
        self.trainer = trainer
        self.budget = budget
        self.state = state
        self.spec = shape_for(settings.task, self.stations, settings.execute, settings.history)
        asked = settings.target, settings.sealed_episodes, settings.target_bound
        self._sealed = Sealed(run.ledger, *asked)
        self._known = EpisodeCache(run, self.stations) if known is None else known
        self._decisions = RoundDecisions(run.ledger, writer, self._known, settings)
        self._online = OnlineRounds(
            run, self._known.episodes, settings.seed, self._training_request, self._decisions.base
        )
        self._collections = RoundCollections(
            *(settings, run.ledger, fleet, self._known, self._decisions),
            *(self._recipe, budget.rounds, helper),
        )
        self._pairs: Queue | None = None  # the incumbent's part of the next comparison's first
        self._fruitless = 0  # rounds without a candidate, since there was one

    def run(self) -> LoopState:
        """Go on until the target holds on sealed seeds or the budget's rounds are used up.

        Raises:
            Stopped: the budget's time ended, or a person asked; everything is recorded.
            EnpireError: `FRUITLESS` rounds in a row made no candidate.
        """
        try:
            self._start()
            while not self.state.reached and self.state.round < self.budget.rounds:
                self._round(self.state.round + 1)
        finally:
            self._online.close()
        self.fleet.stop("the loop has ended")
        return self.state

    # Steps

    def _start(self) -> None:
        name = self.begin()
        # A round is done when it has a row; one cut short begins again under its own incumbent.
        rounds = self.run_store.ledger.rounds()
        self._make_incumbent(rounds[-1].policy if rounds else name)
        self.state.round = rounds[-1].number if rounds else 0
        self._passes(self.state.incumbent)

    def begin(self) -> str:
        """Demonstrations, the first policy and its evaluation, as far as they are not there yet.

        Returns its name.
        """
        self.writer.flush()
        self._known.read()
        settings = self.settings
        who, demonstrator = self.stations.starter
        stations, spread = self.stations, settings.demonstration_starts == SPREAD
        seeds = demonstration_seeds(
            settings.seed,
            settings.demonstrations,
            stations.task if spread and isinstance(stations, Tasked) else None,
            settings.reset == ResetMode.PHYSICAL,
        )
        jobs = [Job(s, Purpose.DEMONSTRATION, demonstrator, who) for s in seeds]
        self._doing("demonstrations", len(jobs))
        self._episodes(jobs)
        name = self._policy_of(0)
        if name is None:
            known = self._known.episodes.values()
            shown = [e.success for e in known if e.shown]
            if not any(shown):
                more = "ask for more with --demonstrations"
                if self.settings.demonstrations_of:
                    more = "import them by another --success-column, or take others"
                raise RecipeError(
                    f"none of the {len(shown)} first episodes ({who}) is a success, so there is "
                    f"nothing to begin with: {more}"
                )
            name = self._train(self.first, 0, "")
        if not self.run_store.ledger.rounds():
            self._collections.begin_early(1)
        self._evaluate_start(name)
        return name

    def _evaluate_start(self, name: str) -> None:
        controller = self._known.controller(name)
        seeds = islice(stream(self.settings.seed, "start"), self.settings.start_episodes)
        jobs = [Job(s, Purpose.EVALUATION, controller, name) for s in seeds]
        self._doing("evaluating the first policy", len(jobs))
        self._episodes(jobs)
        if not self._show_success(name).trials:
            raise EnpireError(
                f"none of the {len(jobs)} episodes of the first policy was judged, so nothing can "
                "be held against it: `enpire show` has their reasons"
            )

    def _round(self, number: int) -> None:
        self.state.round = number
        incumbent, base = self.state.incumbent, self._decisions.base(number)
        candidate = self._policy_of(number)
        try:
            if candidate is None and is_online(self._recipe(number)):
                candidate = self._learn(number, base)
            elif candidate is None:
                self._collect(number)
                candidate = self._train(self._recipe(number), number, base)
            better = self._better(number, incumbent, candidate)
        except (RecipeError, PolicyError) as error:
            if isinstance(error, PolicyError) and candidate is None:
                raise
            text = f"round {number}: {error}"
            self._decisions.note(number, "rejected", text, incumbent, candidate or "", {"drawn": 0})
            better = False
            if self._pairs is not None:
                self.fleet.drop(self._pairs)
            if isinstance(error, PolicyError):  # it has ended all that was under way
                self._collections.forget()
        self._fruitless = 0 if candidate else self._fruitless + 1
        if better and candidate is not None:
            fault_point("promote")
            self.run_store.ledger.set_policy_state(candidate, "incumbent")
            fault_point("promoted")
            self._make_incumbent(candidate)
        self._close_round(number)
        self._passes(self.state.incumbent)
        if self._fruitless >= FRUITLESS and not self.state.reached:
            raise EnpireError(
                f"{FRUITLESS} rounds in a row made no candidate: `enpire show` says why. Mend it, "
                "and go on with --resume"
            )

    def _recipe(self, number: int) -> ConfiguredRecipe:
        """The recipe of a round."""
        return self.schedule[min(number, len(self.schedule)) - 1]

    def _collect(self, number: int) -> None:
        """Have all that is collected for a round, of which some may have been before."""
        collecting = self._collections.take(number)
        self._doing("collecting", self.settings.collect, self._known.collected(number))
        # While the last ones end, others begin what the comparison needs anyway.
        self._pairs = self.fleet.beside(self._known.missing(self._pairs_ahead(number)))
        self._run_out(collecting.queue)
        self._collections.note(number, collecting)

    def _learn(self, number: int, base: str) -> str:
        """Collect while a learner learns from what is collected; returns its candidate's name."""
        settings, recipe = self.settings, self._recipe(number)
        seeds = stream(settings.seed, "collect", number)
        process, before = self._online.begun(number, recipe)
        collection = OnlineCollection(
            process,
            before,
            self._known.episodes,
            self.writer.flush,
            self._known.controller(self._decisions.base(number)),
            lambda policy: live_controller(policy, self.stations),
            number,
            seeds,
            settings.collect,
            settings.target,
            self.stations.live or settings.pace == REAL,
        )
        errors: list[RecipeError] = []
        self._doing("collecting and learning", settings.collect, self._known.collected(number))
        self._pairs = self.fleet.beside(self._known.missing(self._pairs_ahead(number)))
        jobs = self._known.missing(caught(collection.jobs(), errors))
        self._run_out(self.fleet.beside(jobs))
        for error in errors:
            raise error
        process.ask_candidate()
        candidate = self._await_candidate(process.candidate)
        name, asked = f"{POLICY}-{number}", self._training_request(recipe, number, base)
        text = keep(self.run_store, candidate, name, asked)
        text = f"{text}; {collection.recent} of the latest"
        self._decisions.note(number, "trained", text, base, name)
        return name

    def _train(self, recipe: ConfiguredRecipe, number: int, parent: str) -> str:
        """A candidate, made beside the stations; they have the comparison's first episodes done.

        A training whose process was killed is begun once more. It goes on from its checkpoint.
        What trained is let go where the next round learns online, in a process of its own.
        """
        self.writer.flush()
        asked = self._training_request(recipe, number, parent)
        training = self.trainer.begin(self.run_store, asked)
        if parent:
            self._collections.begin_early(number + 1)
        self._doing(f"training ({recipe.name})", 0)
        name = f"{POLICY}-{number}"
        try:
            candidate = self._candidate_of(training)
        except TrainerKilledError as error:
            text = f"{error}; it is tried once more, from its checkpoint"
            self._decisions.note(number, RETRIED, text, parent, name)
            training = self.trainer.begin(self.run_store, asked)
            candidate = self._candidate_of(training)
        if self.schedule and is_online(self._recipe(number + 1)):
            training.cancel()
        text = keep(self.run_store, candidate, name, asked, "candidate" if parent else "incumbent")
        self._decisions.note(number, "trained", text, parent, name, candidate.numbers)
        return name

    def _candidate_of(self, training: TrainingHandle) -> Candidate:
        """Wait for what comes of a training, which ends where waiting is cut short."""
        try:
            return self._await_candidate(lambda: training.candidate(0.0))
        except RecipeError:
            raise
        except BaseException:
            training.cancel()
            raise

    def _training_request(
        self, recipe: ConfiguredRecipe, number: int, parent: str
    ) -> TrainingRequest:
        """A training of a round."""
        seed = self.settings.seed_of(number)
        return TrainingRequest.on(self.stations, recipe, self.spec, number, parent, seed)

    def _await_candidate(self, look: Callable[[], Candidate | None]) -> Candidate:
        """What `look` finds in the end, while stations go on with what there is to do.

        Raises:
            RecipeError: it found none.
        """
        found: list[Candidate | RecipeError] = []

        def until_found() -> Iterator[Job | None]:
            while not found:
                try:
                    candidate = look()
                except RecipeError as error:  # what is collected meanwhile goes on
                    found.append(error)
                    return
                if candidate is None:
                    yield None
                else:
                    found.append(candidate)

        if self._pairs is not None:
            self._run_out(self._pairs)
        self._episodes(until_found())
        (candidate,) = found
        if isinstance(candidate, RecipeError):
            raise candidate
        return candidate

    def _pairs_ahead(self, number: int) -> list[Job]:
        """The incumbent's part of the first pairs of a round's comparison.

        Their number is fixed, so that what is decided does not hang on how long training takes.
        """
        name = self.state.incumbent
        controller = self._known.controller(name)
        pairs = min(AHEAD, self.settings.max_pairs or AHEAD)
        seeds = islice(stream(self.settings.seed, "compare", number), pairs)
        return [Job(seed, Purpose.EVALUATION, controller, name, number) for seed in seeds]

    def _better(self, number: int, incumbent: str, candidate: str) -> bool:
        """Whether the candidate is to replace the incumbent: it is shown to be better, or passes.

        One that learned online has episodes of its own. Where these reach the target it is examined
        first, and where they do not say that it is likely to be better, robot time is better spent
        on going on. A learner that has become worse is given up: the next one begins from the
        incumbent, with all episodes.
        """
        if not is_online(self._recipe(number)):
            return self._compare(number, incumbent, candidate) or self._passes(candidate)
        latest = recent(self._known.episodes, number, stream(self.settings.seed, "collect", number))
        if latest.rate >= self.settings.target and self._passes(candidate, latest):
            return True
        chance = chance_above(latest, self._decisions.measured(incumbent, number - 1))
        decided = self._decisions.promoted(
            number
        )  # of a run that was killed before its round's end
        if chance >= LIKELY or decided:
            return self._compare(number, incumbent, candidate) or self._passes(candidate)
        if decided is not None:
            return False
        worse = chance < WORSE
        self._decisions.note(
            number,
            "rejected" if worse else "kept",
            f"{candidate} is not compared: the latest episodes of its learner, {latest}, are "
            f"above {incumbent} with a chance of {chance:.3f} only; "
            + ("another begins from the incumbent" if worse else "it goes on learning"),
            incumbent,
            candidate,
            {"wins": 0, "losses": 0, "ties": 0, "drawn": 0, "better": False},
        )
        return False

    def _compare(self, number: int, incumbent: str, candidate: str) -> bool:
        """Both on the same fresh seeds, pair by pair, until the test decides."""
        settings = self.settings
        earlier = self._decisions.promoted(number)
        if earlier is not None:
            return earlier
        max_pairs = self._decisions.max_pairs(number, incumbent, candidate)
        self._doing("comparing", max_pairs)
        match = PairedComparison(
            candidate,
            incumbent,
            {name: self._known.controller(name) for name in (candidate, incumbent)},
            number,
            stream(settings.seed, "compare", number),
            settings.alpha,
            max_pairs,
        )
        for episode in self._known.episodes.values():
            match.add(episode)
        for episode in self._stream(match.jobs()):
            match.add(episode)
            self.state.done = match.record.pairs
            self.state.deciding = f"{candidate} against {incumbent}: {match.record.counts}"
        record, verdict = match.record, match.decision
        promote = verdict is Decision.PROMOTE
        self._decisions.note(
            number,
            "promoted" if promote else "kept",
            f"{candidate} against {incumbent} on {record.pairs} common seeds: {record.counts}; the "
            f"chance that it is better {record.chance_better:.3f}",
            incumbent,
            candidate,
            {
                "wins": record.wins,
                "losses": record.losses,
                "ties": record.ties,
                "drawn": match.drawn,
                "better": promote,
            },
        )
        return promote

    def _passes(self, name: str, collected: Estimate | None = None) -> bool:
        """Whether the target is reached; `name` is examined if its evaluations so far reach it.

        So is a candidate that could not be shown to be better than a good incumbent. collected: the
        latest episodes of its learner.
        """
        for row in self.run_store.ledger.sealed():
            self.state.take(row, self._sealed.passed(row))
        under_way = self._sealed.under_way  # of a run that is continued; it comes to it
        done = self.state.reached or name in self._sealed.examined
        due = not done and under_way in ("", name)
        if due and (under_way or self._looks_good(name, collected)):
            self._examine(name)
        return self.state.reached

    def _looks_good(self, name: str, collected: Estimate | None) -> bool:
        """Whether it reaches the target on enough episodes.

        Where few say that it does, or do not rule it out, what is missing is run: after a quick
        comparison a policy may seem worse than it is, and another round costs more. The latest
        episodes of its learner count too: alone, one failure in 60 would rule out 0.99.
        """
        number, target = self.state.round, self.settings.target
        seen = self._decisions.measured(name, number)
        if seen.trials < round_decisions.ENOUGH and seen.high >= target:
            controller = self._known.controller(name)
            missing = round_decisions.ENOUGH - seen.trials
            seeds = islice(stream(self.settings.seed, "check", number), missing)
            jobs = [Job(s, Purpose.EVALUATION, controller, name, number) for s in seeds]
            self._doing("looking closer", len(jobs))
            self._episodes(jobs)
            seen = self._decisions.measured(name, number)
        self._show_success(name)
        enough = seen.trials >= round_decisions.ENOUGH
        if collected is not None:
            successes = seen.successes + collected.successes
            seen = estimate(successes, seen.trials + collected.trials)
        return enough and seen.rate >= target

    def _examine(self, name: str) -> None:
        controller, known = self._known.controller(name), self._known.episodes
        examination = self._sealed.begin(name, controller, self.state.round)
        failures, done = examination.counts(known)  # of a loop that was killed within it
        planned = min(examination.rule.soonest(failures), examination.rule.most)
        self._doing("sealed evaluation", planned, done)
        for episode in self._stream(examination.due(known)):
            failures += not episode.success
            self.state.done += 1
            self.state.deciding = f"{name} on sealed seeds: {failures} failed of {self.state.done}"
            self.state.planned = min(examination.rule.soonest(failures), examination.rule.most)
        self.writer.flush()
        row = self._sealed.close(examination, known)
        text = f"{name}, {self._sealed.text(row)}"
        self._decisions.note(self.state.round, "sealed", text, name, "")
        self.state.take(row, self._sealed.passed(row))

    # Helpers

    def _run_out(self, queue: Queue) -> None:
        """Have all of a queue's episodes in the store."""
        with contextlib.closing(self.fleet.run_out(queue)) as running:
            for episode in running:
                self._known.add(episode)
                self.state.done += 1

    def _episodes(self, jobs: Iterable[Job | None]) -> list[Episode]:
        done = []
        for episode in self._stream(iter(jobs)):
            done.append(episode)
            self.state.done = len(done)
        return done

    def _stream(self, jobs: Iterator[Job | None]) -> Iterator[Episode]:
        """Episodes of `jobs`: those in the store at once, the others from the fleet.

        What is done beside them goes to the store only.
        """
        known: list[Episode] = []
        asked: set[str] = set()

        def missing() -> Iterator[Job | None]:
            for job in jobs:
                earlier = self._known.episodes.get(job.id) if job else None
                if earlier is None:
                    if job:
                        asked.add(job.id)
                    yield job
                else:
                    known.append(earlier)

        with contextlib.closing(self.fleet.run(missing())) as running:
            for episode in running:
                while known:
                    yield known.pop(0)
                self._known.add(episode)
                if episode.id in asked:
                    yield episode
        yield from known

    def _show_success(self, name: str) -> Estimate:
        judged = [e.success for e in self._known.evaluations(name)]
        measured = estimate(sum(judged), len(judged))
        if name == self.state.incumbent or not self.state.incumbent:
            self.state.success = measured
        return measured

    def _close_round(self, number: int) -> None:
        measured = self._show_success(self.state.incumbent)
        self.writer.flush()
        self.run_store.ledger.put_round(
            RoundRow(
                number=number,
                policy=self.state.incumbent,
                successes=measured.successes,
                trials=measured.trials,
                low=measured.low,
                high=measured.high,
                robot_s=self.fleet.robot_s,
                wall_s=self.budget.elapsed,
            )
        )

    def _make_incumbent(self, name: str) -> None:
        self.state.incumbent = name
        self._show_success(name)

    def _policy_of(self, number: int) -> str | None:
        row = self.run_store.ledger.policy(f"{POLICY}-{number}")
        return row.name if row else None

    def _doing(self, what: str, planned: int, done: int = 0) -> None:
        self.state.doing, self.state.done, self.state.planned = what, done, planned
        self.state.deciding = ""
