"""What a campaign used, from its ledger alone: MRU, GPU use, MTU, tokens and robots to success.

The formulas stand in `docs/evolution.md`, "What is counted".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from enpire.evolution.experiments.events import ModelUse, replay_events
from enpire.observe import account
from enpire.observe.overview import sealed_of
from enpire.store import EventRow, Run
from enpire.types import Purpose

MILLION, THOUSAND, FEW = 1_000_000, 1_000, 10_000


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs by some time. wall_s: on the clock; robot_s: without sealed evaluations [s]."""

    wall_s: float
    robot_s: float
    tokens: int
    dollars: float


@dataclass(frozen=True, slots=True)
class Accounts:
    """Of one campaign."""

    mru: float
    gpu: float | None  # None where there is no GPU
    total: Costs  # until now
    success: Costs | None  # until a policy first passed its sealed evaluation, or None

    @property
    def mtu(self) -> float:
        """Tokens of all agents a minute; not a number before any time has passed."""
        minutes = self.total.wall_s / 60.0
        return self.total.tokens / minutes if minutes > 0.0 else math.nan

    def __str__(self) -> str:
        robots = f"MRU {self.mru:.0%}, {account.gpu_text(self.gpu)}"
        if not self.total.tokens:
            return f"{robots}, no tokens"
        reached = self.success
        tokens = millions(reached.tokens) if reached else f">{millions(self.total.tokens)}"
        return f"{robots}, MTU {self.mtu:.0f} tokens/min, tokens to success {tokens}"

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "mru": self.mru,
            "gpu_use": self.gpu,
            "mtu": self.mtu,
            "total": asdict(self.total),
            "to_success": asdict(self.success) if self.success else None,
        }


def accounts(run: Run) -> Accounts:
    """The accounts of a campaign's run."""
    ledger = run.ledger
    now = _spent(run, math.inf)
    success = None
    if good := sealed_of(run).passing:
        first = good[0]
        examined = ledger.episodes({Purpose.SEALED}, {first.policy}, {first.attempt})
        success = _spent(run, max((row.committed_at for row in examined), default=math.inf))
    return Accounts(account.ledger_mru(ledger), account.gpu_use(ledger), now, success)


def best(run: Run) -> str:
    """The policy that a campaign has come to: the last one that passed, or the incumbent."""
    good = sealed_of(run).passing
    return good[-1].policy if good else replay_events(run.ledger.events()).incumbent


def used_by(events: Sequence[EventRow], at: float) -> ModelUse:
    """What all agents had used at a time, Unix [s]."""
    return replay_events(row for row in events if row.at <= at).spent


def _spent(run: Run, at: float) -> Costs:
    """Until a time, Unix [s]. On the clock it is all: a campaign ends when a policy has passed."""
    used = used_by(run.ledger.events(), at)
    rows = (row for row in run.ledger.episodes() if row.committed_at <= at)
    return Costs(
        wall_s=float(run.ledger.facts().get("wall_s", 0.0)),
        robot_s=account.robot_seconds(rows)[0],
        tokens=used.tokens,
        dollars=used.dollars,
    )


def millions(tokens: float) -> str:
    """A count of tokens, `2.5M`, `48k` or `310`."""
    if tokens >= MILLION:
        return f"{tokens / MILLION:.1f}M"
    return f"{tokens / THOUSAND:.0f}k" if tokens >= FEW else f"{tokens:.0f}"
