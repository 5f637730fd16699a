"""The learner of the rounds that learn online: one process, which goes on from round to round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from enpire.improvement.online_process import OnlineProcess
from enpire.improvement.recipe import ConfiguredRecipe
from enpire.improvement.training_process import TrainingRequest
from enpire.rollout.collection.online import blocks_of
from enpire.rollout.evaluation.seeds import stream
from enpire.store import Run
from enpire.types import Episode


class OnlineRounds:
    """The rounds of one run that learn online."""

    def __init__(
        self,
        run: Run,
        episodes: Mapping[str, Episode],
        seed: int,
        asked: Callable[[ConfiguredRecipe, int, str], TrainingRequest],
        base: Callable[[int], str],
    ) -> None:
        """Keep what the rounds need.

        episodes: the run's episodes by id. seed: the run's. asked: what a learner is asked for, by
        its recipe, first round and policy. base: the policy that a round sets out from.
        """
        self._run, self._known, self._seed = run, episodes, seed
        self._asked, self._base = asked, base
        self._process: OnlineProcess | None = None
        self._of: tuple[str, int] = ("", 0)  # recipe and first round

    def begun(self, number: int, recipe: ConfiguredRecipe) -> tuple[OnlineProcess, int]:
        """Return the learner of a round, and how many blocks it was handed in earlier ones.

        A round that was rejected ends its learner: the next one begins another, from all that the
        run has by then.
        """
        first = self._first(number, recipe)
        earlier = list(self._blocks(range(first, number)))
        if self._process is None or self._of != (recipe.name, first):
            self.close()
            asked = self._asked(recipe, first, self._base(first))
            self._process = OnlineProcess(self._run.folder, asked, first)
            self._of = recipe.name, first
            for ids in earlier:
                self._process.hand_over(ids)
        return self._process, len(earlier)

    def collected(self, until: int) -> int:
        """Return how many episodes all learners were handed, up to the end of a round."""
        return sum(map(len, self._blocks(range(1, until + 1))))

    def close(self) -> None:
        """End what learns; a run that is continued goes on from what it kept."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _blocks(self, rounds: range) -> Iterator[list[str]]:
        """Yield the ids of the blocks that were handed over in these rounds, in order."""
        for number in rounds:
            yield from blocks_of(self._known, number, stream(self._seed, "collect", number))

    def _first(self, number: int, recipe: ConfiguredRecipe) -> int:
        """Return the round in which the learner of round `number` began."""
        first = 1
        for row in self._run.ledger.policies():
            if 0 < row.round < number and row.recipe != recipe.name:
                first = max(first, row.round + 1)
        for note in self._run.ledger.decisions():
            if note.kind == "rejected" and note.round < number:
                first = max(first, note.round + 1)
        return first
