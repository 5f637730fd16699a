"""The search for a skill script's parameters: CMA-ES, a generation a round.

Covariance matrix adaptation (Hansen 2016, arXiv 1604.00772), by the `cmaes` library. There is no
saved state: what was tried in a round follows from the seeds of its episodes and from the rounds
before, and how good it was from how the episodes ended.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from enpire.environment import Parameter
from enpire.types import Episode, FloatArray, Outcome, Purpose

NAMED = re.compile(r"skill-(\d+)\.(\d+)")
JUDGED = (Outcome.SUCCESS, Outcome.FAILURE)


def candidate_name(number: int, candidate: int) -> str:
    """What episodes of the round's candidate are recorded under."""
    return f"skill-{number}.{candidate}"


@dataclass(frozen=True, slots=True)
class Fitness:
    """The fitness of one candidate's judged episodes: success first, then score, then time."""

    success: float
    score: float
    time: float

    @classmethod
    def of(cls, episodes: Sequence[Episode]) -> Fitness:
        """The worst there is, if none was judged."""
        judged = [e for e in episodes if e.verdict.outcome in JUDGED]
        if not judged:
            return cls(0.0, 0.0, np.inf)
        return cls(
            float(np.mean([e.success for e in judged])),
            float(np.mean([e.verdict.score for e in judged])),
            float(np.mean([e.times.execute for e in judged])),
        )

    @property
    def loss(self) -> tuple[float, float, float]:
        """A number to be sorted by; less is better."""
        return -self.success, -self.score, self.time


class Search:
    """Candidates of a generation, and what all of them so far say of the best values."""

    def __init__(self, parameters: Sequence[Parameter], candidates: int, spread: float) -> None:
        """Begin at the plain values; spread: of the first generation, as a share of the bounds."""
        from cmaes import CMA  # loads all of `scipy.stats`, for half a second

        self._low = np.array([p.low for p in parameters])
        self._size = np.array([p.high - p.low for p in parameters])
        plain = (np.array([p.plain for p in parameters]) - self._low) / self._size
        bounds = np.tile([0.0, 1.0], (len(plain), 1))
        self._cma = CMA(plain, spread, bounds, population_size=candidates, seed=0)
        self.generations = 0
        self.best = Fitness.of([])  # of the last generation

    @property
    def mean(self) -> FloatArray:
        """The values that the search takes for best, (n,): the mean of what it draws."""
        return self._values(self._cma.mean)

    def draw(self, seeds: Iterable[int]) -> FloatArray:
        """A generation (candidates, n) of a round with these seeds."""
        return self._values(self._drawn(seeds))

    def follow(self, episodes: Iterable[Episode]) -> Search:
        """Go through the generations among `episodes`, in the order of rounds."""
        tried: dict[int, dict[int, list[Episode]]] = defaultdict(lambda: defaultdict(list))
        for episode in episodes:
            found = NAMED.fullmatch(episode.policy)
            if found and episode.purpose is Purpose.COLLECTION:
                tried[int(found[1])][int(found[2])].append(episode)
        for _, candidates in sorted(tried.items()):
            drawn = self._drawn(e.seed for each in candidates.values() for e in each)
            fitness = [Fitness.of(candidates.get(k, [])) for k in range(len(drawn))]
            ranks = {loss: i for i, loss in enumerate(sorted({f.loss for f in fitness}))}
            # It goes by the order alone.
            told = [(x, float(ranks[f.loss])) for x, f in zip(drawn, fitness, strict=True)]
            self._cma.tell(told)
            self.generations += 1
            self.best = min(fitness, key=lambda f: f.loss)
        return self

    def _drawn(self, seeds: Iterable[int]) -> FloatArray:
        """The candidates in units of the bounds, (candidates, n)."""
        self._cma.reseed_rng(int(np.random.SeedSequence(min(seeds)).generate_state(1)[0]))
        return np.array([self._cma.ask() for _ in range(self._cma.population_size)])

    def _values(self, share: FloatArray) -> FloatArray:
        result: FloatArray = self._low + self._size * share
        return result
