"""Stations with arms, each under its supervisor, in real time; otherwise as `Stations`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from enpire.environment.control.sensing import SensorNoise
from enpire.environment.core.controller import decided
from enpire.environment.core.station_backend import StationEvent
from enpire.environment.core.task import Task
from enpire.environment.hardware.cell import HardwareCell, StationStop
from enpire.environment.hardware.measured_state import MeasuredState
from enpire.environment.hardware.resets import HardwareResets
from enpire.environment.hardware.station_events import StationEventLog
from enpire.environment.hardware.verifier_cameras import HardwareVerifierCameras
from enpire.environment.stations.episode_state import EpisodeState, StationPhase
from enpire.environment.stations.period_start import Sensed
from enpire.environment.stations.resets import ResetMode
from enpire.environment.stations.stations import Stations
from enpire.packs import Robot, World
from enpire.twin.scene import Scene
from enpire.types import LOST, Episode, FloatArray, Outcome, Verdict

NONE = SensorNoise(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, latency=0.0)  # added: the sensors have their own
IN_A_ROW = 3  # episodes that a station loses before it is set aside
LOOK_S = 0.5  # between two looks at what has happened


class HardwareStations(Stations):
    """Episodes on arms. A motion is never repeated: after a stop the next thing is a reset."""

    live = True

    def __init__(
        self,
        task: Task,
        world: World,
        robot: Robot,
        cells: Sequence[HardwareCell],
        packs: dict[str, str] | None = None,
        dry: bool = False,
    ) -> None:
        """As `Stations`, but for the cells that it has its episodes on; dry: they are twins."""
        self.cells, self._dry = cells, dry
        super().__init__(task, world, robot, len(cells), packs=packs, reset=ResetMode.PHYSICAL)
        self._lost = dict.fromkeys(range(len(cells)), 0)  # episodes in a row
        self._event_logs = [StationEventLog(row, cell) for row, cell in enumerate(cells)]
        self._looked = 0

    @property
    def verified_by(self) -> str:
        """See `StationBackend`."""
        by = (
            "cameras"
            if self.verifier_cameras is not None and self.task.verifies_views
            else "sensors"
        )
        return f"a twin's {by}: a dry run" if self._dry else f"the station's {by}"

    def advance(self, row: int, most: int) -> int:
        """Let one period pass: plans are carried out period by period."""
        self.twin.advance(row, self.substeps)
        return 1

    def new_events(self, last: bool = False) -> list[StationEvent]:
        """See `Eventful`; it looks once in a while."""
        now = time.monotonic_ns()
        if now - self._looked < LOOK_S * 1e9 and not last:
            return []
        self._looked = now
        found = []
        for row, event_log in enumerate(self._event_logs):
            running = self._running.get(row)
            found += event_log.take(now, running.job.id if running else "", last)
        return found

    def close(self) -> None:
        """Arms brake and hold; supervisors end."""
        self.wait()
        if isinstance(self.verifier_cameras, HardwareVerifierCameras):
            self.verifier_cameras.close()
        for cell in self.cells:
            cell.close()

    def _twin(self, scene: Scene, stations: int, threads: int) -> MeasuredState:
        def sender(row: int) -> Callable[[FloatArray], None]:
            show = partial(measured.show, row)
            return lambda setpoint: self.cells[row].send_setpoint(setpoint, show)

        measured = MeasuredState(scene, self.task.tracked, stations)
        measured.send_setpoints = [sender(row) for row in range(stations)]
        return measured

    @property
    def _noise(self) -> SensorNoise:
        return NONE

    def _made_resets(self) -> HardwareResets:
        self._restores = HardwareResets(self.task, self.sensors, self.period, self.cells)
        return self._restores

    def _decide(self, sensed: Sensed) -> list[int]:
        """See `Stations`; an arm stands still until its policy has come to its first action."""
        acting = [i for i in sensed.executing if self._decided(sensed, i)]
        waiting = [int(sensed.rows[i]) for i in sensed.executing if i not in acting]
        return super()._decide(replace(sensed, executing=acting)) + waiting

    def _decided(self, sensed: Sensed, i: int) -> bool:
        """Whether a policy can act; what it takes to begin counts to the reset."""
        state = self._running[int(sensed.rows[i])]
        if state.execute:
            return True
        (seen,) = self.task.observe(sensed.readings.row(i))
        going = decided(state.job.controller, int(sensed.rows[i]), seen)
        state.reset += not going
        return going

    def _interrupt(self, rows: list[int]) -> None:
        """End the tries and the episodes of stations that have stopped."""
        for row in rows:
            stop, state = self.cells[row].stop, self._running[row]
            if stop is None or state.verdict is not None:
                continue
            if state.phase is StationPhase.RESET and not stop.lost:
                self._restores.interrupted(row, state, stop.reason)
            else:
                state.finish(_verdict(stop, state))
                state.lost = stop.lost

    def _finish(self, row: int, verdict: Verdict) -> Episode:
        lost = verdict.stage == LOST and verdict.outcome is Outcome.INVALID
        self._lost[row] = self._lost[row] + 1 if lost else 0
        if self._lost[row] >= IN_A_ROW:
            self._running[row].lost = True
        return super()._finish(row, verdict)


def _verdict(stop: StationStop, state: EpisodeState) -> Verdict:
    """The verdict on an episode that a stop ends.

    Where the policy's own setpoints led to the stop it has failed, as on a twin where a wrist feels
    too much: else a policy that stops its station whenever things go wrong would be given another
    try. What became of a station on the way is nobody's failure.
    """
    if stop.asked:
        return Verdict(Outcome.ABORTED, stage="stopped", reason=stop.reason)
    if stop.by_policy and state.phase is StationPhase.EXECUTE:
        return Verdict(Outcome.FAILURE, stage="stopped", reason=stop.reason)
    return Verdict(Outcome.INVALID, stage=LOST, reason=stop.reason)
