"""What a person's hands say by keys, by a gamepad or by a device: a twist, and commands.

Keys are called by where they are on a keyboard (`KeyboardEvent.code`), buttons of a gamepad by
their number in the standard layout (`Pad0`, ...), its sticks are the four axes of that layout.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Sequence

import numpy as np

from enpire.people.devices import Device
from enpire.people.operator_command import OperatorCommand
from enpire.types import FloatArray

FRESH_S = 0.5  # hands that have not been heard of for so long hold nothing
AWAY_S = 10.0  # who has not been seen at the page for so long, and touches nothing, has left
FINE = 0.25  # of a full action, with Shift
DEAD = 0.15  # of a stick's way, in which it rests

MOVES = {  # axis of the twist (x, y, z, about x, y, z, in the world frame), and its sign
    "KeyW": (0, 1.0),
    "KeyS": (0, -1.0),
    "KeyA": (1, 1.0),
    "KeyD": (1, -1.0),
    "KeyR": (2, 1.0),
    "KeyF": (2, -1.0),
    "KeyU": (3, 1.0),
    "KeyO": (3, -1.0),
    "KeyI": (4, 1.0),
    "KeyK": (4, -1.0),
    "KeyJ": (5, 1.0),
    "KeyL": (5, -1.0),
    "Pad14": (3, 1.0),
    "Pad15": (3, -1.0),
    "Pad12": (4, 1.0),
    "Pad13": (4, -1.0),
}
STICKS = ((1, -1.0), (0, -1.0), (5, -1.0), (2, -1.0))  # of left x, left y, right x, right y
COMMANDS = {
    "Space": OperatorCommand.GRIPPER,
    "KeyG": OperatorCommand.GIVE_BACK,
    "Enter": OperatorCommand.DONE,
    "Backspace": OperatorCommand.DISCARD,
    "KeyT": OperatorCommand.ARM,
    "KeyN": OperatorCommand.STATION,
    "Pad0": OperatorCommand.GRIPPER,
    "Pad9": OperatorCommand.DONE,
    "Pad8": OperatorCommand.DISCARD,
    "Pad3": OperatorCommand.ARM,
    "Pad2": OperatorCommand.STATION,
}
SHIFT = {"ShiftLeft", "ShiftRight", "Pad6"}
HOLD = "Pad5"  # who holds it has the hands, who lets go gives them back


class Hands:
    """Heard by one thread, asked by another. What was hit between two questions is not lost."""

    def __init__(self, device: Device | None = None) -> None:
        """device: in them, beside the page."""
        self.device = device
        self._lock = threading.Lock()
        self._held: frozenset[str] = frozenset()
        self._sticks: FloatArray = np.zeros(4)
        self._heard = self._seen = -np.inf
        self._hit: set[str] = set()  # since the twist was last asked for
        self._said: set[OperatorCommand] = set()

    def hear(self, held: Collection[str], sticks: Sequence[float] = ()) -> None:
        """All that is held now, and where the sticks are, [-1, 1]."""
        now = frozenset(held)
        with self._lock:
            new = now - self._current()
            self._hit |= new
            self._said |= {COMMANDS[key] for key in new & COMMANDS.keys()}
            if HOLD in self._held - now:
                self._said.add(OperatorCommand.GIVE_BACK)
            self._held, self._heard = now, time.monotonic()
            at = np.clip(np.resize(np.append(sticks, np.zeros(4)), 4), -1.0, 1.0)
            self._sticks = np.where(abs(at) > DEAD, at, 0.0)

    def greet(self) -> None:
        """Somebody has the page open."""
        self._seen = time.monotonic()

    @property
    def there(self) -> bool:
        """Whether whoever has them is: at the page, or at a device."""
        if self.touched:
            self.greet()
        return time.monotonic() - self._seen < AWAY_S

    def twist(self) -> FloatArray:
        """The twist of a hand, (6,) in [-1, 1]: what is held, or was hit since last asked."""
        with self._lock:
            held, fresh = self._current() | self._hit, self._fresh
            self._hit.clear()
            twist = np.zeros(6)
            for key in held & MOVES.keys():
                axis, sign = MOVES[key]
                twist[axis] += sign
            for (axis, sign), at in zip(STICKS, self._sticks, strict=True):
                twist[axis] += sign * at * fresh
        twist *= FINE if held & SHIFT else 1.0
        return twist.clip(-1.0, 1.0)

    @property
    def touched(self) -> bool:
        """Whether whoever has them wants to act now: moves, works a gripper, or holds `HOLD`."""
        with self._lock:
            held = self._current() | self._hit
            moves = bool(held & (MOVES.keys() | {HOLD})) or OperatorCommand.GRIPPER in self._said
            moves = moves or (self._fresh and bool(self._sticks.any()))
        return moves or (self.device is not None and self.device.touched)

    def was_given(self, command: OperatorCommand) -> bool:
        """Whether a command was given since it was last asked for."""
        with self._lock:
            there = command in self._said
            self._said.discard(command)
        return there | (self.device is not None and self.device.was_given(command))

    def forget(self) -> None:
        """What was hit or said before counts no more: it was for something else."""
        with self._lock:
            self._hit.clear()
            self._said.clear()
        if self.device is not None:
            self.device.let_go()

    @property
    def _fresh(self) -> bool:
        return time.monotonic() - self._heard < FRESH_S

    def _current(self) -> frozenset[str]:
        return self._held if self._fresh else frozenset()
