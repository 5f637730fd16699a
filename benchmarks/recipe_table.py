"""What a bench of recipes came to: a line a recipe and task, over all its seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.recipes import ATTEMPTS, CellResult
from enpire.observe import account
from enpire.rollout.evaluation.statistics import Mean, averaged

GOALS = (0.9, 0.99)


@dataclass(frozen=True, slots=True)
class RecipeLine:
    """One recipe on one task, over all its seeds."""

    task: str
    recipe: str
    results: tuple[CellResult, ...]

    @property
    def start(self) -> Mean:
        """Success of the first policies, the mean over runs."""
        return averaged([r.start for r in self.results])

    @property
    def sealed(self) -> Mean:
        """Success of the last incumbents, likewise, on seeds drawn after they were frozen."""
        return averaged([r.sealed for r in self.results])

    @property
    def retried(self) -> Mean:
        """The same with up to `ATTEMPTS` attempts an episode, of those that were measured so."""
        return averaged([r.retried for r in self.results if r.retried is not None])

    @property
    def raised(self) -> bool:
        """Whether the one interval lies above the other."""
        return self.sealed.trials > 0 and self.sealed.low > self.start.high

    def hours_to(self, goal: float) -> tuple[float | None, int]:
        """The median over seeds that got there, and how many did."""
        found = [h for r in self.results if (h := r.hours_to(goal)) is not None]
        return (median(found) if found else None), len(found)


def lines(results: Iterable[CellResult]) -> list[RecipeLine]:
    """By task, the best recipe first: by success, then by robot-hours to 90%."""
    by: dict[tuple[str, str], list[CellResult]] = {}
    for result in results:
        by.setdefault((result.cell.task, result.cell.recipe), []).append(result)
    found = [RecipeLine(task, recipe, tuple(some)) for (task, recipe), some in by.items()]

    def rank(line: RecipeLine) -> tuple[str, float, float]:
        hours, _ = line.hours_to(GOALS[0])
        return line.task, -line.sealed.rate, hours if hours is not None else float("inf")

    return sorted(found, key=rank)


def markdown(of: Sequence[RecipeLine]) -> str:
    """A table of all tasks, where there are several, and one a task."""
    tasks = list(dict.fromkeys(line.task for line in of))
    parts = [*_together(of, tasks), ""] if len(tasks) > 1 else []
    for task in tasks:
        rows = [line for line in of if line.task == task]
        parts += [
            f"## {task}\n",
            f"| recipe | seeds | start | sealed | each seed | raised | pass@{ATTEMPTS} | "
            "robot-hours to 90% | to 99% | training | on the clock |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
            *map(_row, rows),
            "",
        ]
    return "\n".join(parts)


def _together(of: Sequence[RecipeLine], tasks: Sequence[str]) -> list[str]:
    """From which start to which sealed success, bold where raised; what raises most comes first."""
    by: dict[str, dict[str, RecipeLine]] = {}
    for line in of:
        by.setdefault(line.recipe, {})[line.task] = line

    def rank(recipe: str) -> tuple[int, float]:
        found = by[recipe].values()
        return -sum(line.raised for line in found), -sum(line.sealed.rate for line in found)

    def row(recipe: str) -> str:
        found = by[recipe]
        cells = [_rate(found[task]) if task in found else "-" for task in tasks]
        raised = sum(line.raised for line in found.values())
        return f"| `{recipe}` | {' | '.join(cells)} | {raised} of {len(found)} |"

    return [
        "## All tasks\n",
        f"| from start to sealed, bold where raised | {' | '.join(tasks)} | raised |",
        f"|---|{'---|' * len(tasks)}---|",
        *map(row, sorted(by, key=rank)),
    ]


def _rate(line: RecipeLine) -> str:
    rate = f"{line.sealed.rate:.3f}"
    return f"{line.start.rate:.3f} → {f'**{rate}**' if line.raised else rate}"


def _row(line: RecipeLine) -> str:
    number = len(line.results)
    each = ", ".join(f"{r.sealed.rate:.3f}" for r in line.results)
    to = [_hours(*line.hours_to(goal), number) for goal in GOALS]
    training = median(r.training_s for r in line.results)
    wall = median(r.wall_s for r in line.results) / 60
    return (
        f"| `{line.recipe}` | {number} | {line.start} | {line.sealed} | {each} | "
        f"{'yes' if line.raised else 'no'} | {line.retried if line.retried.trials else '-'} | "
        f"{to[0]} | {to[1]} | {training:.0f} s | {wall:.1f} min |"
    )


def _hours(hours: float | None, reached: int, of: int) -> str:
    if hours is None:
        return "-"
    return f"{hours:.2f}" + (f" ({reached} of {of})" if reached < of else "")


def as_json(of: Sequence[RecipeLine]) -> list[dict[str, Any]]:
    """The table as plain values."""
    return [
        {
            "task": line.task,
            "recipe": line.recipe,
            "seeds": [r.cell.seed for r in line.results],
            "start": account.as_json(line.start),
            "sealed": account.as_json(line.sealed),
            "each": [r.sealed.rate for r in line.results],
            "raised": line.raised,
            f"pass_at_{ATTEMPTS}": account.as_json(line.retried),
            "robot_hours_to": {f"{goal:g}": line.hours_to(goal)[0] for goal in GOALS},
            "training_s": [r.training_s for r in line.results],
            "wall_s": [r.wall_s for r in line.results],
            "ended": [r.ended for r in line.results],
        }
        for line in of
    ]
