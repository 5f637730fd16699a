"""Code as a policy: the task's skill script, whose parameters are searched by CMA-ES.

After Code as Policies (arXiv 2209.07753), with the numbers of the code learned by trial. A round's
episodes are one generation: so many candidates, all of them on the same seeds. The policy is the
script with the values that the search takes for best; the first one, with the plain values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from enpire.environment import Job, StationBackend
from enpire.errors import RecipeError, UsageError
from enpire.improvement.collection import Collection
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.search import Search, candidate_name
from enpire.policies import SkillPolicy, SkillSpec
from enpire.types import Purpose


@dataclass(frozen=True, slots=True)
class Heuristic:
    """Search the parameters of the task's skill script."""

    candidates: int = 20  # of a generation
    spread: float = 0.25  # of the first generation, as a share of each parameter's bounds

    def require(self, stations: StationBackend) -> None:
        """Raise UsageError for a task without a skill script, or a generation of nobody."""
        if self.candidates < 1:
            raise UsageError(f"--recipe.candidates {self.candidates}: at least 1 is needed")
        if not stations.parameters:
            raise UsageError(
                f"heuristic searches the parameters of a task's skill script; {stations.name} has "
                "none: give its Task `parameters` and a `skill`"
            )

    def collect(self, asked: Collection) -> Iterator[Job]:
        """See `Collector.collect`; what is left over when seeds are shared out is not run."""
        trials = asked.count // self.candidates
        if not trials:
            raise RecipeError(
                f"{asked.count} episodes are too few for a generation of {self.candidates}: "
                "set --collect or --recipe.candidates"
            )
        seeds = list(islice(asked.seeds, trials))
        stations = asked.stations
        parameters = stations.parameters
        search = Search(parameters, self.candidates, self.spread).follow(asked.episodes)
        sizes = stations.observation_size, stations.action_size
        spec = SkillSpec(stations.name, *sizes, tuple(p.name for p in parameters))
        for candidate, values in enumerate(search.draw(seeds)):
            name = candidate_name(asked.round, candidate)
            controller = SkillPolicy(spec, values).controller(stations)
            for seed in seeds:
                yield Job(seed, Purpose.COLLECTION, controller, name, asked.round)

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; the incumbent is not used."""
        if not given.parameters:
            raise RecipeError(f"{given.spec.task} has no skill script")
        search = Search(given.parameters, self.candidates, self.spread).follow(given.episodes)
        names = tuple(parameter.name for parameter in given.parameters)
        spec = SkillSpec(given.spec.task, given.spec.observation, given.spec.action, names)
        numbers: dict[str, float] = {"generations": search.generations}
        if search.generations:
            numbers |= {"best_success": search.best.success, "best_score": search.best.score}
        numbers |= dict(zip(names, search.mean.tolist(), strict=True))
        return Candidate(SkillPolicy(spec, search.mean), numbers)


RECIPE = Heuristic
