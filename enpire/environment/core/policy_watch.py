"""Signs that a policy or a script speaks of other units, or that nothing reaches it."""

from __future__ import annotations

import logging
from hashlib import blake2b

import numpy as np

from enpire.types import Float32Array, FloatArray

LOG = logging.getLogger(__name__)
MOST_KNOWN = 10**5  # chunks that are remembered
CHUNKS = 3  # dimensions of several chunks of actions
LIMIT, OVERSHOT = 1.0, 0.05  # of an action's entries, and how far beyond a network is by itself
STRANGE, MOST = 30.0, 0.5  # spreads from the middle, and the share of observations that are so far
TINY = 0.01  # of an action, below which an arm hardly moves
NARROW = 0.2  # spreads, by which what is shown changes at least
ANSWERS = 10  # chunks that are not one and the same by accident
SEVERAL = 3  # entries of an action do not all go one way by accident
SHOWN = 3  # entries of an action in a message
REPEATS = 0.5  # of a chunk's actions, which are the ones before them: a slower rate, or padding
MANY = 200  # actions, of which some go either way
SHARE, FEWEST = 0.1, 50  # of actions, from which it is said, once so many have come


class PolicyWatch:
    """Counts what is odd about a policy's actions and what it is shown, and says once if much is.

    These things are odd: actions with an entry beyond [-1, 1], which stations clip; actions that
    are all the same, whatever is seen, as of a policy whose answers are rounded to whole numbers;
    one chunk of actions, again and again, as of a server that remembers its first answer; chunks
    that come again; chunks of which half only repeats, as of a slower rate, or padded; actions
    that are all tiny, as of one that answers in metres; actions that never go below 0, as
    if they were scaled to between 0 and 1, or whose gripper does so; actions that turn or grip
    and never move a hand; actions that are one and the same from some time on; observations that
    are far from all that it was trained on, that are all in the middle of that, or that hardly
    change by its measure. `tell` adds what others have seen of it.
    """

    def __init__(self, name: str) -> None:
        """name: of the policy, for a person."""
        self._name = name
        self._all = self._clipped = 0
        self._largest, self._said = 0.0, False
        self._least: FloatArray | None = None  # of each entry of an action, and the largest
        self._most: FloatArray | None = None
        self.moves: tuple[int, ...] = ()  # entries of an action that move hands; none: unknown
        self.grips: tuple[int, ...] = ()  # entries that move grippers; none: unknown
        self._last: Float32Array | None = None  # action, and how many of the last ones are it
        self._tail = 0
        self._more: list[str] = []  # what others tell
        self._nearest: FloatArray | None = None  # of each entry that it is shown, in spreads
        self._widest: FloatArray | None = None
        self._looks = self._strange = 0
        self._farthest = 0.0
        self._first: Float32Array | None = None  # until one differs from it
        self._answers = 0  # chunks so far
        self._known: set[bytes] = set()  # their digests
        self._again = 0  # chunks that are known already
        self._repeats = 1.0  # the least share of a chunk that repeats the action before

    def count(self, actions: Float32Array) -> None:
        """Actions (..., act); of shape (m, k, act) they are chunks, each an answer of its own."""
        sizes = np.abs(actions).max(axis=-1)
        self._all += sizes.size
        self._clipped += int((sizes > LIMIT + OVERSHOT).sum())
        self._largest = max(self._largest, float(sizes.max(initial=0.0)))
        every = actions.reshape(-1, actions.shape[-1])
        if len(every):
            low, high = every.min(axis=0).astype(float), every.max(axis=0).astype(float)
            self._least = low if self._least is None else np.minimum(self._least, low)
            self._most = high if self._most is None else np.maximum(self._most, high)
            changed = np.flatnonzero((every != every[-1]).any(axis=1))
            same = self._last is not None and not len(changed) and (self._last == every[-1]).all()
            alike = len(every) - 1 - int(changed[-1]) if len(changed) else len(every)
            self._tail = self._tail + alike if same else alike
            self._last = every[-1].copy()
        if self._all == len(every) > 0:
            self._first = every[0].copy()
        if self._first is not None and (every != self._first).any():
            self._first = None
        if actions.ndim == CHUNKS and len(actions):
            self._answers += len(actions)
            self._count_repeats(actions)
        if not self._said and self._all >= FEWEST and self.text:
            self._said = True
            LOG.warning("%s", self.text)

    def _count_repeats(self, chunks: Float32Array) -> None:
        """Count those of (m, k, act) that have come before, and what in each is there twice."""
        alike = (chunks[:, 1:] == chunks[:, :-1]).all(axis=2)
        shares = alike.mean(axis=1) if alike.shape[1] >= SEVERAL else np.zeros(1)
        self._repeats = min(self._repeats, float(shares.min()))
        for chunk in chunks:
            key = blake2b(chunk.tobytes(), digest_size=8).digest()
            self._again += key in self._known
            if len(self._known) < MOST_KNOWN:
                self._known.add(key)

    def shown(self, spreads: FloatArray) -> None:
        """It was shown observations (m, obs) so many spreads away from the middle of training."""
        farthest = spreads.max(axis=1, initial=0.0)
        self._looks += len(spreads)
        self._strange += int((farthest > STRANGE).sum())
        self._farthest = max(self._farthest, float(farthest.max(initial=0.0)))
        if len(spreads):
            low, high = spreads.min(axis=0), spreads.max(axis=0)
            self._nearest = low if self._nearest is None else np.minimum(self._nearest, low)
            self._widest = high if self._widest is None else np.maximum(self._widest, high)

    def tell(self, clause: str) -> None:
        """Say this of it, too: now, the first time, and at the end."""
        if clause not in self._more:
            self._more.append(clause)
            LOG.warning("%s: %s", self._name, clause)

    @property
    def share(self) -> float:
        """The share of actions so far that are clipped."""
        return self._clipped / self._all if self._all else 0.0

    @property
    def _one_sided(self) -> bool:
        """Whether no entry goes below 0, though several move."""
        if self._least is None or self._most is None or (self._least < 0.0).any():
            return False
        return int((self._most - self._least > TINY).sum()) >= SEVERAL

    @property
    def _half_gripper(self) -> bool:
        """Whether a gripper's entry goes from 0 to 1."""
        if self._least is None or self._most is None or not self.grips:
            return False
        ends = self._least, self._most
        low, high = (each[list(self.grips)] for each in ends)
        return bool(((low >= -OVERSHOT) & (low <= SHARE) & (high >= 1.0 - SHARE)).any())

    @property
    def _still(self) -> float:
        """The largest part of an action that moves a hand, if it hardly does; else 0."""
        if self._least is None or self._most is None or not self.moves:
            return 0.0
        sizes = np.maximum(-self._least, self._most)
        largest = float(sizes[list(self.moves)].max())
        return largest if largest < TINY <= float(sizes.max()) else 0.0

    @property
    def _change(self) -> float:
        """The largest change of what it is shown, in spreads."""
        if self._nearest is None or self._widest is None:
            return 0.0
        return float((self._widest - self._nearest).max(initial=0.0))

    @property
    def text(self) -> str:
        """A sentence for a person; empty while it is no more than happens."""
        told = []
        if self.share >= SHARE:
            told.append(
                f"{self.share:.0%} of its {self._all} actions are beyond [-1, 1], up to "
                f"{self._largest:.3g}, and are clipped: another unit, or another task's?"
            )
        if self._first is not None and self._all >= FEWEST:
            told.append(
                f"all of its {self._all} actions are the same, {_shown(self._first)}, whatever it "
                "is shown"
            )
        elif self._all >= FEWEST and self._largest < TINY:
            told.append(
                f"none of its {self._all} actions is larger than {self._largest:.2g}, and 1 is a "
                "full one: another unit?"
            )
        elif len(self._known) == 1 and self._answers >= ANSWERS and self._all >= FEWEST:
            told.append(f"all of its {self._answers} chunks are the same, whatever it is shown")
        elif self._all >= FEWEST and self._again >= max(ANSWERS, SHARE * self._answers):
            told.append(
                f"{self._again} of its {self._answers} chunks are to the bit one that came before: "
                "answers of another moment?"
            )
        elif self._answers >= ANSWERS and self._repeats >= REPEATS:
            told.append(
                f"of each of its {self._answers} chunks half or more repeats the action before: "
                "another rate, or filled up? `execute=N` carries out fewer of them"
            )
        if self._all >= FEWEST and self._still:
            told.append(
                f"none of its {self._all} actions moves a hand by more than {self._still:.2g}, "
                "where 1 is a full one, though it turns or grips by more: places in metres?"
            )
        if self._first is None and self._tail >= MANY and 2 * self._tail >= self._all:
            told.append(
                f"the last {self._tail} of its {self._all} actions are one and the same: has it "
                "stopped?"
            )
        if self._all >= MANY and self._one_sided:
            told.append(
                f"none of its {self._all} actions has an entry below 0, and they go from -1 to 1: "
                "scaled to between 0 and 1?"
            )
        elif self._all >= MANY and self._half_gripper:
            told.append(
                f"its {self._all} actions have a gripper from 0 to 1, and -1 is shut: scaled to "
                "between 0 and 1?"
            )
        if self._looks >= FEWEST and self._farthest < TINY:
            told.append(
                f"nothing that it is shown is more than {self._farthest:.2g} spreads from the "
                "middle of what its statistics know: it sees nothing. Another unit?"
            )
        elif self._looks >= FEWEST and self._change < NARROW:
            told.append(
                f"nothing that it is shown changes by more than {self._change:.2g} of what its "
                "statistics call a spread: another unit?"
            )
        if self._strange > MOST * self._looks:
            told.append(
                f"{self._strange / self._looks:.0%} of what it is shown is more than {STRANGE:g} "
                f"spreads from what its statistics know, up to {self._farthest:.3g}: another unit, "
                "or another order?"
            )
        told += self._more
        return f"{self._name}: {'; '.join(told)}" if told else ""


def _shown(action: Float32Array) -> str:
    entries = ", ".join(f"{entry:.3g}" for entry in action[:SHOWN])
    return f"({entries}, etc)" if len(action) > SHOWN else f"({entries})"
