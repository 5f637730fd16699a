"""An episode under way on a station."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np

from enpire.environment.control.sensing import Readings
from enpire.environment.core.controller import ChunkedController, SupervisedController
from enpire.environment.core.faults import described
from enpire.environment.core.jobs import Job, Streams
from enpire.environment.core.task import Watched
from enpire.environment.resets.physical_reset import PhysicalReset
from enpire.errors import EnpireError
from enpire.types import Float32Array, FloatArray, Image, Outcome, Verdict


class StationPhase(Enum):
    """The part of its episode that a station is in."""

    IDLE = "idle"
    RESET = "reset"
    EXECUTE = "execute"
    VERIFY = "verify"


@dataclass(slots=True)
class EpisodeState:
    """One station's episode under way; counts are in control periods."""

    job: Job
    streams: Streams
    phase: StationPhase = StationPhase.RESET
    target: FloatArray | None = None  # what a physical reset has to bring about, None in a fast one
    restoring: PhysicalReset | None = None  # its try under way
    lost: bool = False  # all its tries have failed
    diverged: bool = False
    tries: int = 0
    settling: int = 0
    alone: int = 0  # for how long the scene settles by itself, after a period
    reset: int = 0
    # execute, verify: of the attempt under way
    execute: int = 0
    verify: int = 0
    attempt: int = 1
    again: bool = False  # the attempt has failed and another begins
    # executed, verified: of those before
    executed: int = 0
    verified: int = 0
    looks: int = 0
    looked: int = 0  # parts of the time limit after which it was last asked whether to give up
    look: Future[Verdict] | None = None  # what the cameras say, asked for the `looks`-th time
    # What they showed before, in the attempt under way.
    watched: list[Future[Watched]] = field(default_factory=list)
    planner: ChunkedController | None = None
    attended: SupervisedController | None = None  # its controller, if somebody has a hand in it
    waiting: bool = False  # for them
    waited: int = 0  # periods
    plan: Float32Array = field(default_factory=lambda: np.empty((0, 0), np.float32))
    unseen: list[Readings] = field(default_factory=list)  # of the periods of the plan
    observations: list[Float32Array] = field(default_factory=list)
    actions: list[Float32Array] = field(default_factory=list)
    joints: list[FloatArray] = field(default_factory=list)  # (k, axes), of the periods executed
    setpoints: list[FloatArray] = field(default_factory=list)  # the same
    evidence: list[Readings] = field(default_factory=list)
    verdict: Verdict | None = None
    capture: Future[Image] | None = None  # pictures for the policy, asked for in this period
    pictures: list[Image] = field(default_factory=list)
    pictured: list[int] = field(default_factory=list)  # the rows of `pictures`

    def finish(self, verdict: Verdict) -> None:
        """End the episode with a verdict, which takes a period of its own."""
        self.verdict = verdict
        self.verify += 1

    def follow(self, readings: Readings) -> Float32Array:
        """The next actions of the plan, carried out with these readings, (k, act).

        `moved` comes next.
        """
        count = len(readings.joints)
        actions, self.plan = self.plan[:count], self.plan[count:]
        self.unseen.append(readings)
        self.actions.extend(actions)
        self.execute += count
        return actions

    def moved(self, joints: FloatArray, setpoints: FloatArray) -> None:
        """Remember where the arms were in these periods, and what they were sent, (k, axes)."""
        self.joints.append(joints)
        self.setpoints.append(setpoints)

    def begin_again(self) -> None:
        """The next attempt."""
        self.attempt += 1
        self.executed += self.execute
        self.verified += self.verify
        self.execute = self.verify = self.looks = self.looked = 0
        self.again, self.look, self.phase = False, None, StationPhase.EXECUTE
        self.plan = self.plan[:0]
        self.evidence.clear()
        self.watched.clear()

    def record(self, missed: Float32Array) -> None:
        """What was to be seen in the periods of the plan."""
        self.observations.extend(missed)
        self.unseen.clear()

    @contextmanager
    def blamed(self, folder: Path) -> Iterator[None]:
        """What the task's code, at `folder`, raises ends the episode, and its station's work."""
        try:
            yield
        except (EnpireError, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.verdict = Verdict(Outcome.INVALID, reason=described(error, folder))
            self.lost = True
