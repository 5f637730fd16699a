"""What is asked for: an episode, and all that is random in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from enpire.environment.core.controller import Controller
from enpire.types import Float32Array, Purpose

LOOKS = 8  # parts of the time limit, at the ends of which an execution may be given up

LABELS = (
    "id",
    "seed",
    "purpose",
    "policy",
    "round",
    "exploration",
    "variant",
    "forked",
    "staleness",
)
"""Of a job, what its episode says too."""

GiveUp = Callable[[Float32Array, float], str | None]
"""Why an execution is to be ended, or None: from what is seen, (obs,), and the share of the time
limit that is over."""


def episode_id(purpose: Purpose, round: int, policy: str, seed: int, variant: int = 0) -> str:
    """What an episode is called; one that was cut short, and is run again, has more to its name."""
    name = f"{purpose.value}-{round}-{policy}-{seed:016x}"
    return f"{name}-{variant}" if variant else name


@dataclass(frozen=True, slots=True)
class Streams:
    """An episode's generators."""

    variation: np.random.Generator  # of its initial condition
    noise: np.random.Generator  # of its sensors
    exploration: np.random.Generator  # of what its controller draws
    handling: np.random.Generator  # of what is random in a physical reset
    dynamics: np.random.Generator  # of an identified station's arms
    looks: np.random.Generator  # of what policies see it look like
    forked_noise: np.random.Generator | None = None  # of the sensors once the episode has forked


@dataclass(frozen=True, slots=True)
class Job:
    """One episode asked for: the seed fixes its initial condition, noise and exploration."""

    seed: int
    purpose: Purpose
    controller: Controller
    policy: str
    round: int = 0
    exploration: float = 0.0
    # Not 0 in another episode from the same initial condition, with noise and exploration of its
    # own.
    variant: int = 0
    # Of a variant, the periods at its start with the seed's own noise: a controller that does in
    # them what was done in the seed's episode sees what was seen in it.
    forked: int = 0
    overtime: float = 0.0  # beyond the task's time limit, where somebody helps [s]
    # How often it may act and be judged: after a failure again from where that has led, with no
    # reset in between, and with all of the task's time.
    attempts: int = 1
    # Rounds of training that were still to end when its policy was chosen, before the one that
    # learns from it.
    staleness: int = 0
    give_up: GiveUp | None = None  # asked a few times while it executes

    @property
    def id(self) -> str:
        """Unique in a run: what for, in which round, by whom, from which initial condition."""
        return episode_id(self.purpose, self.round, self.policy, self.seed, self.variant)

    @property
    def labels(self) -> dict[str, Any]:
        """What an episode of this job says of it, by the names of `Episode`'s fields."""
        return {name: getattr(self, name) for name in LABELS}

    def streams(self) -> Streams:
        """What its random draws come from, anew."""
        seeds = np.random.default_rng(self.seed).spawn(6)
        variation, noise, exploration, handling, arms, looks = seeds
        if not self.variant:
            return Streams(variation, noise, exploration, handling, arms, looks)
        _, own, exploration, handling = np.random.default_rng((self.seed, self.variant)).spawn(4)
        if not self.forked:
            return Streams(variation, own, exploration, handling, arms, looks)
        return Streams(variation, noise, exploration, handling, arms, looks, forked_noise=own)
