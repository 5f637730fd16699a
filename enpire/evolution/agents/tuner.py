"""An agent without a model: proposes experiments by a surrogate over recipes and their settings.

What was kept elsewhere, where a campaign takes it over, is tried first, then every recipe of its
repertoire as it is. From then on it draws how well each recipe
may do, from what its best experiments came to and how few there were (after Thompson 1933), takes
the one that promises most, and asks a surrogate of its settings: the tree-structured Parzen
estimator (Bergstra et al., "Algorithms for hyper-parameter optimization", NeurIPS 2011) of optuna
(Akiba et al. 2019, arXiv 1907.10902). A proposal changes a few settings of the recipe's best only:
most matter little, and of all drawn at once some are sure to be where they do harm.

It has no state to lose. What it proposes depends on the experiments so far, of all agents, on its
name and on its seed; from those its surrogate is made anew each time.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enpire.errors import CampaignError
from enpire.evolution.agents.search_space import RecipeChoice, TunableSetting
from enpire.evolution.campaign.campaign import AgentSession
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.evolution.knowledge.transfer import TransferredRecipe

CHANGES = 5  # settings of the best known that a proposal changes, at most
BEST = 3  # experiments of a recipe that say how well it may do
DOUBT = 0.7  # of that, after one experiment, in log-odds: about the noise of 30 pairs
DRAWS = 64  # of the surrogate's, of which the most promising is taken
FAILURE = -math.log(20.0)  # log-odds of an experiment that failed: as one lost 19 to 0


@dataclass(frozen=True, slots=True)
class Tuner:
    """Proposes experiments; `name` is the agent's. transferred: what it tries first, as it is."""

    name: str
    repertoire: tuple[RecipeChoice, ...]
    seed: int
    changes: int = CHANGES
    transferred: tuple[TransferredRecipe, ...] = ()

    def turn(self, desk: AgentSession) -> None:
        """See `Agent`."""
        if desk.free:
            desk.propose(self.propose(desk.experiments(), desk.base))

    def close(self) -> None:
        """See `Agent`; there is nothing to end."""

    def propose(self, experiments: Sequence[Experiment], base: str) -> Experiment:
        """The next experiment on `base`, given all experiments so far, of whatever state.

        Raises:
            CampaignError: the repertoire is empty.
        """
        made = {(e.recipe, e.source, e.settings) for e in experiments}
        for idea in self.transferred:
            if idea.what not in made:
                return self._first(idea, sum(e.agent == self.name for e in experiments), base)
        if not self.repertoire:
            raise CampaignError(f"{self.name} has no recipes to try: give it a repertoire")
        own = sum(experiment.agent == self.name for experiment in experiments)
        tried = {(e.recipe, e.source) for e in experiments if not e.program}
        for choice in self.repertoire:
            if (choice.recipe, choice.source) not in tried:
                return self._experiment(own, choice, {}, base)
        name = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:4])
        seeds = np.random.SeedSequence([self.seed, name, own, len(experiments)])
        return self._experiment(own, *self._next(experiments, seeds), base)

    def _next(
        self, experiments: Sequence[Experiment], seeds: np.random.SeedSequence
    ) -> tuple[RecipeChoice, dict[str, str]]:
        """A recipe, and those of its settings that are not to be its defaults."""
        rng, strengths = np.random.default_rng(seeds), strength(experiments)
        choice = _promising(self.repertoire, experiments, strengths, rng)
        tried = _tried(choice, experiments)
        asked = _sampled(choice, tried, strengths, int(rng.integers(2**31)))
        usual = {setting.name: setting.default for setting in choice.settings}
        measured = [e for e in tried if e.id in strengths]
        best = max(measured, key=lambda e: strengths[e.id], default=None)
        settings = usual | (dict(best.settings) if best else {})
        names = rng.permutation([setting.name for setting in choice.settings])[: self.changes]
        settings |= {str(name): asked[str(name)] for name in names}
        return choice, {name: text for name, text in settings.items() if text != usual[name]}

    def _first(self, idea: TransferredRecipe, number: int, base: str) -> Experiment:
        return Experiment(
            id=f"{self.name}-{number}",
            agent=self.name,
            hypothesis=f"what was kept as {idea.origin} elsewhere improves on {base}: {idea}",
            recipe=idea.recipe,
            base=base,
            settings=idea.settings,
            source=idea.source,
        )

    def _experiment(
        self, number: int, choice: RecipeChoice, settings: Mapping[str, str], base: str
    ) -> Experiment:
        defaults = {s.name: s.default for s in choice.settings}
        said = ", ".join(f"{n} {settings[n]} (usual {defaults[n]})" for n in sorted(settings))
        return Experiment(
            id=f"{self.name}-{number}",
            agent=self.name,
            hypothesis=f"{choice.recipe} with {said or 'its usual settings'} improves on {base}",
            recipe=choice.recipe,
            base=base,
            settings=tuple(settings.items()),
            source=choice.source,
        )


def strength(experiments: Sequence[Experiment]) -> dict[str, float]:
    """How much better than the start each measured experiment's policy is, in log-odds, by its id.

    What it won of the discordant pairs against its base, shrunk by one pair either way, and how
    much better the base is in turn. A failure is as bad as `FAILURE`. Whatever was dropped before
    anything was measured is left out.
    """
    by_id = {experiment.id: experiment for experiment in experiments}
    found: dict[str, float] = {}

    def of(name: str, below: frozenset[str]) -> float:
        experiment = by_id.get(name)
        if experiment is None or name in below:  # the start's own policy
            return 0.0
        if name not in found and (own := _log_odds(experiment)) is not None:
            found[name] = own + of(experiment.base, below | {name})
        return found.get(name, 0.0)

    for name in by_id:
        of(name, frozenset())
    return found


def _log_odds(experiment: Experiment) -> float | None:
    if experiment.state is ExperimentState.FAILED:
        return FAILURE
    if experiment.effect is None or not experiment.decided:
        return None
    record = experiment.effect.record
    return math.log((record.wins + 1) / (record.losses + 1))


def _tried(choice: RecipeChoice, experiments: Sequence[Experiment]) -> list[Experiment]:
    """The experiments that the surrogate of this recipe has a place for."""
    return [
        e
        for e in experiments
        if (e.recipe, e.source, e.program) == (choice.recipe, choice.source, "")
        and choice.values(e.settings) is not None
    ]


def _promising(
    repertoire: Sequence[RecipeChoice],
    experiments: Sequence[Experiment],
    strengths: Mapping[str, float],
    rng: np.random.Generator,
) -> RecipeChoice:
    """The recipe that is drawn best; one of which nothing is measured counts as the base."""

    def drawn(choice: RecipeChoice) -> float:
        found = sorted(
            (strengths[e.id] for e in _tried(choice, experiments) if e.id in strengths),
            reverse=True,
        )
        mean = sum(found[:BEST]) / len(found[:BEST]) if found else 0.0
        return mean + DOUBT / math.sqrt(max(len(found), 1)) * float(rng.normal())

    draws = [drawn(choice) for choice in repertoire]
    return repertoire[int(np.argmax(draws))]


def _sampled(
    choice: RecipeChoice, tried: Sequence[Experiment], strengths: Mapping[str, float], seed: int
) -> dict[str, str]:
    """A text for every setting, from optuna's sampler; what runs yet it keeps away from."""
    try:
        import optuna
        from optuna.trial import TrialState, create_trial
    except ImportError as error:
        raise CampaignError(
            f"the tuner needs optuna ({error}): install enpire[evolution]"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(
        n_startup_trials=1,
        n_ei_candidates=DRAWS,
        multivariate=True,
        seed=seed,
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = {setting.name: _distribution(setting) for setting in choice.settings}
    for experiment in tried:
        measured = experiment.id in strengths
        if experiment.decided and not measured:
            continue
        study.add_trial(
            create_trial(
                state=TrialState.COMPLETE if measured else TrialState.RUNNING,
                value=strengths.get(experiment.id),
                params=choice.values(experiment.settings),
                distributions=distributions,
            )
        )
    params = study.ask(distributions).params
    return {setting.name: setting.text(params[setting.name]) for setting in choice.settings}


def _distribution(setting: TunableSetting) -> Any:
    from optuna import distributions as d

    if setting.scale == "choice":
        return d.CategoricalDistribution(setting.choices)
    low, high = setting.bounds
    if setting.scale == "whole":
        return d.IntDistribution(int(low), int(high), log=True)
    return d.FloatDistribution(low, high, log=True)
