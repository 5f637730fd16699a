"""Begin where failures begin: keyframe-initialised rollouts, and a step of lookahead on them.

After WoVR (arXiv 2602.13977), which restarts rollouts from moments near which policies fail. A
failed episode is repeated up to a little before the step that went wrong, and several variants go
on from there, exploring. The step that went wrong is where an estimate of success falls most; it is
learned from the other episodes, for of those it has seen it knows from the start how they ended. On
a twin, repeating the actions on the same seed brings about the same moment to the last bit; no real
scene can be repeated so. The candidate is `lookahead`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from enpire.environment import Job, Replay, StationBackend
from enpire.errors import RecipeError, UsageError
from enpire.improvement.collection import Collection, meanwhile
from enpire.improvement.recipes.lookahead import Lookahead
from enpire.improvement.value import Value
from enpire.types import Episode, Float32Array, Outcome, Purpose


@dataclass(frozen=True, slots=True)
class Keyframe(Lookahead):
    """Lookahead on episodes of which some begin shortly before earlier ones failed."""

    share: float = 0.5  # of a round's episodes that begin so, at most
    variants: int = 4  # that go on from one failure
    boldness: float = 0.5  # chance that a chunk of theirs is varied
    span: float = 0.6  # in which the estimate falls most [s]
    before: float = 0.4  # that a variant has before it falls [s]
    keyframe_steps: int = 800  # gradient steps of the estimate

    def require(self, stations: StationBackend) -> None:
        """Raise UsageError where an episode's start cannot be repeated."""
        if not stations.repeatable:
            raise UsageError(
                "keyframe repeats the starts of episodes, which only a twin with --reset fast can"
            )

    def collect(self, asked: Collection) -> Iterator[Job | None]:
        """See `Collector.collect`: the policy on fresh seeds, and variants of what failed."""
        failed = failures(asked)[: int(self.share * asked.count / self.variants)]
        begun = {episode.id for episode in failed}
        others = [episode for episode in asked.episodes if len(episode) and episode.id not in begun]
        if failed and not others:
            raise RecipeError("no episodes but those that failed: nothing says where they did")
        plain = asked.plain(asked.count - self.variants * len(failed))
        if not failed:
            yield from plain
            return
        sizes = self.discount, self.members, self.keyframe_steps
        value = yield from meanwhile(plain, lambda: Value.of(others, *sizes, asked.seed))
        period = asked.stations.period
        span, before = (max(round(t / period), 1) for t in (self.span, self.before))
        controller = asked.controller(asked.base)
        for episode in failed:
            forked = max(wrong_step(value(episode.observations), span) - before, 1)
            job = Job(
                seed=episode.seed,
                purpose=Purpose.COLLECTION,
                controller=Replay(episode.actions[:forked], controller),
                policy=asked.base,
                round=asked.round,
                exploration=self.boldness,
                forked=forked,
            )
            for variant in range(1, self.variants + 1):
                yield replace(job, variant=variant)


def failures(asked: Collection) -> list[Episode]:
    """What the base policy failed at, or else its parent, the latest first.

    Only what a seed gives by itself can be repeated: no variants.
    """
    whose = [asked.base, asked.parent]
    found = [
        episode
        for episode in asked.episodes
        if episode.policy in whose
        and episode.verdict.outcome is Outcome.FAILURE
        and not episode.variant
        and len(episode)
    ]
    return sorted(found, key=lambda e: (whose.index(e.policy), -e.round, e.id))


def wrong_step(chance: Float32Array, span: int) -> int:
    """The period from which chances of success (T,) fall most within `span` periods."""
    later = chance[np.minimum(np.arange(len(chance)) + span, len(chance) - 1)]
    return int(np.argmax(chance - later))


RECIPE = Keyframe
