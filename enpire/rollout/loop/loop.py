"""The loop: reset → execute → verify → refine, until the target holds on sealed seeds.

    start    demonstrations → first policy → how good is it
    round    collect and explore → recipe → candidate → compare on fresh seeds → promote or keep
    sealed   a frozen policy on seeds drawn after it was frozen → target reached, or go on

Every step derives its episodes from streams of seeds and looks first at what the store already
holds, so a loop that was killed anywhere goes on where it was: there is no other saved state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from enpire.environment import Job, Operator, ResetMode, StationBackend, Tasked
from enpire.errors import EnpireError, PolicyError, RecipeError, TrainerKilledError
from enpire.freed_memory import give_back
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.online import is_online
from enpire.improvement.recipe import Candidate
from enpire.improvement.training_process import Trainer, TrainingHandle, TrainingRequest, keep
from enpire.policies import shape_for
from enpire.rollout.collection.demonstration_starts import demonstration_seeds
from enpire.rollout.collection.online import recent
from enpire.rollout.evaluation.comparison import Decision
from enpire.rollout.evaluation.paired_comparison import PairedComparison
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.evaluation.statistics import chance_above, together
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.episode_runner import EpisodeRunner
from enpire.rollout.loop.online_rounds import OnlineRounds
from enpire.rollout.loop.pairs_ahead import PairsAhead
from enpire.rollout.loop.round_collections import RoundCollections
from enpire.rollout.loop.round_decisions import POLICY, RoundDecisions
from enpire.rollout.loop.sealed_evaluations import SealedEvaluations
from enpire.rollout.loop.settings import SPREAD, LoopSettings
from enpire.rollout.loop.state import LoopState
from enpire.store import EpisodeWriter, RoundRow, Run
from enpire.store.fault_points import fault_point
from enpire.types import Estimate, Outcome, Purpose

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
        runner: EpisodeRunner | None = None,
    ) -> None:
        """helper: beside policies in collections. runner: of episodes, in place of the fleet."""
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
        acts = settings.first
        self.spec = shape_for(settings.task, self.stations, acts.execute, acts.history)
        if runner is None:
            runner = EpisodeRunner(fleet, EpisodeCache(run, self.stations), state)
        self._runner, self._known = runner, runner.known
        self._decisions = RoundDecisions(run.ledger, writer, self._known, settings)
        self._pairs = PairsAhead(settings, fleet, runner)
        self._sealed = SealedEvaluations(settings, run.ledger, writer, self._decisions, runner)
        self._online = OnlineRounds(
            *(settings, run, fleet, runner, writer.flush),
            *(self._recipe, self._training_request, self._decisions.base, budget.rounds),
        )
        self._collections = RoundCollections(
            *(settings, run.ledger, fleet, self._known, self._decisions),
            *(self._recipe, budget.rounds, helper),
        )
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
        self._sealed.passes(self.state.incumbent)

    def begin(self) -> str:
        """Demonstrations, the first policy and its evaluation, as far as they are not there yet.

        Returns its name.
        """
        self.writer.flush()
        self._known.read()
        settings = self.settings
        who, demonstrator = self.stations.starter
        stations, spread = self.stations, settings.first.demonstration_starts == SPREAD
        seeds = demonstration_seeds(
            settings.seed,
            settings.first.demonstrations,
            stations.task if spread and isinstance(stations, Tasked) else None,
            settings.environment.reset == ResetMode.PHYSICAL,
        )
        pushes = settings.first.demonstrator_pushes
        jobs = [Job(s, Purpose.DEMONSTRATION, demonstrator, who, exploration=pushes) for s in seeds]
        self.state.begin("demonstrations", len(jobs))
        self._runner.run(jobs)
        name = self._policy_of(0)
        if name is None:
            shown = [e for e in self._known.episodes.values() if e.shown]
            if not any(e.success for e in shown):
                more = "ask for more with --demonstrations"
                if shown and all(e.verdict.outcome is Outcome.INVALID for e in shown):
                    more = f"none was judged ({shown[-1].verdict.reason}). Mend that"
                elif self.settings.first.demonstrations_of:
                    more = "import them by another --success-column, or take others"
                raise RecipeError(
                    f"none of the {len(shown)} first episodes ({who}) is a success, so there is "
                    f"nothing to begin with: {more}"
                )
            name = self._train(self.first, 0, "")
        if self.schedule and not self.run_store.ledger.rounds():
            self._collections.begin_early(1)
            self._online.begin_early(1)
        self._evaluate_start(name)
        return name

    def _evaluate_start(self, name: str) -> None:
        controller = self._known.controller(name)
        seeds = islice(stream(self.settings.seed, "start"), self.settings.first.start_episodes)
        jobs = [Job(s, Purpose.EVALUATION, controller, name) for s in seeds]
        self.state.begin("evaluating the first policy", len(jobs))
        self._runner.run(jobs)
        measured = self._show_success(name)
        if not measured.trials:
            raise EnpireError(
                f"none of the {len(jobs)} episodes of the first policy was judged, so nothing can "
                "be held against it: `enpire show` has their reasons"
            )
        self._decisions.hint(name, measured)

    def _round(self, number: int) -> None:
        self.state.round = number
        incumbent, base = self.state.incumbent, self._decisions.base(number)
        candidate = self._policy_of(number)
        recipe = self._recipe(number)
        try:
            if candidate is None:
                recipe.require_policy(self._known.policy(base))
                if is_online(recipe):
                    candidate = self._learn(number, base)
                else:
                    self._collect(number)
                    candidate = self._train(recipe, number, base)
            better = self._better(number, incumbent, candidate)
        except (RecipeError, PolicyError) as error:
            if isinstance(error, PolicyError) and candidate is None:
                raise
            text = f"round {number}: {error}"
            self._decisions.note(number, "rejected", text, incumbent, candidate or "", {"drawn": 0})
            better = False
            self._pairs.drop()
            if isinstance(error, PolicyError):  # it has ended all that was under way
                self._collections.forget()
                self._online.forget()
        self._fruitless = 0 if candidate else self._fruitless + 1
        if better and candidate is not None:
            fault_point("promote")
            self.run_store.ledger.set_policy_state(candidate, "incumbent")
            fault_point("promoted")
            self._make_incumbent(candidate)
        self._close_round(number)
        self._sealed.passes(self.state.incumbent)
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
        self.state.begin("collecting", self.settings.rounds.collect, self._known.collected(number))
        # While the last ones end, others begin what the comparison needs anyway.
        self._pairs.begin(number, self.state.incumbent)
        self._runner.run_out(collecting.queue)
        self._collections.note(number, collecting)

    def _learn(self, number: int, base: str) -> str:
        """Collect while a learner learns from what is collected; returns its candidate's name.

        A learner whose process was killed is begun once more, with all that it had been handed.
        """
        name = f"{POLICY}-{number}"
        try:
            candidate, latest = self._learned(number)
        except TrainerKilledError as error:
            text = f"{error}; another learns from the same episodes, from its checkpoint"
            self._decisions.note(number, RETRIED, text, base, name)
            self._online.close()
            candidate, latest = self._learned(number)
        asked = self._training_request(self._recipe(number), number, base)
        text = keep(self.run_store, candidate, name, asked)
        self._decisions.note(number, "trained", f"{text}; {latest} of the latest", base, name)
        return name

    def _learned(self, number: int) -> tuple[Candidate, Estimate]:
        """What comes of a round's learner, and the success of its latest episodes."""
        process, begun = self._online.take(number)
        collect, done = self.settings.rounds.collect, self._known.collected(number)
        self.state.begin("collecting and learning", collect, done)
        # Where time goes on, what the next round collects fills in what would be idle from here on.
        self._online.begin_early(number + 1)
        self._runner.run_out(begun.queue)
        for error in begun.errors:
            raise error
        process.ask_candidate(now=self._online.live)  # where time goes on, none waits for learning
        return self._await_candidate(process.candidate), begun.collection.recent

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
        self.state.begin(f"training ({recipe.name})", 0)
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
        """What `look` finds in the end, once the first half of the next comparison is run.

        Raises:
            RecipeError: it found none.
        """
        self._pairs.run_out()
        return self._runner.wait(look)

    def _better(self, number: int, incumbent: str, candidate: str) -> bool:
        """Whether the candidate is to replace the incumbent: it is shown to be better, or passes.

        One that learned online has episodes of its own. Where these reach the target it is examined
        first. Robot time is better spent on going on where they do not say, together with sealed
        ones that missed the target, that it is likely to be better; and where a comparison would
        take more episodes than were learned from. A learner that has become worse is given up: the
        next one begins from the incumbent, with all episodes.
        """
        if not is_online(self._recipe(number)):
            return self._compare(number, incumbent, candidate) or self._sealed.passes(candidate)
        latest = recent(self._known.episodes, number, stream(self.settings.seed, "collect", number))
        target = self.settings.evaluation.target
        if latest.rate >= target and self._sealed.passes(candidate, latest):
            return True
        sealed = self._decisions.sealed(candidate)
        shown = together(latest, sealed)
        chance = chance_above(shown, self._decisions.measured(incumbent, number - 1))
        decided = self._decisions.promoted(number)  # of a run killed before its round's end
        dear = "" if chance < LIKELY else self._too_dear(number, incumbent, candidate)
        if decided or (chance >= LIKELY and not dear):
            return self._compare(number, incumbent, candidate) or self._sealed.passes(candidate)
        if decided is not None:
            return False
        worse = chance < WORSE
        also = " and its sealed ones" if sealed.trials else ""
        unlikely = (
            f"the latest episodes of its learner{also}, {shown}, are above {incumbent} with a "
            f"chance of {chance:.3f} only"
        )
        self._decisions.note(
            number,
            "rejected" if worse else "kept",
            f"{candidate} is not compared: {dear or unlikely}; "
            + ("another begins from the incumbent" if worse else "it goes on learning"),
            incumbent,
            candidate,
            {"wins": 0, "losses": 0, "ties": 0, "drawn": 0, "better": False},
        )
        return False

    def _too_dear(self, number: int, incumbent: str, candidate: str) -> str:
        """Return why a comparison is not worth its robot time; empty where it is.

        All comparisons together are to take no more episodes than learners have collected. Near the
        target a single one may take ten times what teaches a learner to pass it. Whoever sets a
        limit of pairs has decided that already.
        """
        if self.settings.evaluation.max_pairs:
            return ""
        due = 2 * self._decisions.expected_pairs(number, incumbent, candidate)
        spent, collected = 2 * self._decisions.compared(number), self._online.collected(number)
        if spent + due <= collected:
            return ""
        earlier = f", after {spent} in earlier rounds," if spent else ""
        return f"that takes {due} episodes on average{earlier} and learners collected {collected}"

    def _compare(self, number: int, incumbent: str, candidate: str) -> bool:
        """Both on the same fresh seeds, pair by pair, until the test decides."""
        settings = self.settings
        earlier = self._decisions.promoted(number)
        if earlier is not None:
            return earlier
        max_pairs = self._decisions.max_pairs(number, incumbent, candidate)
        self.state.begin("comparing", max_pairs)
        match = PairedComparison(
            candidate,
            incumbent,
            {name: self._known.controller(name) for name in (candidate, incumbent)},
            number,
            stream(settings.seed, "compare", number),
            settings.evaluation.alpha,
            max_pairs,
        )
        for episode in self._known.episodes.values():
            match.add(episode)
        for episode in self._runner.stream(match.jobs()):
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

    def _show_success(self, name: str) -> Estimate:
        measured = self._known.success(name)
        self.state.show_success(name, measured)
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
        give_back()

    def _make_incumbent(self, name: str) -> None:
        self.state.incumbent = name
        self._show_success(name)

    def _policy_of(self, number: int) -> str | None:
        row = self.run_store.ledger.policy(f"{POLICY}-{number}")
        return row.name if row else None
