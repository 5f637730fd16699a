"""What pages show of runs, as JSON values and as pieces of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from enpire.dashboard.log_levels import LogLevel, level_of
from enpire.dashboard.watched_run import StationTally, WatchedRun
from enpire.observe.report.drawing.comparison_chart import COLOURS, comparison_chart
from enpire.observe.report.markup import chart, interval, legend, percent, table
from enpire.observe.report.result_sections import experiments_section, success_section
from enpire.observe.status import LoopStatus
from enpire.rollout.fleet.station_state import StationState
from enpire.store import EpisodeRow
from enpire.types import Estimate, Outcome

HOUR = 3600.0
CHOICES = 200  # policies to choose from in a search: the latest

Json = dict[str, Any]


def run_line(run: WatchedRun) -> Json:
    """Return one run at a glance, for a table; nobody waits for a run that is being read."""
    now = run.now
    return {
        "name": run.name,
        "task": now.task,
        "seed": now.seed,
        "state": now.state,
        "live": now.live,
        "success": _success(now.success),
        "sealed": bool(now.passing),
        "rounds": now.rounds[-1].number if now.rounds else 0,
        "robot_hours": round(now.robot_s / HOUR, 3),
        "episodes": now.episodes,
        "problem": now.problem,
    }


def run_head(run: WatchedRun, status: LoopStatus | None) -> Json:
    """Return the head of a run's page: the answer so far, and what its loop does."""
    with run.lock:
        now, tally = run.now, run.tally
        target = [] if now.target is None else [("target", f"{now.target:.3g}", "on sealed seeds")]
        sealed = f"and {tally.sealed_s / HOUR:.2f} sealed" if tally.sealed_s else ""
        what = "final policy" if now.passing else "best policy so far"
        outcomes = ", ".join(f"{count} {name}" for name, count in tally.outcomes.most_common())
        measured = percent(now.success), interval(now.success)
        tiles = [
            (what, *(measured if now.success.trials else ("–", "not measured yet"))),
            *target,
            ("robot-hours", f"{tally.success.robot_s / HOUR:.2f}", sealed),
            ("episodes", f"{tally.outcomes.total():,}", outcomes),
            ("rounds", str(now.rounds[-1].number if now.rounds else 0), now.incumbent),
        ]
        return {
            "name": run.name,
            "task": now.task,
            "state": now.state,
            "live": now.live,
            "reached": bool(now.passing),
            "tiles": tiles,
            "doing": status.doing if status else "",
            "round": status.round if status else 0,
            "done": status.done if status else 0,
            "planned": status.planned if status else 0,
            "deciding": status.deciding if status else "",
            "problem": now.problem,
        }


def stations(run: WatchedRun, status: LoopStatus | None) -> list[Json]:
    """Return what every station does, and what came of its last episode."""
    doing = {one.number: one for one in status.stations} if status else {}
    with run.lock:
        numbers = sorted(doing.keys() | run.tally.stations.keys() | set(range(run.now.robots)))
        tallies = {n: run.tally.stations.get(n, StationTally()) for n in numbers}
        return [_station(n, doing.get(n), tallies[n], run.now.live) for n in numbers]


def _station(number: int, now: StationState | None, tally: StationTally, live: bool) -> Json:
    last, judged = tally.last, tally.outcomes[Outcome.SUCCESS] + tally.outcomes[Outcome.FAILURE]
    return {
        "number": number,
        "state": now.doing if now else "unknown" if live else "off",
        "clock_s": round(now.since_s, 1) if now and now.job else None,
        "purpose": now.purpose if now else "",
        "policy": now.policy if now else "",
        "aside": bool(now and now.reason),
        "reason": now.reason if now else "",
        "successes": tally.outcomes[Outcome.SUCCESS],
        "judged": judged,
        "last": None if last is None else _last(last),
    }


def _last(row: EpisodeRow) -> Json:
    return {
        "id": row.id,
        "outcome": row.outcome,
        "policy": row.policy,
        "purpose": row.purpose,
        "stage": row.stage,
        "at": row.committed_at,
    }


def choices(run: WatchedRun) -> Json:
    """Return what a search may ask for."""
    with run.lock:
        tally = run.tally
        return {
            "station": sorted(tally.stations),
            "verdict": sorted(tally.outcomes),
            "purpose": sorted(tally.purposes),
            "stage": sorted(tally.stages),
            "policy": list(tally.policies)[-CHOICES:],
        }


def episode_line(row: EpisodeRow) -> Json:
    """Return one episode, for a table."""
    return {
        "id": row.id,
        "seed": str(row.seed),  # as JSON numbers, large ones would be rounded
        "purpose": row.purpose,
        "policy": row.policy,
        "round": row.round,
        "station": row.station,
        "verdict": row.outcome,
        "stage": row.stage,
        "reason": row.reason,
        "seconds": round(row.robot_s, 2),
        "at": row.committed_at,
    }


def success_html(run: WatchedRun) -> str:
    """Return the course of success as HTML."""
    return success_section(run.curve())


def rounds_html(run: WatchedRun) -> str:
    """Return the rounds so far as HTML, the latest first; empty before there is one."""
    with run.lock:
        rounds, log = run.now.rounds, list(run.log)
    decided = {line.round: line for line in log if line.kind in ("promoted", "kept", "rejected")}
    rows = []
    for row in reversed(rounds):
        line = decided.get(row.number)
        why = f"{line.kind}: {line.text}" if line else ""
        hours = f"{row.robot_s / HOUR:.2f}"
        rows.append((str(row.number), row.policy, str(row.success), hours, why))
    head = ("round", "incumbent", "its success", "robot-hours", "decision")
    return table(head, rows, (0, 3)) if rows else ""


def experiments_html(run: WatchedRun) -> str:
    """Return a campaign's experiments and hypotheses as HTML; empty if it is none."""
    campaign = run.now.campaign
    return experiments_section(campaign) if campaign else ""


def comparison_html(runs: Sequence[WatchedRun]) -> str:
    """Return the courses of success of some runs on the same axes, as HTML."""
    chosen = runs[:COLOURS]
    curves = {run.name: run.curve() for run in chosen}
    shapes = [
        (f'<g class="run-{place}"><path class="line" d="M0 6H22"/></g>', run.name)
        for place, run in enumerate(chosen)
    ]
    rows = [
        (
            run.name,
            run.now.task,
            run.now.state,
            str(run.now.success) + (" sealed" if run.now.passing else ""),
            f"{curves[run.name].robot_s / HOUR:.2f}",
        )
        for run in chosen
    ]
    head = ("run", "task", "state", "success", "robot-hours")
    tasks = sorted({run.now.task for run in chosen})
    warning = "" if len(tasks) < 2 else f"These runs are of different tasks: {', '.join(tasks)}."
    return (
        legend(shapes)
        + chart(lambda width: comparison_chart(curves, width))
        + (f'<p class="soft">{escape(warning)}</p>' if warning else "")
        + table(head, rows, (4,))
    )


def log_page(run: WatchedRun, level: LogLevel, before: int, most: int) -> Json:
    """Return the latest lines whose number is below `before`, of a level or above.

    total: of all lines of that level or above.
    """
    with run.lock:
        log = list(enumerate(run.log, 1))
    wanted = [(number, one) for number, one in log if level_of(one.kind).weight >= level.weight]
    page = [(number, one) for number, one in reversed(wanted) if number < before][:most]
    lines = [
        {
            "number": number,
            "round": one.round,
            "kind": one.kind,
            "text": one.text,
            "at": one.at,
            "level": level_of(one.kind),
        }
        for number, one in page
    ]
    return {"lines": lines, "total": len(wanted)}


def _success(measured: Estimate) -> Json:
    rate = round(measured.rate, 4) if measured.trials else None
    return {
        "rate": rate,
        "low": round(measured.low, 4),
        "high": round(measured.high, 4),
        "n": measured.trials,
        "text": str(measured),
    }
