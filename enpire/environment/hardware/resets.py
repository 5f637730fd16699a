"""Resets on stations with arms: by the task's skills, or where it has none by a simulator."""

from __future__ import annotations

from collections.abc import Sequence

from enpire.environment.control.sensing import Sensors
from enpire.environment.core.answers import drawn_of
from enpire.environment.core.task import Task
from enpire.environment.hardware.cell import HardwareCell
from enpire.environment.stations.episode_state import EpisodeState, StationPhase
from enpire.environment.stations.resets import Resets
from enpire.errors import DriverError, ResetFailed, SafetyError
from enpire.types import LOST, FloatArray, Outcome, Verdict


class HardwareResets(Resets):
    """The first phase of every episode: the arms get ready, then put the scene back."""

    def __init__(
        self, task: Task, sensors: Sensors, period: float, cells: Sequence[HardwareCell]
    ) -> None:
        """period: of control [s]."""
        super().__init__(task, sensors, period, after_step=False)
        self._cells = cells
        self._waiting: set[int] = set()  # stations that are not ready for their try
        self._drawn: dict[int, FloatArray] = {}  # initial conditions that simulators do not know

    def begin(self, row: int, running: EpisodeState, physical: bool) -> None:
        """Draw the initial condition; everything else is for `period_over`."""
        self._drawn[row] = drawn_of(self.task, running.streams.variation)
        if self.task.target_names:
            running.target = self._drawn[row][self._target]
        self._waiting.add(row)
        self._cells[row].begin()

    def period_over(self, rows: Sequence[int], states: Sequence[EpisodeState]) -> None:
        """One control period of resets."""
        going_on = []
        for i, (row, state) in enumerate(zip(rows, states, strict=True)):
            if row not in self._waiting:
                going_on.append(i)
                continue
            state.reset += 1
            try:
                with state.blamed(self.task.folder):
                    if self._ready(row, state):
                        self._start(row, state)
            except ResetFailed as error:
                self._failed(row, state, error)
            except (SafetyError, DriverError) as error:
                self._lose(row, state, str(error))
        super().period_over([rows[i] for i in going_on], [states[i] for i in going_on])

    def interrupted(self, row: int, state: EpisodeState, reason: str) -> None:
        """A stop in the middle of a try, which says nothing of the scene: recover, and try again.

        How often, the supervisor says.
        """
        state.tries -= 1
        self._failed(row, state, ResetFailed(reason))

    def end_try(self, row: int, running: EpisodeState) -> None:
        """No skill is under way any more, and the station's fixture is off."""
        self._waiting.discard(row)
        if running.restoring is not None:
            running.restoring = None
            self._operate(row, ())

    def _operate(self, row: int, on: tuple[str, ...]) -> None:
        try:
            self._cells[row].wire.operate(on)
        except DriverError as error:
            raise ResetFailed(f"the fixture: {error}") from error

    def _lose(self, row: int, state: EpisodeState, reason: str) -> None:
        """A station that needs a person."""
        self._waiting.discard(row)
        state.verdict = Verdict(Outcome.INVALID, stage=LOST, reason=reason)
        state.lost = True

    def _ready(self, row: int, state: EpisodeState) -> bool:
        """Whether a try can begin; a simulator that has no skills to wait for places the scene."""
        cell = self._cells[row]
        if state.target is not None:
            return cell.ready()
        if not cell.wire.simulated:
            raise SafetyError(
                f"{self.task.name} has no skills for a physical reset: no arm can run it"
            )
        if row in self._drawn:
            if cell.disarmed():
                cell.wire.set_initial_state(self._drawn.pop(row))
            return False
        return cell.wire.placed and cell.ready()

    def _start(self, row: int, state: EpisodeState) -> None:
        """The arms are armed: begin where they stand, and not where they were sent before."""
        cell = self._cells[row]
        self._waiting.discard(row)
        sent = cell.client.status().sent.reshape(len(self.control.arms), -1)
        self.control.set(row, sent[:, :-1], sent[:, -1])
        if state.target is None:
            return
        if cell.wire.simulated and row in self._drawn:
            cell.wire.randomize_physics(self._drawn.pop(row))
        super()._restore(row, state)

    def _restore(self, row: int, running: EpisodeState) -> None:
        """Another try, for the same initial condition: get ready for it."""
        self._waiting.add(row)
        self._cells[row].again()

    def _place(self, row: int, running: EpisodeState) -> None:
        """Another try, with the next initial condition of the seed."""
        running.tries += 1
        self._drawn[row] = drawn_of(self.task, running.streams.variation)
        self._restore(row, running)

    def _wait(self, row: int, running: EpisodeState) -> None:
        """The scene is in place: what the wrists feel now is nothing, and the policy begins."""
        self.sensors.begin(row, running.streams.noise)
        running.phase = StationPhase.EXECUTE
