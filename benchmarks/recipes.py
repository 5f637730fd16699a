"""Every recipe on the same tasks, from the same start, under the same budget: what it came to.

A cell is one loop: a task, a recipe, a seed. Demonstrations, first policy and its evaluation are
run once for all cells of a task and a seed; the budget is the same for all. What a cell begins with
and what it ends with are measured once more on seeds drawn then, which nothing in it has seen: on
how many is no part of the budget, it is how finely the bench can tell, and more can be added.
What it ends with is measured with retries, too.

A bench takes days. What finished cells came to is kept in a file beside the table, which a later
session, on another machine too, begins from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from enpire.errors import EnpireError, UsageError
from enpire.improvement.recipe_finding import called
from enpire.observe import account, overview
from enpire.rollout.evaluation.statistics import estimate
from enpire.rollout.loop.round_decisions import ENOUGH
from enpire.store import Run, branch
from enpire.store.durable import disk_errors, publish_file
from enpire.types import Estimate, Purpose

RUN, SEALED, RETRIED, LOG = "run", "sealed.jsonl", "retried.jsonl", "log.txt"
ATTEMPTS = 8  # that an episode with retries may make: the paper's pass@8
START = "start"  # stands for a recipe in the folder of what cells begin with
FROM_FLOW = "first=flow"
ABORT = "abort"
BUDGET = "bench"  # in a cell's config: the budget that it has
BEFORE = (Purpose.DEMONSTRATION, Purpose.EVALUATION)  # of round 0: what the start takes


Budget = dict[str, float | None]
"""What all cells of a bench have, by the names of its options; None: no limit."""


@dataclass(frozen=True, slots=True)
class RecipeCell:
    """One loop of the bench; folder: of its run, its sealed evaluation and its log.

    recipe: a schedule, then where its episodes are spent and settings of its recipes:
    `rlpd:abort` and `bc:policy=flow`, for two; `dsrl:first=flow` begins from a
    flow. One of the user's own is called after what is in its file, so that one that was changed is
    another. schedule: as `--recipe` takes it.
    """

    task: str
    recipe: str
    seed: int
    folder: Path
    schedule: str = field(compare=False)

    @property
    def run(self) -> Path:
        """The run's folder."""
        return self.folder / RUN

    @property
    def abort(self) -> bool:
        """Whether hopeless episodes end early.

        Raises:
            UsageError: what is said of the cell means nothing.
        """
        for said in self._said:
            name, _, value = said.partition("=")
            if said not in (ABORT, FROM_FLOW) and (name in (ABORT, "first") or not value):
                raise UsageError(
                    f"{self.recipe}: {said!r} is none of abort, first=flow, and no recipe's "
                    "setting=value"
                )
        return ABORT in self._said

    @property
    def settings(self) -> dict[str, str]:
        """Of its recipes, by dotted name."""
        pairs = (said.partition("=") for said in self._said)
        return {name: value for name, _, value in pairs if value and name != "first"}

    @property
    def from_flow(self) -> bool:
        """Whether the first policy is a flow."""
        return FROM_FLOW in self._said

    @property
    def _said(self) -> list[str]:
        return self.recipe.split(":")[1:]

    def __str__(self) -> str:
        return f"{self.task}, {self.recipe}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class CellResult:
    """What a cell came to.

    start, sealed: of its first policy and of its last incumbent. retried: of the latter with up to
    `ATTEMPTS` attempts an episode, None where nobody measured it. curve: robot-hours (sealed
    evaluations apart) and the incumbent's evaluations, at the start and after each round. ended:
    why. pack: sha256 of the task's.
    """

    cell: RecipeCell
    start: Estimate
    sealed: Estimate
    retried: Estimate | None
    curve: tuple[tuple[float, Estimate], ...]
    training_s: float
    wall_s: float
    ended: str
    pack: str

    def hours_to(self, goal: float) -> float | None:
        """Robot-hours until an incumbent's evaluations, of 60 or more, were at `goal`.

        None where the sealed one of the last is not: comparisons end when they go well, so what
        they show is too high.
        """
        if self.sealed.rate < goal:
            return None
        shown = (*self.curve, (self.curve[-1][0], self.sealed))
        return next((h for h, e in shown if e.trials >= ENOUGH and e.rate >= goal), None)


def cells(
    folder: Path, tasks: Sequence[str], recipes: Sequence[str], seeds: Sequence[int]
) -> Iterator[RecipeCell]:
    """All cells, seed by seed, so that a bench that is cut short has all recipes on one seed."""
    for seed, task, recipe in product(seeds, tasks, recipes):
        yield _cell(folder, task, recipe, seed)


def _cell(folder: Path, task: str, recipe: str, seed: int) -> RecipeCell:
    schedule, *said = recipe.split(":")
    recipe = ":".join([",".join(map(called, schedule.split(","))), *said])
    return RecipeCell(
        task, recipe, seed, folder / task / recipe.replace(",", "+") / str(seed), schedule
    )


def first_part(cell: RecipeCell) -> RecipeCell:
    """What all recipes have in common: demonstrations, first policy, how good it is."""
    start = f"{START}:{FROM_FLOW}" if cell.from_flow else START
    return replace(cell, folder=cell.folder.parent.parent / start / str(cell.seed))


def branched(cell: RecipeCell, budget: Budget) -> None:
    """Have a cell's run begin where the first part of it has ended, with a budget to end at.

    Raises:
        StoreError: the disk does not take it.
    """
    source = first_part(cell).run
    with Run.open(source) as run:
        config = dict(run.config)
    recipe = {"recipe": cell.schedule, "recipe_settings": cell.settings}
    config["loop"] = config["loop"] | recipe | {ABORT: cell.abort}
    config["budget"] = {}  # that of the first part was to end there
    config[BUDGET] = _limited(budget)
    branch(source, cell.run, config, {"state": overview.INTERRUPTED})


def require_budget(cell: RecipeCell, budget: Budget) -> None:
    """Raise EnpireError where a cell's run began with another budget."""
    with Run.open(cell.run) as run:
        had = run.config.get(BUDGET)
    if had is not None and had != _limited(budget):
        raise EnpireError(
            f"{cell.run} had the budget {had}, this bench has {_limited(budget)}: "
            "ask for the same, or have another --folder"
        )


def _limited(budget: Budget) -> dict[str, float]:
    """What a config takes of it, which has no None."""
    return {name: value for name, value in budget.items() if value is not None}


def ended(cell: RecipeCell) -> bool:
    """Whether its loop has come to an end of its own: the target, a budget, or a failure."""
    return bool(overview.why_ended(cell.run))


def read(cell: RecipeCell) -> CellResult | None:
    """What a cell came to; None before it and what it begins with have a sealed evaluation."""
    start, last = (measured(each, SEALED, 1) for each in (first_part(cell), cell))
    if not (start.trials and last.trials):
        return None
    again = measured(cell, RETRIED, ATTEMPTS)
    with Run.open(cell.run) as run:
        ledger, facts = run.ledger, run.ledger.facts()
        first = account.robot_seconds(
            row for row in ledger.episodes() if row.round == 0 and row.purpose in BEFORE
        )[0]
        curve = [(first / 3600, account.start(ledger))]
        for row in ledger.rounds():
            curve.append((row.robot_s / 3600, estimate(row.successes, row.trials)))
        trained = [note.numbers for note in ledger.decisions() if note.kind == "trained"]
        return CellResult(
            cell=cell,
            start=start,
            sealed=last,
            retried=again if again.trials else None,
            curve=tuple(curve),
            training_s=sum(numbers.get("seconds", 0.0) for numbers in trained),
            wall_s=float(facts.get("wall_s", 0.0)),
            ended=overview.state(run),
            pack=ledger.packs().get(f"tasks/{cell.task}", ""),
        )


def measured(cell: RecipeCell, name: str, attempts: int) -> Estimate:
    """Success within so many attempts an episode, by all evaluations in a file of the cell's."""
    passed = [json.loads(line)["pass_at"][str(attempts)] for line in _said(cell, name).splitlines()]
    successes = sum(round(each["success"] * each["n"]) for each in passed)
    return estimate(successes, sum(each["n"] for each in passed))


def add(cell: RecipeCell, name: str, line: str) -> None:
    """Add to a file of the cell's what `enpire eval` has said in one line of JSON.

    Raises:
        StoreError: the disk does not take it.
    """
    publish_file(cell.folder / name, f"{_said(cell, name)}{line}\n".encode())


def _said(cell: RecipeCell, name: str) -> str:
    path = cell.folder / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@dataclass(frozen=True, slots=True)
class CellFile:
    """The file that finished cells are kept in, all of them measured under one budget."""

    path: Path
    budget: Budget

    def load(self, folder: Path, packs: dict[str, str]) -> dict[RecipeCell, CellResult]:
        """All of them whose task is still the same; none without the file.

        folder: of all cells. packs: sha256 of each task's pack now.

        Raises:
            EnpireError: the file is damaged, or its cells had another budget.
        """
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            budget, results = kept["budget"], [_of_row(row, folder) for row in kept["cells"]]
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EnpireError(f"{self.path} holds no cells of a bench: {error!r}") from error
        if budget != self.budget:
            raise EnpireError(
                f"{self.path}: its cells had the budget {budget}, these would have {self.budget}: "
                "ask for the same, or write to another file"
            )
        return {r.cell: r for r in results if r.pack == packs.get(r.cell.task)}

    def save(self, results: Iterable[CellResult]) -> None:
        """Write these anew; a write that is cut short leaves what there was.

        Raises:
            StoreError: the disk does not take it.
        """
        rows = [_as_row(result) for result in results]
        text = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        text = f'{{\n "budget": {json.dumps(self.budget)},\n "cells": [\n{text}\n ]\n}}\n'
        with disk_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        publish_file(self.path, text.encode())


def _as_row(result: CellResult) -> dict[str, Any]:
    return {
        "task": result.cell.task,
        "recipe": result.cell.recipe,
        "seed": result.cell.seed,
        "start": _counted(result.start),
        "sealed": _counted(result.sealed),
        "retried": None if result.retried is None else _counted(result.retried),
        "curve": [[round(hours, 4), *_counted(some)] for hours, some in result.curve],
        "training_s": round(result.training_s, 1),
        "wall_s": round(result.wall_s, 1),
        "ended": result.ended,
        "pack": result.pack,
    }


def _of_row(row: dict[str, Any], folder: Path) -> CellResult:
    return CellResult(
        cell=_cell(folder, row["task"], row["recipe"], row["seed"]),
        start=estimate(*row["start"]),
        sealed=estimate(*row["sealed"]),
        retried=None if row["retried"] is None else estimate(*row["retried"]),
        curve=tuple((hours, estimate(k, n)) for hours, k, n in row["curve"]),
        training_s=row["training_s"],
        wall_s=row["wall_s"],
        ended=row["ended"],
        pack=row["pack"],
    )


def _counted(some: Estimate) -> tuple[int, int]:
    return some.successes, some.trials
