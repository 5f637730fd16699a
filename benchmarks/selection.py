"""What the rules of selection cost, on contenders whose true rates are known: `docs/evolution.md`.

One search: an incumbent and eight contenders, `ROBOTS` pairs at a time, until one is promoted or
all are dropped. Seeds are common, so what the incumbent did on one is asked once: a search costs
the contenders' pairs and as many episodes of the incumbent as the longest of them had.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.selection_rules import Contender, SelectionRule, choose
from enpire.evolution.experiments.selection import level
from enpire.rollout.evaluation.comparison import Decision
from enpire.rollout.evaluation.statistics import estimate
from enpire.types import Estimate, Flags

ALPHA = 0.05
ROBOTS = 4
NEAR = 0.02  # of the best one's rate: as good as the best
SEEDS = 1200  # more than a test ever asks for: 3 x 400


@dataclass(frozen=True, slots=True)
class SearchScene:
    """A search: the incumbent's rate, and each contender's."""

    name: str
    incumbent: float
    rates: tuple[float, ...]

    @property
    def best(self) -> float:
        """The best contender's rate."""
        return max(self.rates)


SCENES = (
    SearchScene("none is better", 0.7, (0.7,) * 4 + (0.6,) * 2 + (0.5,) * 2),
    SearchScene("one is, much", 0.6, (0.85,) + (0.6,) * 4 + (0.5,) * 3),
    SearchScene("one is, a little", 0.7, (0.8,) + (0.7,) * 4 + (0.6,) * 3),
    SearchScene("a ladder", 0.6, (0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3)),
    SearchScene("near the top", 0.9, (0.98, 0.97) + (0.9,) * 3 + (0.8,) * 3),
    SearchScene("most break it", 0.7, (0.85, 0.7) + (0.1,) * 6),
)


@dataclass(frozen=True, slots=True)
class SelectionRow:
    """`runs` searches of one scene by one rule.

    found: that promoted one of the best. false: that promoted one no better than the incumbent.
    episodes: of a search, on average, and the standard error of that.
    """

    scene: str
    rule: SelectionRule
    runs: int
    found: int
    false: int
    episodes: float
    error: float

    @property
    def per_find(self) -> float:
        """Episodes for each search that found one of the best; infinite where none did."""
        return self.episodes * self.runs / self.found if self.found else math.inf

    @property
    def falsely(self) -> Estimate:
        """How often what is no better was promoted."""
        return estimate(self.false, self.runs)


@dataclass(frozen=True, slots=True)
class Found:
    """What one search came to: the index of who was promoted, or None, and its episodes."""

    promoted: int | None
    episodes: int


def measure(runs: int, seed: int) -> Iterator[SelectionRow]:
    """All rules in all scenes, `runs` times; every rule sees the same outcomes."""
    for number, scene in enumerate(SCENES):
        for rule in SelectionRule:
            found = false = 0
            episodes = np.zeros(runs)
            for run in range(runs):
                rng = np.random.default_rng([seed, number, run])
                result = search(scene, rule, rng)
                episodes[run] = result.episodes
                if result.promoted is None:
                    continue
                rate = scene.rates[result.promoted]
                false += rate <= scene.incumbent
                found += rate > scene.incumbent and rate >= scene.best - NEAR
            error = float(episodes.std() / math.sqrt(runs))
            yield SelectionRow(scene.name, rule, runs, found, false, float(episodes.mean()), error)


def search(scene: SearchScene, rule: SelectionRule, rng: np.random.Generator) -> Found:
    """One search, outcomes on a seed independent."""
    rates = np.array((scene.incumbent, *scene.rates))
    outcomes: Flags = rng.random((SEEDS, len(rates))) < rates
    alpha = level(ALPHA, len(scene.rates))
    names = [str(k) for k in range(len(scene.rates))]
    contenders = [Contender(name) for name in names]
    while True:
        asked: list[int] = []
        for _ in range(ROBOTS):
            name = choose(rule, contenders, rng)
            if name is None:
                break
            at = int(name)
            asked.append(at)
            contenders[at] = replace(contenders[at], under_way=contenders[at].under_way + 1)
        if not asked:
            return Found(None, _episodes(contenders))
        for at in asked:
            c = contenders[at]
            incumbent, candidate = outcomes[c.record.pairs, [0, at + 1]]
            c = c.add(candidate=bool(candidate), incumbent=bool(incumbent), alpha=alpha)
            contenders[at] = replace(c, under_way=c.under_way - 1)
            if c.decision is Decision.PROMOTE:
                return Found(at, _episodes(contenders))


def _episodes(contenders: Iterable[Contender]) -> int:
    pairs = [c.record.pairs for c in contenders]
    return sum(pairs) + max(pairs)


def markdown(rows: Iterable[SelectionRow]) -> str:
    """The table, a line a scene and rule, and each rule's mean over scenes with one better."""
    rows = list(rows)
    lines = [
        "| | rule | one of the best | none better promoted | episodes a search | a find |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        hopeless = all(r.found == 0 for r in rows if r.scene == row.scene)
        found = "" if hopeless else f"{row.found} of {row.runs}"
        per_find = "" if hopeless else f"{row.per_find:.0f}"
        lines.append(
            f"| {row.scene} | {row.rule} | {found} | {row.false}: {row.falsely.rate:.3f} "
            f"[{row.falsely.low:.3f}, {row.falsely.high:.3f}] "
            f"| {row.episodes:.0f} ± {1.96 * row.error:.0f} | {per_find} |"
        )
    for rule, mean in sorted(overall(rows).items(), key=lambda item: item[1]):
        lines.append(f"| geometric mean | {rule} | | | | {mean:.0f} |")
    return "\n".join(lines)


def overall(rows: Iterable[SelectionRow]) -> dict[SelectionRule, float]:
    """Episodes a find of each rule: the geometric mean over scenes in which anything is found."""
    known = [row for row in rows if row.found]
    return {
        rule: float(np.exp(np.mean([math.log(r.per_find) for r in known if r.rule is rule])))
        for rule in {row.rule for row in known}
    }
