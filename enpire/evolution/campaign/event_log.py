"""A campaign's books: each event is first on the disk, then known; and what follows from events."""

from __future__ import annotations

import time
from collections.abc import Mapping

from enpire.evolution.campaign import history
from enpire.evolution.experiments.effect import Effect
from enpire.evolution.experiments.events import EXPERIMENT, ExperimentEntry, replay_events
from enpire.evolution.experiments.experiment import FINAL, Experiment, ExperimentState
from enpire.evolution.experiments.unbiased_estimate import fresh
from enpire.evolution.knowledge import transfer
from enpire.evolution.knowledge.board import FindingsBoard
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.store import EventRow, LogEntry, RoundRow, Run
from enpire.types import Estimate


class EventLog:
    """The events of one campaign. board: what was found out."""

    def __init__(
        self, run: Run, cache: EpisodeCache, seed: int, fleet: Fleet, budget: Budget
    ) -> None:
        """cache: its episodes; seed: its own. fleet, budget: say what was used so far."""
        self.record = replay_events(run.ledger.events())
        self.board = FindingsBoard.read(run.folder)
        self._run, self._ledger = run, run.ledger
        self._known, self._seed, self._fleet, self._budget = cache, seed, fleet, budget

    def open(self) -> None:
        """Let the board be written to from now on."""
        self.board = FindingsBoard.open(self._run.folder)
        elsewhere = transfer.read(self._run.folder)
        if elsewhere is not None:
            elsewhere.post(self.board)

    def close(self) -> None:
        """The board is written to no longer."""
        self.board.close()

    def entry(self, number: int) -> ExperimentEntry:
        """Experiment `number`, as far as it is."""
        return self.record.entries[number]

    def event(self, number: int, kind: str, text: str) -> None:
        """Something has happened: first on the disk, then here."""
        self._ledger.add_event(EventRow(number, kind, text))
        self.record.take(EventRow(number, kind, text, time.time()))

    def move(
        self, number: int, state: ExperimentState, effect: Effect | None = None, reason: str = ""
    ) -> Experiment:
        """An experiment goes on to another state."""
        moved = self.entry(number).experiment.to(state, effect=effect, reason=reason)
        self.event(number, EXPERIMENT, moved.as_json())
        if moved.decided:
            self.settle()
        return moved

    def tell(
        self, kind: str, number: int, text: str, numbers: Mapping[str, float] | None = None
    ) -> None:
        """A line for people."""
        entry = self.record.entries.get(number)
        candidate = entry.policy if entry else ""
        self._ledger.add_decision(
            LogEntry(number, kind, text, self.record.incumbent, candidate, numbers or {})
        )

    def settle(self) -> None:
        """Write what follows from decisions, of which a process that died may have left some out:
        a line for people, the policy's state, the row of a round, and a commit each.
        """
        told = {note.round for note in self._ledger.decisions() if note.kind in FINAL}
        for number, _ in self.record.decided:
            entry = self.entry(number)
            if number not in told:
                experiment = entry.experiment
                self.tell(experiment.state, number, f"{experiment.id}: {experiment.reason}")
            row = self._ledger.policy(entry.policy)
            kept = entry.experiment.state is ExperimentState.KEPT
            if row is not None and kept and row.state != "incumbent":
                self._ledger.set_policy_state(entry.policy, "incumbent")
        self.close_rounds()
        history.write(self._run)
        self.board.learn(self.record.experiments)

    def close_rounds(self) -> None:
        """A row for each decision, in their order, and the last one as it is now."""
        done = len(self._ledger.rounds())
        for at, (_, incumbent) in enumerate(self.record.decided, 1):
            if at > done or at == len(self.record.decided):
                seen = self.fresh(incumbent)
                self._ledger.put_round(
                    RoundRow(
                        at,
                        incumbent,
                        seen.successes,
                        seen.trials,
                        seen.low,
                        seen.high,
                        self._fleet.robot_s,
                        self._budget.elapsed,
                    )
                )

    def fresh(self, policy: str) -> Estimate:
        """How good a policy is on seeds that it was not chosen by."""
        judged = ((e.round, e.seed, e.success) for e in self._known.evaluations(policy))
        return fresh(judged, self._seed, self.record.number_of(policy))
