"""When to ask for a person: a detector of failures, learned from past episodes.

ARMADA (arXiv 2510.02298) asks for help where a detector, FLOAT, sees a rollout part from what
succeeds, beyond a bound that few successes pass. FLOAT compares embeddings of pictures by optimal
transport. Here observations are a few numbers and the failures are known too, so the network of
`early_stop.py`, which learns from both, scores an execution every `EVERY` periods; the bound is the
same kind: of the successes at most `FALSE_ALARMS` ever score below it.

Precision and recall are of episodes that the network has not seen (cross-fitting in `FOLDS` parts;
the bound of each part is from the others).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from enpire.rollout.collection.early_stop import Predictor, threshold
from enpire.rollout.evaluation.statistics import estimate
from enpire.types import JUDGED, Episode, Estimate, Flags, Float32Array, FloatArray, Purpose

EVERY = 5  # control periods from one look to the next
FALSE_ALARMS = 0.1  # of the successes may be called failures, at most
FOLDS = 3
LEAST = 12  # successes, and failures, to learn from


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detector said of episodes that it had not seen.

    caught, missed: failures; false, quiet: successes.
    """

    caught: int
    missed: int
    false: int
    quiet: int

    @property
    def precision(self) -> Estimate:
        """Share of the alarms that were of failures."""
        return estimate(self.caught, self.caught + self.false)

    @property
    def recall(self) -> Estimate:
        """Share of the failures that were caught."""
        return estimate(self.caught, self.caught + self.missed)

    def __str__(self) -> str:
        return f"on held-out episodes precision {self.precision}, recall {self.recall}"


@dataclass(frozen=True, slots=True)
class Detector:
    """Calls an execution a failure once its score, in log-odds, is below `least`."""

    predictor: Predictor
    least: float
    periods: int  # of the time limit
    detection: Detection

    def watch(self) -> LearnedFailureDetector:
        """Return what stands beside a policy."""
        return LearnedFailureDetector(self)


@dataclass(slots=True)
class _BestScore:
    best: float = -np.inf
    best_at: int = 0
    now: int = -1


class LearnedFailureDetector:
    """A `FailureDetector`: trouble is a failure foreseen; all was well where the score was best."""

    def __init__(self, detector: Detector) -> None:
        """Watch each station by what the detector says."""
        self._detector = detector
        self._watched: dict[int, _BestScore] = {}

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """See `FailureDetector`."""
        self._watched[row] = _BestScore()

    def trouble(self, row: int, observation: Float32Array) -> int | None:
        """See `FailureDetector`."""
        one, detector = self._watched[row], self._detector
        one.now += 1
        if one.now % EVERY:
            return None
        (score,) = detector.predictor(observation[None], np.array([one.now / detector.periods]))
        if score < detector.least:
            return one.best_at
        if score > one.best:
            one.best, one.best_at = float(score), one.now
        return None


class NoFailureDetector:
    """A `FailureDetector` that sees no trouble: help comes unasked, or not at all."""

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """See `FailureDetector`."""

    def trouble(self, row: int, observation: Float32Array) -> int | None:
        """See `FailureDetector`."""
        return None


def learn_detector(episodes: Iterable[Episode], periods: int, seed: int) -> Detector | None:
    """Learn from all that policies did alone; None where too little of it went wrong, or well.

    periods: of the time limit.

    Raises:
        RecipeError: training diverged.
    """
    known = sorted((e for e in episodes if _is_judged_alone(e)), key=lambda e: e.id)
    won: Flags = np.array([e.success for e in known], bool)
    if min(won.sum(), (~won).sum()) < LEAST:
        return None
    lowest, fold = np.empty(len(known)), _folds(won, seed)
    for k in range(FOLDS):
        learned = [e for e, part in zip(known, fold, strict=True) if part != k]
        predictor = Predictor.of(learned, periods, seed)
        for i in np.flatnonzero(fold == k):
            lowest[i] = scores(predictor, known[i], periods).min()
    fired = np.zeros(len(known), bool)
    for k in range(FOLDS):
        others = (fold != k) & won
        fired[fold == k] = lowest[fold == k] < _bound(lowest[others])
    counted = [int((fired & ~won).sum()), int((~fired & ~won).sum())]
    counted += [int((fired & won).sum()), int((~fired & won).sum())]
    predictor = Predictor.of(known, periods, seed)
    return Detector(predictor, _bound(lowest[won]), periods, Detection(*counted))


def scores(predictor: Predictor, episode: Episode, periods: int) -> FloatArray:
    """The scores of an episode where a `LearnedFailureDetector` would have looked, in order."""
    at = np.arange(0, len(episode), EVERY)
    return predictor(episode.observations[at], at / periods)


def interventions(episodes: Sequence[Episode]) -> int:
    """How often somebody took over."""
    return sum(int((np.diff(e.intervened, prepend=False) & e.intervened).sum()) for e in episodes)


def _is_judged_alone(episode: Episode) -> bool:
    """Whether a policy did it alone, and was judged."""
    shown = episode.purpose in (Purpose.DEMONSTRATION, Purpose.SEALED)
    judged = episode.verdict.outcome in JUDGED and len(episode) > 0
    return judged and not shown and not episode.helped and not episode.forked


def _folds(won: Flags, seed: int) -> FloatArray:
    """The part that each episode is of, (n,), with as many successes in each."""
    fold = np.empty(len(won))
    rng = np.random.default_rng(seed)
    for kind in (won, ~won):
        fold[rng.permutation(np.flatnonzero(kind))] = np.arange(kind.sum()) % FOLDS
    return fold


def _bound(lowest: FloatArray) -> float:
    """The bound by the lowest scores of successes, (n,): so few of them are below."""
    return threshold([np.array([score]) for score in lowest], int(FALSE_ALARMS * len(lowest)))
