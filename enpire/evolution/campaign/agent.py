"""Who proposes experiments: agents, all through one interface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from enpire.errors import UsageError
from enpire.evolution.experiments.experiment import Experiment

TEAM = re.compile(r"([a-z][a-z0-9_]*)(?::(\d+))?")
MOST = 64  # agents of a campaign


class AgentInterface(Protocol):
    """What an agent finds at the harness. It has no way to a decision, a verdict or a seed."""

    def experiments(self) -> list[Experiment]:
        """All experiments so far, of whatever state and agent, in the order of proposals."""

    @property
    def base(self) -> str:
        """The incumbent, by name: what a new experiment improves on."""

    @property
    def free(self) -> bool:
        """Whether the agent may propose now: none of its own is under way, nothing is used up."""

    def propose(self, experiment: Experiment) -> None:
        """Ask for an experiment: training, then trials.

        Raises:
            CampaignError: it is refused; the message says why, and what to do.
        """

    def leave(self, reason: str) -> None:
        """Take part no longer."""


class Agent[D: AgentInterface](Protocol):
    """Has turns, many a second, each of them short; `name` is its own."""

    @property
    def name(self) -> str: ...

    def turn(self, desk: D) -> None:
        """Propose an experiment, or do not.

        Raises:
            CampaignError: it was refused; after a few times in a row it takes part no longer.
        """

    def close(self) -> None:
        """The campaign has ended, or stopped; safe to call twice."""


class Proposer(Protocol):
    """Thinks of experiments by itself, such as a `Tuner`."""

    @property
    def name(self) -> str: ...

    def propose(self, experiments: Sequence[Experiment], base: str) -> Experiment:
        """The next experiment on `base`, given all so far."""


@dataclass(frozen=True, slots=True)
class ProposerAgent:
    """An agent that hands in whatever its proposer thinks of next."""

    proposer: Proposer

    @property
    def name(self) -> str:
        """The proposer's."""
        return self.proposer.name

    def turn(self, desk: AgentInterface) -> None:
        """See `Agent`."""
        if desk.free:
            desk.propose(self.proposer.propose(desk.experiments(), desk.base))

    def close(self) -> None:
        """See `Agent`; there is nothing to end."""


def team(text: str) -> list[tuple[str, str]]:
    """Agents of `tuner:3,other`: their names and kinds, `tuner-0` of `tuner` for one.

    Raises:
        UsageError: it cannot be read, names a kind twice, or too many agents.
    """
    found: list[tuple[str, str]] = []
    kinds: set[str] = set()
    for part in text.split(","):
        match = TEAM.fullmatch(part.strip())
        if match is None or match[1] in kinds or not int(match[2] or 1):
            raise UsageError(f"--agents {text!r}: write KIND:HOW_MANY, parted by commas: tuner:4")
        kinds.add(match[1])
        found += [(f"{match[1]}-{i}", match[1]) for i in range(int(match[2] or 1))]
    if len(found) > MOST:
        raise UsageError(f"--agents {text!r} are {len(found)}: {MOST} at most")
    return found
