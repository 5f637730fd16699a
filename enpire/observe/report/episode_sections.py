"""Sections of a report on its episodes: failures, stations, the verifier, what happened when.

Each is a pure function from what was read to HTML.
"""

from __future__ import annotations

import base64
from html import escape

from enpire.observe.report.drawing.condition_chart import condition_chart
from enpire.observe.report.drawing.margin_chart import margin_chart
from enpire.observe.report.drawing.utilisation_chart import utilisation_chart
from enpire.observe.report.failures import FailureCluster, PredicateMargins
from enpire.observe.report.markup import (
    chart,
    count_of,
    folded,
    legend,
    paragraph,
    section,
    sentence,
    table,
)
from enpire.observe.report.reading import FilmStrip, RunReport
from enpire.observe.report.verifier import VerifierAudit
from enpire.store import LogEntry, Phase

MEANT = {
    "stop": "the supervisor stopped an arm",
    "fault": "a simulated station had a fault",
    "aside": "a station was set aside",
    "back": "a station was taken back",
    "left aside": "a station was left aside",
}


def failures(report: RunReport) -> str:
    """How evaluations failed, cluster by cluster."""
    known = report.failures
    if not known.trials:
        return ""
    policy = report.summary.policy
    title = f"{count_of(known.failures, 'failure')} in {known.trials} evaluations"
    about = f"{known.final_failures} of them are {policy}'s, in {known.final_trials} evaluations. "
    about += "Failures of one last stage and the same predicates stand together, "
    about += f"those of {policy} first. "
    about += "Bars are failures by their distance to the threshold; a longer one missed by more."
    shown = sum(cluster.count for cluster in known.clusters)
    rest = known.failures - shown
    void = [(reason, str(count)) for reason, count in known.void.items()]
    return section(
        title,
        paragraph(about, "soft") if known.failures else "",
        *(_cluster(cluster, report) for cluster in known.clusters),
        paragraph(f"{rest} more failures are in smaller clusters.", "soft") if rest else "",
        _without_frames(report),
        folded(
            f"{count_of(sum(known.void.values()), 'episode')} void: they say nothing of a policy",
            table(("reason", "episodes"), void, (1,)),
        )
        if void
        else "",
    )


def _cluster(cluster: FailureCluster, report: RunReport) -> str:
    strip = next((report.strips[id] for id in cluster.examples if id in report.strips), None)
    final = f", {cluster.final} of {report.summary.policy}" if cluster.final else ""
    margins = "".join(
        f"<div><b>{escape(one.name)}</b> <span class='soft'>{_missed(one)}"
        + (f", {one.unmeasured} not measured" if one.unmeasured else "")
        + f"</span>{margin_chart(one, 290.0)}</div>"
        if one.margins
        else f"<div><b>{escape(one.name)}</b> <span class='soft'>was not measured</span></div>"
        for one in cluster.margins
    )
    example = strip.episode if strip else cluster.examples[0]
    return (
        f'<div class="cluster"><div class="head"><h3>{escape(cluster.title)}</h3>'
        f'<span class="count">{count_of(cluster.count, "failure")}{escape(final)}</span></div>'
        f'<p class="soft">For one: {escape(cluster.reason or "no reason given")} '
        f"(<code>{escape(example)}</code>)</p>"
        f"{_strip(strip) if strip else ''}"
        f'<div class="margins">{margins}</div></div>'
    )


def _without_frames(report: RunReport) -> str:
    if not report.no_strips:
        return ""
    which = "No frames of some" if report.strips else "No frames"
    return paragraph(f"{which}: {report.no_strips}.", "soft")


def _missed(one: PredicateMargins) -> str:
    """The margin by which a predicate failed, in words."""
    if len(one.margins) > 2:
        return escape(f"half missed by at least {abs(one.median):.3g} {one.unit}")
    missed = " and ".join(f"{abs(margin):.3g}" for margin in one.margins)
    return escape(f"missed by {missed} {one.unit}")


def _strip(strip: FilmStrip) -> str:
    frames = "".join(
        f'<div><img alt="after {time:.1f} s" '
        f'src="data:image/jpeg;base64,{base64.b64encode(picture).decode()}">'
        f"<span>{time:.1f} s</span></div>"
        for time, picture in zip(strip.times, strip.pictures, strict=True)
    )
    return f'<div class="strip" tabindex="0" role="group" aria-label="frames">{frames}</div>'


def conditions(report: RunReport) -> str:
    """The section on where failures are over initial conditions."""
    known = report.conditions
    if not report.failures.trials:
        return ""
    if known.missing:
        about = paragraph(f"No map: {known.missing}.", "soft")
        return section("Where it fails over initial conditions", about)
    names = [
        f"{name} ({_chance(chance)})"
        for name, chance in zip(known.names, known.chances, strict=True)
    ]
    sure = [name for name, p in zip(known.names, known.chances, strict=True) if p < 0.05]
    title = (
        f"Where it fails: {' and '.join(sure)} matter{'s' * (len(sure) == 1)}"
        if sure
        else "Where it fails: no entry of the initial condition is shown to matter"
    )
    about = (
        f"Of {known.of}. The two entries over which success differs most: {', '.join(names)}. "
        "Redder cells have a larger share of failures."
    )
    entries = [
        ('<path class="cross" d="M7 2l8 8m0-8l-8 8"/>', "failure"),
        ('<circle class="dot" cx="11" cy="6" r="2.2"/>', "success"),
    ]
    return section(
        title,
        paragraph(about, "soft"),
        legend(entries),
        chart(lambda width: condition_chart(known, width), wide=680.0),
    )


def stations(report: RunReport) -> str:
    """What every station did when, and whether one is not like the others."""
    known = report.utilisation
    if not known.stations:
        return ""
    phases = (*(p for p in Phase if p is not Phase.IDLE), Phase.IDLE)
    seconds = {phase: sum(s.seconds[phase] for s in known.stations) for phase in phases}
    total = sum(seconds.values()) or 1.0
    entries = [
        (
            f'<rect class="phase {phase}" x="4" y="0" width="14" height="12" rx="2"/>',
            f"{phase} {seconds[phase] / total:.0%}",
        )
        for phase in phases
        if seconds[phase]
    ]
    apart = [s.number for s in known.stations if s.verdicts and s.verdicts.apart]
    words = ", ".join(map(str, apart))
    about = (
        f"Not like the others in its success: station {words}."
        if apart
        else "No station succeeds otherwise than the others beyond chance."
    )
    rows = [
        (
            str(s.number),
            str(s.verdicts.success) if s.verdicts else "nothing judged",
            f"{s.verdicts.expected / s.verdicts.success.trials:.3f}"
            if s.verdicts and s.verdicts.success.trials
            else "",
            f"{s.verdicts.chance:.2g}" if s.verdicts else "",
            f"{s.mru:.0%}",
        )
        for s in known.stations
    ]
    head = ("station", "success", "at the others' rates", "chance to differ so much", "MRU")
    return section(
        f"What {count_of(len(known.stations), 'station')} did when",
        paragraph(f"The numbers at the right are shares of time spent executing. {about}", "soft"),
        legend(entries),
        chart(lambda width: utilisation_chart(known, width)),
        folded("The stations as a table", table(head, rows, (2, 3, 4))),
    )


def verifier(report: RunReport) -> str:
    """The verifier's verdicts beside the truth."""
    by = paragraph(f"Verdicts of this run are by {report.summary.verified_by}.", "soft")
    if not report.audits:
        about = "Nobody held them against the truth: enpire stress and enpire task check do."
        return section("The verifier", by, paragraph(about, "soft"))
    matrices = "".join(_matrix(audit) for audit in report.audits)
    return section("The verifier beside the truth", by, f'<div class="pair">{matrices}</div>')


def _matrix(audit: VerifierAudit) -> str:
    c = audit.confusion
    share = f"{c.agreed / c.trials:.1%} of {c.trials} verdicts agree with it"
    return (
        f"<div><h3>{escape(audit.source[0].upper() + audit.source[1:])}</h3>"
        f'<p class="soft">{share}</p>'
        '<table class="matrix"><thead><tr><th></th><th>truly a success</th>'
        "<th>truly a failure</th></tr></thead><tbody>"
        f'<tr><th>called a success</th><td class="right">{c.said_success_was_success}</td>'
        f'<td class="wrong">{c.said_success_was_failure}</td></tr>'
        f'<tr><th>called a failure</th><td class="wrong">{c.said_failure_was_success}</td>'
        f'<td class="right">{c.said_failure_was_failure}</td></tr></tbody></table></div>'
    )


def incidents(report: RunReport) -> str:
    """Safety events."""
    known = report.incidents
    if not known.counts:
        return section("Safety events", paragraph("None was recorded.", "soft"))
    words = ", ".join(f"{MEANT[kind]}: {count}" for kind, count in known.counts.items())
    rows = [_log_row(one) for one in known.incidents]
    total = sum(known.counts.values())
    cut = f" The first {len(rows)} are listed." if len(rows) < total else ""
    return section(
        count_of(total, "safety event"),
        paragraph(f"{sentence(words)}{cut}", "soft"),
        table(("time", "round", "event", "what happened"), rows, (1,)),
    )


def decisions(report: RunReport) -> str:
    """Everything that was decided, for who wants to know."""
    rows = [_log_row(one) for one in report.decisions]
    if not rows:
        return ""
    listed = table(("time", "round", "kind", "text"), rows[:500], (1,))
    return section(
        "Decisions",
        folded(f"{count_of(len(rows), 'decision')} in their order", listed),
    )


def _log_row(one: LogEntry) -> tuple[str, ...]:
    return one.time, str(one.round), one.kind, one.text


def _chance(chance: float) -> str:
    return "p < 0.001" if chance < 0.001 else f"p = {chance:.2g}"
