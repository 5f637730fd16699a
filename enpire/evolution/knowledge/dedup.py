"""Whether two experiments try the same thing: what they change, and what they say of it.

Recipes and settings are compared by direction: both raise `training.lr`, or one lowers it. Then
hypotheses are compared by the words that both have. A pair that goes opposite ways, in a setting or
in words, is no duplicate however alike it sounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from enpire.evolution.experiments.experiment import Experiment
from enpire.evolution.knowledge.bm25 import tokens
from enpire.improvement.recipe_finding import find, names
from enpire.improvement.settings import defaults

THRESHOLD = 0.6  # counts as the same: between 0.50 and 0.70, where the tests' examples leave a gap
CHANGE = 0.5  # weight of what is changed, beside the words; words alone where nothing is
OPPOSITE = 0.5  # times as alike, where words go opposite ways
UP = frozenset(map(str, tokens("raise higher increase larger longer bigger greater bolder")))
DOWN = frozenset(
    map(str, tokens("lower reduce decrease smaller shorter fewer less cut drop remove weaker"))
)


@dataclass(frozen=True, slots=True)
class SimilarExperiment:
    """A running experiment, and how alike it is: 1 is the same."""

    experiment: Experiment
    similarity: float


def duplicates(proposal: Experiment, others: Iterable[Experiment]) -> list[SimilarExperiment]:
    """The undecided ones of `others` that try what is proposed, the likest first."""
    running = (e for e in others if not e.decided and e.id != proposal.id)
    found = [SimilarExperiment(e, similarity(proposal, e)) for e in running]
    return sorted((a for a in found if a.similarity >= THRESHOLD), key=lambda a: -a.similarity)


def similarity(one: Experiment, other: Experiment) -> float:
    """The similarity, from 0, nothing in common, to 1, the same settings on the same base."""
    if one.what == other.what:
        return 1.0
    changes, changes_other = set(changed(one)), set(changed(other))
    if any(_turned(change) in changes_other for change in changes):
        return 0.0
    words = _cosine(tokens(one.hypothesis), tokens(other.hypothesis))
    code, code_other = (e.source or e.program for e in (one, other))
    if code and code_other and code != code_other:
        return words  # code of their own: names of settings say nothing
    together = changes | changes_other
    return CHANGE * len(changes & changes_other) / len(together) + (1.0 - CHANGE) * words


def changed(experiment: Experiment) -> list[str]:
    """What is changed, a phrase each: the recipe, and each setting's direction or value."""
    known = usual(experiment.recipe) if not (experiment.source or experiment.program) else {}
    phrases = [experiment.recipe]
    for name, text in experiment.settings:
        phrases.append(f"{experiment.recipe} {name} {_direction(text, known.get(name, ''))}")
    return phrases


@cache
def usual(recipe: str) -> dict[str, str]:
    """The defaults of a built-in recipe's settings; of any other none are known."""
    return defaults(find(recipe).recipe) if recipe in names() else {}


def _direction(text: str, default: str) -> str:
    try:
        value, known = float(text), float(default)
    except ValueError:
        return text
    return "raised" if value > known else "lowered" if value < known else "as usual"


def _turned(change: str) -> str:
    """The opposite change."""
    start, _, way = change.rpartition(" ")
    return f"{start} {({'raised': 'lowered', 'lowered': 'raised'}).get(way, '')}"


def _cosine(one: Sequence[str], other: Sequence[str]) -> float:
    """The cosine of two sets of words, less where they go opposite ways."""
    a, b = set(one), set(other)
    if not a or not b:
        return 0.0
    ways = [(bool(words & UP), bool(words & DOWN)) for words in (a, b)]
    opposite = ways in ([(True, False), (False, True)], [(False, True), (True, False)])
    return len(a & b) / math.sqrt(len(a) * len(b)) * (OPPOSITE if opposite else 1.0)
