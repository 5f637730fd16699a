"""The words that every module shares, as plain immutable data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
Image = NDArray[np.uint8]
Flags = NDArray[np.bool_]

NO_PICTURES: Image = np.zeros((0, 0, 0, 0, 3), np.uint8)

LOST = "lost"
"""Stage of an episode whose station was lost under it: the same job may do well on another."""

FAULT, SERVER = "environment", "server"
"""Stages of an episode that its environment, or a policy's server, made invalid."""


class Outcome(StrEnum):
    """How an episode ended.

    `failure` is a judged failure, or a stop that the policy's own setpoints led to; `aborted`
    was ended on purpose before judgement (a budget, a person); `invalid` says nothing about the
    policy (unstable physics, lost driver, failed reset). Rates are over success and failure;
    nothing is dropped from the store.
    """

    SUCCESS = "success"
    FAILURE = "failure"
    ABORTED = "aborted"
    INVALID = "invalid"


JUDGED = (Outcome.SUCCESS, Outcome.FAILURE)
"""Outcomes that say something of a policy; rates are over these."""


GIVEN_UP = "given up"
"""Stage of an episode that was aborted because it would hardly have become a success."""


class Purpose(StrEnum):
    """Why an episode was run."""

    DEMONSTRATION = "demonstration"
    COLLECTION = "collection"
    EVALUATION = "evaluation"
    SEALED = "sealed"


class PredicateState(StrEnum):
    """How a predicate came out; only `pass` counts towards success.

    `boundary` is nearer to its threshold than it was measured, `unsure` was not measured at all.
    """

    PASS = "pass"
    FAIL = "fail"
    BOUNDARY = "boundary"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Predicate:
    """One named condition of success: a measure held against its threshold.

    `margin` is positive when the condition holds, `accuracy` how far the measure may be off, both
    in the measure's own unit. A value that is not a number was not measured.
    """

    name: str
    value: float
    threshold: float
    unit: str
    at_least: bool = True
    accuracy: float = 0.0

    @property
    def margin(self) -> float:
        """Distance to the threshold, positive on the good side, in `unit`."""
        gap = self.value - self.threshold
        return gap if self.at_least else -gap

    @property
    def state(self) -> PredicateState:
        """How it came out."""
        margin = self.margin
        if math.isnan(margin) or math.isnan(self.accuracy):
            return PredicateState.UNSURE
        if abs(margin) < self.accuracy:
            return PredicateState.BOUNDARY
        return PredicateState.PASS if margin >= 0.0 else PredicateState.FAIL

    @property
    def holds(self) -> bool:
        """Whether the condition holds beyond doubt."""
        return self.state is PredicateState.PASS

    @property
    def value_text(self) -> str:
        """The value without its unit, rounded, and still on its own side of the threshold."""
        return _told_apart(self.value, self.threshold)[0]

    @property
    def reason(self) -> str:
        """Why it does not hold, a clause of a verdict's `reason`; its state if it did not fail."""
        if self.state is not PredicateState.FAIL:
            return f"{self.name} {self.state}"
        value, threshold = _told_apart(self.value, self.threshold)
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.name} {value}{unit} (needs {threshold})"


def _told_apart(value: float, threshold: float) -> tuple[str, str]:
    """Return both as text: three digits of the value, more where they would not tell the two apart.

    The threshold has six digits, or as many as the value if that has more.
    """
    scale = max(abs(value), abs(threshold))
    if not (0.0 < scale < math.inf):
        return f"{abs(value) if value == 0.0 else value:g}", f"{threshold:g}"
    first = math.floor(math.log10(scale))
    for digits in range(3, 18):  # 17 tell any two numbers apart
        texts = _rounded(value, digits - first), _rounded(threshold, max(digits, 6) - first)
        shown, needed = map(float, texts)
        if (shown < needed, shown > needed) == (value < threshold, value > threshold):
            break
    return texts


def _rounded(number: float, digits: int) -> str:
    """Return `number` to so many digits from the first before its point, without empty ones."""
    text = f"{number:.{max(digits - 1, 0)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A picture kept as evidence, (height, width, 3), red green blue; name: of its camera."""

    name: str
    image: Image


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judged outcome of one episode with its evidence.

    `score` in [0, 1] is the share of the task done, `stage` the name of the last stage reached,
    `reason` one line for a person, `frames` what cameras saw.
    """

    outcome: Outcome
    predicates: tuple[Predicate, ...] = ()
    score: float = 0.0
    stage: str = ""
    reason: str = ""
    frames: tuple[Frame, ...] = field(default=(), compare=False, repr=False)

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the predicates that did not hold."""
        return tuple(p.name for p in self.predicates if not p.holds)

    @property
    def undecided(self) -> bool:
        """Whether another look may still make it a success: nothing fails, not all passes."""
        states = {p.state for p in self.predicates}
        return PredicateState.FAIL not in states and bool(states - {PredicateState.PASS})

    @property
    def unsure(self) -> bool:
        """Whether nothing fails and something could not be measured at all."""
        return self.undecided and any(p.state is PredicateState.UNSURE for p in self.predicates)

    def rewards(self, length: int) -> Float32Array:
        """Return the sparse rewards (length,) of an episode: 1 at the end of a success, else 0."""
        rewards = np.zeros(length, np.float32)
        rewards[-1:] = self.outcome is Outcome.SUCCESS
        return rewards


@dataclass(frozen=True, slots=True)
class Times:
    """Robot time of one episode by phase, in seconds of the station's own clock."""

    reset: float = 0.0
    execute: float = 0.0
    verify: float = 0.0

    @property
    def total(self) -> float:
        """Reset to verdict [s]."""
        return self.reset + self.execute + self.verify


@dataclass(frozen=True, slots=True)
class Episode:
    """One reset → execute → verify, with what was seen and done, a row per control period.

    observations: shape (T, obs), as the policy saw them.
    actions: shape (T, act), in [-1, 1], as they were carried out (exploration included).
    stamps: shape (T,), seconds since execution began.
    rewards: shape (T,), 1.0 at the last row of a success, else 0.0.
    variant: 0, or which of several episodes from the seed's initial condition it is. forked: rows
    at its start that only repeat what was done in the seed's own episode. intervened: shape (T,),
    rows in which somebody else than the policy acted, to help it; by default none. rewound: (T,),
    those of them in which hands only went back, or waited, for who helps to begin. attempts: that
    were judged, one after the other with no reset in between; the verdict is the last one's.
    staleness: as in `Job`. pictures: (k, cameras, size, size, 3), what the cameras showed of the
    bench before the actions of the rows `pictured`, (k,); none where no policy sees. joints,
    setpoints: shape (T, axes), where the arms were and what they were then sent, axes as in
    `enpire.drivers.Reading`; of no axes where there are no arms to ask.
    """

    id: str
    task: str
    seed: int
    purpose: Purpose
    policy: str
    round: int
    station: int
    verdict: Verdict
    times: Times
    observations: Float32Array
    actions: Float32Array
    stamps: FloatArray
    rewards: Float32Array
    exploration: float = 0.0
    packs: dict[str, str] = field(default_factory=dict)
    variant: int = 0
    forked: int = 0
    intervened: Flags = field(default_factory=lambda: np.zeros(0, bool))
    rewound: Flags = field(default_factory=lambda: np.zeros(0, bool))
    attempts: int = 1
    staleness: int = 0
    pictures: Image = field(default_factory=lambda: NO_PICTURES)
    pictured: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    joints: Float32Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    setpoints: Float32Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def __post_init__(self) -> None:
        for name in ("intervened", "rewound"):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.zeros(len(self), bool))
        for name in ("joints", "setpoints"):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.zeros((len(self), 0), np.float32))

    @property
    def success(self) -> bool:
        """Judged a success by the harness; if somebody `helped`, it is not the policy's."""
        return self.verdict.outcome is Outcome.SUCCESS

    @property
    def tells(self) -> bool:
        """Whether how it ended says something of who acted: judged, or given up as hopeless."""
        verdict = self.verdict
        return verdict.outcome in JUDGED or (
            verdict.outcome is Outcome.ABORTED and verdict.stage == GIVEN_UP
        )

    @property
    def shown(self) -> bool:
        """Whether it is a demonstration, by a person or who stands for one."""
        return self.purpose is Purpose.DEMONSTRATION

    @property
    def helped(self) -> bool:
        """Whether somebody intervened."""
        return bool(self.intervened.any())

    def __len__(self) -> int:
        return int(self.actions.shape[0])


def with_interval(rate: float, low: float, high: float, trials: int) -> str:
    """A rate for a person: `0.980 [0.950, 0.995] of 200`."""
    return f"{rate:.3f} [{low:.3f}, {high:.3f}] of {trials}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A success rate with its count and 95% interval."""

    successes: int
    trials: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """Point estimate; not a number when nothing was measured."""
        return self.successes / self.trials if self.trials else float("nan")

    def __str__(self) -> str:
        if not self.trials:
            return "not measured"
        return with_interval(self.rate, self.low, self.high, self.trials)
