"""What policy and supervisor say to each other through their mailboxes, as bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from enpire.safety.machine import Mode
from enpire.safety.rules import GateRule
from enpire.types import FloatArray

_WANTED = struct.Struct("<QqQ")
_KNOT = struct.Struct("<Qqd")
_STATUS = struct.Struct("<qqQQQqqQQQ")


@dataclass(frozen=True, slots=True, eq=False)
class SetpointRequest:
    """A setpoint that a policy asks for; `rest` asks to come to rest instead."""

    epoch: int  # of the arming that it is for
    stamp: int  # monotonic ns at which it was written
    setpoint: FloatArray
    rest: bool = False

    def encoded(self) -> bytes:
        """Return it as bytes."""
        head = _WANTED.pack(self.epoch, self.stamp, int(self.rest))
        return head + np.asarray(self.setpoint, np.float64).tobytes()

    @classmethod
    def decoded(cls, body: bytes) -> SetpointRequest | None:
        """Read it from bytes; None if they are no such message."""
        rest = len(body) - _WANTED.size
        if rest < 0 or rest % 8:
            return None
        epoch, stamp, flag = _WANTED.unpack_from(body)
        return cls(epoch, stamp, np.frombuffer(body, np.float64, offset=_WANTED.size), bool(flag))


@dataclass(frozen=True, slots=True, eq=False)
class TimedSetpoint:
    """A setpoint, (axes,), to be reached `seconds` after its `stamp`, monotonic ns."""

    epoch: int  # as in `SetpointRequest`
    stamp: int
    seconds: float
    setpoint: FloatArray

    def encoded(self) -> bytes:
        """Return it as bytes."""
        head = _KNOT.pack(self.epoch, self.stamp, self.seconds)
        return head + np.asarray(self.setpoint, np.float64).tobytes()

    @classmethod
    def decoded(cls, body: bytes) -> TimedSetpoint:
        """Read it from bytes; None if they are no such message."""
        epoch, stamp, seconds = _KNOT.unpack_from(body)
        return cls(epoch, stamp, seconds, np.frombuffer(body, np.float64, offset=_KNOT.size))


@dataclass(frozen=True, slots=True, eq=False)
class SupervisorStatus:
    """What a supervisor publishes every period; times are monotonic ns."""

    stamp: int  # of this status
    deadline: int  # of the next period
    epoch: int
    mode: Mode
    rules: GateRule  # of the last stop
    stopped: int  # when the last stop was issued, 0 if none was
    # From the writing of the newest setpoint until the driver had it [ns], -1 if none went there in
    # this period.
    latency: int
    recoveries: int
    measured: FloatArray  # (axes,)
    velocity: FloatArray  # (axes,)
    sent: FloatArray  # (axes,)
    force: FloatArray  # at the wrists, (arms, 3) [N]
    read: int  # when the arms said so, 0 if they did not

    def encoded(self) -> bytes:
        """Return it as bytes."""
        head = _STATUS.pack(
            self.stamp,
            self.deadline,
            self.epoch,
            self.mode,
            self.rules,
            self.stopped,
            self.latency,
            self.recoveries,
            self.read,
            len(self.measured),
        )
        numbers = (self.measured, self.velocity, self.sent, self.force.ravel())
        return head + np.concatenate(numbers).tobytes()

    @classmethod
    def decoded(cls, body: bytes) -> SupervisorStatus:
        """Read it from bytes; None if they are no such message."""
        *head, read, axes = _STATUS.unpack_from(body)
        stamp, deadline, epoch, mode, rules, stopped, latency, recoveries = head
        numbers = np.frombuffer(body, np.float64, offset=_STATUS.size)
        measured, velocity, sent = numbers[: 3 * axes].reshape(3, axes)
        return cls(
            stamp,
            deadline,
            epoch,
            Mode(mode),
            GateRule(rules),
            stopped,
            latency,
            recoveries,
            measured,
            velocity,
            sent,
            numbers[3 * axes :].reshape(-1, 3),
            read,
        )
