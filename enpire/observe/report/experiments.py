"""Experiments of a campaign as a report shows them: a tree, and what each agent used.

Whoever knows of campaigns fills these in; the report itself only draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExperimentNode:
    """One experiment."""

    id: str  # of the experiment, and the name of its policy
    base: str  # the policy it improves on: another experiment's id, or the first policy
    agent: str  # who proposed it
    change: str  # recipe and settings, for a person
    hypothesis: str  # in its agent's words
    state: str  # proposed, training, trials, kept, dropped or failed
    reason: str  # of the decision; empty before there is one
    # Difference of success rates, candidate less base; None where none was measured.
    effect: float | None
    # low, high: 95% interval of the effect
    low: float
    high: float
    pairs: int  # of episodes on the same seeds that it was measured by
    robot_s: float  # robot time it took, sealed evaluations apart [s]

    @property
    def measured(self) -> str:
        """The effect with its interval and pairs, for a person."""
        if self.effect is None:
            return "not measured"
        return f"{self.effect:+.3f} [{self.low:+.3f}, {self.high:+.3f}] of {self.pairs} pairs"


@dataclass(frozen=True, slots=True)
class AgentCost:
    """What one agent used, and what came of it. robot_s: of its experiments [s]."""

    agent: str
    experiments: int
    kept: int
    robot_s: float
    tokens: int
    dollars: float


@dataclass(frozen=True, slots=True)
class CampaignReport:
    """A campaign. head: of its record, by which anybody can tell whether it was changed since."""

    experiments: tuple[ExperimentNode, ...]
    agents: tuple[AgentCost, ...]
    confinement: str
    head: str


@dataclass(frozen=True, slots=True)
class TreeRow:
    """An experiment's place in a tree that is written line by line."""

    node: ExperimentNode
    depth: int  # how many experiments it builds on
    last: bool  # whether it is the last one of its parent
    open: tuple[bool, ...]  # for each level above, whether more is to come there


def tree_rows(experiments: Sequence[ExperimentNode]) -> list[TreeRow]:
    """Return experiments in the order of their tree: each one followed by what builds on it.

    What builds on a policy that is no experiment stands at depth 0.
    """
    known = {node.id for node in experiments}
    children: dict[str, list[ExperimentNode]] = {}
    for node in experiments:
        children.setdefault(node.base if node.base in known else "", []).append(node)
    rows: list[TreeRow] = []

    def place(parent: str, depth: int, open_: tuple[bool, ...]) -> None:
        below = children.pop(parent, [])
        for at, node in enumerate(below):
            last = at == len(below) - 1
            rows.append(TreeRow(node, depth, last, open_))
            place(node.id, depth + 1, (*open_, not last))

    place("", 0, ())
    return rows
