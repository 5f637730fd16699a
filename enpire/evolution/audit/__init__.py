"""Holds a campaign's records against each other: nothing is run, and nothing is written.

What is recomputed here is recomputed from episodes, by their own files, and the seeds that the
campaign's settings give. Somebody with all rights on a folder could still change everything in it
consistently; for that there is the head of the record (`enpire.store.head`), noted elsewhere.
"""

from __future__ import annotations

from enpire.errors import CampaignError, EnpireError
from enpire.evolution.audit import decisions, episodes, records, sealed
from enpire.evolution.audit.check import Check, RecordedCampaign
from enpire.evolution.campaign import history, report
from enpire.store import Run
from enpire.store.head import Head, head


def audit(run: Run, noted: Head | None = None) -> list[Check]:
    """All checks of a campaign's folder. noted: the head that somebody has noted.

    Raises:
        CampaignError: it is no campaign.
    """
    if "campaign" not in run.config:
        raise CampaignError(f"{run.folder} is no campaign: enpire show tells what happened in it")
    of = RecordedCampaign(run)
    checks = [records.rows(of), *records.episodes(of), records.time(of), decisions.events(of)]
    if checks[-1].holds or _folds(of):
        checks += [
            records.policies(of),
            decisions.comparisons(of),
            decisions.check_notes(of),
            sealed.sealed(of),
            episodes.check_jobs(of),
            _history(of),
            _report(of),
        ]
    return [*checks, _confinement(of), _head(of, noted)]


def _folds(of: RecordedCampaign) -> bool:
    """Whether events can be followed at all."""
    try:
        return bool(of.record.entries) or True
    except (EnpireError, KeyError, ValueError, TypeError):
        return False


def _history(of: RecordedCampaign) -> Check:
    refs = history.history(of.run).refs
    return Check("history", f"{len(refs)} branches", tuple(history.differences(of.run)))


def _report(of: RecordedCampaign) -> Check:
    path = of.run.folder / report.FILE
    if not of.closed:
        return Check("report", "not compared: the campaign is under way, or was killed")
    try:
        written = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        return Check("report", "", (f"{path.name}: {error.strerror}",))
    again = report.report(of.run).splitlines()
    kept, made = ([line for line in of_ if not _versions(line)] for of_ in (written, again))
    changed = [line for line, other in zip(kept, made, strict=False) if line != other]
    if len(kept) != len(made):
        changed.append(f"{len(kept)} lines, {len(made)} by the ledger")
    return Check(
        "report", f"{len(written)} lines", tuple(f"{line[:160]!r}" for line in changed[:4])
    )


def _versions(line: str) -> bool:
    """Whether it says by which versions it was made: those of now may be others."""
    return line.startswith("Verified by ")


def _confinement(of: RecordedCampaign) -> Check:
    stated = str(of.run.config["campaign"].get("confinement", ""))
    return Check("confinement", stated, () if stated else ("nothing says what held the agents",))


def _head(of: RecordedCampaign, noted: Head | None) -> Check:
    now = str(head(of.run))
    if noted is None:
        return Check("head", f"{now} (not compared: note it, and give it with --head)")
    try:
        then = head(of.run, noted.rows)
    except EnpireError as error:
        return Check("head", now, (str(error),))
    wrong = () if then == noted else ("what was recorded until then is not what it was",)
    return Check("head", now, wrong)


__all__ = ["Check", "audit"]
