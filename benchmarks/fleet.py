"""How long fleets of different sizes take to the same target, beside the paper's.

A fleet is one loop under `--pace real`: twins on the clock on the wall, with the resets, waits and
faults of real stations, training beside them. All are of one seed, so they come to the same
policies by the same episodes, and differ in how long it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from enpire.observe import account
from enpire.observe.overview import sealed_of
from enpire.store import Interval, Phase, Run
from enpire.types import Purpose

PAPER = {1: ("4.5 or 1.5+", "49%"), 4: ("3.2", "31%"), 8: ("2.0 or 0.67", "30%")}
"""Of ENPIRE (arXiv 2606.19980), pin insertion: hours, as two of its curves have them; MRU."""


@dataclass(frozen=True, slots=True)
class FleetResult:
    """What came of one loop.

    hours: on the stations' clock until the policy was there that then held its target on sealed
    seeds; None if none did. sealed_hours: that this took besides. robot_hours: of all stations,
    sealed evaluations apart. seconds: of robot time by phase until `hours`.
    """

    stations: int
    hours: float | None
    sealed_hours: float
    robot_hours: float
    rounds: int
    seconds: dict[Phase, float]

    @property
    def mru(self) -> float:
        """Share of robot time in which stations executed."""
        total = sum(self.seconds.values())
        return self.seconds[Phase.EXECUTE] / total if total else float("nan")


def read(run: Path) -> FleetResult:
    """What came of the loop in a run's folder.

    Raises:
        StoreError: it is no run.
    """
    with Run.open(run) as opened:
        ledger, settings = opened.ledger, opened.config["loop"]
        rows, intervals = ledger.episodes(), ledger.intervals()
        sealed = {row.id for row in rows if row.purpose is Purpose.SEALED}
        end = max((i.end_s for i in intervals), default=0.0)
        until = min((i.start_s for i in intervals if i.episode in sealed), default=end)
        good = bool(sealed_of(opened).passing)
        return FleetResult(
            stations=settings["robots"],
            hours=until / 3600 if good else None,
            sealed_hours=(end - until) / 3600,
            robot_hours=account.robot_seconds(rows)[0] / 3600,
            rounds=len(ledger.rounds()),
            seconds=by_phase(intervals, until),
        )


def by_phase(intervals: Iterable[Interval], until: float) -> dict[Phase, float]:
    """Seconds of all stations in each phase before `until` [s]."""
    seconds = dict.fromkeys(Phase, 0.0)
    for one in intervals:
        seconds[one.phase] += max(0.0, min(one.end_s, until) - one.start_s)
    return seconds


def markdown(fleets: Sequence[FleetResult]) -> str:
    """A row a fleet."""
    one = next((f.hours for f in fleets if f.stations == 1), None)
    lines = [
        "| stations | hours to the target | times as fast | robot-hours | rounds | MRU | at work | "
        "resetting | aside | idle | paper: hours | MRU |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for fleet in fleets:
        total = sum(fleet.seconds.values()) or 1.0
        shares = {phase: f"{spent / total:.0%}" for phase, spent in fleet.seconds.items()}
        hours = "-" if fleet.hours is None else f"{fleet.hours:.2f}"
        faster = f"{one / fleet.hours:.1f}" if one and fleet.hours else "-"
        lines.append(
            f"| {fleet.stations} | {hours} | {faster} | {fleet.robot_hours:.2f} | {fleet.rounds} | "
            f"{fleet.mru:.0%} | {account.at_work(fleet.seconds):.1%} | {shares[Phase.RESET]} | "
            f"{shares[Phase.ASIDE]} | {shares[Phase.IDLE]} | "
            f"{' | '.join(PAPER.get(fleet.stations, ('-', '-')))} |"
        )
    return "\n".join(lines)
