"""Tensors that rows are appended to, with room to spare, so that growing costs little."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

FIRST_SIZE = 4096  # rows there is room for at first


class GrowingTensors:
    """Tensors of equally many rows."""

    def __init__(self) -> None:
        """Begin with no row."""
        self._size = 0
        self._room: list[Tensor] = []

    def __len__(self) -> int:
        return self._size

    @property
    def whole(self) -> list[Tensor]:
        """All rows of each tensor, (N, ...)."""
        return [room[: self._size] for room in self._room]

    def append(self, values: Sequence[Tensor]) -> None:
        """Append the rows of each tensor, (n, ...)."""
        end = self._size + len(values[0])
        if not self._room or end > len(self._room[0]):
            # Not zeros: room that nothing was written to takes no memory.
            larger = [v.new_empty(max(FIRST_SIZE, 2 * end), *v.shape[1:]) for v in values]
            for room, new in zip(self._room, larger, strict=False):
                new[: self._size] = room[: self._size]
            self._room = larger
        for room, value in zip(self._room, values, strict=True):
            room[self._size : end] = value
        self._size = end
