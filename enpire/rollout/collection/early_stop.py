"""End a collection episode that is hopeless: the robot's time is better spent on the next one.

After ARRoL (Xu et al. 2026, arXiv 2603.24840) and DUET (Hu et al. 2026, arXiv 2605.08441). From
episodes of earlier rounds a network learns the chance of success, given what is seen and how much
of the time limit is over. Others, which it has not seen, say when to believe it:

- *How low a score may end an episode.* So low that of the successes held out at most k would have
  been ended, for the largest k with which the rate of such false aborts is below `FALSE` with 95%
  confidence (Wilks 1941, "Determination of sample sizes for setting tolerance limits"). This holds
  whatever the network has learned, for episodes like those held out. 59 successes are the fewest.
- *What a score means*, by Platt's scaling (1999): no episode is ended whose chance is above
  `HOPELESS`, which is what tells few successes among many failures from many among few.

New policies bring about episodes that are not like those held out. So one of `LET_RUN` episodes is
let run whatever the network says, and false aborts are counted on them (`EarlyStopTally`); they,
and no others of a round in which episodes were ended, are later held out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from scipy import optimize, special

from enpire.environment import Job, StationBackend, Tasked
from enpire.environment.core.jobs import LOOKS
from enpire.errors import UsageError
from enpire.improvement.collection import first, meanwhile
from enpire.improvement.value import Normaliser, SuccessEnsemble, regress
from enpire.rollout.evaluation.statistics import lower_bound
from enpire.types import JUDGED, Episode, Flags, Float32Array, FloatArray, Outcome, Purpose

FALSE = 0.05  # of successes may be ended, at most
HOPELESS = 0.1  # chance of success below which an episode may be ended
LET_RUN = 5  # one of so many episodes, by its seed
HELD_OUT = 2 / 3  # of the episodes that nothing could have ended
WIDTH, MEMBERS, STEPS = 64, 3, 600  # of the network and its training
NOISE = 0.1  # added to what it is shown, in standard deviations


@dataclass(frozen=True, slots=True)
class Predictor:
    """Log-odds of success of an execution under way."""

    seen: Normaliser
    ensemble: SuccessEnsemble

    def __call__(self, observations: Float32Array, elapsed: FloatArray) -> FloatArray:
        """The log-odds at observations (N, obs), and shares (N,) of the time limit gone by."""
        chance = self.ensemble.chance(_network_input(self.seen, observations, elapsed)).double()
        odds: FloatArray = torch.logit(chance, eps=1e-6).numpy()
        return odds

    @classmethod
    def of(cls, episodes: Sequence[Episode], periods: int, seed: int) -> Predictor:
        """Learn it from judged episodes; periods: of the time limit."""
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        rows = np.concatenate([e.observations for e in episodes])
        elapsed = np.concatenate([np.arange(len(e)) / periods for e in episodes])
        won = np.repeat([e.success for e in episodes], [len(e) for e in episodes])
        seen = Normaliser.of(torch.from_numpy(rows))
        shown, result = _network_input(seen, rows, elapsed), torch.from_numpy(won).float()

        def noisy(i: torch.Tensor) -> torch.Tensor:
            return shown[i] + NOISE * torch.randn(shown[i].shape, generator=generator)

        return cls(seen, regress(noisy, result, WIDTH, MEMBERS, STEPS, generator))


def _network_input(
    seen: Normaliser, observations: Float32Array, elapsed: FloatArray
) -> torch.Tensor:
    time = torch.from_numpy(4.0 * elapsed - 2.0).float()[:, None]
    return torch.cat([seen(torch.from_numpy(observations)), time], dim=1)


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """Ends an execution whose score, in log-odds, is below `least`; see `Job.give_up`."""

    predictor: Predictor
    least: float
    # slope, shift: of the calibrated log-odds, slope x score + shift
    slope: float
    shift: float
    periods: int  # of the time limit

    def __call__(self, observation: Float32Array, elapsed: float) -> str | None:
        """Why to end it, or None."""
        (score,) = self.predictor(observation[None], np.array([elapsed]))
        if score >= self.least:
            return None
        chance = special.expit(self.slope * score + self.shift)
        return f"given up after {elapsed:.0%} of the time: the chance of success is {chance:.3f}"

    def ends(self, episode: Episode) -> bool:
        """Whether it would have ended an episode that was let run."""
        scores = looked(self.predictor, episode, self.periods)
        return bool((scores < self.least).any())


def looked(predictor: Predictor, episode: Episode, periods: int) -> FloatArray:
    """Scores of an episode where stations would have asked, in the order of time."""
    ends = [-(-look * periods // LOOKS) for look in range(1, LOOKS)]
    at = np.array([end for end in ends if end < len(episode)], np.int64)
    return predictor(episode.observations[at], at / periods) if len(at) else np.zeros(0)


def let_run(seed: int) -> bool:
    """Whether an episode is let run, whatever the network says."""
    return seed % LET_RUN == 0


def learn_abort(episodes: Sequence[Episode], periods: int, seed: int) -> EarlyStop | None:
    """What ends hopeless episodes, from all there are; None where they are too few to say.

    Raises:
        RecipeError: training diverged.
    """
    known = [e for e in episodes if e.verdict.outcome in JUDGED and len(e) and not e.helped]
    known = [e for e in known if e.purpose is not Purpose.DEMONSTRATION and not e.forked]
    whole = [e for e in known if e.purpose is Purpose.EVALUATION or let_run(e.seed)]
    order = np.random.default_rng(seed).permutation(len(whole))
    held = {whole[i].id for i in order[: round(HELD_OUT * len(whole))]}
    test = [e for e in known if e.id in held]
    learned = [e for e in known if e.id not in held]
    allowed = false_aborts_allowed(sum(e.success for e in test))
    if allowed is None or len({e.success for e in learned}) < 2 or all(e.success for e in test):
        return None
    predictor = Predictor.of(learned, periods, seed)
    scores = [looked(predictor, e, periods) for e in test]
    won = np.array([e.success for e in test])
    least = threshold([s for s, good in zip(scores, won, strict=True) if good], allowed)
    lengths = [len(s) for s in scores]
    slope, shift = platt(np.concatenate(scores), np.repeat(won, lengths))
    if slope <= 0.0:  # it has learned nothing that holds
        return None
    hopeless = (float(special.logit(HOPELESS)) - shift) / slope
    return EarlyStop(predictor, min(least, hopeless), slope, shift, periods)


def false_aborts_allowed(successes: int) -> int | None:
    """The most of so many with which their rate is below `FALSE` at 95%; None: not even none."""
    most: int | None = None
    while (
        successes
        and lower_bound(successes - (k := 0 if most is None else most + 1), successes) >= 1 - FALSE
    ):
        most = k
    return most


def threshold(successes: Iterable[FloatArray], allowed: int) -> float:
    """The greatest score of which at most `allowed` successes are ever below."""
    least = sorted(float(scores.min()) if len(scores) else math.inf for scores in successes)
    return least[allowed]


def platt(scores: FloatArray, won: Flags) -> tuple[float, float]:
    """Slope and shift with which scores (N,) are log-odds of what came of them (Platt 1999).

    Towards his targets, which a few outcomes of one kind cannot make certain.
    """
    good, bad = int(won.sum()), int((~won).sum())
    target = np.where(won, (good + 1) / (good + 2), 1 / (bad + 2))

    def loss(of: FloatArray) -> tuple[float, FloatArray]:
        odds = of[0] * scores + of[1]
        wrong = special.expit(odds) - target
        value = np.logaddexp(0.0, odds) - target * odds
        return float(value.mean()), np.array([(wrong * scores).mean(), wrong.mean()])

    found = optimize.minimize(loss, np.array([1.0, 0.0]), jac=True, method="BFGS").x
    return float(found[0]), float(found[1])


@dataclass(frozen=True, slots=True)
class EarlyStopTally:
    """What early ends came to in a round."""

    ended: int = 0  # episodes
    let_run: int = 0  # others that could not be, whatever was thought of them
    caught: int = 0  # those of them that would have been
    successes: int = 0  # of them
    false: int = 0  # the caught successes

    def __str__(self) -> str:
        return (
            f"{self.ended} ended early; of {self.let_run} that were let run {self.caught} would "
            f"have been, {self.false} of their {self.successes} successes among them"
        )

    @classmethod
    def of(cls, abort: EarlyStop, episodes: Iterable[Episode]) -> EarlyStopTally:
        """Count those of a round's episodes that might have been ended, or were let run."""
        watched = list(episodes)
        tested = [e for e in watched if let_run(e.seed) and e.verdict.outcome in JUDGED]
        caught = [e for e in tested if abort.ends(e)]
        return cls(
            ended=sum(e.verdict.outcome is Outcome.ABORTED for e in watched),
            let_run=len(tested),
            caught=len(caught),
            successes=sum(e.success for e in tested),
            false=sum(e.success for e in caught),
        )


def require_foresight(stations: StationBackend) -> None:
    """Raise UsageError where stations do not say how long an episode may take."""
    if not isinstance(stations, Tasked):
        raise UsageError(
            "--abort needs a time limit that is known before an episode is run, and that of "
            f"{stations.name} is not: leave it out"
        )


@dataclass(slots=True)
class RoundEarlyStops:
    """The early ends of one round's collection. An evaluation runs to its end, always.

    What is decided follows from a round's seeds and the episodes of earlier rounds, so that a round
    that was cut short asks for the same jobs again.
    """

    stations: StationBackend
    base: str  # the policy that collects, by name
    episodes: Sequence[Episode]  # of earlier rounds
    seed: int  # of the training
    _judged: set[str] = field(default_factory=set)  # ids of jobs that were ended early, or let run
    _stop: EarlyStop | None = None

    def jobs(self, jobs: Iterator[Job | None]) -> Iterator[Job | None]:
        """A recipe's jobs, some of which may be ended early.

        The first ones are let run, while what ends episodes is learned.
        """
        stations = self.stations
        if not isinstance(stations, Tasked):
            yield from jobs
            return
        periods = stations.execute_periods
        let = first(jobs, 2 * len(stations))
        self._stop = yield from meanwhile(
            let, lambda: learn_abort(self.episodes, periods, self.seed)
        )
        for job in jobs:
            if job is None or self._stop is None or not self._acts_as_in_evaluation(job):
                yield job
                continue
            self._judged.add(job.id)
            yield job if let_run(job.seed) else replace(job, give_up=self._stop)

    def tally(self, episodes: Iterable[Episode]) -> EarlyStopTally | None:
        """What early ends came to, among the episodes that are done; None: nothing says when."""
        if self._stop is None:
            return None
        return EarlyStopTally.of(self._stop, (e for e in episodes if e.id in self._judged))

    def _acts_as_in_evaluation(self, job: Job) -> bool:
        """Whether the policy acts as it would in an evaluation, but for its exploration."""
        helped = job.overtime or job.attempts > 1 or job.forked
        return job.policy == self.base and not helped
