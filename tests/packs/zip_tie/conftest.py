"""A fastened zip tie and one before its head, as the verifier's cameras see them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from enpire.types import FloatArray
from tests.packs import looking

from .test_physics import tip

Shot = looking.Shot[FloatArray]  # its truth: where the tip is from the head
Bench = looking.Bench[FloatArray]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from looking.bench_of("zip_tie", tip)


@pytest.fixture(scope="module")
def fastened(bench: Bench) -> Shot:
    """A success."""
    return bench.after(0)


@pytest.fixture(scope="module")
def apart(bench: Bench, fastened: Shot) -> Shot:
    """The same station, verified before the tail is in the head."""
    return bench.after(0, 8)
