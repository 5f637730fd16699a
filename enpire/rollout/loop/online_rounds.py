"""The rounds of one run that learn online: a learner that goes on, and what each round collects.

On the clock of the wall a round's collection begins early, in what would otherwise be idle: while
the last episodes end of what is before it, and while a candidate is made. Its episodes are handed
over once the round begins. In free pace a station that waits costs nothing, and none begins early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from enpire.environment import Job
from enpire.errors import RecipeError
from enpire.improvement.collection import caught
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.online import is_online
from enpire.improvement.online_process import OnlineProcess
from enpire.improvement.training_process import TrainingRequest
from enpire.policies.asynchronous import live_controller
from enpire.rollout.collection.online import OnlineCollection, blocks_of
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.fleet.scheduler import Queue
from enpire.rollout.loop.episode_runner import EpisodeRunner
from enpire.rollout.loop.settings import REAL, LoopSettings
from enpire.store import Run


@dataclass(frozen=True, slots=True)
class OnlineRound:
    """A round's collection under way, and what its learner raised when a job was drawn."""

    collection: OnlineCollection
    queue: Queue
    errors: list[RecipeError]


class OnlineRounds:
    """The rounds of one run that learn online."""

    def __init__(
        self,
        settings: LoopSettings,
        run: Run,
        fleet: Fleet,
        runner: EpisodeRunner,
        flush: Callable[[], None],
        recipe: Callable[[int], ConfiguredRecipe],
        asked: Callable[[ConfiguredRecipe, int, str], TrainingRequest],
        base: Callable[[int], str],
        rounds: float,
    ) -> None:
        """Keep what the rounds need.

        flush: has all episodes that ended in the store. recipe: of a round. asked: what a learner
        is asked for, by its recipe, first round and policy. base: the policy that a round sets out
        from. rounds: how many there may be.
        """
        self._settings, self._run, self._fleet, self._runner = settings, run, fleet, runner
        self._known, self._flush, self._recipe = runner.known, flush, recipe
        self._asked, self._base, self._rounds = asked, base, rounds
        self.live = fleet.stations.live or settings.delays.pace == REAL  # stations wait for nothing
        self._process: OnlineProcess | None = None
        self._of: tuple[str, int] = ("", 0)  # recipe and first round
        self._early: dict[int, OnlineRound] = {}  # begun, by round

    def begin_early(self, number: int) -> None:
        """Have what a later round collects begin in what would otherwise be idle."""
        if number > self._rounds or number in self._early or not self.live:
            return
        if is_online(self._recipe(number)):
            self._early[number] = self._begin(number)

    def take(self, number: int) -> tuple[OnlineProcess, OnlineRound]:
        """Return the learner of a round, and its collection, which is handed over from now on.

        What began early under a learner that has been given up is not gone on with: the new
        learner is handed its episodes, and collects the others.
        """
        process, before = self._begun(number)
        begun = self._early.pop(number, None)
        if begun is not None and begun.collection.learning not in (None, process):
            begun.queue.jobs = iter(())
            self._runner.run_out(begun.queue)
            begun = None
        begun = begun or self._begin(number)
        collection = begun.collection
        collection.learning, collection.before, collection.early = process, before, False
        return process, begun

    def collected(self, until: int) -> int:
        """Return how many episodes all learners were handed, up to the end of a round."""
        return sum(map(len, self._blocks(range(1, until + 1))))

    def forget(self) -> None:
        """Nothing is under way on stations any more."""
        self._early.clear()

    def close(self) -> None:
        """End what learns; a run that is continued goes on from what it kept."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _begin(self, number: int) -> OnlineRound:
        """Have a round's collection begin, in what would otherwise be idle."""
        settings, stations = self._settings, self._fleet.stations
        collection = OnlineCollection(
            self._process,
            0,
            self._known.episodes,
            self._flush,
            self._known.controller(self._base(number)),
            lambda policy: live_controller(policy, stations),
            number,
            stream(settings.seed, "collect", number),
            settings.rounds.collect,
            settings.evaluation.target,
            self.live,
            early=True,
        )
        errors: list[RecipeError] = []
        jobs = self._known.missing(caught(self._jobs(collection), errors))
        return OnlineRound(collection, self._fleet.beside(jobs), errors)

    def _jobs(self, collection: OnlineCollection) -> Iterator[Job | None]:
        """Yield a collection's jobs. By the first, it is known what came before them."""
        if collection.early:
            number = collection.round
            collection.before = sum(1 for _ in self._blocks(range(self._first(number), number)))
        yield from collection.jobs()

    def _begun(self, number: int) -> tuple[OnlineProcess, int]:
        """Return the learner of a round, and how many blocks it was handed in earlier ones.

        A round that was rejected ends its learner: the next one begins another, from all that the
        run has by then.
        """
        recipe, first = self._recipe(number), self._first(number)
        earlier = list(self._blocks(range(first, number)))
        if self._process is None or self._of != (recipe.name, first):
            self.close()
            asked = self._asked(recipe, first, self._base(first))
            self._process = OnlineProcess(self._run.folder, asked, first)
            self._of = recipe.name, first
            for ids in earlier:
                self._process.hand_over(ids)
        return self._process, len(earlier)

    def _blocks(self, rounds: range) -> Iterator[list[str]]:
        """Yield the ids of the blocks that were handed over in these rounds, in order."""
        for number in rounds:
            seeds = stream(self._settings.seed, "collect", number)
            yield from blocks_of(self._known.episodes, number, seeds)

    def _first(self, number: int) -> int:
        """Return the round in which the learner of round `number` began."""
        recipe, first = self._recipe(number), 1
        for row in self._run.ledger.policies():
            if 0 < row.round < number and row.recipe != recipe.name:
                first = max(first, row.round + 1)
        for note in self._run.ledger.decisions():
            if note.kind == "rejected" and note.round < number:
                first = max(first, note.round + 1)
        return first
