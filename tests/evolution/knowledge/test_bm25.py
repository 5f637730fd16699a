"""Words and BM25."""

from __future__ import annotations

import math

import pytest

from enpire.evolution.knowledge.bm25 import K1, B, Bm25Index, tokens


def test_words_lose_case_endings_and_the_commonest() -> None:
    assert tokens("The Critics were critic") == ["critic", "were", "critic"]
    assert tokens("cloning clones cloned") == ["clon"] * 3
    assert tokens("lr 3e-4, 0.5, Q2") == ["lr", "3e-4", "0.5", "q2"]


def test_scores_are_those_of_the_formula() -> None:
    """Two documents of three and one words, one query word in the first, twice."""
    index = Bm25Index(["robot robot cup", "cup"])
    rarity = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = rarity * 2 * (K1 + 1) / (2 + K1 * (1 - B + B * 3 / 2))
    assert index.scores("robot") == pytest.approx([expected, 0.0])


def test_rare_words_count_more_and_strange_ones_nothing() -> None:
    index = Bm25Index(["cup red", "cup blue", "cup green robot"])
    assert index.best("cup robot zebra", 3)[0] == 2
    assert index.best("zebra", 3) == []
    assert index.best("", 3) == []
    assert Bm25Index([]).best("cup", 3) == []


def test_no_more_than_asked_for_and_the_first_of_equals_first() -> None:
    index = Bm25Index(["cup", "cup", "cup"])
    assert index.best("cup", 2) == [0, 1]
    assert index.best("cup", 0) == []
    assert index.best("cup", -1) == []
