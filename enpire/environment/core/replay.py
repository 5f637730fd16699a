"""Repeats the start of a recorded episode, and then lets somebody else act."""

from __future__ import annotations

import numpy as np

from enpire.environment.control.joint_actions import JointTargets, MovesHands
from enpire.environment.control.sensing import Readings
from enpire.environment.core.controller import (
    ChunkedController,
    Controller,
    needs_pictures,
    show,
)
from enpire.environment.core.jobs import Job
from enpire.twin.twin import Rows
from enpire.types import Episode, Float32Array, Image


class Replay(MovesHands):
    """Actions as they were recorded, all planned at once; then another controller.

    In a job that is `forked` after as many periods, on stations that are `repeatable`, what is seen
    and felt meanwhile is what was recorded, to the last bit. The other controller is shown it, if
    it is a `ChunkedController`, as if it had acted itself.
    """

    def __init__(self, actions: Float32Array, then: Controller) -> None:
        """Repeat actions (k, act), k at least 1."""
        self._actions = actions
        self._then = then
        self._begins: set[int] = set()  # stations that have yet to act

    def connect(self, targets: JointTargets) -> None:
        """See `MovesHands`: its own are those of the stations already."""
        if isinstance(self._then, MovesHands):
            self._then.connect(targets)

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Both begin; only the other one draws."""
        self._begins.add(row)
        self._then.begin(row, rng, exploration)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The first of the actions at the start of an episode, else what the other one does."""
        actions = np.empty((len(rows), self._actions.shape[1]), np.float32)
        others = [i for i, row in enumerate(rows.tolist()) if row not in self._begins]
        if others:
            at = readings.at(others)
            actions[others] = self._then.act(rows[others], observations[others], at)
        for i, row in enumerate(rows.tolist()):
            if i not in others:
                self.saw(row, observations[i : i + 1])
                actions[i] = self._actions[0]
        return actions

    def look(self, row: int, pictures: Image) -> None:
        """See `VisionController`: for the other one."""
        show(self._then, row, pictures)

    def due(self, row: int) -> bool:
        """See `VisionController`: for the other one."""
        return needs_pictures(self._then, row)

    def plan(self, row: int) -> Float32Array:
        """The rest of the actions, then the other one's plans."""
        if row in self._begins:
            self._begins.discard(row)
            return self._actions[1:]
        if isinstance(self._then, ChunkedController):
            return self._then.plan(row)
        return self._actions[:0]

    def saw(self, row: int, observations: Float32Array) -> None:
        """For the other one."""
        if isinstance(self._then, ChunkedController):
            self._then.saw(row, observations)


def repeated(episode: Episode, then: Controller) -> Job:
    """Return a job that carries out an episode's actions again; then: acts after them.

    All are planned at once, as a policy plans several: a scene that looks done in the midst of a
    chunk ends an episode once that is carried out.
    """
    return Job(
        episode.seed,
        episode.purpose,
        Replay(episode.actions, then),
        episode.policy,
        variant=episode.variant,
        forked=episode.forked,
    )
