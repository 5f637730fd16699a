"""A run as it is followed: what its ledger has gained since the last look is added to a tally."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from enpire.errors import EnpireError, LockedError
from enpire.observe import account
from enpire.observe.overview import sealed_of, state_by
from enpire.observe.report.experiments import CampaignReport
from enpire.observe.report.success import SuccessCurve, SuccessTally
from enpire.observe.status import LoopStatus, read_status
from enpire.store import EpisodeRow, LogEntry, RoundRow, Run, SealedRow, under_way
from enpire.store.layout import LEDGER
from enpire.store.snapshot import changes
from enpire.types import Estimate, Outcome, Purpose

Stamp = tuple[int, bool, tuple[tuple[int, int], ...]]

UNREAD = "not read yet"
NOTHING = Estimate(0, 0, 0.0, 1.0)


@dataclass(slots=True)
class StationTally:
    """Episodes of one station; last: its latest."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    last: EpisodeRow | None = None


@dataclass(slots=True)
class RunTally:
    """Everything about a run that grows with its episodes; counts are of episodes."""

    number: int = 0  # of the last episode that was added, as the ledger counts
    success: SuccessTally = field(default_factory=SuccessTally)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    purposes: Counter[Purpose] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    policies: Counter[str] = field(default_factory=Counter)
    stations: dict[int, StationTally] = field(default_factory=dict)
    # Robot time by round, sealed evaluations apart [s].
    seconds: dict[int, float] = field(default_factory=dict)
    sealed_s: float = 0.0  # robot time of sealed evaluations [s]

    def add(self, number: int, row: EpisodeRow) -> None:
        """Take in the next episode, in the order of commitment."""
        self.number = number
        self.success.add(row)
        self.outcomes[row.outcome] += 1
        self.purposes[row.purpose] += 1
        self.stages[row.stage] += 1
        self.policies[row.policy] += 1
        station = self.stations.get(row.station)
        if station is None:
            station = self.stations[row.station] = StationTally()
        station.outcomes[row.outcome] += 1
        station.last = row
        spent = row.robot_s
        if row.purpose is Purpose.SEALED:
            self.sealed_s += spent
        else:
            self.seconds[row.round] = self.seconds.get(row.round, 0.0) + spent


@dataclass(frozen=True, slots=True)
class RunNow:
    """A run at one moment, apart from its tally."""

    version: int = 0  # counts the changes that were seen
    live: bool = False  # a process writes it
    task: str = "?"
    seed: int = 0
    robots: int = 0
    target: float | None = None
    state: str = UNREAD  # in the run's own word, or `killed`, or that it is not read yet
    incumbent: str = ""
    success: Estimate = NOTHING  # of the incumbent, or in the sealed evaluation that passed
    rounds: tuple[RoundRow, ...] = ()
    examined: tuple[SealedRow, ...] = ()  # sealed evaluations that are over
    passing: tuple[SealedRow, ...] = ()  # those of them that reached the target
    episodes: int = 0
    robot_s: float = 0.0  # robot time, sealed evaluations apart [s]
    campaign: CampaignReport | None = None  # its experiments; None if it is no campaign
    problem: str = ""  # why it cannot be read; empty if it can


class WatchedRun:
    """A run that is looked at again and again.

    Any thread may refresh it; who reads `tally` and `log` holds `lock` meanwhile.

    Attributes:
        name: that pages know it by.
        tally, log: what was seen so far.
    """

    def __init__(self, name: str, folder: Path) -> None:
        """Nothing is read yet."""
        self.name, self.folder = name, folder
        self.tally, self.log, self.now = RunTally(), list[LogEntry](), RunNow()
        self.lock = threading.RLock()
        self._stamp: Stamp | None = None

    def refresh(self) -> bool:
        """Read what is new; returns whether anything was."""
        with self.lock:
            version = self.now.version + 1
            try:
                stamp = self._look()
                if stamp == self._stamp:
                    return False
                if self._stamp is not None and stamp[0] != self._stamp[0]:
                    self.tally, self.log = RunTally(), []  # another ledger took its place
                with Run.glance(self.folder) as run:
                    self.now = self._read(run, version)
                self._stamp = stamp
            except LockedError:
                return False  # its writer is about to leave: at the next look
            except (EnpireError, OSError, ArithmeticError, LookupError, ValueError) as error:
                problem = str(error) or type(error).__name__
                if problem == self.now.problem:
                    return False
                self.now = replace(self.now, version=version, live=False, problem=problem)
        return True

    def curve(self) -> SuccessCurve:
        """Return the course of success so far."""
        with self.lock:
            now = self.now
            return self.tally.success.curve(
                now.rounds, now.incumbent, now.examined, now.passing, now.target
            )

    def status(self) -> LoopStatus | None:
        """Return what its loop does right now, if one is under way and says so."""
        return read_status(self.folder) if self.now.live else None

    def _look(self) -> Stamp:
        path = self.folder / LEDGER
        return path.stat().st_ino, under_way(self.folder), changes(path)

    def _read(self, run: Run, version: int) -> RunNow:
        ledger, tally, asked = run.ledger, self.tally, run.asked
        for number, row in ledger.episodes_since(tally.number):
            tally.add(number, row)
        self.log += ledger.decisions(since=len(self.log))
        sealed, live = ledger.sealed(), under_way(self.folder)
        passing = sealed_of(run).passing if sealed else []
        incumbent = account.incumbent(ledger)
        success = passing[-1].success if passing else tally.success.evaluations(incumbent)
        return RunNow(
            version=version,
            live=live,
            task=str(asked.get("task", "?")),
            seed=int(asked.get("seed", 0)),
            robots=int(asked.get("robots", 0)),
            target=asked.get("target"),
            state=state_by(ledger.facts(), live),
            incumbent=incumbent,
            success=success,
            rounds=tuple(ledger.rounds()),
            examined=tuple(sealed),
            passing=tuple(passing),
            episodes=tally.outcomes.total(),
            robot_s=tally.success.robot_s,
            campaign=self._experiments(run) if "campaign" in run.config else None,
        )

    def _experiments(self, run: Run) -> CampaignReport:
        from enpire.evolution.experiments.experiment_tree import experiments_of

        confinement = run.config["campaign"].get("confinement", "")
        return experiments_of(run.ledger.events(), self.tally.seconds, str(confinement))
