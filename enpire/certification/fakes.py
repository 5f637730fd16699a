"""Constructed states that are no success, shown to the verifier and to the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from enpire.certification.controllers import Nothing
from enpire.certification.episodes import run
from enpire.certification.row import CheckRow
from enpire.certification.verifier import Audit
from enpire.environment import Fake, Job, Readings, Stations
from enpire.environment.cameras.camera import VerifierCameras
from enpire.twin.twin import Rows
from enpire.types import JUDGED, Episode, Float32Array, Purpose

SENSORS, CAMERAS = "sensors", "cameras"


class Faker:
    """Writes a fake in the first period of an episode, and acts as the fake says afterwards."""

    def __init__(self, stations: Stations, fake: Fake) -> None:
        """Fake on `stations`."""
        self._stations, self._fake = stations, fake
        self._nothing = Nothing(stations.control)
        self._rng: dict[int, np.random.Generator] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """The station's scene is about to be placed."""
        self._rng[row] = rng

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The fake's own actions; in its first period, and where it has none, hands hold still."""
        twin, control = self._stations.twin, self._stations.control
        begun = []
        for row in rows.tolist():
            rng = self._rng.pop(row, None)
            if rng is not None:
                self._fake.write(twin, control, row, rng)
                twin.forward(row)
                begun.append(row)
        actions = self._nothing.act(rows, observations, readings)
        if self._fake.act is not None:
            for i, row in enumerate(rows.tolist()):
                if row not in begun:  # its readings are of the state before
                    actions[i] = self._fake.act(readings.row(i))
        return actions


@dataclass(frozen=True, slots=True)
class FakeResult:
    """What was said of one episode of a fake."""

    fake: str
    seed: int
    judge: str  # who said it, `sensors` or `cameras`
    shown: bool  # whether the episode came to the verifier
    said: bool  # the verifier called it a success
    was: bool  # the truth did
    reason: str  # the verdict's own


def show(
    stations: Stations, seeds: list[int], cameras: VerifierCameras | None
) -> Iterator[FakeResult]:
    """Show every fake of a task to its verifier: by cameras, or by sensors where there are none."""
    cameras_before, periods = stations.verifier_cameras, stations.execute_periods
    judge = SENSORS if cameras is None else CAMERAS
    try:
        stations.verifier_cameras = cameras
        for fake in stations.task.fakes():
            stations.execute_periods = fake.periods
            audit = Audit()
            controller = Faker(stations, fake)
            jobs = [
                Job(seed, Purpose.EVALUATION, controller, f"fake {fake.name} {judge}")
                for seed in seeds
            ]
            for episode in run(stations, jobs, audit):
                yield _result(fake, judge, episode, audit)
    finally:
        stations.verifier_cameras, stations.execute_periods = cameras_before, periods


def _result(fake: Fake, judge: str, episode: Episode, audit: Audit) -> FakeResult:
    found = audit.found.get(episode.id)
    shown = episode.verdict.outcome in JUDGED and found is not None
    was = found is not None and found.was
    reason = episode.verdict.reason
    return FakeResult(fake.name, episode.seed, judge, shown, episode.success, was, reason)


def rows(results: list[FakeResult]) -> list[CheckRow]:
    """False successes of the verifier, and of the truth, over all episodes of all fakes."""
    if not results:
        detail = "task.py constructs no fakes"
        return [CheckRow("fakes", "", 0, 0, "0", None, detail)]
    hidden = [r for r in results if not r.shown]
    states = len({r.fake for r in results})
    judges = " and by ".join(sorted({r.judge for r in results}, reverse=True))
    told = f"{states} states, by {judges}"
    if hidden:
        told += (
            f"; {len(hidden)} came to no verdict: {hidden[0].fake}, by {hidden[0].judge}, "
            f"seed {hidden[0].seed}: {hidden[0].reason}"
        )
    made = [
        ("fakes", "constructed fakes called a success", [r for r in results if r.said]),
        ("fakes' truth", "constructed fakes that are truly one", [r for r in results if r.was]),
    ]
    return [
        CheckRow(
            check,
            counted,
            len(fooled),
            len(results),
            "0",
            not fooled and not hidden,
            told + "".join(f"; {r.fake}, by {r.judge}, seed {r.seed}" for r in fooled[:1]),
        )
        for check, counted, fooled in made
    ]
