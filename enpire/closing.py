"""What is closed at the end of a `with` block."""

from __future__ import annotations

from typing import Self


class Closing:
    """A context manager that calls its own `close` when the block ends, however it ends."""

    def close(self) -> None:
        """Give back what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
