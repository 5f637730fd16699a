"""What ends an execution, or has it wait, at the start of a control period."""

from __future__ import annotations

import math
from itertools import starmap

from enpire.environment.control.sensing import Readings
from enpire.environment.core import answers
from enpire.environment.core.controller import PeriodCommand
from enpire.environment.core.jobs import LOOKS
from enpire.environment.core.task import Task
from enpire.environment.stations.episode_state import EpisodeState, StationPhase
from enpire.environment.stations.verifier import too_hard
from enpire.twin.twin import Rows
from enpire.types import GIVEN_UP, Outcome, Verdict


class ExecutionEnding:
    """Looks at executions of one task before their controllers are asked again."""

    def __init__(self, task: Task, period: float) -> None:
        """period: of control [s]."""
        self._task, self._period = task, period

    def look(
        self, rows: Rows, states: list[EpisodeState], readings: Readings, periods: int
    ) -> None:
        """See which executions of stations `rows` end in this period, or wait.

        periods: that an execution has at most, but for the overtime of its job.
        """
        self._stop(states, readings, periods)
        self._give_up(states, readings, periods)
        self._attend(rows, states)

    def _stop(self, states: list[EpisodeState], readings: Readings, periods: int) -> None:
        """End executions that look done, are out of time, or press too hard."""
        ready = answers.looks_done(self._task, readings).tolist()
        for state, done, hands in zip(states, ready, readings.wrist_force.tolist(), strict=True):
            if state.phase is not StationPhase.EXECUTE:
                continue
            felt = max(starmap(math.hypot, hands))
            if felt > self._task.force_limit:
                state.finish(too_hard(felt, self._task.force_limit))
                continue
            late = state.execute >= periods + round(state.job.overtime / self._period)
            if late or (done and not len(state.plan)):
                state.phase = StationPhase.VERIFY

    def _give_up(self, states: list[EpisodeState], readings: Readings, periods: int) -> None:
        """End executions that their jobs give up, before the controller is asked again."""
        for i, state in enumerate(states):
            ask = state.job.give_up
            if (
                ask is None
                or len(state.plan)
                or state.phase is not StationPhase.EXECUTE
                or state.verdict
            ):
                continue
            look = LOOKS * state.execute // periods
            if look <= state.looked:
                continue
            state.looked = look
            (seen,) = self._task.observe(readings.row(i))
            reason = ask(seen, state.execute / periods)
            if reason is not None:
                state.finish(Verdict(Outcome.ABORTED, stage=GIVEN_UP, reason=reason))

    def _attend(self, rows: Rows, states: list[EpisodeState]) -> None:
        """Have executions wait, or end, where a person says so."""
        for row, state in zip(rows.tolist(), states, strict=True):
            if state.attended is None or state.phase is not StationPhase.EXECUTE or state.verdict:
                continue
            word = state.attended.word(row)
            state.waiting = word is PeriodCommand.WAIT
            state.waited += state.waiting
            if word is PeriodCommand.DONE:
                state.phase = StationPhase.VERIFY
            elif word is PeriodCommand.DISCARD:
                state.finish(Verdict(Outcome.ABORTED, reason="discarded by who had the hands"))
