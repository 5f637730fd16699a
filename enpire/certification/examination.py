"""All checks of one task: each a few rows of the table."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice

import numpy as np

from enpire.certification import fakes, hostile, repeat, verifier
from enpire.certification.controllers import InterruptedDemonstrator, Nothing, Unsteady
from enpire.certification.episodes import run
from enpire.certification.limits import LimitWatcher
from enpire.certification.physical_resets import PhysicalResets
from enpire.certification.repeat import Build
from enpire.certification.row import CheckRow
from enpire.certification.symmetry import require_symmetry
from enpire.certification.task_answers import require_fit
from enpire.certification.verifier import Audit, AuditedEpisode
from enpire.environment import (
    Controller,
    Demonstrations,
    Job,
    RandomActions,
    ResetMode,
    Stations,
)
from enpire.environment.cameras.twin_cameras import NoGraphics, TwinVerifierCameras
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.evaluation.statistics import Confusion
from enpire.types import JUDGED, Episode, Purpose

SOLVED = 0.95  # share of its seeds, in whole ones, that a demonstrator has to solve
WHOLE = 0.95  # share of the episodes asked for that have to come to a verdict
STATIONS = 8
HOLD = 12  # periods that a random action is kept up, at most: 40 ms alone go nowhere
RANDOM_SHARE = 4  # of the random episodes one in so many is audited: they are easy to judge
LAST_PERIODS = 6  # before a demonstration's end, in which one is stopped before hostile cameras
PROBES = 6  # of one demonstration, by which it is found where a stop makes it a failure
CUT = (0.2, 0.95)  # share of a demonstration after which one stops half-way


@dataclass(frozen=True, slots=True)
class Counts:
    """Episodes of each kind."""

    # demonstrator, nothing, random, after_reset: of the checks called so
    demonstrator: int
    nothing: int
    random: int
    after_reset: int
    repeat: int  # seeds that are run four times
    audit: int  # unsteady ones, and as many cut short
    near: int  # made to be near misses
    messes: int  # to be put back by physical resets
    fakes: int  # seeds of each constructed fake
    hostile: int  # in each scene made to deceive cameras

    @classmethod
    def all(cls, number: int) -> Counts:
        """The same number of each."""
        return cls(*(number for _ in fields(cls)))


REDUCED = Counts(40, 20, 20, 60, 8, 40, 40, 24, 1, 4)
FULL = Counts(200, 200, 200, 500, 40, 250, 200, 200, 3, 20)


class TaskExamination:
    """The checks of a task; what several of them look at is run once."""

    def __init__(self, build: Build, counts: Counts) -> None:
        """Examine the task that `build` makes stations of.

        Raises:
            PackError: what the task's methods return, or its symmetry, does not fit what it says of
                itself.
        """
        self.counts = counts
        self.build = build
        self.stations = build(STATIONS, 0)
        self._limits = LimitWatcher(self.stations)
        self._audit = Audit()
        require_fit(self.stations)
        require_symmetry(self.stations)

    def rows(self, checks: Sequence[str]) -> Iterator[CheckRow]:
        """The rows of some checks, in their order, as they come."""
        for check in checks:
            yield from CHECKS[check](self)

    @cached_property
    def demonstrations(self) -> list[Episode]:
        """The demonstrator's, watched for limits."""
        return run(self.stations, self._demonstrated(), self._limits, self._audit)

    @cached_property
    def chance(self) -> list[Episode]:
        """The episodes of actions at random."""
        return run(self.stations, self._at_random(), self._audit)

    @cached_property
    def resets(self) -> PhysicalResets | None:
        """Physical resets of what chance, shaking and good demonstrators left; None: no skills."""
        stations, task = self.stations, self.stations.task
        if not task.target_names:
            return None
        resets = PhysicalResets(self._limits)
        making: tuple[Controller, ...] = (
            RandomActions(stations.action_size, HOLD),
            Unsteady(task),
            Demonstrations(task),
        )
        jobs = [
            Job(seed, Purpose.EVALUATION, making[i % len(making)], f"mess-{i}")
            for i, seed in enumerate(self._seeds("mess", self.counts.messes))
        ]
        stations.reset = ResetMode.PHYSICAL
        try:
            run(stations, jobs, resets)
        finally:
            stations.reset = ResetMode.FAST
        return resets

    def physical(self) -> list[CheckRow]:
        """Skills put back what policies leave; the starts are those of a fast reset."""
        fast = [e.observations[0].astype(np.float64) for e in self.demonstrations if len(e)]
        if self.resets is None:
            detail = "task.py has no target_names and no restorer: --reset fast only"
            return [CheckRow("physical reset", "", 0, 0, "at least 98%", None, detail)]
        return self.resets.rows(fast)

    def demonstrator(self) -> list[CheckRow]:
        """Solves it nearly always."""
        done = self.demonstrations
        solved = [e for e in done if e.success]
        others = [e for e in done if not e.success]
        passed = len(solved) >= math.floor(SOLVED * len(done))
        detail = ""
        if others:
            failed = Counter(name for e in others for name in e.verdict.failed)
            counts = [f"{name} failed in {n}" for name, n in failed.most_common()]
            told = f"seed {others[0].seed}: {others[0].verdict.reason}"
            detail = "; ".join([*counts, told])
        bar = f"at least {SOLVED:.0%}"
        return [CheckRow("demonstrator", "solved", len(solved), len(done), bar, passed, detail)]

    def limits(self) -> list[CheckRow]:
        """Held by the demonstrator and by resets of either kind."""
        if not self.demonstrations:
            return []
        _ = self.resets  # watched too
        return self._limits.rows()

    def nothing(self) -> list[CheckRow]:
        """A policy that does nothing never succeeds."""
        jobs = self._jobs("nothing", Nothing(self.stations.control), self.counts.nothing)
        return [_never("nothing", "successes without acting", run(self.stations, jobs))]

    def random(self) -> list[CheckRow]:
        """Nor does one that acts at random."""
        return [_never("random", "successes by chance", self.chance)]

    def after_reset(self) -> list[CheckRow]:
        """Nothing is a success before anybody has acted."""
        stations, controller = self.stations, Nothing(self.stations.control)
        periods, stations.execute_periods = stations.execute_periods, 0
        try:
            done = run(stations, self._jobs("after reset", controller, self.counts.after_reset))
        finally:
            stations.execute_periods = periods
        return [_never("after reset", "already a success", done)]

    def repeat(self) -> list[CheckRow]:
        """A seed fixes an episode."""
        return repeat.rows(self.build, self._seeds("repeat", self.counts.repeat))

    def verifier(self) -> list[CheckRow]:
        """Says what is."""
        mixed, near = self.audited
        if not mixed:
            detail = (
                "task.py says no `ground_truth`, or no episode came to a verdict: nothing to hold "
                "against"
            )
            return [CheckRow("verifier agrees", "", 0, 0, "at least 99%", False, detail)]
        return verifier.rows(mixed, near, left_out=len(self._mixed) - len(mixed))

    def fakes(self) -> list[CheckRow]:
        """What the task constructs deceives nobody, neither by sensors nor by cameras."""
        stations, seeds = self.stations, self._seeds("fakes", self.counts.fakes)
        results = list(fakes.show(stations, seeds, None))
        verifier_cameras: TwinVerifierCameras | None = None
        if stations.task.verifies_views:
            with contextlib.suppress(NoGraphics):
                verifier_cameras = TwinVerifierCameras(stations.twin)
        if verifier_cameras is not None:
            with contextlib.closing(verifier_cameras):
                results += fakes.show(stations, seeds, verifier_cameras)
        return fakes.rows(results)

    def cameras(self) -> list[CheckRow]:
        """So do the cameras, over episodes of the same kinds; and nobody deceives them."""
        stations, solved = self.stations, self._solved
        if not stations.task.verifies_views:
            return [_not_seen("the task is not verified by cameras (`verify_views`)")]
        if not solved:
            return [_not_seen("no demonstration succeeds")]
        try:
            verifier_cameras = TwinVerifierCameras(stations.twin)
        except NoGraphics as error:
            return [_not_seen(str(error))]
        audit, shown = Audit(), hostile.FinalPictures(verifier_cameras)
        run(stations, [self._stopped(solved[0], len(solved[0]) + 1, "shown")], shown)
        deceived: dict[hostile.HostileScene, list[AuditedEpisode]] = {}
        try:
            stations.verifier_cameras = verifier_cameras
            mixed = run(stations, self._mixed_jobs(), audit)
            near = self._near_misses(stations, audit)
            tracked = stations.task.tracked[0]
            for scene in hostile.scenes(stations.twin.model, tracked, shown.at):
                stations.verifier_cameras = hostile.HostileVerifierCameras(
                    stations.twin, scene, shown.views
                )
                done = run(stations, self._before_hostile_cameras(scene), audit)
                deceived[scene] = audit.of(done)
                stations.verifier_cameras.close()
        finally:
            stations.verifier_cameras = None
            verifier_cameras.close()
        judged = audit.of(mixed)
        left_out = len(mixed) - len(judged)
        return [
            *verifier.rows(judged, audit.of(near), left_out, verifier.CAMERAS),
            hostile.row(deceived),
        ]

    def _before_hostile_cameras(self, scene: hostile.HostileScene) -> Iterator[Job]:
        """Demonstrations in turn whole, stopped just before their end, and half-way."""
        rng = np.random.default_rng(0)
        for i in range(self.counts.hostile):
            whole = self._solved[i % len(self._solved)]
            half = int(rng.uniform(*CUT) * len(whole))
            after = (len(whole) + 1, len(whole) - 1 - i % LAST_PERIODS, half)[i % 3]
            yield self._stopped(whole, after, f"{scene.name}-{i}")

    @property
    def matrices(self) -> dict[str, Confusion]:
        """The verifier's confusions: over mixed episodes, and over near misses."""
        mixed, made = self.audited
        near = [a for a in made if a.near]
        return {"mixed": verifier.confusion(mixed), "near": verifier.confusion(near)}

    @cached_property
    def _mixed(self) -> list[Episode]:
        return [
            *self.demonstrations,
            *run(self.stations, self._unsteady(), self._audit),
            *run(self.stations, self._cut_short(), self._audit),
            *self.chance[::RANDOM_SHARE],
        ]

    def _mixed_jobs(self) -> Iterator[Job]:
        """The same once more, for who judges otherwise."""
        yield from self._demonstrated()
        yield from self._unsteady()
        yield from self._cut_short()
        yield from self._at_random()[::RANDOM_SHARE]

    @property
    def _solved(self) -> list[Episode]:
        return [e for e in self.demonstrations if e.success]

    @cached_property
    def audited(self) -> tuple[list[AuditedEpisode], list[AuditedEpisode]]:
        """Mixed episodes, and those made to be near misses."""
        mixed = self._audit.of(self._mixed)
        if not mixed:
            return [], []
        return mixed, self._audit.of(self._near_misses(self.stations, self._audit))

    def _demonstrated(self) -> list[Job]:
        controller = Demonstrations(self.stations.task)
        return self._jobs("demonstrator", controller, self.counts.demonstrator)

    def _at_random(self) -> list[Job]:
        controller = RandomActions(self.stations.action_size, HOLD)
        return self._jobs("random", controller, self.counts.random)

    def _unsteady(self) -> list[Job]:
        return self._jobs("unsteady", Unsteady(self.stations.task), self.counts.audit)

    def _cut_short(self) -> Iterator[Job]:
        """Demonstrations that stop half-way."""
        rng = np.random.default_rng(0)
        for i in range(self.counts.audit):
            whole = self.demonstrations[i % len(self.demonstrations)]
            after = int(rng.uniform(*CUT) * len(whole))
            yield self._stopped(whole, after, f"cut-{i}")

    def _near_misses(self, stations: Stations, audit: Audit) -> list[Episode]:
        """Run demonstrations that stop about where it is decided whether they succeed.

        Bisection finds that place: one that was truly a success stops sooner the next time, another
        one later. So both sides of the thresholds are seen.
        """
        solved = self._solved
        some = [solved[i % len(solved)] for i in range(self.counts.near // PROBES if solved else 0)]
        fails, holds = [int(CUT[0] * len(whole)) for whole in some], [len(whole) for whole in some]
        done: list[Episode] = []
        for probe in range(PROBES):
            stops = [(fail + hold) // 2 for fail, hold in zip(fails, holds, strict=True)]
            names = [f"near-{i}-{probe}" for i in range(len(some))]
            stopped = run(stations, map(self._stopped, some, stops, names), audit)
            for i, episode in enumerate(stopped):
                found = audit.found.get(episode.id)
                if found is not None and found.was:
                    holds[i] = stops[i]
                else:
                    fails[i] = stops[i]
            done += stopped
        return done

    def _stopped(self, whole: Episode, after: int, name: str) -> Job:
        controller = InterruptedDemonstrator(self.stations.task, after)
        return Job(whole.seed, Purpose.DEMONSTRATION, controller, name)

    def _seeds(self, name: str, number: int) -> list[int]:
        """Return seeds of one kind; a certificate has its own, on which nobody tunes a pack."""
        kind = "certification" if self.counts == FULL else "check"
        return list(islice(stream(0, f"{kind} {name}"), number))

    def _jobs(self, name: str, controller: Controller, number: int) -> list[Job]:
        seeds = self._seeds(name, number)
        return [Job(seed, Purpose.EVALUATION, controller, name) for seed in seeds]


CHECKS: dict[str, Callable[[TaskExamination], list[CheckRow]]] = {
    "demonstrator": TaskExamination.demonstrator,
    "limits": TaskExamination.limits,
    "nothing": TaskExamination.nothing,
    "random": TaskExamination.random,
    "reset": TaskExamination.after_reset,
    "physical": TaskExamination.physical,
    "repeat": TaskExamination.repeat,
    "verifier": TaskExamination.verifier,
    "fakes": TaskExamination.fakes,
    "cameras": TaskExamination.cameras,
}
"""By the name that `--checks` takes."""


def _not_seen(why: str) -> CheckRow:
    """The row where nobody could look."""
    return CheckRow(verifier.CAMERAS[0], "", 0, 0, "at least 99%", None, f"sensors only: {why}")


def _never(check: str, counted: str, episodes: list[Episode]) -> CheckRow:
    """A row of episodes of which none may be a success, and nearly all must be judged."""
    judged = [e for e in episodes if e.verdict.outcome in JUDGED]
    won = [e for e in judged if e.success]
    lost = [e for e in episodes if e.verdict.outcome not in JUDGED]
    detail = f"seed {won[0].seed}" if won else ""
    if lost:
        detail += f" {len(lost)} invalid, such as seed {lost[0].seed}: {lost[0].verdict.reason}"
    enough = len(judged) > 0 and len(judged) >= WHOLE * len(episodes)
    return CheckRow(check, counted, len(won), len(judged), "0", enough and not won, detail.strip())
