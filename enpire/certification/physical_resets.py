"""Physical resets: whether they come right, and give the starts that fast ones give."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy  # and its `stats` when they are asked for: they take half a second

from enpire.certification.episodes import Observer
from enpire.certification.limits import LimitWatcher
from enpire.certification.row import CheckRow
from enpire.environment import Job, Stations
from enpire.environment.resets.physical_reset import TRIES
from enpire.environment.stations.episode_state import StationPhase
from enpire.types import Episode, FloatArray

RESTORED = 0.98  # share of messes that come right
LEVEL = 0.01  # chance that starts of one distribution are called different
# What is not looked for, in the units of an observation, which is scaled to about one: a fast reset
# writes joints exactly, and friction leaves a servo that moved there some tenths of a mrad short.
BLUR = 0.05


@dataclass(slots=True)
class PhysicalResets(Observer):
    """Counts physical resets, holds robots to their limits, and takes lost stations back."""

    limits: LimitWatcher
    tried: int = 0
    restored: int = 0
    first: int = 0  # that came right at once
    failures: list[str] = field(default_factory=list)
    reset_s: list[float] = field(default_factory=list)  # how long they took
    starts: list[FloatArray] = field(default_factory=list)  # what policies then saw first
    _physical: set[int] = field(default_factory=set)
    _tries: dict[int, int] = field(default_factory=dict)

    def begun(self, stations: Stations, row: int, job: Job) -> None:
        """Note which kind of reset it is."""
        self._physical.discard(row)
        if stations.restoring(row):
            self._physical.add(row)
            self._tries.pop(row, None)
            self.limits.begun(stations, row, job)

    def period(self, stations: Stations) -> None:
        """Look at what the robot does while it resets, from the second period on.

        In the first the hands still give way to what a policy has pressed them against.
        """
        for row in self._physical:
            if stations.phase(row) is StationPhase.RESET:
                if row in self._tries:
                    self.limits.look(stations, row)
                self._tries[row] = stations.tries(row)

    def ended(self, stations: Stations, episode: Episode) -> None:
        """Count it; a station that was set aside is set up again."""
        row = episode.station
        if row not in self._physical:
            return
        self.limits.ended(stations, episode)
        self.tried += 1
        self.reset_s.append(episode.times.reset)
        if episode.times.execute > 0:
            self.restored += 1
            self.first += self._tries[row] == 1
            self.starts.append(episode.observations[0].astype(np.float64))
        else:
            self.failures.append(f"seed {episode.seed}: {episode.verdict.reason}")
        if row in stations.aside:
            stations.recover(row)

    def rows(self, fast: list[FloatArray]) -> list[CheckRow]:
        """The rows of the table; fast: what policies saw first after fast resets."""
        detail = f"{self.first} at the first try"
        if self.reset_s:
            detail += f", {np.mean(self.reset_s):.1f} s on average"
        if self.failures:
            detail += f"; {self.failures[0]}"
        restored = CheckRow(
            check="physical reset",
            counted=f"messes put back within {TRIES} tries",
            hits=self.restored,
            trials=self.tried,
            bar=f"at least {RESTORED:.0%}",
            passed=self.tried > 0 and self.restored >= RESTORED * self.tried,
            detail=detail,
        )
        return [restored, same_starts(fast, self.starts)]


def same_starts(fast: list[FloatArray], physical: list[FloatArray]) -> CheckRow:
    """Kolmogorov and Smirnov's test of every entry of the first observations, with Bonferroni.

    Normal noise of `BLUR` is added to both.
    """
    if not (fast and physical):
        return CheckRow(
            "same starts", "entries that differ", 0, 0, "0", False, "no starts to compare"
        )
    rng = np.random.default_rng(0)
    one, other = (np.array(s) + BLUR * rng.standard_normal(np.shape(s)) for s in (fast, physical))
    pairs = zip(one.T, other.T, strict=True)
    chances = np.array([scipy.stats.ks_2samp(a, b).pvalue for a, b in pairs])
    differ = int((chances < LEVEL / len(chances)).sum())
    worst = int(chances.argmin())
    return CheckRow(
        check="same starts",
        counted="entries of the first observation that differ from a fast reset's",
        hits=differ,
        trials=len(chances),
        bar=f"0 at {LEVEL:g} together (Kolmogorov-Smirnov, Bonferroni)",
        passed=differ == 0,
        detail=f"least chance {chances[worst]:.2g}, entry {worst}, of {len(one)} and {len(other)}",
    )
