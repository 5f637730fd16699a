"""Agents that write code for tests: policies, and recipes that leave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enpire.errors import CampaignError
from enpire.evolution.campaign.campaign import AgentSession
from enpire.evolution.experiments.experiment import Experiment

TOWARDS = """
import numpy as np

class Policy:
    def begin(self, row): pass
    def act(self, rows, observations):
        actions = np.zeros((len(rows), 7), np.float32)
        actions[:, 0] = np.clip(observations[:, 0] * 0.05 / 0.008, -1, 1)
        return actions

def make(observation, action):
    return Policy()
"""
STILL = TOWARDS.replace("0.05 /", "0.0 /")
BROKEN = TOWARDS.replace("return Policy()", "raise ValueError('no such arm')")
LEAVES = f"""
from dataclasses import dataclass

from enpire.improvement.recipe import Candidate
from enpire.policies import ProgramPolicy

@dataclass(frozen=True)
class Leaves:
    def improve(self, given):
        spec = given.spec
        files = {{"policy.py": {TOWARDS!r}.encode(), "gain": b"1"}}
        policy = ProgramPolicy.of(files, spec.task, spec.observation, spec.action)
        return Candidate(policy, {{"seen": len(given.episodes)}})

RECIPE = Leaves
"""


@dataclass
class Coder:
    """An agent that proposes these, one after the other, and then ends."""

    name: str
    texts: Sequence[str]

    def turn(self, desk: AgentSession) -> None:
        if not desk.free:
            return
        own = sum(e.agent == self.name for e in desk.experiments())
        if own >= len(self.texts):
            raise CampaignError("nothing left to try")
        text, trains = self.texts[own], "RECIPE" in self.texts[own]
        desk.propose(
            Experiment(
                id=f"{self.name}-{own}",
                agent=self.name,
                hypothesis=f"program {own} goes where the goal is",
                recipe="coded",
                base=desk.base,
                source=text if trains else "",
                program="" if trains else text,
            )
        )

    def close(self) -> None:
        pass
