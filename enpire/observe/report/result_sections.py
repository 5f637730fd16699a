"""Sections of a report on what came of a run, each a pure function from what was read to HTML."""

from __future__ import annotations

import math
from html import escape

from enpire.observe.report.drawing.experiment_chart import experiment_chart
from enpire.observe.report.drawing.success_chart import success_chart
from enpire.observe.report.experiments import CampaignReport
from enpire.observe.report.markup import (
    chart,
    count_of,
    folded,
    interval,
    legend,
    paragraph,
    percent,
    section,
    sentence,
    table,
)
from enpire.observe.report.reading import RunReport
from enpire.observe.report.success import MeasurementKind, SuccessCurve
from enpire.observe.report.summary import RunSummary

HOUR, MINUTE = 3600.0, 60.0


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
        lines.append(paragraph(sentence(s.speed), "soft"))
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
        ("episodes", f"{s.episodes:,}", count_of(s.rounds, "round")),
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
        title = f"What changed: {count_of(len(steps) - 1, 'improvement')} of the first policy"
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
        f"{count_of(len(nodes), 'experiment')}, {kept} kept",
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
