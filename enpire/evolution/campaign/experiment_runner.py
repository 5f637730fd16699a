"""Experiments of a campaign on their way: collect, train, meet others pair by pair, be decided."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from enpire.environment import Job
from enpire.errors import CampaignError, RecipeError, UsageError
from enpire.evolution.campaign.event_log import EventLog
from enpire.evolution.campaign.examiner import Life
from enpire.evolution.experiments.effect import Effect
from enpire.evolution.experiments.events import LEASE, MATCH, MatchOutcome
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.evolution.experiments.selection import level, most_promising
from enpire.evolution.program_policies import policy_host
from enpire.evolution.program_policies.sandboxed_training import foreign
from enpire.improvement import recipe_finding as recipes
from enpire.improvement.collection import caught
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.recipe import Candidate
from enpire.improvement.training_process import Trainer, TrainingRequest, keep
from enpire.policies import shape_for
from enpire.rollout.evaluation.comparison import Decision
from enpire.rollout.evaluation.paired_comparison import PairedComparison
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.fleet.scheduler import Queue
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.round_collections import asked_collection
from enpire.rollout.loop.settings import LoopSettings
from enpire.store import EpisodeWriter, Run
from enpire.types import Episode

LEADING = 4.0  # share of robot time of the trials that it would go on with, others' being 1.0


@dataclass(frozen=True, slots=True)
class _OpenComparison:
    """A comparison under way, and the queue of its jobs."""

    match: PairedComparison
    queue: Queue


class ExperimentRunner:
    """The experiments of one campaign on one fleet; they run side by side, and train in turn."""

    def __init__(
        self,
        settings: LoopSettings,
        run: Run,
        writer: EpisodeWriter,
        fleet: Fleet,
        known: EpisodeCache,
        books: EventLog,
        trainer: Trainer,
        agents: int,
        sources: Mapping[str, Path],
    ) -> None:
        """agents: how many propose. sources: texts of recipes that may be run unconfined."""
        self._settings, self._run, self._writer, self._fleet = settings, run, writer, fleet
        self._known, self._books, self._trainer = known, books, trainer
        self._agents, self._sources = agents, sources
        self._stations = fleet.stations
        first = settings.first
        self._spec = shape_for(settings.task, self._stations, first.execute, first.history)
        self._comparisons: dict[int, _OpenComparison] = {}
        self._to_train: deque[int] = deque()  # experiments in their turn; the first one trains

    def add(self, episode: Episode) -> None:
        """Hand an episode to the comparisons under way."""
        for trying in self._comparisons.values():
            trying.match.add(episode)

    def life(self, number: int) -> Life:
        """An experiment, from where it is to its decision."""
        self._books.event(number, LEASE, "")
        if self._books.entry(number).experiment.state is ExperimentState.PROPOSED:
            self._books.move(number, ExperimentState.TRAINING)
        if self._books.entry(number).experiment.state is ExperimentState.TRAINING:
            if self._run.ledger.policy(self._books.entry(number).policy) is None:
                yield from self._collect(number)
                yield from self._train(number)
            while not self._books.entry(number).released:
                yield
            self._books.move(number, ExperimentState.TRIALS)
        while (opponent := self._opponent(number)) is not None:
            yield from self._play(number, opponent)
        self._decide(number)

    def _collect(self, number: int) -> Life:
        experiment = self._books.entry(number).experiment
        asked = asked_collection(
            *(self._settings, self._run.ledger, self._stations, self._known),
            *(experiment.base, number, self._known.told_before(number)),
        )
        recipe = self.recipe(experiment)
        errors: list[RecipeError] = []
        yield from self.run_out(caught(recipe.collect(asked), errors))
        for error in errors:
            raise error

    def _train(self, number: int) -> Life:
        """Make an experiment's candidate beside the stations; one at a time."""
        self._to_train.append(number)
        experiment = self._books.entry(number).experiment
        asked = TrainingRequest.on(
            self._stations,
            self.recipe(experiment),
            self._spec,
            number,
            experiment.base,
            self._settings.seed_of(number),
        )
        try:
            while self._to_train[0] != number:  # in turn, lest the first experiments wait for ever
                yield
            candidate = yield from self._trained(asked)
        finally:
            self._to_train.remove(number)
        text = keep(self._run, candidate, experiment.id, asked)
        self._books.tell("trained", number, text, candidate.numbers)

    def _trained(self, request: TrainingRequest) -> Generator[None, None, Candidate]:
        self._writer.flush()
        training = self._trainer.begin(self._run, request)
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
        entry = self._books.entry(number)
        if not entry.matches:
            return entry.experiment.base
        last, incumbent = entry.matches[-1], self._books.record.incumbent
        return incumbent if last.won and last.opponent != incumbent else None

    def _play(self, number: int, opponent: str) -> Life:
        entry, settings = self._books.entry(number), self._settings
        name = "compare" if not entry.matches else f"compare with {opponent}"
        match = PairedComparison(
            entry.policy,
            opponent,
            {name: self._known.controller(name) for name in (entry.policy, opponent)},
            number,
            stream(settings.seed, name, number),
            level(settings.evaluation.alpha, self._agents),
            settings.evaluation.max_pairs,
        )
        for episode in self._known.episodes.values():
            match.add(episode)
        try:
            yield from self.run_out(match.jobs(), match=(number, match))
        finally:
            self._comparisons.pop(number, None)
        won = match.decision is Decision.PROMOTE
        self._books.event(number, MATCH, MatchOutcome(opponent, match.record, won).as_json())

    def _decide(self, number: int) -> None:
        entry = self._books.entry(number)
        first, last = entry.matches[0], entry.matches[-1]
        effect = Effect(first.record)
        if last.won:
            reason = f"better than {last.opponent}: {Effect(last.record)}"
            self._books.move(number, ExperimentState.KEPT, effect, reason)
        elif first.won:
            reason = (
                f"better than {first.opponent}, but not shown to be better than {last.opponent}, "
                f"which came meanwhile: {Effect(last.record)}"
            )
            self._books.move(number, ExperimentState.DROPPED, effect, reason)
        else:
            reason = f"not shown to be better than {first.opponent}: {effect}"
            self._books.move(number, ExperimentState.DROPPED, effect, reason)

    def favour(self) -> None:
        """Have the trials that selection would go on with decided sooner; none of them starves."""
        leading = most_promising({n: on.match.record for n, on in self._comparisons.items()})
        for number, on in self._comparisons.items():
            on.queue.share = LEADING if number == leading else 1.0

    def run_out(
        self,
        jobs: Iterator[Job | None],
        share: float = 1.0,
        match: tuple[int, PairedComparison] | None = None,
    ) -> Life:
        """Have those of the jobs run that have no episode yet, beside whatever else is."""
        queue: Queue = self._fleet.beside(self._known.missing(jobs), share)
        if match is not None:
            self._comparisons[match[0]] = _OpenComparison(match[1], queue)
        try:
            while not queue.over:
                yield
        finally:
            self._fleet.drop(queue)

    def recipe(self, experiment: Experiment) -> ConfiguredRecipe:
        """Return the recipe of an experiment.

        Raises:
            CampaignError: there is none such, or it may not be run here.
        """
        name = experiment.recipe
        if experiment.program:
            return ConfiguredRecipe(name, policy_host.WrittenRecipe(experiment.program), name)
        if experiment.source:
            path = self._sources.get(experiment.source)
            if path is None:
                return foreign(experiment.recipe, experiment.source, experiment.settings)
            name = str(path)
        try:
            (found,) = recipes.schedule(name, dict(experiment.settings))
        except (UsageError, ValueError) as error:
            raise CampaignError(f"{experiment.id}: {error}") from error
        return replace(found, name=experiment.recipe)
