"""Streams of seeds repeat, and never meet."""

from __future__ import annotations

from itertools import islice

from enpire.rollout.evaluation.seeds import ENTROPY_BITS, fresh_entropy, stream


def first(count: int, entropy: int, name: str, number: int = 0) -> list[int]:
    return list(islice(stream(entropy, name, number), count))


def test_a_stream_repeats() -> None:
    assert first(50, 3, "collect", 2) == first(50, 3, "collect", 2)
    assert first(10, 3, "collect", 2) == first(50, 3, "collect", 2)[:10]


def test_streams_are_disjoint() -> None:
    names = ("demonstration", "start", "collect", "compare", "sealed")
    streams = [
        first(100, entropy, name, number)
        for entropy in (0, 1, 2)
        for name in names
        for number in (0, 1, 2)
    ]
    everything = [seed for seeds in streams for seed in seeds]
    assert len(set(everything)) == len(everything)


def test_seeds_fit_the_ledger() -> None:
    seeds = first(1000, 5, "collect")
    assert min(seeds) >= 0
    assert max(seeds) < 2**63
    assert max(seeds) > 2**62, "all bits are used"


def test_fresh_entropy_is_fresh_and_a_float_holds_it() -> None:
    drawn = {fresh_entropy() for _ in range(100)}
    assert len(drawn) == 100
    assert all(int(float(entropy)) == entropy for entropy in drawn)
    assert max(drawn) < 2**ENTROPY_BITS
