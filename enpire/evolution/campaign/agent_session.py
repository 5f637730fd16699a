"""What an agent finds at a campaign: its place at the harness's desk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enpire.errors import CampaignError
from enpire.evolution.experiments.experiment import Experiment

if TYPE_CHECKING:
    from enpire.evolution.campaign.campaign import Campaign


@dataclass(frozen=True, slots=True)
class AgentSession:
    """An agent's `AgentDesk`: what it may see and ask for of a campaign."""

    campaign: Campaign
    agent: str

    def known(self) -> list[Experiment]:
        """See `AgentDesk`."""
        with self.campaign.lock:
            return self.campaign.record.experiments

    @property
    def base(self) -> str:
        """See `AgentDesk`."""
        return self.campaign.record.incumbent

    @property
    def free(self) -> bool:
        """See `AgentDesk`."""
        return not (self.campaign.closed or self.campaign.record.of(self.agent))

    def leave(self, reason: str) -> None:
        """See `AgentDesk`."""
        self.campaign.retire(self.agent, reason)

    def propose(self, experiment: Experiment) -> None:
        """See `AgentDesk`; an agent proposes in its own name only."""
        if experiment.agent != self.agent:
            raise CampaignError(f"{self.agent} cannot propose for {experiment.agent}")
        self.campaign.propose(experiment)
