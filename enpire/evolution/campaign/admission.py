"""Which experiments may begin: those for which there is room, and that make sense."""

from __future__ import annotations

from enpire.errors import CampaignError
from enpire.evolution.campaign.event_log import EventLog
from enpire.evolution.experiments.budget import Ceilings
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.settings import LoopSettings
from enpire.store import Run
from enpire.types import Purpose


class Admission:
    """The admission to one campaign. closed: why no experiment may begin any more, or empty."""

    def __init__(
        self,
        settings: LoopSettings,
        run: Run,
        books: EventLog,
        cache: EpisodeCache,
        fleet: Fleet,
        ceilings: Ceilings,
    ) -> None:
        """ceilings: of what may be used."""
        self.closed = ""
        self._settings, self._run, self._books = settings, run, books
        self._known, self._fleet, self._ceilings = cache, fleet, ceilings

    def look(self) -> None:
        """Close, where agents have used up what they may."""
        self.closed = self.closed or self._ceilings.used_up(self._books.record.spent) or ""

    def require(self, experiment: Experiment) -> None:
        """Check that it may begin.

        Raises:
            CampaignError: it may not; why, and what to do.
        """
        self._require_room(experiment)
        self._require_sound(experiment)

    def robot_s(self, number: int) -> float:
        """Robot time of an experiment so far [s]."""
        return sum(
            episode.times.total
            for episode in self._known.episodes.values()
            if episode.round == number and episode.purpose is not Purpose.SEALED
        )

    def _require_room(self, experiment: Experiment) -> None:
        record = self._books.record
        own = record.of(experiment.agent)
        if own:
            raise CampaignError(
                f"{experiment.agent} has {own[0].experiment.id} under way: wait for its decision"
            )
        each = self._expected_s()
        reserved = sum(max(0.0, each - self.robot_s(e.number)) for e in record.under_way)
        self.closed = self.closed or self._ceilings.refuses(
            len(record.entries), self._fleet.robot_s, reserved, each
        )
        if self.closed:
            raise CampaignError(f"{self.closed}: no experiment begins any more")

    def _require_sound(self, experiment: Experiment) -> None:
        record = self._books.record
        if experiment.state is not ExperimentState.PROPOSED or experiment.effect is not None:
            raise CampaignError(f"{experiment.id} is {experiment.state}: propose new ones only")
        if self._run.ledger.policy(experiment.id) is not None:
            raise CampaignError(f"there is a policy {experiment.id} already: choose another id")
        if self._run.ledger.policy(experiment.base) is None:
            raise CampaignError(
                f"there is no policy {experiment.base!r} to improve on: the incumbent is "
                f"{record.incumbent}"
            )
        known = record.experiments
        if any(other.id == experiment.id for other in known):
            raise CampaignError(f"there is an experiment {experiment.id} already")
        for other in known:
            if not other.decided and other.what == experiment.what:
                raise CampaignError(
                    f"{other.id} tries just that now: change something, or wait for its decision"
                )

    def _expected_s(self) -> float:
        """Robot time that an experiment may take: its collection, and a comparison [s]."""
        times = [e.times.total for e in self._known.episodes.values()]
        mean = sum(times) / len(times) if times else 0.0
        return mean * (self._settings.rounds.collect + 2 * self._settings.evaluation.max_pairs)
