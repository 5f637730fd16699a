"""A block ends, and what it opened is closed."""

from __future__ import annotations

import pytest

from enpire.closing import Closing


class Held(Closing):
    closed = False

    def close(self) -> None:
        self.closed = True


def test_it_is_closed_when_the_block_ends() -> None:
    with Held() as held:
        assert not held.closed
    assert held.closed


def test_it_is_closed_when_the_block_raises() -> None:
    held = Held()
    with pytest.raises(ValueError, match="within"), held:
        raise ValueError("within")
    assert held.closed
