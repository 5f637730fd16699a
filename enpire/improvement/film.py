"""What cameras showed in the control periods of episodes, as a policy that sees is shown it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enpire.improvement.data import pictures_of
from enpire.policies import PictureSpec
from enpire.types import Episode, Flags, Image


@dataclass(frozen=True, slots=True)
class Film:
    """The pictures of all periods of some episodes, end to end, N rows."""

    pictures: Image  # that were taken, (P, any cameras, size, size, 3)
    cameras: tuple[int, ...]  # places of those that are looked through
    # The pictures of each row, and of some periods before it, oldest first, (N, looks); -1 where
    # none was taken.
    shown: NDArray[np.int64]

    @classmethod
    def of(
        cls, episodes: Sequence[Episode], spec: PictureSpec, cameras: Sequence[int], looks: int
    ) -> Film:
        """looks: successive periods that a policy sees, with an episode's first for those before.

        Raises:
            RecipeError: there are no pictures, or of another shape than those of `spec`.
        """
        pictures, taken = pictures_of(episodes, spec)
        lengths = np.array([len(episode) for episode in episodes])
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        back = np.arange(looks - 1, -1, -1)
        rows = np.maximum(np.arange(len(taken))[:, None] - back, first[:, None])
        return cls(pictures, tuple(cameras), taken[rows])

    def whole(self) -> Flags:
        """Rows of which there is all that is looked at, (N,)."""
        least: NDArray[np.int64] = self.shown.min(axis=1)
        return least >= 0

    def at(self, rows: NDArray[np.int64]) -> Image:
        """The pictures of some rows (b,), (b, looks, cameras, size, size, 3)."""
        return self.pictures[self.shown[rows]][:, :, list(self.cameras)]
