"""One station with arms: its supervisor, its streamer, its wire, and what went wrong on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from enpire.drivers.build import open_wire
from enpire.drivers.mailbox import Beats
from enpire.drivers.wire import Objects, Wire
from enpire.errors import SafetyError
from enpire.safety.client import StationClient
from enpire.safety.launch import Supervision
from enpire.safety.machine import ACTIVE, Mode
from enpire.safety.messages import SupervisorStatus, TimedSetpoint
from enpire.safety.pace import Pace
from enpire.safety.permit import Permit
from enpire.safety.process import BEATS
from enpire.safety.recoveries import MOST
from enpire.safety.rules import BRAKES, HOLDS, GateRule
from enpire.safety.station import StationFile
from enpire.safety.streaming import Streaming
from enpire.safety.supervisor import STILL
from enpire.types import FloatArray

READY_S = 30.0  # until the arms stand still, and a scene that was placed has settled
CALM_S = 1.0  # after a stop, in which the arms are heard of and stand still, before the next
BLIND_S = 0.25  # age of the tracker's poses at which a policy is given none any more
WAIT_S = 5.0  # for the tracker to see again, before the station counts as lost
BY_POLICY = (
    GateRule.WORKSPACE
    | GateRule.KEEP_OUT
    | GateRule.SELF_COLLISION
    | GateRule.WRIST_FORCE
    | GateRule.GRIPPER_FORCE
)
"""Stops for where the setpoints led, and not for what became of them on the way.

Not the jump: no setpoint of ours is so far from where its joint was measured before.
"""


@dataclass(frozen=True, slots=True)
class StationStop:
    """Why a station does not follow setpoints any more."""

    reason: str
    rules: GateRule = GateRule.NONE  # of the supervisor's stop, NONE if something else went wrong
    lost: bool = False  # a person has to see to the station

    @property
    def by_policy(self) -> bool:
        """Whether whoever chose the setpoints brought it about, and nothing else."""
        stopping = self.rules & (BRAKES | HOLDS)
        return bool(stopping) and not stopping & ~BY_POLICY

    @property
    def asked(self) -> bool:
        """Whether a person did."""
        return bool(self.rules & (GateRule.EMERGENCY | GateRule.ASKED))


class HardwareCell:
    """Follows setpoints while it is `ready`, up to a stop.

    stop: why it does not, until `begin`. new_events: stops, in words, that nobody has taken yet.
    """

    def __init__(self, station: StationFile, permit: Permit, period: float) -> None:
        """Start its supervisor and its streamer; raises SafetyError, DriverError, UsageError.

        period: of control [s].
        """
        self.station = station
        self.stop: StationStop | None = None
        self.new_events: list[tuple[int, str]] = []
        self.epoch = 0  # of the supervisor, while it is armed
        self._period = period
        self._pace = Pace(period)
        self._since = 0  # when it began to get ready
        self._used_up = False  # all recoveries of the episode, and it has stopped again
        self._unfit = 0  # when its arms were not fit to be armed, last
        self._fresh = False  # an episode has begun, and the supervisor knows nothing of it
        with ExitStack() as opened:
            self.wire: Wire = open_wire(station.wire, station.scenery, time.monotonic_ns)
            opened.callback(self.wire.close)
            if station.cameras:
                self.wire.watch(station.cameras)
            self.supervision = opened.enter_context(Supervision(station, permit))
            self.client = StationClient(station.runtime)
            self._beats = Beats(station.runtime / BEATS, len(station.cameras) + 1)
            self._streaming = Streaming(station)
            opened.callback(self._streaming.close)
            self._opened = opened.pop_all()

    def close(self) -> None:
        """The arms brake and hold; everything ends."""
        self._opened.close()

    # Getting ready

    def begin(self) -> None:
        """An episode begins: get ready anew."""
        self._fresh = True
        self.again()

    def again(self) -> None:
        """Get ready, after a stop in the middle of an episode."""
        if self.stop is not None:
            self._unfit = time.monotonic_ns()
        self.stop, self.epoch = None, 0
        self._since = time.monotonic_ns()

    def ready(self) -> bool:
        """Do what is left for the arms to follow setpoints; ask again in a period if False.

        Raises:
            SafetyError: a person has to see to the station: it is latched, its recoveries are used
                up, or its arms are not fit within READY_S.
        """
        if self.epoch:
            return True
        try:
            status = self.client.status()
            mode = status.mode
            if mode is Mode.LATCHED:
                raise SafetyError(self._latched())
            if self._fresh:
                self.supervision.ask("episode")
                self._fresh = False
            self._used_up = mode is Mode.HOLDING and status.recoveries >= MOST
            if self._used_up:
                raise SafetyError(
                    f"stopped again ({', '.join(status.rules.names)}) after {MOST} recoveries"
                )
            if mode in (Mode.IDLE, Mode.HOLDING) and self._fit(status):
                self.supervision.ask("arm" if mode is Mode.IDLE else "recover")
            elif mode is Mode.ARMED:
                self.epoch = int(str(self.supervision.ask("status")["epoch"]))
        except SafetyError:
            self._unfit = time.monotonic_ns()  # each try to recover counts
            if self._mode() in (None, Mode.LATCHED) or self._used_up or self._waited > READY_S:
                raise
        if not self.epoch and self._waited > READY_S:
            raise SafetyError(
                f"not ready in {READY_S:g} s: the arms are silent, or move, or a camera is silent"
            )
        return bool(self.epoch)

    def _fit(self, status: SupervisorStatus) -> bool:
        """Whether arms and cameras are heard of, and the arms have stood still, for CALM_S."""
        now = time.monotonic_ns()
        heard = now - status.read <= self.station.ages.driver * 1e9
        still = bool((abs(status.velocity) <= STILL * self.station.limits.speed).all())
        seen = all(now - taken <= self.station.ages.camera * 1e9 for taken in self._picture_times())
        if not (heard and still and seen):
            self._unfit = now
        return now - self._unfit >= CALM_S * 1e9

    def _picture_times(self) -> list[int]:
        """When the newest picture of each camera was taken; 0: there is none."""
        pictures = (self.wire.picture(camera) for camera in self.station.cameras)
        return [0 if picture is None else picture.stamp for picture in pictures]

    def disarmed(self) -> bool:
        """Have the arms take no setpoints: a simulator is about to move them."""
        self.epoch = 0
        mode = self._mode()
        if mode is Mode.ARMED:
            self.supervision.ask("disarm")
        elif mode is Mode.LATCHED:
            raise SafetyError(self._latched())
        elif self._waited > READY_S:
            raise SafetyError(f"the station is {mode.name.lower() if mode else 'gone'}: not still")
        return mode in (Mode.IDLE, Mode.HOLDING)

    @property
    def _waited(self) -> float:
        return (time.monotonic_ns() - self._since) * 1e-9

    def _mode(self) -> Mode | None:
        try:
            return self.client.status().mode
        except SafetyError:
            return None

    def _latched(self) -> str:
        rules = self.client.status().rules
        return (
            f"latched ({', '.join(rules.names)}): enpire station clear {self.station.path}, "
            "once somebody has looked"
        )

    # Following setpoints

    def send_setpoint(
        self, setpoint: FloatArray, show: Callable[[SupervisorStatus, Objects | None], None]
    ) -> None:
        """Have a setpoint, (axes,), reached in a control period, and wait until that is over.

        show: is given what the station then says. A tracker that sees nothing is waited for; the
        arms come to rest meanwhile.
        """
        now = time.monotonic_ns()
        self._beats.beat(len(self.station.cameras), now)  # who judges, as long as periods pass
        for k, taken in enumerate(self._picture_times()):
            self._beats.beat(k, taken)
        if self.epoch and self.stop is None:
            self._streaming.put(TimedSetpoint(self.epoch, now, self._period, setpoint))
        self._pace.wait()
        status = self._look()
        if status is not None:
            show(status, self._objects() if self.epoch else self.wire.objects())

    def _look(self) -> SupervisorStatus | None:
        try:
            status = self.client.status()
        except SafetyError as error:
            self._stopped(StationStop(str(error), lost=True))
            return None
        if self.epoch and self.stop is None:
            if status.epoch != self.epoch or status.mode not in ACTIVE:
                said = ", ".join(status.rules.names) or status.mode.name.lower()
                lost = status.mode is Mode.LATCHED
                self._stopped(StationStop(f"stopped: {said}", status.rules, lost))
            elif not self._streaming.alive:
                self._stopped(StationStop("the streamer has ended", lost=True))
        return status

    def _objects(self) -> Objects | None:
        """What the tracker sees, or None and a stop."""
        end = time.monotonic_ns() + round(WAIT_S * 1e9)
        while (now := time.monotonic_ns()) < end:
            objects = self.wire.objects()
            if objects is not None and now - objects.stamp < BLIND_S * 1e9:
                return objects
            if self._look() is None or self.stop is not None:
                return objects
            time.sleep(self._period)
        self._stopped(StationStop(f"the tracker has said nothing for {WAIT_S:g} s"))
        return None

    def _stopped(self, stop: StationStop) -> None:
        if self.stop is None:
            self.stop = stop
            self.new_events.append((time.monotonic_ns(), stop.reason))
            self.epoch = 0
