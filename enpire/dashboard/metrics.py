"""Runs as Prometheus reads them: text, one sample a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from enpire.dashboard.watched_run import WatchedRun

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name, its type, what it is, and its samples by their labels."""

    name: str
    type: str
    help: str
    samples: Sequence[tuple[dict[str, str], float]]


def metrics_text(runs: Iterable[WatchedRun]) -> str:
    """Return what is known of runs in Prometheus' text format."""
    return "".join(_text(family) for family in _families(list(runs)))


def _families(runs: list[WatchedRun]) -> list[Family]:
    live, rate, trials, robot, sealed, episodes, rounds, problems = ([] for _ in range(8))
    for run in runs:
        with run.lock:
            now, tally = run.now, run.tally
            labels = {"run": run.name, "task": now.task}
            live.append((labels, float(now.live)))
            problems.append((labels, float(bool(now.problem))))
            if now.success.trials:
                rate.append((labels, now.success.rate))
                trials.append((labels, float(now.success.trials)))
            robot.append((labels, tally.success.robot_s))
            sealed.append((labels, tally.sealed_s))
            rounds.append((labels, float(now.rounds[-1].number if now.rounds else 0)))
            for outcome, count in sorted(tally.outcomes.items()):
                episodes.append((labels | {"outcome": str(outcome)}, float(count)))
    of_best = "of the best policy so far"
    return [
        Family("enpire_run_live", "gauge", "whether a process writes the run", live),
        Family("enpire_run_unreadable", "gauge", "whether its ledger cannot be read", problems),
        Family("enpire_run_success_rate", "gauge", f"success {of_best}, 0 to 1", rate),
        Family("enpire_run_success_trials", "gauge", f"judged episodes {of_best}", trials),
        Family(
            "enpire_run_robot_seconds_total",
            "counter",
            "robot time, sealed evaluations apart",
            robot,
        ),
        Family(
            "enpire_run_sealed_robot_seconds_total",
            "counter",
            "robot time of sealed evaluations",
            sealed,
        ),
        Family("enpire_run_episodes_total", "counter", "recorded episodes", episodes),
        Family("enpire_run_rounds_total", "counter", "rounds that are over", rounds),
    ]


def _text(family: Family) -> str:
    lines = [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.type}"]
    for labels, value in family.samples:
        named = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        lines.append(f"{family.name}{{{named}}} {value:.12g}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
