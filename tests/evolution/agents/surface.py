"""A response surface: what experiments come to, made up, with its truth known.

Each recipe can reach a rate of its own. Each setting costs log-odds with the square of how far it
is from its best value, on its own scale from 0 to 1; most cost little, a few much. Best values lie
around the defaults with a deviation of `spread`: 0.2 where they are sensible. Outcomes on a seed
are independent. The start's policy succeeds on half of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from enpire.evolution.agents.search_space import RecipeChoice, TunableSetting
from enpire.evolution.experiments.effect import Effect
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.rollout.evaluation.comparison import Decision, PairedRecord, decide

BASE = 0.5


class Surface:
    """One of them, drawn by its seed."""

    def __init__(self, choices: Sequence[RecipeChoice], seed: int, spread: float = 0.2) -> None:
        rng = np.random.default_rng([seed, 99])
        self.choices = {choice.recipe: choice for choice in choices}
        self.ceilings = {name: rng.uniform(1.0, 3.0) for name in self.choices}  # log-odds
        self.best: dict[tuple[str, str], tuple[float, float]] = {}
        for choice in choices:
            for setting in _numbers(choice):
                at = float(np.clip(rng.normal(0.5, spread), 0.0, 1.0))
                self.best[choice.recipe, setting.name] = at, 6.0 * rng.uniform() ** 2

    def rate(self, experiment: Experiment) -> float:
        """The true success rate of what an experiment makes."""
        choice = self.choices[experiment.recipe]
        values = choice.values(experiment.settings)
        assert values is not None, experiment
        odds = self.ceilings[choice.recipe]
        for setting in _numbers(choice):
            low, high = map(math.log, setting.bounds)
            at, weight = self.best[choice.recipe, setting.name]
            odds -= (
                weight * ((math.log(float(values[setting.name])) - low) / (high - low) - at) ** 2
            )
        return 1.0 / (1.0 + math.exp(-odds))

    def run(self, experiment: Experiment, base: float, rng: np.random.Generator) -> Experiment:
        """The experiment, decided by the harness's own test against a base of this true rate."""
        rate, record = self.rate(experiment), PairedRecord()
        while (decision := decide(record)) is Decision.CONTINUE:
            won, other = rng.random(2) < (rate, base)
            record = record.add(candidate=bool(won), incumbent=bool(other))
        state = ExperimentState.KEPT if decision is Decision.PROMOTE else ExperimentState.DROPPED
        return (
            experiment.to(ExperimentState.TRAINING)
            .to(ExperimentState.TRIALS)
            .to(state, effect=Effect(record))
        )


type Propose = Callable[[list[Experiment], str], Experiment]


@dataclass(frozen=True, slots=True)
class Campaign:
    """What a search came to: the true rate of its last base, of all its experiments, its pairs."""

    rate: float
    rates: tuple[float, ...]
    pairs: int


def campaign(surface: Surface, propose: Propose, experiments: int, seed: int) -> Campaign:
    """One experiment after the other; whatever is kept is the base of those that follow."""
    known: list[Experiment] = []
    base, rate = "start", BASE
    for number in range(experiments):
        proposal = propose(known, base)
        known.append(surface.run(proposal, rate, np.random.default_rng([seed, number])))
        if known[-1].state is ExperimentState.KEPT:
            base, rate = proposal.id, surface.rate(proposal)
    pairs = sum(e.effect.record.pairs for e in known if e.effect)
    return Campaign(rate, tuple(map(surface.rate, known)), pairs)


def random_search(choices: Sequence[RecipeChoice], seed: int, usual: bool = False) -> Propose:
    """Proposes at random, without looking; every recipe as it is first, if `usual`."""

    def propose(known: list[Experiment], base: str) -> Experiment:
        number = len(known)
        proposal = at_random(choices, number, np.random.default_rng([seed, 7, number]))
        if usual and number < len(choices):
            proposal = replace(proposal, recipe=choices[number].recipe, settings=())
        return replace(proposal, base=base)

    return propose


def at_random(choices: Sequence[RecipeChoice], number: int, rng: np.random.Generator) -> Experiment:
    """Any recipe, all its settings anywhere in their ranges: the search to be better than."""
    choice = choices[rng.integers(len(choices))]
    settings = []
    for setting in choice.settings:
        if setting.scale == "choice":
            settings.append((setting.name, str(rng.choice(setting.choices))))
        else:
            value = math.exp(rng.uniform(*map(math.log, setting.bounds)))
            settings.append((setting.name, setting.text(value)))
    return Experiment(
        id=f"random-{number}",
        agent="random",
        hypothesis="luck",
        recipe=choice.recipe,
        base="start",
        settings=tuple(settings),
    )


def _numbers(choice: RecipeChoice) -> list[TunableSetting]:
    return [setting for setting in choice.settings if setting.scale != "choice"]
