"""Experiments of a campaign as a report shows them: a tree, and what each agent used.

Whoever knows of campaigns fills these in; the report itself only draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExperimentNode:
    """One experiment.

    Attributes:
        id: of the experiment, and the name of its policy.
        base: the policy it improves on: another experiment's id, or the first policy.
        agent: who proposed it.
        change: recipe and settings, for a person.
        hypothesis: in its agent's words.
        state: proposed, training, trials, kept, dropped or failed.
        reason: of the decision; empty before there is one.
        effect: difference of success rates, candidate less base; None where none was measured.
        low, high: 95% interval of the effect.
        pairs: of episodes on the same seeds that it was measured by.
        robot_s: robot time it took, sealed evaluations apart [s].
    """

    id: str
    base: str
    agent: str
    change: str
    hypothesis: str
    state: str
    reason: str
    effect: float | None
    low: float
    high: float
    pairs: int
    robot_s: float


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
    """An experiment's place in a tree that is written line by line.

    depth: how many experiments it builds on. last: whether it is the last one of its parent. open:
    for each level above, whether more is to come there.
    """

    node: ExperimentNode
    depth: int
    last: bool
    open: tuple[bool, ...]


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
