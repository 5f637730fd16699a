"""What the ledger holds, a dataclass a table. Names are those of `schema.SCHEMA`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from enpire.types import Estimate, Outcome, Purpose


class Phase(StrEnum):
    """What a station spends an interval of its robot time on."""

    RESET = "reset"
    EXECUTE = "execute"
    VERIFY = "verify"
    IDLE = "idle"
    ASIDE = "aside"


@dataclass(slots=True)
class EpisodeRow:
    """One episode as the ledger knows it; its arrays are at `index` of the batch at `path`.

    Not frozen, as that takes five times as long to make: a folder of runs has very many.

    path: relative to the run folder. sha256, bytes: of the whole batch.
    committed_at: Unix time [s].
    """

    id: str
    seed: int
    purpose: Purpose
    policy: str
    round: int
    station: int
    outcome: Outcome
    score: float
    stage: str
    reason: str
    reset_s: float
    execute_s: float
    verify_s: float
    path: str
    index: int
    sha256: str
    bytes: int
    committed_at: float

    @property
    def robot_s(self) -> float:
        """Robot time from reset to verdict [s]."""
        return self.reset_s + self.execute_s + self.verify_s


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of one station's own clock [s], the account that MRU is taken from.

    `episode` is empty where the station was idle or set aside.
    """

    station: int
    phase: Phase
    start_s: float
    end_s: float
    episode: str = ""


@dataclass(frozen=True, slots=True)
class RoundRow:
    """One round: the incumbent at its end, its evaluation, what it cost."""

    number: int
    policy: str
    successes: int = 0
    trials: int = 0
    # low, high: 95% interval
    low: float = 0.0
    high: float = 1.0
    robot_s: float = 0.0  # robot time of all stations [s]
    wall_s: float = 0.0  # time on the clock [s]
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def success(self) -> Estimate:
        """The success rate with its 95% interval."""
        return Estimate(self.successes, self.trials, self.low, self.high)


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One frozen policy. path: relative to the run folder; sha256: of the file."""

    name: str
    sha256: str
    path: str
    parent: str = ""
    recipe: str = ""
    round: int = 0
    state: str = "candidate"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """Something the loop decided, in words for a person and with the numbers behind it."""

    round: int
    kind: str
    text: str
    incumbent: str = ""
    candidate: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    # When it was recorded, Unix time [s]; 0 before that, and in ledgers that do not say.
    at: float = field(default=0.0, compare=False)

    @property
    def time(self) -> str:
        """Day and time where this machine is, for a person; empty where it is not known."""
        return f"{datetime.fromtimestamp(self.at):%Y-%m-%d %H:%M:%S}" if self.at else ""


@dataclass(frozen=True, slots=True)
class SealedRow:
    """One examination on sealed seeds. entropy: what its seeds were drawn from; low, high: 95%."""

    attempt: int
    policy: str
    entropy: int
    successes: int
    trials: int
    low: float
    high: float

    @property
    def success(self) -> Estimate:
        """The success rate with its 95% interval."""
        return Estimate(self.successes, self.trials, self.low, self.high)


@dataclass(frozen=True, slots=True)
class EventRow:
    """Something that happened in a campaign; never changed, never removed."""

    experiment: int  # its number, 0 for none
    # kind, text: what, in the campaign's own words (`enpire.evolution.experiments.events`)
    kind: str
    text: str
    at: float = 0.0  # Unix time [s]
