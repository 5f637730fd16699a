"""The sections of a report, each a pure function from what was read to HTML."""

from __future__ import annotations

import base64
import math
from html import escape

from enpire.observe.report.drawing.condition_chart import condition_chart
from enpire.observe.report.drawing.experiment_chart import experiment_chart
from enpire.observe.report.drawing.margin_chart import margin_chart
from enpire.observe.report.drawing.success_chart import success_chart
from enpire.observe.report.drawing.utilisation_chart import utilisation_chart
from enpire.observe.report.experiments import CampaignReport
from enpire.observe.report.failures import FailureCluster, PredicateMargins
from enpire.observe.report.markup import (
    chart,
    folded,
    interval,
    legend,
    paragraph,
    percent,
    section,
    table,
)
from enpire.observe.report.reading import FilmStrip, RunReport
from enpire.observe.report.success import MeasurementKind, SuccessCurve
from enpire.observe.report.summary import RunSummary
from enpire.observe.report.verifier import VerifierAudit
from enpire.store import LogEntry, Phase

HOUR, MINUTE = 3600.0, 60.0
MEANT = {
    "stop": "the supervisor stopped an arm",
    "fault": "a simulated station had a fault",
    "aside": "a station was set aside",
    "back": "a station was taken back",
    "left aside": "a station was left aside",
}


def headline(summary: RunSummary) -> str:
    """Return the answer in one line."""
    if not summary.final.trials:
        return "nothing measured yet"
    where = "on sealed seeds" if summary.sealed else "not on sealed seeds"
    return f"{percent(summary.final)} success, {where}"


def answer(report: RunReport) -> str:
    """What came of the run, before anything else."""
    s = report.summary
    badge = ""
    if s.target is not None:
        class_, words = ("good", "target reached") if s.reached else ("open", "target not reached")
        badge = f' <span class="badge {class_}">{words}</span>'
    lines = [
        f'<header><span class="folder">{escape(s.folder)} &middot; seed {s.seed} &middot; '
        f"{escape(s.state)}</span>"
        '<button type="button" data-themes hidden>Dark</button></header>',
        f"<h1>{escape(s.task)}: {escape(headline(s))}{badge}</h1>",
        paragraph(_claim(s), "lead"),
        _tiles(s),
    ]
    if s.speed:
        lines.append(paragraph(_sentence(s.speed), "soft"))
    return "\n".join(lines)


def _claim(s: RunSummary) -> str:
    if not s.final.trials:
        return f"{s.episodes} episodes were run, and no policy was evaluated in them."
    words = f"{s.policy or 'The policy'} succeeds in {s.final.successes} of {s.final.trials}"
    words += f" episodes (95% interval {100 * s.final.low:.1f} to {s.final.high:.1%})"
    words += ", on seeds drawn after it was frozen." if s.sealed else "."
    if s.at_least is not None:
        words += f" Its true success is at least {s.at_least:.1%}."
    if s.start.trials and len(s.lineage) > 1:
        words += f" The first policy had {percent(s.start)} ({interval(s.start)})."
    if s.corrected:
        words += f" {s.corrected[0].upper()}{s.corrected[1:]}."
    return words


def _tiles(s: RunSummary) -> str:
    tiles = [("first policy", percent(s.start), interval(s.start)) if s.start.trials else None]
    sealed = f"and {s.sealed_s / HOUR:.2f} sealed" if s.sealed_s else ""
    tiles += [
        ("final policy", percent(s.final), interval(s.final)) if s.final.trials else None,
        ("target", f"{s.target:.3g}", "on sealed seeds") if s.target is not None else None,
        ("robot-hours", f"{s.robot_s / HOUR:.2f}", sealed),
        ("on the clock", clock_text(s.wall_s), f"{s.robots} stations") if s.wall_s else None,
        ("episodes", f"{s.episodes:,}", _count(s.rounds, "round")),
        ("MRU", f"{s.mru:.0%}", f"{s.at_work:.1%} at work") if not math.isnan(s.mru) else None,
    ]
    cells = "".join(
        f'<div class="tile"><dt>{escape(name)}</dt><dd>{escape(value)}'
        f"<small>{escape(more)}</small></dd></div>"
        for name, value, more in (tile for tile in tiles if tile)
    )
    return f'<dl class="tiles">{cells}</dl>'


def lineage(report: RunReport) -> str:
    """What changed from the first policy to the final one."""
    steps = report.summary.lineage
    if not steps:
        return ""
    items = "".join(
        f"<li><h3>{escape(step.policy)}"
        + (f' <span class="soft">by {escape(step.recipe)}</span>' if step.recipe else "")
        + "</h3>"
        + paragraph(f"{percent(step.success)} ({interval(step.success)} evaluations in all)")
        * bool(step.success.trials)
        + (paragraph(f"{step.text}.", "soft") if step.text else "")
        + "</li>"
        for step in steps
    )
    if len(steps) == 1:
        title = "What changed: nothing, the first policy is still the best"
    else:
        title = f"What changed: {_count(len(steps) - 1, 'improvement')} of the first policy"
    return section(title, f'<ol class="steps">{items}</ol>')


def success(report: RunReport) -> str:
    """Success against robot-hours."""
    return success_section(report.success)


def success_section(curve: SuccessCurve) -> str:
    """Return the section on the course of success; empty before anything is measured."""
    if not curve.points and not curve.versions:
        return ""
    entries = [
        (
            '<path class="incumbent-line" d="M0 6H22"/>'
            '<circle class="mark incumbent" cx="11" cy="6" r="4"/>',
            "best policy so far, by its evaluations",
        )
    ]
    if curve.of(MeasurementKind.CANDIDATE):
        shape = '<circle class="mark candidate" cx="11" cy="6" r="4"/>'
        entries.append((shape, "candidate that was not kept"))
    if sealed := curve.of(MeasurementKind.SEALED):
        for passed, words in ((True, "reached the target"), (False, "did not")):
            if any(point.passed is passed for point in sealed):
                class_ = "mark sealed passed" if passed else "mark sealed"
                shape = f'<path class="{class_}" d="M11 0l6 6-6 6-6-6Z"/>'
                entries.append((shape, f"sealed evaluation that {words}"))
    if curve.versions:
        shape = (
            '<path class="version-band" d="M0 1H22V11H0Z"/><path class="version-line" d="M0 6H22"/>'
        )
        entries.append((shape, "versions of an online learner, while exploring"))
    rows = [
        (
            f"{point.robot_s / HOUR:.2f}",
            point.policy,
            str(point.kind) + (", reached" if point.passed else ""),
            str(point.success),
        )
        for kind in MeasurementKind
        for point in curve.of(kind)
    ]
    head = ("robot-hours", "policy", "measured as", "success with 95% interval")
    return section(
        "Success against robot-hours",
        paragraph("Whiskers and bands are 95% intervals.", "soft"),
        legend(entries),
        chart(lambda width: success_chart(curve, width)),
        folded("The same as a table", table(head, rows, (0,))),
    )


def experiments(report: RunReport) -> str:
    """A campaign's experiments, and what its agents used."""
    return experiments_section(report.campaign) if report.campaign else ""


def experiments_section(campaign: CampaignReport) -> str:
    """Return the section on a campaign's experiments and costs."""
    nodes = campaign.experiments
    kept = sum(node.state == "kept" for node in nodes)
    rows = [
        (
            node.id,
            node.agent,
            node.change,
            node.base,
            node.measured,
            f"{node.state}: {node.reason}" if node.reason else node.state,
            f"{node.robot_s / MINUTE:.1f}",
            node.hypothesis,
        )
        for node in nodes
    ]
    head = ("experiment", "agent", "tried", "on", "effect", "decision", "robot-min", "hypothesis")
    costs = [
        (
            cost.agent,
            str(cost.experiments),
            str(cost.kept),
            f"{cost.robot_s / HOUR:.2f}",
            f"{cost.tokens:,}",
            f"{cost.dollars:.2f}",
        )
        for cost in campaign.agents
    ]
    agents = ("agent", "experiments", "kept", "robot-hours", "tokens", "dollars")
    entries = [
        (f'<circle class="state {state}" cx="11" cy="6" r="4.5"/>', state)
        for state in ("kept", "dropped", "failed", "training")
        if any(node.state == state for node in nodes)
    ]
    return section(
        f"{_count(len(nodes), 'experiment')}, {kept} kept",
        paragraph(
            "Each experiment stands below what it improves on. The effect is its success rate less "
            "that of its base on the same fresh seeds, with its 95% interval.",
            "soft",
        ),
        legend(entries) if nodes else "",
        chart(lambda width: experiment_chart(nodes, width)) if nodes else "",
        folded("The same as a table, with hypotheses", table(head, rows, (6,))) if nodes else "",
        "<h3>What agents used</h3>" if costs else "",
        table(agents, costs, (1, 2, 3, 4, 5)) if costs else "",
        paragraph(f"Agents: {campaign.confinement}.", "soft") if campaign.confinement else "",
    )


def failures(report: RunReport) -> str:
    """How evaluations failed, cluster by cluster."""
    known = report.failures
    if not known.trials:
        return ""
    policy = report.summary.policy
    title = f"{_count(known.failures, 'failure')} in {known.trials} evaluations"
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
            f"{_count(sum(known.void.values()), 'episode')} void: they say nothing of a policy",
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
        f'<span class="count">{_count(cluster.count, "failure")}{escape(final)}</span></div>'
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
        f"What {_count(len(known.stations), 'station')} did when",
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
        _count(total, "safety event"),
        paragraph(f"{_sentence(words)}{cut}", "soft"),
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
        folded(f"{_count(len(rows), 'decision')} in their order", listed),
    )


def _log_row(one: LogEntry) -> tuple[str, ...]:
    return one.time, str(one.round), one.kind, one.text


def repeat_section(report: RunReport) -> str:
    """How to do the run again."""
    s = report.summary
    known = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    packs = [(name, sha256) for name, sha256 in sorted(report.packs.items())]
    return section(
        "To do it again",
        f"<pre>{escape(report.command)}</pre>" if report.command else "",
        paragraph(f"Seed {s.seed}. Versions when this page was written: {known}.", "soft"),
        folded("Packs, by the sha256 of what they hold", table(("pack", "sha256"), packs))
        if packs
        else "",
        paragraph(f"Head of the record: {report.campaign.head}", "soft")
        if report.campaign and report.campaign.head
        else "",
    )


def clock_text(seconds: float) -> str:
    """Return a duration for a person: `1.2 min` or `3.4 h`."""
    return f"{seconds / HOUR:.1f} h" if seconds >= 2 * HOUR else f"{seconds / MINUTE:.1f} min"


def _chance(chance: float) -> str:
    return "p < 0.001" if chance < 0.001 else f"p = {chance:.2g}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:] + ("" if words.endswith(".") else ".")
