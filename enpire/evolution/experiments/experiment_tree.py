"""A campaign's experiments and costs, as the report of a run shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from enpire.evolution.experiments.effect import Effect
from enpire.evolution.experiments.events import ExperimentEntry, ModelUse, replay_events
from enpire.observe import account
from enpire.observe.report.experiments import AgentCost, CampaignReport, ExperimentNode
from enpire.store import EventRow, Run
from enpire.store.head import head
from enpire.types import Purpose


def experiment_tree(run: Run) -> CampaignReport:
    """Return the experiments of a campaign's run, from its ledger alone."""
    seconds = account.seconds_by_round(run.ledger.episodes(without=Purpose.SEALED))
    confinement = str(run.config["campaign"].get("confinement", ""))
    return experiments_of(run.ledger.events(), seconds, confinement, str(head(run)))


def experiments_of(
    events: Iterable[EventRow],
    seconds: Mapping[int, float],
    confinement: str = "",
    head: str = "",
) -> CampaignReport:
    """Return the experiments that events come to; seconds: of robot time by round, sealed apart."""
    record = replay_events(events)
    nodes = tuple(
        _node(entry, seconds.get(number, 0.0)) for number, entry in record.entries.items()
    )
    agents = sorted({node.agent for node in nodes} | record.used.keys())
    costs = tuple(_cost(agent, nodes, record.used) for agent in agents)
    return CampaignReport(nodes, costs, confinement, head)


def _node(entry: ExperimentEntry, robot_s: float) -> ExperimentNode:
    experiment = entry.experiment
    effect: Effect | None = experiment.effect
    low, high = effect.interval if effect else (-1.0, 1.0)
    pairs = effect.record.pairs if effect else 0
    return ExperimentNode(
        id=experiment.id,
        base=experiment.base,
        agent=experiment.agent,
        change=_change(entry),
        hypothesis=experiment.hypothesis,
        state=str(experiment.state),
        reason=experiment.reason,
        effect=effect.difference if effect and pairs else None,
        low=low,
        high=high,
        pairs=pairs,
        robot_s=robot_s,
    )


def _change(entry: ExperimentEntry) -> str:
    experiment = entry.experiment
    kind = "code of its own" if experiment.source else "a program" if experiment.program else ""
    settings = ", ".join(f"{name} {value}" for name, value in experiment.settings)
    parts = (f"{experiment.recipe} ({kind})" if kind else experiment.recipe, settings)
    return ": ".join(part for part in parts if part)


def _cost(agent: str, nodes: tuple[ExperimentNode, ...], used: Mapping[str, ModelUse]) -> AgentCost:
    own = [node for node in nodes if node.agent == agent]
    spent = used.get(agent, ModelUse())
    return AgentCost(
        agent,
        len(own),
        sum(node.state == "kept" for node in own),
        sum(node.robot_s for node in own),
        spent.tokens,
        spent.dollars,
    )
