"""The start of a control period: what stations see, and which episodes that ends or takes on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enpire.environment.control.sensing import Readings, Sensors
from enpire.environment.core.task import Task
from enpire.environment.stations.episode_state import EpisodeState, StationPhase
from enpire.environment.stations.execution_ending import ExecutionEnding
from enpire.environment.stations.resets import Resets
from enpire.environment.stations.verifier import Verifier
from enpire.twin.twin import Rows
from enpire.types import FloatArray


@dataclass(frozen=True, slots=True)
class Sensed:
    """Stations in the middle of a control period: what they see, before anything acts on it."""

    rows: Rows  # the stations that execute, or did until now
    executing: list[int]  # positions in `rows` of those that go on, and wait for an action
    # readings, jacobian: those of `rows`
    readings: Readings
    jacobian: FloatArray


class PeriodStart:
    """Begins the control periods of one twin's stations."""

    def __init__(
        self,
        task: Task,
        sensors: Sensors,
        resets: Resets,
        ending: ExecutionEnding,
        verifier: Verifier,
        after_step: bool,
    ) -> None:
        """after_step: the task has one."""
        self._task, self._sensors, self._after_step = task, sensors, after_step
        self._resets, self._ending, self._verifier = resets, ending, verifier

    def begin(
        self, states: dict[int, EpisodeState], execute_periods: int
    ) -> tuple[Sensed | None, list[int]]:
        """Begin a period of stations whose physics is done.

        Args:
            states: of their episodes, by station.
            execute_periods: that an execution has at most.

        Returns:
            What those see that execute, None if no station does; and the stations that go on
            without a decision.
        """
        if self._after_step:
            for row, state in states.items():
                if state.capture is not None:
                    continue  # in this period it was
                with state.blamed(self._task.folder):
                    self._task.after_step(self._sensors.twin, row)
        resetting = [row for row, state in states.items() if state.phase is StationPhase.RESET]
        if resetting:
            self._resets.period_over(resetting, [states[row] for row in resetting])
        seen = [row for row, state in states.items() if state.phase is not StationPhase.RESET]
        sensed = None
        if seen:
            sensed = self._sense(np.array(seen), [states[row] for row in seen], execute_periods)
        going_on = [
            row
            for row, state in states.items()
            if (state.phase is not StationPhase.EXECUTE or state.waiting) and state.verdict is None
        ]
        return sensed, going_on

    def _sense(self, rows: Rows, states: list[EpisodeState], execute_periods: int) -> Sensed | None:
        """Read the sensors, see who is done, and let those that verify do so."""
        for row, state in zip(rows.tolist(), states, strict=True):
            if state.again:
                self._begin_again(row, state)
        longest = self._sensors.periods  # overtime sees the same white noise again
        periods = [(state.execute + state.verify) % longest for state in states]
        readings, jacobian = self._sensors.read(rows, periods)
        executed = [i for i, state in enumerate(states) if state.phase is StationPhase.EXECUTE]
        if executed:
            self._ending.look(rows, states, readings, execute_periods)
        verifying = [i for i, state in enumerate(states) if state.phase is StationPhase.VERIFY]
        if verifying:
            self._verifier.period_over(rows, states, verifying, readings, jacobian)
        if not executed:
            return None
        if len(executed) < len(rows):
            states = [states[i] for i in executed]
            rows, readings, jacobian = rows[executed], readings.at(executed), jacobian[executed]
        going_on = [
            i
            for i, state in enumerate(states)
            if state.phase is StationPhase.EXECUTE and state.verdict is None and not state.waiting
        ]
        return Sensed(rows, going_on, readings, jacobian)

    def _begin_again(self, row: int, state: EpisodeState) -> None:
        """Another attempt, by a controller that knows nothing of the last one."""
        if state.unseen:
            state.record(self._task.observe(Readings.joined(state.unseen)))
        state.begin_again()
        state.job.controller.begin(row, state.streams.exploration, state.job.exploration)
