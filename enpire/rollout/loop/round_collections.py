"""What the rounds of a run collect, of which some begin while the round before is under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from enpire.environment import Operator, StationBackend, Tasked
from enpire.errors import RecipeError
from enpire.improvement.collection import Collection, caught
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.online import is_online
from enpire.rollout.collection.assistance import RoundHelp, attended, detected, helped
from enpire.rollout.collection.early_stop import RoundEarlyStops
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.fleet.scheduler import Queue
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.round_decisions import RoundDecisions
from enpire.rollout.loop.settings import LoopSettings
from enpire.store.ledger import Ledger
from enpire.types import Episode, Purpose


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """A round's collection under way, and what its recipe raised when it was asked for jobs.

    stops: what ends episodes early, if anything does. help: that the policy has in them.
    """

    queue: Queue
    errors: list[RecipeError]
    stops: RoundEarlyStops | None
    help: RoundHelp | None


class RoundCollections:
    """The collections of one run's rounds; those of rounds that learn online are not among them."""

    def __init__(
        self,
        settings: LoopSettings,
        ledger: Ledger,
        fleet: Fleet,
        known: EpisodeCache,
        decisions: RoundDecisions,
        recipe: Callable[[int], ConfiguredRecipe],
        rounds: float,
        helper: Operator | None,
    ) -> None:
        """recipe: of a round. rounds: how many there may be. helper: beside policies."""
        self._settings, self._ledger, self._fleet = settings, ledger, fleet
        self._known, self._decisions, self._recipe = known, decisions, recipe
        self._rounds, self._helper = rounds, helper
        self._stations = fleet.stations
        self._begun: dict[int, OpenCollection] = {}  # by round

    def begin_early(self, number: int) -> None:
        """Have what a later round collects begin now, beside what else there is to do."""
        if number not in self._begun and self._begins_early(number):
            self._begun[number] = self._begin(number)

    def take(self, number: int) -> OpenCollection:
        """The collection of a round, which begins now unless it has."""
        return self._begun.pop(number, None) or self._begin(number)

    def forget(self) -> None:
        """Nothing is under way any more."""
        self._begun.clear()

    def note(self, number: int, collecting: OpenCollection) -> None:
        """Say what early ends and help came to, once a round.

        Raises:
            RecipeError: the recipe raised it when it was asked for jobs.
        """
        for error in collecting.errors:
            raise error
        if collecting.stops:
            self._note_tally(number, collecting.stops)
        self._note_help(number, collecting.help)

    def _note_tally(self, number: int, stops: RoundEarlyStops) -> None:
        tally = stops.tally(self._known.episodes.values())
        said = [note.kind for note in self._decisions.of_round(number)]
        if tally is not None and "spent" not in said:
            self._decisions.note(number, "spent", str(tally), stops.base, "", asdict(tally))

    def _note_help(self, number: int, help: RoundHelp | None) -> None:
        if self._helper is None:
            return
        done = attended(self._known.episodes.values(), self._helper, number)
        said = [note.kind for note in self._decisions.of_round(number)]
        if help is not None and help.detector is not None and "detector" not in said:
            self._ledger.add_decision(detected(help.detector, number))
        if done and "helped" not in said:
            self._ledger.add_decision(helped(done, done[0].policy, number))

    def _begins_early(self, number: int) -> bool:
        """Whether a round's collection begins while the round before is under way."""
        wanted = self._settings.rounds.staleness and number <= self._rounds
        wanted = wanted and not is_online(self._recipe(number))
        return bool(wanted and self._stale(number) <= self._recipe(number).max_staleness)

    def _stale(self, number: int) -> int:
        """Rounds that a collection lags behind that begins early; the first policy is new."""
        return min(self._settings.rounds.staleness, number - 1)

    def _begin(self, number: int) -> OpenCollection:
        """What is collected for a round: it follows from what was known before, whenever asked."""
        recipe, settings = self._recipe(number), self._settings
        early = self._begins_early(number)
        stale = self._stale(number) if early else 0
        base = self._decisions.base(number - stale)
        episodes, seed = self._earlier(number, early), settings.seed_of(number)
        stops = None
        if settings.rounds.abort:
            stops = RoundEarlyStops(self._stations, base, episodes, seed)
        asked = asked_collection(
            *(settings, self._ledger, self._stations, self._known),
            *(base, number, episodes, self._helper),
        )
        errors: list[RecipeError] = []
        collected, help = recipe.collect(asked), None
        if stops:
            collected = stops.jobs(collected)
        if self._helper and isinstance(self._stations, Tasked) and not recipe.needs_helper:
            help = RoundHelp(self._helper, self._stations, base, episodes, seed)
            collected = help.jobs(collected)
        jobs = caught(collected, errors)
        jobs = (job and replace(job, staleness=stale) for job in jobs)
        share = settings.rounds.collect_share
        weight = share / (1.0 - share)  # an evaluation has 1.0
        queue = self._fleet.beside(self._known.missing(jobs), weight)
        return OpenCollection(queue, errors, stops, help)

    def _earlier(self, number: int, early: bool) -> list[Episode]:
        """What a round's collection may learn from, in the order of ids."""
        before = number - 1 if early else number  # whose evaluations are not over yet
        return [
            e
            for e in self._known.told_before(number)
            if e.round < before or e.purpose is not Purpose.EVALUATION
        ]


def asked_collection(
    settings: LoopSettings,
    ledger: Ledger,
    stations: StationBackend,
    known: EpisodeCache,
    base: str,
    number: int,
    episodes: Sequence[Episode],
    helper: Operator | None = None,
) -> Collection:
    """Return what a recipe is asked to collect for a round, or an experiment, from `base`.

    known: the policies. episodes: what it may learn from. helper: beside policies.
    """
    row = ledger.policy(base)
    return Collection(
        stations=stations,
        base=base,
        parent=row.parent if row else "",
        policy=known.policy,
        controller=known.controller,
        round=number,
        count=settings.rounds.collect,
        seeds=stream(settings.seed, "collect", number),
        exploration=settings.rounds.exploration,
        seed=settings.seed_of(number),
        episodes=episodes,
        helper=helper,
    )
