"""Signs that the episodes of a Gymnasium environment are not what their figures would say.

Each is possible and mostly a fault: of seeds, of a success that is left over from the episode
before, of a sensor that shows nothing. It is told once, and every episode counts.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from enpire.environment.gym_bridge.gym_worker.environments import LONGEST
from enpire.environment.gym_bridge.success_rule import GymEpisode
from enpire.types import Flags, Float32Array, FloatArray, Outcome, Verdict

LOG = logging.getLogger(__name__)
FEWEST = 4  # episodes, from which they are alike by no accident
KEPT = 1000  # seeds whose beginning is known
EXACT = 2.0**24  # up to which single precision has each whole number
STANDS, ACTED = 10, 0.1  # steps in which nothing changes, at least, and actions that do
LIT = 0.5  # share of steps in which something is shown
ALIKE = 1e-6  # relative, of two observations that are the same but for rounding


class EpisodeSigns:
    """Watches how episodes begin and end, and says once of each sign what it may mean."""

    def __init__(self, name: str, bounds: FloatArray) -> None:
        """name: of the environment. bounds: what it declares, (2, obs); none: not a number."""
        self._name = name
        width = bounds[1] - bounds[0]
        self._bounds, self._far = bounds, np.stack([bounds[0] - width, bounds[1] + width])
        self._starts: dict[int, Float32Array] = {}  # by seed
        self._begun = self._ended = self._successes = 0
        self._early = self._still = self._short = self._long = self._frozen = 0
        self._varied = False  # whether two episodes began differently
        self._said: set[str] = set()

    def begins(self, seed: int, seen: Float32Array) -> None:
        """An episode of this seed has been reset and shows this, shape (obs,)."""
        self._begun += 1
        self.repeats(seed, seen)
        if self._starts and not self._varied:
            self._varied = not _alike(next(iter(self._starts.values())), seen)
        if len(self._starts) < KEPT:
            self._starts.setdefault(seed, seen)
        if len(self._starts) >= FEWEST and not self._varied:
            self._say(
                "starts",
                f"{len(self._starts)} episodes of {len(self._starts)} seeds begin with the same "
                "observation: they may be one episode, counted over and over",
            )

    def repeats(self, seed: int, seen: Float32Array) -> None:
        """A reset to this seed, be it for an episode or to look, shows this, shape (obs,)."""
        before = self._starts.get(seed)
        if before is not None and not _alike(before, seen):
            self._say(
                "seeds",
                f"the same seed ({seed}) begins otherwise than before: episodes of one seed are no "
                "pair, and nothing can be repeated. Draw from self.np_random, after "
                "super().reset(seed=seed), and keep nothing from the episode before",
            )

    def fixes(self, entries: Sequence[int]) -> None:
        """Entries of its actions have one value only."""
        if entries:
            named = ", ".join(map(str, entries))
            self._say(
                "fixed",
                f"entry {named} of its actions has one value only, or nearly: what a policy does "
                "there changes nothing",
            )

    def unrolls(self, parts: Sequence[str]) -> None:
        """These parts of an observation may be pictures, and are shown number by number."""
        if parts:
            self._say(
                "unrolled",
                f"it shows {', '.join(parts)}, each number of it as an entry that policies see: a "
                "picture? Those of bytes (uint8) are left out",
            )

    def leaves_out(self, keys: Sequence[str]) -> None:
        """An observation has these keys, which its space does not declare."""
        if keys:
            self._say(
                "undeclared",
                f"its observation has {', '.join(keys)}, which its space does not declare: no "
                "policy sees that. Declare it, or leave it out",
            )

    def rounds(self, whole: bool) -> None:
        """An observation has whole numbers where its space declares fractions."""
        if whole:
            self._say(
                "whole",
                "its observation has whole numbers, or truths, where its space declares fractions: "
                "were they rounded, or cut off where their type ends?",
            )

    def ends(self, running: GymEpisode, verdict: Verdict, own: bool = True) -> None:
        """An episode has been judged so; own: by what its environment says of success itself."""
        seen, steps = running.observations, len(running.rewards)
        if not own:
            self._contradicts(running, verdict)
        elif verdict.outcome is Outcome.FAILURE and running.passed is not None:
            self._say(
                "earlier",
                f"an episode of {steps} steps was a success at step {running.passed + 1}, and none "
                "by its rule: the last step counts; --success any counts each",
            )
        if steps >= LONGEST and not running.last.get("terminated"):
            self._say(
                "endless",
                f"an episode was cut off at step {LONGEST}: its environment does not end; a "
                "TimeLimit does",
            )
        self._ended += 1
        if seen:
            self._bounded(seen)
            self._blank(seen)
        self._still += len(seen) > 1 and all(_alike(seen[0], each) for each in seen[1:])
        self._froze(running)
        self._successes += running.passed is not None
        self._early += (
            own and running.passed == 0 and (running.achieved or len(running.rewards) > 1)
        )
        self._short += steps == 1 and verdict.outcome is not Outcome.SUCCESS
        if self._ended == self._short and self._short >= FEWEST:
            self._say(
                "short",
                f"each of {self._short} episodes ended at its first step, and none as a success: "
                "is a limit of steps counted from before its reset?",
            )
        if self._ended == self._still and self._still >= FEWEST:
            self._say("still", f"nothing that it shows changes in any of {self._still} episodes")
        if self._early >= FEWEST and 2 * self._early > self._successes:
            self._say(
                "success",
                f"success is true from the first step on in {self._early} of {self._ended} "
                "episodes, before anything was done: is it left over from the one before?",
            )

    def _contradicts(self, running: GymEpisode, verdict: Verdict) -> None:
        """Look whether a rule of somebody's judges otherwise than the environment itself."""
        said = running.last.get("success")
        if said is None or bool(said) is (verdict.outcome is Outcome.SUCCESS):
            return
        self._say(
            "rule",
            f"an episode is a {verdict.outcome} by the rule of --success, and its own word of "
            f"success at the last step is {bool(said)}: the rule counts; without --success, its "
            "own word does",
        )

    def _froze(self, running: GymEpisode) -> None:
        """Look whether most long episodes show one thing from some step on, whatever is done."""
        seen, acted = running.observations, np.array(running.actions)
        if len(seen) < 2 * STANDS:
            return
        self._long += 1
        half = max(STANDS, len(seen) // 2)
        last = np.array(seen[-half:])
        self._frozen += bool(
            (last == last[0]).all() and np.ptp(acted[-half:], axis=0).max() > ACTED
        )
        if self._frozen >= FEWEST and 2 * self._frozen > self._long:
            self._say(
                "frozen",
                f"{self._frozen} of {self._long} episodes show one and the same for their whole "
                "second half, whatever is done: a sensor that hung, or an end that is not told?",
            )

    def _bounded(self, seen: Sequence[Float32Array]) -> None:
        """Look whether an entry is beyond what is declared by more than that is wide."""
        rows = np.array(seen)
        far = (rows < self._far[0]) | (rows > self._far[1])
        if far.any():
            row, entry = np.argwhere(far)[0]
            low, high = self._bounds[:, entry]
            self._say(
                "bounds",
                f"entry {entry} of its observation is {rows[row, entry]:.3g}, and {low:g} to "
                f"{high:g} is declared: another unit, or a sensor at fault?",
            )
        coarse = np.argwhere(np.abs(rows) > EXACT)
        if len(coarse):
            row, entry = coarse[0]
            self._say(
                "coarse",
                f"entry {entry} of its observation is {rows[row, entry]:.3g}, and policies see 7 "
                "digits of it: a time stamp, or another unit?",
            )

    def _blank(self, seen: Sequence[Float32Array]) -> None:
        """Look whether all is exactly 0 in a step between others: a sensor that dropped out."""
        shown: Flags = (np.array(seen) != 0.0).any(axis=1)
        blank = np.flatnonzero(shown[:-2] & ~shown[1:-1] & shown[2:]) + 1
        if len(blank) and shown.mean() > LIT:
            self._say(
                "blank",
                f"all that it shows is 0 at step {blank[0]}, and not before and after: a sensor "
                "that dropped out?",
            )

    def _say(self, sign: str, text: str) -> None:
        if sign not in self._said:
            self._said.add(sign)
            LOG.warning("%s: %s", self._name, text)


def _alike(one: Float32Array, other: Float32Array) -> bool:
    return bool(np.allclose(one, other, rtol=ALIKE, atol=ALIKE))
