"""Help in trouble, and clone the help: recovery and correction (RaC, arXiv 2509.07953).

In a round's episodes a corrector stands beside the policy. It takes over when the policy makes no
progress any more, goes back to the start, or to where things were well, and corrects.
Demonstrations are cloned, and what the helper did. What the policy did itself tells no more than it
knew, and where it barely came off it did not know enough: with its own successes a policy comes to
less (`docs/explanation/learning.md`, `docs/policies.md`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from enpire.environment import (
    DEMONSTRATOR,
    FailureDetector,
    InterventionWrapper,
    Job,
    Operator,
    StationBackend,
    Tasked,
)
from enpire.errors import RecipeError, UsageError
from enpire.improvement.collection import Collection, meanwhile
from enpire.improvement.data import known_well, tracked
from enpire.improvement.failure_detectors import FromTheStart, NoProgress
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.replay_bc import ReplayCloning
from enpire.improvement.value import Value
from enpire.types import Episode, Purpose

HELPER = "helper"
Rewind = Literal["start", "best"]
Cloned = Literal["helped", "all"]


@dataclass(frozen=True, slots=True)
class Recover(ReplayCloning):
    """Replay of successes, some of which a corrector has brought about."""

    corrector: str = DEMONSTRATOR  # the task's, a policy of the run by name, or the loop's helper
    share: float = 1.0  # of a round's episodes with a corrector beside the policy
    cloned: Cloned = "helped"  # beside demonstrations: what helpers did, or quick successes too
    rewind: Rewind = (
        "start"  # how far hands go back before help: to the best moment, or to the start
    )
    patience: float = 1.0  # without progress before help comes, up to twice that is drawn [s]
    overtime: float = 1.0  # that help may take beyond the time limit, in time limits
    discount: float = 0.99  # of the estimate of success, a control period
    members: int = 3  # networks of its ensemble
    estimate_steps: int = 1000  # gradient steps of it

    def require(self, stations: StationBackend) -> None:
        """Raise UsageError where there are no hands to be taken back."""
        if not isinstance(stations, Tasked):
            raise UsageError("recover needs a task with hands and a demonstrator: not gym:")

    @property
    def needs_helper(self) -> bool:
        """See `ConfiguredRecipe`: `--helper` says who it is."""
        return self.corrector == HELPER

    def helper(self, asked: Collection) -> Operator:
        """Who corrects, and at which desk; a recipe of your own may have somebody else do it."""
        if self.corrector == DEMONSTRATOR:
            return Operator(*asked.stations.starter)
        if self.corrector != HELPER:
            return Operator(self.corrector, asked.controller(self.corrector))
        if asked.helper is None:
            raise RecipeError("recover has the loop's helper correct, and there is none: --helper")
        return asked.helper

    def chosen(self, given: RecipeInputs) -> list[Episode]:
        """See `ReplayCloning`."""
        if self.cloned == "helped":
            return known_well(given.episodes)
        return ReplayCloning.chosen(self, given)

    def collect(self, asked: Collection) -> Iterator[Job | None]:
        """See `Collector.collect`: the policy alone, exploring, and with a corrector beside it."""
        stations, count = asked.stations, int(self.share * asked.count)
        known = [episode for episode in asked.episodes if tracked(episode)]
        if not isinstance(stations, Tasked) or not count or not known:
            yield from asked.plain()
            return
        plain = asked.plain(asked.count - count)
        sizes = self.discount, self.members, self.estimate_steps
        value = yield from meanwhile(plain, lambda: Value.of(known, *sizes, asked.seed))
        patience = max(round(self.patience / stations.period), 1)
        watch: FailureDetector = NoProgress(value, stations.execute_periods, patience)
        if self.rewind == "start":
            watch = FromTheStart(watch)
        helper, task = self.helper(asked), stations.task
        policy = asked.controller(asked.base)
        controller = InterventionWrapper(policy, helper.acts, watch, task.actions, helper.desk)
        for seed in islice(asked.seeds, count):
            yield Job(
                seed=seed,
                purpose=Purpose.COLLECTION,
                controller=controller,
                policy=f"{asked.base}+{helper.name}",
                round=asked.round,
                overtime=self.overtime * task.time_limit,
            )


RECIPE = Recover
