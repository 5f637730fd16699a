"""Where a policy fails over initial conditions: the two entries that matter most.

An entry matters if success differs between its fifths by more than chance would have it
(chi-squared, and Bonferroni's correction over all entries). Nothing is run for it: a seed gives its
initial condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from enpire.errors import EnpireError
from enpire.packs import find
from enpire.packs.finder import GYM
from enpire.store import EpisodeRow, Run
from enpire.types import JUDGED, Flags, FloatArray, Outcome, Purpose

if TYPE_CHECKING:
    from enpire.environment import Task

PARTS = 5  # of an entry's range with equally many episodes each
FEWEST = 8  # failures that say where a policy fails
MOST = 2000  # evaluations of a map, the latest; more would only blacken it, at 0.1 ms each
SURE = 0.05  # chance by which an entry that does not matter may be said to


@dataclass(frozen=True, slots=True, eq=False)
class ConditionMap:
    """Outcomes over two entries of the initial condition."""

    names: tuple[str, str] = ("", "")  # of the two entries, the one that matters more first
    # That each would differ so much if it did not matter, corrected for all entries.
    chances: tuple[float, float] = (1.0, 1.0)
    # Values of the two, (n, 2).
    places: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    # Which episodes were successes, (n,).
    won: Flags = field(default_factory=lambda: np.zeros(0, bool))
    of: str = ""  # whose episodes these are, for a person
    missing: str = ""  # why there is no map; then the rest is empty


def read_conditions(run: Run, rows: Sequence[EpisodeRow], policy: str) -> ConditionMap:
    """Return where `policy` fails, or all policies if it has failed too rarely to tell."""
    from enpire.environment import initial_condition  # who draws what was read needs no twin

    name = str(run.asked.get("task", ""))
    try:
        task = task_as_recorded(name, run.ledger.packs())
    except EnpireError as error:
        return ConditionMap(missing=str(error))
    judged = [
        row
        for row in rows
        if row.purpose in (Purpose.EVALUATION, Purpose.SEALED) and row.outcome in JUDGED
    ]
    own = [row for row in judged if row.policy == policy]
    enough = sum(row.outcome is Outcome.FAILURE for row in own) >= FEWEST
    whole = own if enough else judged
    chosen = whole[-MOST:]
    won = np.array([row.outcome is Outcome.SUCCESS for row in chosen], bool)
    if int((~won).sum()) < FEWEST:
        return ConditionMap(missing=f"fewer than {FEWEST} evaluations failed: too few for a map")
    physical = run.asked.get("reset", "fast") == "physical"
    names = list(task.target_names if physical else task.variation_names)
    known: dict[int, FloatArray] = {}
    for row in chosen:
        if row.seed not in known:
            known[row.seed] = initial_condition(task, row.seed, physical)
    count = f"{len(chosen)} evaluations"
    if len(chosen) < len(whole):
        count = f"the latest {len(chosen)} of {len(whole)} evaluations"
    drawn = np.array([known[row.seed] for row in chosen])
    if drawn.shape[1] < 2:
        return ConditionMap(missing="the initial condition has fewer than two entries")
    chances = [chance_of(drawn[:, entry], won) for entry in range(drawn.shape[1])]
    first, second = np.argsort(chances, kind="stable")[:2].tolist()
    corrected = [min(1.0, chances[entry] * len(chances)) for entry in (first, second)]
    return ConditionMap(
        (names[first], names[second]),
        (corrected[0], corrected[1]),
        drawn[:, [first, second]],
        won,
        f"{policy}, {count}"
        if enough
        else f"all policies, {count}: {policy or 'the last'} failed too rarely",
    )


def task_as_recorded(name: str, packs: dict[str, str]) -> Task:
    """Return the task of a run.

    Raises:
        EnpireError: it is no pack, or the pack is not what the run was made with.
    """
    from enpire.environment.loading import load_task

    if not name or name.startswith(GYM):
        raise EnpireError("no pack says what this task's initial conditions are")
    pack = find("tasks", name)
    recorded = [value for key, value in packs.items() if key.startswith("tasks/")]
    if recorded and pack.sha256 not in recorded:
        raise EnpireError(f"the pack tasks/{pack.name} changed since the run was made")
    return load_task(pack)


def chance_of(values: FloatArray, won: Flags) -> float:
    """Return the chance that outcomes differ so much between the fifths of an entry's values.

    values: of the entry, (n,). won: which episodes were successes, (n,).
    """
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, PARTS + 1)[1:-1]))
    part = np.searchsorted(edges, values)
    table = np.array([[((part == k) & (won == w)).sum() for w in (True, False)] for k in set(part)])
    if table.shape[0] < 2 or not table.sum(axis=0).all():
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    apart = np.abs(table - expected)
    free = len(table) - 1
    if free == 1:
        apart -= np.minimum(0.5, apart)  # Yates's correction
    return float(special.chdtrc(free, (apart**2 / expected).sum()))
