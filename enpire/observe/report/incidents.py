"""Safety events of a run: stops, faults, stations that were set aside and taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from enpire.store import LogEntry

KINDS = ("stop", "fault", "aside", "back", "left aside")
SHOWN = 200  # the first ones; counts are of all


@dataclass(frozen=True, slots=True)
class IncidentReport:
    """All events by kind, and the first of them in their order."""

    counts: Mapping[str, int]
    incidents: tuple[LogEntry, ...]


def read_incidents(decisions: Sequence[LogEntry]) -> IncidentReport:
    """Return the safety events among a run's decisions."""
    incidents = [d for d in decisions if d.kind in KINDS]
    counts = Counter(one.kind for one in incidents)
    return IncidentReport(
        {kind: counts[kind] for kind in KINDS if counts[kind]}, tuple(incidents[:SHOWN])
    )
