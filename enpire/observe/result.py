"""`result.json`: what came of a run, for a table of runs."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata
from typing import Any

from enpire.observe import account
from enpire.observe.overview import sealed_of
from enpire.store import Run
from enpire.store.stress import read_stress

MEASURED_WITH = ("enpire", "mujoco", "torch", "numpy", "scipy", "zarr")


def versions() -> dict[str, str]:
    """Versions of Python and of what a measurement depends on."""
    return {"python": platform.python_version(), **{n: _installed(n) for n in MEASURED_WITH}}


@cache  # each is read out of all that its package says of itself
def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # a checkout on sys.path, not installed
        return "unknown"


def result(run: Run, ended: str) -> dict[str, Any]:
    """The result of `run`, which ended because of `ended`.

    `final` is the sealed evaluation that passed; without one, all evaluations of the incumbent.
    With one it says the `attempt` too, and `at_least`, see `Sealed.at_least`. `speed` is of the
    same episodes, see `throughput`.
    `robot_hours` are those before and between sealed evaluations, `robot_hours_sealed` the rest;
    both count from reset to verdict. `wall_s` and `sim_steps_per_s` are over all starts of the run;
    the latter is of the time in which the stations stepped. `mru` is the share of all robot time in
    which stations executed, `at_work` see `account.at_work`, `gpu_use` is None where there is no
    GPU. `stations_apart` do not succeed like the others. `stress` is what `enpire stress` measured
    of its policies, by name.
    """
    ledger, settings = run.ledger, run.config["loop"]
    facts, rows, evaluations = ledger.facts(), ledger.episodes(), sealed_of(run)
    good = evaluations.passing
    if good:
        row = good[-1]
        final = account.as_json(row.success)
        final |= {"attempt": row.attempt, "at_least": evaluations.at_least(row)}
    else:
        final = account.as_json(account.evaluations(ledger, account.incumbent(ledger)))
    stepping_s = float(facts.get("stepping_s", 0.0))
    return {
        "task": settings["task"],
        "robots": settings["robots"],
        "seed": settings["seed"],
        "target": settings["target"],
        "reached": bool(good),
        "ended": ended,
        "start": account.as_json(account.start(ledger)),
        "final": final | {"sealed": bool(good)},
        "speed": account.speed(account.measured_rows(ledger, good, rows)).as_json(),
        "verified_by": account.verified_by(ledger),
        "policy": account.incumbent(ledger),
        "sealed_attempts": len(ledger.sealed()),
        "rounds": max((row.number for row in ledger.rounds()), default=0),
        "episodes": len(rows),
        **account.robot_time(ledger, rows),
        "wall_s": float(facts.get("wall_s", 0.0)),
        "stations_apart": [n for n, one in account.stations(rows).items() if one.apart],
        "sim_steps_per_s": float(facts.get("sim_steps", 0.0)) / stepping_s if stepping_s else None,
        "versions": versions(),
        "packs": ledger.packs(),
        "stress": read_stress(run.folder),
    }
