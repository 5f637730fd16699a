"""`enpire show RUN`: what happened in a run."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.cli.options.parser import Parser, print_json
from enpire.session.progress_bar import progress_bar

if TYPE_CHECKING:
    from rich.console import Console

    from enpire.evolution.experiments.accounts import Accounts
    from enpire.store import Run

DESCRIPTION = """\
Show a run's rounds, decisions, failures by predicate and stage, MRU, sealed evaluations and stress
tests; of a campaign also MTU and the tokens to success."""


def add_options(parser: Parser) -> None:
    """The options of `enpire show`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run, running or not")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: Namespace) -> int:
    """Print the report, or the same as one object."""
    from rich.console import Console

    from enpire.errors import StoreError
    from enpire.store import Run
    from enpire.store.stress import lost_stress

    with Run.open(options.run, damaged=True) as opened:
        lost = [*opened.missing(), *lost_stress(opened.folder)]
        wrong = opened.damage + [f"{path}: is recorded and missing" for path in lost]
        for line in wrong if not options.json else ():
            print(f"DAMAGED  {line}; enpire fsck {options.run} says what to do")
        try:
            with progress_bar("reading the run"):
                figures = report(opened)
            if options.json:
                print_json(figures | {"damage": wrong})
            else:
                _print(opened, figures, Console(highlight=False, markup=False))
        except (StoreError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            if not wrong and opened.ledger.file.chained:
                raise
            if not wrong or not options.json:
                what = f"what {options.run} recorded cannot be followed ({error!r})"
                raise StoreError(f"{what}: enpire fsck {options.run} says more") from error
            print_json({"run": str(options.run), "damage": wrong, "error": str(error)})
    return 1 if wrong else 0


def report(run: Run) -> dict[str, Any]:
    """Everything that `show` shows, as plain values."""
    from collections import Counter

    from enpire.certification import certificate
    from enpire.observe import account
    from enpire.observe.overview import overview, sealed_of
    from enpire.store.stress import read_stress

    ledger = run.ledger
    evaluations = sealed_of(run)
    good = evaluations.passing
    packs = ledger.packs()
    verified_by = account.verified_by(ledger)
    task = run.asked.get("task", "")
    rows = ledger.episodes()
    predicates, stages = account.failures(ledger, rows)
    return {
        **overview(run).as_json(),
        "verified_by": verified_by,
        "incumbent": account.incumbent(ledger),
        "start": account.as_json(account.start(ledger)),
        "speed": account.speed(account.measured_rows(ledger, good, rows)).as_json(),
        "episodes": dict(Counter(f"{row.purpose} {row.outcome}" for row in rows)),
        **account.robot_time(ledger, rows),
        "campaign": _accounts(run).as_json() if "campaign" in run.config else None,
        "failures_by_predicate": dict(predicates.most_common()),
        "failures_by_stage": dict(stages.most_common()),
        "stations": [
            {
                "station": number,
                **account.as_json(station.success),
                "expected": station.expected,
                "chance_alike": station.chance,
                "apart": station.apart,
            }
            for number, station in account.stations(rows).items()
        ],
        "rounds": [
            {
                "round": row.number,
                "policy": row.policy,
                **account.as_json(row.success),
                "robot_hours": row.robot_s / 3600,
                "wall_s": row.wall_s,
            }
            for row in ledger.rounds()
        ],
        "decisions": [
            {
                "at": d.at or None,
                "time": d.time,
                "round": d.round,
                "kind": d.kind,
                "text": d.text,
                "numbers": dict(d.numbers),
            }
            for d in ledger.decisions()
        ],
        "sealed_evaluations": [
            {
                "attempt": row.attempt,
                "policy": row.policy,
                **account.as_json(row.success),
                "reached": row in good,
                "at_least": evaluations.at_least(row) if row in good else None,
                "corrected": certificate.corrected(
                    row.successes, row.trials, task, packs, verified_by
                ),
            }
            for row in ledger.sealed()
        ],
        "stress": read_stress(run.folder),
    }


def _accounts(run: Run) -> Accounts:
    """What a campaign has used; its modules take seconds to import, which other runs do without."""
    from enpire.evolution.experiments.accounts import accounts

    return accounts(run)


def _print(run: Run, figures: dict[str, Any], console: Console) -> None:
    from rich.table import Table

    from enpire.certification import certificate
    from enpire.cli import stress
    from enpire.observe import account, throughput

    head = f"{run.folder}: {figures['task']}, seed {figures['seed']}, {figures['state']}"
    head += f", verified by {figures['verified_by']}"
    console.print(head, soft_wrap=True)
    console.print(
        f"robot-hours {figures['robot_hours']:.2f} (sealed: {figures['robot_hours_sealed']:.2f}), "
        f"robots executed {figures['mru']:.0%} of their time (MRU); "
        f"start {account.text(figures['start'])}",
        soft_wrap=True,
    )
    console.print(_spent(figures["robot_s_by_phase"], figures["at_work"]), soft_wrap=True)
    if speed := throughput.text(figures["speed"]):
        console.print(speed, soft_wrap=True)
    used = _accounts(run) if figures["campaign"] else account.gpu_text(figures["gpu_use"])
    console.print(str(used), soft_wrap=True)
    table = Table("round", "policy", "success over all its evaluations", "robot-hours", "min")
    for row in figures["rounds"]:
        hours, minutes = f"{row['robot_hours']:.2f}", f"{row['wall_s'] / 60:.1f}"
        table.add_row(str(row["round"]), row["policy"], account.text(row), hours, minutes)
    console.print(table)
    table = Table("sealed evaluation", "policy", "success")
    for row in figures["sealed_evaluations"]:
        claim = f"reached: at least {row['at_least']:.3f}" if row["reached"] else "not reached"
        success = [f"{account.text(row)}, {claim}", certificate.text(row["corrected"])]
        table.add_row(str(row["attempt"]), row["policy"], "\n".join(filter(None, success)))
    console.print(table)
    table = Table("station", "success", "with the others' rates", "")
    for row in figures["stations"]:
        expected = f"{row['expected'] / row['n']:.3f}"
        said = f"not like the others: chance {row['chance_alike']:.1g}" if row["apart"] else ""
        table.add_row(str(row["station"]), account.text(row), expected, said)
    console.print(table)
    for policy, measured in figures["stress"].items():
        console.print(f"stress, {policy}, verified by {measured['verified_by']}", soft_wrap=True)
        console.print(stress.table(measured["points"]))
    for title in ("episodes", "failures_by_predicate", "failures_by_stage"):
        _histogram(console, title.replace("_", " "), figures[title])
    console.print("decisions")
    for decision in figures["decisions"]:
        where = f"{decision['time']}  round {decision['round']}".strip()
        text = f"  {where}  {decision['kind']}: {decision['text']}"
        console.print(text, soft_wrap=True)


def _spent(seconds: dict[str, float], at_work: float) -> str:
    """Where robot time went."""
    total = sum(seconds.values()) or 1.0
    shares = ", ".join(f"{phase} {spent / total:.0%}" for phase, spent in seconds.items())
    return f"robot time: {shares}; {at_work:.1%} at work of the time neither resetting nor aside"


def _histogram(console: Console, title: str, counts: dict[str, int]) -> None:
    console.print(title if counts else f"{title}: none")
    width = max((len(name) for name in counts), default=0)
    most = max(counts.values(), default=1)
    for name, count in counts.items():
        console.print(f"  {name:<{width}} {count:>6}  {'█' * round(30 * count / most)}")
