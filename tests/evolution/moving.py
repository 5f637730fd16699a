"""Campaigns for tests: candidates that move at one speed, and agents that read from a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from enpire.errors import CampaignError
from enpire.evolution.campaign.campaign import Agent, AgentPool, AgentSession, Campaign
from enpire.evolution.experiments.budget import Ceilings
from enpire.evolution.experiments.experiment import Experiment
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.training_process import Trainer
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.settings import LoopSettings
from enpire.rollout.loop.state import LoopState
from enpire.store import EpisodeWriter, Run
from tests.environment.reach import reach_stations
from tests.improvement.here import Here

SLOW, FAST = 0.3, 1.0  # reaches about half of the goals in time; reaches all
TINY = LoopSettings.of(
    task="reach",
    robots=2,
    seed=1,
    target=0.9,
    demonstrations=2,
    demonstration_starts="drawn",  # at once: `spread` places a thousand
    start_episodes=8,
    collect=2,
    max_pairs=20,
    sealed_episodes=27,
    alpha=0.2,
)

MOVES = '''"""Moves along x at one speed, whatever it sees."""

from dataclasses import dataclass, replace

import torch

from enpire.errors import RecipeError
from enpire.improvement.recipe import Candidate
from enpire.policies import ChunkPolicy


@dataclass(frozen=True)
class Moves:
    speed: float = 0.3

    def improve(self, given):
        if self.speed < 0:
            raise RecipeError("the loss is nan")
        policy = ChunkPolicy(replace(given.spec, execute=1))
        with torch.no_grad():
            policy.spread.zero_()
            policy.centre[0] = self.speed
        return Candidate(policy, {"speed": self.speed})


RECIPE = Moves
'''


class Killed(BaseException):
    """The process is gone."""


class Steps:
    """Counts episodes and writes; kills the process at the last allowed one.

    after: kill it after the so many-th write of this name instead.
    """

    WRITES = (
        "add_event",
        "add_policy",
        "set_policy_state",
        "add_decision",
        "put_round",
        "add_sealed",
    )

    def __init__(self, allowed: float = np.inf, after: tuple[str, int] = ("", 0)) -> None:
        self.allowed, self.after, self.done = allowed, after, 0
        self.writes = dict.fromkeys(self.WRITES, 0)

    @property
    def deadly(self) -> bool:
        return self.allowed < np.inf or bool(self.after[0])

    def step(self, *_: object) -> None:
        self.done += 1
        if self.done >= self.allowed:
            raise Killed

    def watch(self, ledger: Any) -> None:
        for name in self.WRITES:
            setattr(ledger, name, self._watched(name, getattr(ledger, name)))

    def _watched(self, name: str, write: Any) -> Any:
        def wrapped(*given: object) -> None:
            write(*given)
            self.writes[name] += 1
            self.step()
            if (name, self.writes[name]) == self.after:
                raise Killed

        return wrapped


@dataclass
class Listed:
    """An agent that proposes these speeds, one after the other, and then ends."""

    name: str
    speeds: Sequence[float]
    source: str

    def turn(self, desk: AgentSession) -> None:
        if not desk.free:
            return
        own = sum(e.agent == self.name for e in desk.experiments())
        if own >= len(self.speeds):
            raise CampaignError("nothing left to try")
        desk.propose(self.proposal(own, desk.base))

    def close(self) -> None:
        pass

    def proposal(self, own: int, base: str) -> Experiment:
        speed = repr(self.speeds[own])
        return Experiment(
            id=f"{self.name}-{own}",
            agent=self.name,
            hypothesis=f"a speed of {speed} reaches more",
            recipe="moves",
            base=base,
            settings=(("speed", speed),),
            source=self.source,
        )


def config(settings: LoopSettings, agents: int = 1) -> dict[str, Any]:
    campaign = {
        "command": ["enpire", "campaign"],
        "confinement": "no programs of their own",
        "agents": f"listed:{agents}",
    }
    return {"loop": settings.values(), "campaign": campaign}


def go(
    folder: Path,
    plans: dict[str, Sequence[float]],
    steps: Steps | None = None,
    settings: LoopSettings = TINY,
    budget: Budget | None = None,
    ceilings: Ceilings | None = None,
    kind: type[Campaign] = Campaign,
    others: Sequence[Agent] = (),
    trainer: Trainer | None = None,
) -> Campaign:
    """Start or continue a campaign in `folder`, to its end."""
    from enpire.improvement import recipe_finding as recipes

    steps = steps or Steps()
    folder.parent.mkdir(exist_ok=True)
    path = folder.parent / "moves.py"
    path.write_text(MOVES)
    exists = folder.exists()
    run = (
        Run.open(folder, writable=True)
        if exists
        else Run.create(folder, config(settings, len(plans) + len(others) or 1))
    )
    with run, EpisodeWriter(run) as writer:
        stations = reach_stations(settings.environment.robots)
        limit = budget or Budget()
        fleet = Fleet(stations, writer, limit.spent, steps.step)
        if steps.deadly:
            stations.abort = lambda reason: []  # the dead record nothing
            steps.watch(run.ledger)
        listed = [Listed(name, speeds, MOVES) for name, speeds in plans.items()]
        team = AgentPool([*listed, *others], {MOVES: path})
        first = ConfiguredRecipe("first", recipes.find(str(path)).recipe, str(path))
        campaign = kind(
            settings,
            run,
            writer,
            fleet,
            first,
            trainer or Here(),
            team,
            limit,
            ceilings or Ceilings(),
            LoopState(),
        )
        campaign.run()
        return campaign
