"""Finding text by its words: tokens, and BM25.

Source:
    Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and beyond", Foundations
        and Trends in Information Retrieval 2009.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

K1, B = 1.2, 0.75  # how soon repetition stops to count, and how much length does
WORD = re.compile(r"[a-z]+[0-9]*|[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?")
STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can for from has have if in into is it its more most no not "
        "of on one or so than that the their them then there these they this to until was what "
        "when where which while who will with without would",
    )
)
ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "es", "ed", "er", "s", "e")


def tokens(text: str) -> list[str]:
    """Words in lower case without endings and without the commonest ones, and numbers, in order."""
    return [_stem(word) for word in WORD.findall(text.lower()) if word not in STOP]


def _stem(word: str) -> str:
    """A word without the first of `ENDINGS` that leaves four letters or more."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


class Bm25Index:
    """Documents, counted once and asked often."""

    def __init__(self, documents: Sequence[str]) -> None:
        self._counts = [Counter(tokens(document)) for document in documents]
        self._lengths = [sum(count.values()) for count in self._counts]
        self._mean = sum(self._lengths) / max(len(documents), 1) or 1.0
        within = Counter(word for count in self._counts for word in count)
        n = len(documents)
        self._rarity = {w: math.log(1.0 + (n - m + 0.5) / (m + 0.5)) for w, m in within.items()}

    def scores(self, query: str) -> list[float]:
        """How well each document answers; 0 where no word of the query is in it."""
        words = [word for word in dict.fromkeys(tokens(query)) if word in self._rarity]
        return [
            sum(self._rarity[w] * self._weight(count[w], length) for w in words)
            for count, length in zip(self._counts, self._lengths, strict=True)
        ]

    def best(self, query: str, most: int) -> list[int]:
        """The best of the documents that answer at all, by number; the first of equals first."""
        scores = self.scores(query)
        order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))
        return [k for k in order if scores[k] > 0.0][: max(most, 0)]

    def _weight(self, count: int, length: int) -> float:
        return count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / self._mean))
