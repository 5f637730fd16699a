"""Everything that a report shows, read from a run's ledger; no array of an episode is loaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from enpire.observe.report.conditions import ConditionMap, read_conditions
from enpire.observe.report.experiments import CampaignReport
from enpire.observe.report.failures import FailureReport, read_failures
from enpire.observe.report.incidents import IncidentReport, read_incidents
from enpire.observe.report.success import SuccessCurve, read_success
from enpire.observe.report.summary import RunSummary, read_summary
from enpire.observe.report.utilisation import Utilisation, read_utilisation
from enpire.observe.report.verifier import VerifierAudit, read_audits
from enpire.observe.result import versions
from enpire.store import LogEntry, Run


@dataclass(frozen=True, slots=True, eq=False)
class FilmStrip:
    """A few still frames of one episode."""

    episode: str  # its id
    times: tuple[float, ...]  # of the frames, since the execution began [s]
    pictures: tuple[bytes, ...]  # JPEG files, one a frame


@dataclass(frozen=True, slots=True, eq=False)
class RunReport:
    """What a report shows."""

    summary: RunSummary
    success: SuccessCurve
    utilisation: Utilisation
    failures: FailureReport
    conditions: ConditionMap
    audits: tuple[VerifierAudit, ...]
    incidents: IncidentReport
    decisions: tuple[LogEntry, ...]
    command: str  # that does the run again; empty where it is not known
    versions: Mapping[str, str]  # of what a measurement depends on, by name
    packs: Mapping[str, str]  # content hashes, by name
    campaign: CampaignReport | None = None  # of a campaign; None for any other run
    # Frames of failures, by the id of the episode.
    strips: Mapping[str, FilmStrip] = field(default_factory=dict)
    no_strips: str = ""  # why there are none, for a person; empty where nobody tried


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Hold the collector off in the block, in which no garbage with cycles is to be made.

    Reading makes very many objects that stay, and the collector looks at them again and again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_collector_paused()
def read_report(run: Run, command: str = "", campaign: CampaignReport | None = None) -> RunReport:
    """Return what a report of `run` shows, pictures of episodes apart.

    Args:
        run: open for reading or writing; it may be under way.
        command: that does the run again.
        campaign: its experiments, if it is a campaign.
    """
    ledger = run.ledger
    rows, decisions = ledger.episodes(), ledger.decisions()
    summary = read_summary(run, rows)
    return RunReport(
        summary=summary,
        success=read_success(run, rows),
        utilisation=read_utilisation(run, rows),
        failures=read_failures(ledger, rows, summary.policy),
        conditions=read_conditions(run, rows, summary.policy),
        audits=read_audits(run),
        incidents=read_incidents(decisions),
        decisions=tuple(decisions),
        command=command,
        versions=versions(),
        packs=ledger.packs(),
        campaign=campaign,
    )
