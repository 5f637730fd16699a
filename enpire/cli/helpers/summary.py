"""What a loop says when it ends: what came of it, and the command that goes on."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.session.loop_settings import as_option

if TYPE_CHECKING:
    from enpire.store import Run


def resume_command(
    folder: Path, limits: dict[str, Any], recover: str = "", where: Sequence[str] = ()
) -> str:
    """The command that goes on with a run, with what only this start was given.

    where: the options that say where it is run.
    """
    words = [program(), "loop", "--resume", str(folder.resolve())]
    for name, value in limits.items():
        words += as_option(name, value)
    if recover:
        words += ["--recover", recover]
    return shlex.join([*words, *where])


def program() -> str:
    """How to call this command line again: a checkout's start script where it was called by it."""
    called = Path(sys.argv[0])
    if called.name != "enpire":
        return "enpire"
    script = called.absolute().parents[2] / "launch" / "enpire"  # beside .venv/bin/enpire
    found = script if script.is_file() else called.absolute()
    here = Path.cwd()
    return str(found.relative_to(here) if found.is_relative_to(here) else found)


def summary(run: Run, figures: dict[str, Any], command: str) -> str:
    """What came of the run, for a person."""
    from enpire.observe import account, throughput

    start, final = account.text(figures["start"]), account.text(figures["final"])
    kind = "on sealed seeds" if figures["final"]["sealed"] else "not on sealed seeds"
    success = f"from {start} to {final}, {kind}" if figures["final"]["n"] else "nothing measured"
    lines = [
        "",
        f"{figures['task']}: {success}, verified by {figures['verified_by']}",
        f"target {figures['target']:g} {_reached(figures)}; "
        f"{figures['rounds']} round{'' if figures['rounds'] == 1 else 's'}, "
        f"{figures['episodes']} episodes, "
        f"sealed evaluations {figures['sealed_attempts']}",
        f"robot-hours {figures['robot_hours']:.2f} (sealed: {figures['robot_hours_sealed']:.2f}), "
        f"{figures['wall_s'] / 60:.1f} min on the clock; robots executed {figures['mru']:.0%} of "
        f"their time (MRU), {figures['at_work']:.0%} without resets and stations aside",
        f"recorded in {run.folder}",
    ]
    if speed := throughput.text(figures["speed"]):
        lines.insert(3, speed)
    if figures["stations_apart"]:
        numbers = ", ".join(map(str, figures["stations_apart"]))
        lines.append(f"not like the other stations: {numbers}; {program()} show says by how much")
    lines += _undecided(run)
    if figures["reached"]:
        lines.append(f"next: {program()} eval --policy {run.folder} --episodes 200")
    else:
        if figures["ended"] == "interrupted":
            lines.append(f"to go on: {command}")
        else:
            lines.append(
                f"ended because {figures['ended']}; to go on, with a larger budget: {command}"
            )
        lines.append(f"to look at it: {program()} show {run.folder}")
    return "\n".join(lines)


def _reached(figures: dict[str, Any]) -> str:
    """Whether the target was reached, and what may be claimed then."""
    final = figures["final"]
    if not figures["reached"]:
        return "not reached"
    return (
        f"reached: {final['success']:.3f}, at least {final['at_least']:.3f}, "
        f"attempt {final['attempt']}"
    )


def _undecided(run: Run) -> list[str]:
    """How a comparison went so far that the end cut short: the candidate may be the better one."""
    from enpire.observe import account
    from enpire.rollout.loop.round_decisions import DECIDED
    from enpire.types import Purpose

    ledger, incumbent = run.ledger, account.incumbent(run.ledger)
    policies = ledger.policies()
    decided = {note.candidate for note in ledger.decisions() if note.kind in DECIDED}
    if not policies or policies[-1].name in decided | {incumbent}:
        return []
    latest = policies[-1]
    ours, theirs = (
        account.success(ledger.episodes({Purpose.EVALUATION}, {name}, {latest.round}))
        for name in (latest.name, incumbent)
    )
    if not (ours.trials and theirs.trials):
        return []
    return [
        f"undecided yet: {latest.name} with {ours.successes} of {ours.trials}, "
        f"{incumbent} with {theirs.successes} of {theirs.trials}"
    ]
