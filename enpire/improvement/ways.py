"""Ways to act with the same policy: which is best is told by what came of each while collecting.

Whether critics choose, and whether an episode that is late goes back by the clock, helps at one
task and does harm at another. So a learner tries all ways, more often what succeeded more often
(Thompson sampling, Thompson 1933), and proposes the best. It costs no robot time of its own. What
came of a way counts for less with time, since the policy learns meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enpire.policies import ChooserSpec

FADES = 0.97  # of what is known of all ways, with every block


@dataclass(frozen=True, slots=True)
class Way:
    """chooses: critics choose. by_clock: it goes back by the clock where it is late."""

    chooses: bool
    by_clock: bool

    def spec(self, shape: ChooserSpec, again: int, tries: float) -> ChooserSpec:
        """Return the description of who acts so; again, tries: see `ChooserSpec`."""
        by_clock = self.by_clock and bool(shape.back)
        return replace(
            shape,
            chooses=self.chooses,
            again=again if by_clock else 0,
            tries=tries if self.chooses and not by_clock else 0.0,
        )


WAYS = (Way(True, False), Way(False, False), Way(True, True), Way(False, True))
WITHOUT_BACK = WAYS[:2]


class WaysTried:
    """What came of each way; version k of a policy acts by `taken[k]`."""

    def __init__(self, ways: tuple[Way, ...], seed: int) -> None:
        """Begin with the first of `ways`; seed: of what is tried."""
        self.ways, self._seed = ways, seed
        self.taken = [0]
        self.won = np.zeros(len(ways))
        self.lost = np.zeros(len(ways))

    @property
    def now(self) -> Way:
        """The way of the newest version."""
        return self.ways[self.taken[-1]]

    @property
    def best(self) -> Way:
        """The way with the greatest expected success; the first of several."""
        return self.ways[int(((1.0 + self.won) / (2.0 + self.won + self.lost)).argmax())]

    def count(self, version: int, won: int, lost: int) -> None:
        """Take what came of a block under a version; version 0 is not one of these ways."""
        self.won *= FADES
        self.lost *= FADES
        if 0 < version < len(self.taken):
            self.won[self.taken[version]] += won
            self.lost[self.taken[version]] += lost

    def go_on(self) -> None:
        """Draw the way of the next version."""
        rng = np.random.default_rng((self._seed, len(self.taken)))
        self.taken.append(int(rng.beta(1.0 + self.won, 1.0 + self.lost).argmax()))

    def numbers(self) -> dict[str, float]:
        """Return the expected success of each way, in percent."""
        expected = 100.0 * (1.0 + self.won) / (2.0 + self.won + self.lost)
        names = ("chosen", "base", "chosen_clock", "base_clock")
        return {f"way_{n}": float(v) for n, v in zip(names, expected, strict=False)}

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes."""
        return {"taken": list(self.taken), "won": self.won.tolist(), "lost": self.lost.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` returned."""
        self.taken = list(state["taken"])
        self.won, self.lost = np.array(state["won"]), np.array(state["lost"])
