"""Teach a small quick policy to act by what a large slow one says now and then (RoboDual).

After Bu et al. 2024 (arXiv 2410.08001). The generalist stays as it is. *Relabel*: at every moment
of the verified successes it is asked what it would do. *Clone*: the specialist learns what was done
there, given what is seen and what the generalist said some periods before, as late as it may be
when the two act. A success that the generalist was helped to, or that another policy had, teaches
the specialist what the generalist does not know.

What comes of it is both of them as one policy of kind `specialist`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import torch

from enpire.errors import RecipeError
from enpire.improvement.behaviour_cloning import Training, fit, fresh
from enpire.improvement.data import Examples, examples, instructive
from enpire.improvement.frozen_base import Moments, base_among, standing
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.policies import ChunkSpec, Policy, Quick, SpecialistPolicy, SpecialistSpec
from enpire.types import Episode


@dataclass(frozen=True, slots=True)
class Specialist:
    """Clone verified successes given the generalist's last chunk."""

    training: Training = field(default_factory=lambda: Training(steps=3000))
    every: int = 0  # periods between two askings of the generalist; 0: as many as it carries out
    late: int = 0  # periods after which its chunk is there
    pending: int = 8  # actions of its chunk that are shown
    execute: int = 1  # actions of the specialist's chunk that are carried out
    ages: int = 4  # of the pending chunk, drawn for each moment

    def require_policy(self, policy: Policy | None) -> None:
        """See `Particular.require_policy`."""
        base_among("specialist", policy)

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; the generalist is the incumbent, or what it stands on."""
        started = time.monotonic()
        base = standing("specialist", given)
        chosen = [episode for episode in given.episodes if episode.success and len(episode)]
        if not chosen:
            raise RecipeError("no episode succeeded: there is nothing good to clone")
        moments = Moments.of(base, chosen, given)
        asked = moments.asked
        quick = replace(_plain(given.spec), observation=asked.observation, execute=self.execute)
        spec = SpecialistSpec(self.every or asked.spec.execute, self.late, self.pending, quick)
        data = self._relabelled(chosen, moments, spec, given)
        head = Quick(spec)
        network = fresh(spec.shown, data, given.seed)
        fitted = fit(network, data, self.training, given.seed, given.checkpoint, "specialist")
        head.policy = fitted.policy
        numbers = {
            "episodes": len(chosen),
            "loss": fitted.loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(SpecialistPolicy(base, head.eval()), numbers)

    def _relabelled(
        self,
        episodes: Sequence[Episode],
        moments: Moments,
        spec: SpecialistSpec,
        given: RecipeInputs,
    ) -> Examples:
        """What is `instructive` of them, `ages` times: each time with another pending chunk.

        A generalist that sees was asked when a picture was taken: the last one by the drawn age.
        """
        quick = examples(episodes, replace(_plain(given.spec), execute=self.execute))
        known = np.flatnonzero(moments.known)
        said = moments.answers(known, given.seed, given.checkpoint, "advice").numpy()
        at = np.flatnonzero(np.concatenate([instructive(episode) for episode in episodes]))
        lengths = [len(episode) for episode in episodes]
        since = np.concatenate([np.arange(length) for length in lengths])  # the episode's start
        at = np.tile(at, self.ages)
        rng = np.random.default_rng(given.seed)
        drawn = np.minimum(rng.integers(spec.oldest + 1, size=len(at)), since[at])
        which = np.searchsorted(known, at - drawn, side="right") - 1
        age = at - known[which]
        there = (which >= 0) & (age <= np.minimum(spec.oldest, since[at]))
        at, which, age = at[there], which[there], age[there]
        if not len(at):
            raise RecipeError("no moment of any success to learn from")
        history = moments.asked.seen.beside(quick.rows[quick.window[torch.from_numpy(at)]])
        rows = spec.condition(history.numpy(), said[which], age.astype(float))
        index = torch.from_numpy(at)
        return replace(
            quick,
            rows=torch.from_numpy(rows[:, 0]),
            window=torch.arange(len(at))[:, None],
            actions=quick.actions[index],
            valid=quick.valid[index],
            weight=torch.ones(len(at)),
        )


def _plain(spec: ChunkSpec) -> ChunkSpec:
    """The same shape, without what is of a policy that sees."""
    return ChunkSpec(**{each.name: getattr(spec, each.name) for each in fields(ChunkSpec)})


RECIPE = Specialist
