"""What a campaign's events come to: experiments, the incumbent, what agents have used.

Events are only ever added. All that a campaign knows is replayed from them, in their order, so that
a process that died has lost nothing but what it had not written yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from enpire.errors import CampaignError
from enpire.evolution.experiments.experiment import Experiment, ExperimentState, from_json
from enpire.json_text import loads
from enpire.rollout.evaluation.comparison import PairedRecord
from enpire.store import EventRow

EXPERIMENT = "experiment"  # its new state, whole, as `Experiment.as_json`
HELD = "held"  # proposed likewise, and waits for its agent before its trials
RELEASED = "released"  # its agent has asked for trials
LEASE = "lease"  # a process has taken it up
MATCH = "match"  # a comparison was decided
USED = "used"  # by an agent: tokens and dollars
RETIRED = "retired"  # an agent has ended

FIRST = "policy-0"


@dataclass(frozen=True, slots=True)
class MatchOutcome:
    """The outcome of a match: against whom, what it came to, whether it was won."""

    opponent: str
    record: PairedRecord
    won: bool

    def as_json(self) -> str:
        """What a `MATCH` event says."""
        record = self.record
        counts = [record.wins, record.losses, record.ties]
        return json.dumps({"opponent": self.opponent, "record": counts, "won": self.won})


@dataclass(frozen=True, slots=True)
class ExperimentEntry:
    """An experiment of a campaign."""

    number: int  # which it is, and the round of all its episodes
    experiment: Experiment
    leases: int = 0  # how often it was taken up since it came as far as it is
    released: bool = False  # it may go on to trials
    matches: tuple[MatchOutcome, ...] = ()  # decided so far, in order
    # began, ended: Unix time [s], 0.0 for not yet
    began: float = 0.0
    ended: float = 0.0

    @property
    def policy(self) -> str:
        """The name of its candidate: the experiment's."""
        return self.experiment.id


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What an agent has used of its model."""

    tokens: int = 0
    dollars: float = 0.0

    def __add__(self, other: ModelUse) -> ModelUse:
        return ModelUse(self.tokens + other.tokens, self.dollars + other.dollars)

    def as_json(self, agent: str, classes: Mapping[str, int] | None = None) -> str:
        """What a `USED` event says; classes: of tokens, kept as the API counts them."""
        known = {"agent": agent, "tokens": self.tokens, "dollars": self.dollars}
        return json.dumps(known | {"classes": dict(classes or {})})


@dataclass(slots=True)
class CampaignState:
    """All that is known."""

    entries: dict[int, ExperimentEntry] = field(default_factory=dict)  # by number, from 1
    incumbent: str = FIRST  # the best policy so far, by name
    # Numbers in the order of decisions, each with the incumbent from then on.
    decided: list[tuple[int, str]] = field(default_factory=list)
    used: dict[str, ModelUse] = field(default_factory=dict)  # by agent
    retired: dict[str, str] = field(default_factory=dict)  # agents that have ended, with why

    @property
    def experiments(self) -> list[Experiment]:
        """The experiments in the order in which they were proposed."""
        return [entry.experiment for entry in self.entries.values()]

    @property
    def under_way(self) -> list[ExperimentEntry]:
        """The experiments that nothing is decided of yet."""
        return [entry for entry in self.entries.values() if not entry.experiment.decided]

    def of(self, agent: str) -> list[ExperimentEntry]:
        """An agent's experiments that are under way."""
        return [entry for entry in self.under_way if entry.experiment.agent == agent]

    @property
    def spent(self) -> ModelUse:
        """The use of models by all agents."""
        return sum(self.used.values(), ModelUse())

    def number_of(self, policy: str) -> int:
        """The number of the experiment that made a policy; 0 for the first policy."""
        return 0 if policy == FIRST else self.named(policy).number

    def named(self, id: str) -> ExperimentEntry:
        """The entry of an experiment's id.

        Raises:
            CampaignError: there is none.
        """
        for entry in self.entries.values():
            if entry.experiment.id == id:
                return entry
        known = ", ".join(experiment.id for experiment in self.experiments[-8:]) or "none yet"
        raise CampaignError(f"there is no experiment {id[:64]!r}; the last ones are: {known}")

    def take(self, row: EventRow) -> None:
        """One more event.

        Raises:
            CampaignError: it cannot follow those before.
        """
        match row.kind:
            case "experiment" | "held":
                self._moved(row, from_json(row.text))
            case "lease":
                entry = self.entries[row.experiment]
                self.entries[row.experiment] = replace(entry, leases=entry.leases + 1)
            case "released":
                entry = self.entries[row.experiment]
                self.entries[row.experiment] = replace(entry, released=True)
            case "match":
                entry = self.entries[row.experiment]
                said = loads(row.text)
                outcome = MatchOutcome(said["opponent"], PairedRecord(*said["record"]), said["won"])
                self.entries[row.experiment] = replace(entry, matches=(*entry.matches, outcome))
            case "used":
                said = loads(row.text)
                used = ModelUse(int(said["tokens"]), float(said["dollars"]))
                self.used[said["agent"]] = self.used.get(said["agent"], ModelUse()) + used
            case "retired":
                said = loads(row.text)
                self.retired[said["agent"]] = said["reason"]
            case _:
                raise CampaignError(f"an event of kind {row.kind!r}: a newer enpire wrote it")

    def _moved(self, row: EventRow, experiment: Experiment) -> None:
        before = self.entries.get(row.experiment)
        if before is None:
            if (
                experiment.state is not ExperimentState.PROPOSED
                or row.experiment != len(self.entries) + 1
            ):
                raise CampaignError(f"experiment {experiment.id} was never proposed")
            if any(experiment.id == other.id for other in self.experiments):
                raise CampaignError(f"there is an experiment {experiment.id} already")
            released = row.kind != HELD
            self.entries[row.experiment] = ExperimentEntry(
                row.experiment, experiment, released=released, began=row.at
            )
            return
        before.experiment.to(experiment.state, effect=experiment.effect)  # checks that it may
        entry = replace(before, experiment=experiment, leases=0)
        if experiment.decided:
            entry = replace(entry, ended=row.at)
            if experiment.state is ExperimentState.KEPT:
                self.incumbent = entry.policy
            self.decided.append((row.experiment, self.incumbent))
        self.entries[row.experiment] = entry


def replay_events(rows: Iterable[EventRow]) -> CampaignState:
    """What all events come to."""
    record = CampaignState()
    for row in rows:
        record.take(row)
    return record


def retirement(agent: str, reason: str) -> str:
    """What a `RETIRED` event says."""
    return json.dumps({"agent": agent, "reason": reason})
