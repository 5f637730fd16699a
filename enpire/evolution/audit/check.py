"""What an audit looks at, and what one of its checks says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from enpire.environment.core.jobs import episode_id
from enpire.evolution.experiments.events import CampaignState, replay_events
from enpire.store import EpisodeRow, PolicyRow, Run
from enpire.types import Purpose


@dataclass(frozen=True, slots=True)
class Check:
    """One line of an audit. said: what was looked at. wrong: what does not agree, and where."""

    name: str
    said: str
    wrong: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all agrees."""
        return not self.wrong


class RecordedCampaign:
    """A campaign as it was recorded. rows: its episodes, in the order of recording."""

    def __init__(self, run: Run) -> None:
        """run: open, to be read."""
        self.run, self.rows = run, run.ledger.episodes()
        self.settings: Mapping[str, Any] = run.config["loop"]

    @cached_property
    def record(self) -> CampaignState:
        """What its events come to; CampaignError where they cannot follow on each other."""
        return replay_events(self.run.ledger.events())

    @cached_property
    def policies(self) -> dict[str, PolicyRow]:
        """The policies by name."""
        return {row.name: row for row in self.run.ledger.policies()}

    @cached_property
    def evaluations(self) -> dict[tuple[int, str, int], EpisodeRow]:
        """The evaluations by round, policy and seed; those that were not cut short."""
        return {
            (row.round, row.policy, row.seed): row
            for row in self.rows
            if row.purpose is Purpose.EVALUATION and whole(row)
        }

    @property
    def closed(self) -> bool:
        """Whether it has ended, or was stopped in good order; then nothing is left half written."""
        return self.run.ledger.facts().get("state", "running") != "running"


def whole(row: EpisodeRow) -> bool:
    """Whether an episode has its job's name: others were cut short, or their station was lost."""
    name = episode_id(row.purpose, row.round, row.policy, row.seed)
    return row.id == name or row.id.removeprefix(f"{name}-").isdecimal()  # a variant's


def repeated[T](values: Iterable[T]) -> list[T]:
    """The items that are there more than once, each once."""
    return [value for value, times in Counter(values).items() if times > 1]
