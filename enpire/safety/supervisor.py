"""One supervisor a station: everything that reaches its driver goes through here, every period.

No clock, process or memory of its own: `process.py` gives it those, tests give it others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from enpire.drivers import Driver, Reading
from enpire.drivers.driver import Clock
from enpire.errors import SafetyError
from enpire.safety.gate import GateStep, SentSetpoint, Space, advance, brake
from enpire.safety.limits import SafetyLimits
from enpire.safety.machine import ACTIVE, SENDS, Event, Mode, after
from enpire.safety.messages import SetpointRequest, SupervisorStatus
from enpire.safety.recorder import Recorder
from enpire.safety.recoveries import MOST, Recoveries
from enpire.safety.rules import BRAKES, HOLDS, LATCHES, GateRule
from enpire.safety.watchdog import Ages, fault_of_stamp, too_old
from enpire.types import FloatArray

FLOOD = 10  # setpoints in a period that no policy of good sense sends
HELD_UP = 5  # periods without one: the supervisor itself was held up
CALM = 0.5  # share of all speeds at which it parks
LEAD = 0.1  # of the setpoint wanted in parking, ahead of the last one sent
OUTSIDE = 0.02  # of its range a joint may stand, and be brought back: servos sag [rad]
LEAP = 0.02  # beyond twice its speed limit's way, that no joint can have come [rad]
STILL = 0.1  # share of its speed limit below which an axis counts as still


class Inbox(Protocol):
    """The box that setpoints come from: number and bytes of the newest message."""

    def newest(self) -> tuple[int, bytes] | None:
        """It, or None if there is none."""


class Alive(Protocol):
    """When those that a station relies on were last alive."""

    def stamp(self, index: int) -> int:
        """Monotonic ns."""


@dataclass(frozen=True, slots=True)
class Liveness:
    """What a moving station relies on: `alive[index]` for each camera, and for the verifier."""

    ages: Ages = field(default_factory=Ages)
    alive: Alive | None = None
    cameras: tuple[int, ...] = ()
    verifier: int | None = None


class Supervisor:
    """Stands between setpoints and one driver. `tick` it once a period."""

    def __init__(
        self,
        driver: Driver,
        limits: SafetyLimits,
        space: Space,
        inbox: Inbox,
        recorder: Recorder,
        park: FloatArray,
        clock: Clock,
        period: float,
        watched: Liveness | None = None,
    ) -> None:
        """Idle; the driver is connected.

        park: posture for parking, (axes,), NaN where any will do. period: seconds between ticks,
        never less.
        """
        self.mode = Mode.IDLE
        self.rules = GateRule.NONE
        self.epoch = clock()  # of no setpoint that an earlier supervisor was sent
        self.stopped = 0
        self.latency = -1
        self.recoveries = Recoveries()
        self._driver, self._limits, self._space = driver, limits, space
        self._inbox, self._recorder, self._clock = inbox, recorder, clock
        self._park, self._goal, self._period = park, park, period
        self._calm = limits.slower(CALM)
        self._watched = watched or Liveness()
        self._asked, self._acted = GateRule.NONE, GateRule.NONE
        self._number, self._stamp = 0, 0
        self._resting = False
        self._arm_count = int(limits.grippers.sum())
        self._wanted: FloatArray | None = None
        self._motion: SentSetpoint | None = None
        self._reading: Reading | None = None
        self._ticked = clock()
        self._sent: FloatArray | None = None
        self._raised: Exception | None = None  # by the driver, the last

    # What is asked of it between two ticks.

    def arm(self) -> None:
        """Be ready for setpoints of a new epoch; raises SafetyError if the arms are not fit."""
        mode = after(self.mode, Event.ARM)
        self._begin()
        self.mode = mode

    def recover(self) -> None:
        """Likewise after a stop; more than three in an episode: latched, and SafetyError."""
        mode = after(self.mode, Event.RECOVER)
        if not self.recoveries.take():
            self.mode = after(self.mode, Event.LATCH)
            raise SafetyError(f"stopped again after {MOST} recoveries: a person has to look")
        self._begin()
        self.mode = mode

    def park(self) -> None:
        """Go to the posture for parking, from standstill."""
        mode = after(self.mode, Event.PARK)
        self._begin()
        self.mode = mode

    def disarm(self) -> None:
        """Take no more setpoints."""
        self.mode = after(self.mode, Event.DISARM)

    def episode(self) -> None:
        """A new episode begins: recoveries count anew."""
        if self.mode is Mode.LATCHED:
            raise SafetyError("a latched station begins no episode: a person has to clear it first")
        self.recoveries.renew()

    def clear(self) -> None:
        """A person has looked at a latched station. Nothing moves by this."""
        self.mode = after(self.mode, Event.CLEAR)
        self.recoveries.renew()

    def stop(self, rule: GateRule = GateRule.ASKED) -> None:
        """Stop at the next tick for a rule: brake and hold, or, for EMERGENCY, latch."""
        self._asked |= rule

    # What it does by itself.

    def tick(self) -> None:
        """One period: look, decide, send at most one setpoint."""
        now = self._clock()
        self.latency, self._sent = -1, None
        rules, self._asked = self._asked | self._arms(now), GateRule.NONE
        if now - self._ticked > HELD_UP * self._period * 1e9:
            rules |= GateRule.OVERRUN
        self._ticked = now
        if self.mode in (Mode.ARMED, Mode.MOVING):
            rules |= self._policy(now)
        self._acted = rules
        if rules & HOLDS and (self.mode in ACTIVE or rules & GateRule.EMERGENCY):
            self._hold(rules)
        elif self.mode in ACTIVE:
            self._move(rules)
        self._recorder.note(now, self.mode, self._acted, self._reading, self._wanted, self._sent)

    def status(self, deadline: int) -> SupervisorStatus:
        """The status for whoever watches; deadline: of the next tick."""
        nothing = np.full(self._limits.low.shape, np.nan)
        reading, motion = self._reading, self._motion
        return SupervisorStatus(
            self._clock(),
            deadline,
            self.epoch,
            self.mode,
            self.rules,
            self.stopped,
            self.latency,
            self.recoveries.count,
            reading.position if reading else nothing,
            reading.velocity if reading else nothing,
            motion.position if motion else nothing,
            reading.force if reading else np.full((self._arm_count, 3), np.nan),
            reading.stamp if reading else 0,
        )

    def _begin(self) -> None:
        """Stand where the arms are, for a new epoch; raises SafetyError if they are not fit."""
        now, reading, limits = self._clock(), self._reading, self._limits
        if reading is None or too_old(reading.stamp, now, self._watched.ages.driver):
            said = f" ({self._driver_said})" if self._raised else ""
            raise SafetyError(f"the driver says nothing of where the arms are{said}: check the bus")
        if (abs(reading.velocity) > STILL * limits.speed).any():
            raise SafetyError("the arms are moving: wait till they stand still")
        within = np.clip(reading.position, limits.low, limits.high)
        if (abs(within - reading.position)[~limits.grippers] > OUTSIDE).any():
            raise SafetyError("a joint stands outside its range: move the arm by hand")
        if self._motion is not None:  # go on holding what is held
            within[limits.grippers] = self._motion.position[limits.grippers]
        motion = SentSetpoint.at_rest(within)
        forbidden = self._space.forbidden(motion.position)
        if forbidden:
            raise SafetyError(
                f"the arms stand where they must not ({', '.join(forbidden.names)}): "
                "move them by hand"
            )
        try:
            self._driver.stop()  # the arms, too, forget where they were sent: somebody moved them
        except Exception as error:  # as when reading
            raise SafetyError(f"the driver does not stop: {error}") from error
        self._motion, self._wanted, self._resting, self._raised = motion, None, False, None
        self._goal = np.where(np.isnan(self._park), motion.position, self._park)
        self.epoch += 1
        newest = self._inbox.newest()
        self._number, self._stamp = newest[0] if newest else 0, 0

    def _arms(self, now: int) -> GateRule:
        """Rules that the arms themselves break."""
        try:
            reading = self._driver.read()
        except Exception as error:  # whatever a driver raises: it is not to be relied on
            self._reading, self._raised = None, error
            return GateRule.DRIVER
        numbers = (reading.position, reading.velocity)
        if any(n.shape != self._limits.low.shape or not np.isfinite(n).all() for n in numbers):
            self._reading = None
            return GateRule.DRIVER
        before, self._reading = self._reading, reading
        rules = GateRule.NONE
        if before is not None and self._leapt(before, reading):
            rules |= GateRule.IMPLAUSIBLE
        if too_old(reading.stamp, now, self._watched.ages.driver):
            rules |= GateRule.DRIVER_AGE
        # Comparisons with NaN are false: what an arm does not measure stops nothing.
        if (np.sqrt((reading.force**2).sum(-1)) > self._limits.wrist_force).any():
            rules |= GateRule.WRIST_FORCE
        if (abs(reading.effort[self._limits.grippers]) > self._limits.gripper_force).any():
            rules |= GateRule.GRIPPER_FORCE
        return rules

    def _leapt(self, before: Reading, reading: Reading) -> bool:
        """Whether a joint would have moved as none can: its encoder or its wire is not right."""
        seconds = max((reading.stamp - before.stamp) * 1e-9, 0.0)
        way = abs(reading.position - before.position)
        return bool((way > 2 * self._limits.speed * seconds + LEAP)[~self._limits.grippers].any())

    def _policy(self, now: int) -> GateRule:
        """Take the newest setpoint; the rules that it, or its absence, breaks."""
        rules, ages = GateRule.NONE, self._watched.ages
        newest = self._inbox.newest()
        if newest is not None and newest[0] != self._number:
            skipped, self._number = newest[0] - self._number, newest[0]
            # Not the tick's own time: held up since, it would find a fresh setpoint in its future.
            rules |= self._message(newest[1], skipped, self._clock())
        if self.mode is Mode.MOVING:
            if too_old(self._stamp, now, ages.heartbeat):
                rules |= GateRule.HEARTBEAT
            alive = self._watched.alive
            if alive is not None:
                if any(too_old(alive.stamp(i), now, ages.camera) for i in self._watched.cameras):
                    rules |= GateRule.CAMERA
                seen = self._watched.verifier
                if seen is not None and too_old(alive.stamp(seen), now, ages.verifier):
                    rules |= GateRule.VERIFIER
        return rules

    def _message(self, body: bytes, skipped: int, now: int) -> GateRule:
        wanted = SetpointRequest.decoded(body)
        if wanted is None:
            return GateRule.SIZE
        if wanted.epoch != self.epoch:
            return GateRule.NONE  # of before the last stop: it moves nothing
        if not 0 < skipped <= FLOOD:
            return GateRule.FLOOD
        fault = fault_of_stamp(wanted.stamp, self._stamp, now, self._watched.ages.heartbeat)
        if fault:
            return fault
        self._stamp, self._wanted, self._resting = wanted.stamp, wanted.setpoint, wanted.rest
        if wanted.setpoint.shape != self._limits.low.shape:
            self._wanted = None
            return GateRule.SIZE
        self.latency = 0  # a new one: known once it is sent
        if self.mode is Mode.ARMED and not wanted.rest:
            self.mode = after(self.mode, Event.SETPOINT)
        return GateRule.NONE

    def _move(self, rules: GateRule) -> None:
        """One period of an active station that breaks no rule of HOLDS."""
        if rules & BRAKES and self.mode is not Mode.STOPPING:
            self.mode, self.rules, self.stopped = after(self.mode, Event.LAPSE), rules, 0
        motion, reading = self._motion, self._reading
        if self.mode not in SENDS or motion is None or reading is None:
            return
        step = self._step(motion, reading.position)
        self._acted |= step.rules
        if step.motion is None:
            self._hold(step.rules | self.rules if self.mode is Mode.STOPPING else step.rules)
            return
        if not self._send(step.motion):
            return
        if self.mode is Mode.STOPPING:
            self.stopped = self.stopped or self._clock()
        elif step.rules & BRAKES:
            self.mode, self.rules = after(self.mode, Event.LAPSE), step.rules
            self.stopped = self._clock()
        self._settle(step)

    def _step(self, motion: SentSetpoint, measured: FloatArray) -> GateStep:
        limits, space, dt = self._limits, self._space, self._period
        if self.mode is Mode.PARKING:
            ahead = np.clip(self._goal - motion.position, -LEAD, LEAD)
            return advance(motion, measured, motion.position + ahead, self._calm, space, dt)
        if self.mode is Mode.MOVING and not self._resting and self._wanted is not None:
            return advance(motion, measured, self._wanted, limits, space, dt)
        return brake(motion, measured, limits, space, dt)

    def _settle(self, step: GateStep) -> None:
        """What follows if the arms have come to a standstill."""
        if step.motion is None or not step.motion.still:
            return
        if self.mode is Mode.STOPPING:
            self.mode = after(self.mode, Event.STANDSTILL)
            self._recorder.dump(self.stopped, self.mode, self.rules, self._driver_said)
        elif self.mode is Mode.MOVING and self._resting:
            self.mode = after(self.mode, Event.RESTED)
        elif self.mode is Mode.PARKING:
            if abs(self._goal - step.motion.position).max() < 1e-6:
                self.mode = after(self.mode, Event.ARRIVED)
            elif step.rules & ~(GateRule.SPEED | GateRule.ACCELERATION):
                self.stop(GateRule.ASKED | step.rules)  # the straight way is not free

    def _send(self, motion: SentSetpoint) -> bool:
        try:
            self._driver.send(motion.position)
        except Exception as error:  # as when reading
            self._raised = error
            self._hold(GateRule.DRIVER)
            return False
        self._motion, self._sent = motion, motion.position
        if self.latency == 0:
            self.latency = self._clock() - self._stamp
        return True

    @property
    def _driver_said(self) -> str:
        return f"{type(self._raised).__name__}: {self._raised}" if self._raised else ""

    def _hold(self, rules: GateRule) -> None:
        """Stop by the arms' own means, at once."""
        try:
            self._driver.stop()
        except Exception as error:
            self._raised = error
            rules |= GateRule.DRIVER
        if self.mode is Mode.STOPPING and self.stopped:
            self.rules |= rules  # the stop was issued when braking began
        else:
            self.stopped, self.rules = self._clock(), rules
        self.mode = after(self.mode, Event.LATCH if rules & LATCHES else Event.HOLD)
        self._recorder.dump(self.stopped, self.mode, self.rules, self._driver_said)
