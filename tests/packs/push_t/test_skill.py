"""The skill script: it brings the block to the outline."""

from __future__ import annotations

from enpire.environment import build_stations
from tests.packs.scripts import run


def test_the_plain_script_covers_the_outline() -> None:
    done = run(build_stations("push_t", 2, 1), range(2))
    assert [e.success for e in done] == [True, True]
