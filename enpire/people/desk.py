"""One helper for many stations: who asked first is served first, the others wait."""

from __future__ import annotations

from collections import deque

from enpire.people.hands import Hands
from enpire.people.operator_command import OperatorCommand


class OneHelper:
    """An `OperatorQueue` of a person at a page; without hands, of a script in a person's place.

    shown: the station that the page shows. A touch takes over the one shown, if nobody is served.
    """

    def __init__(self, hands: Hands | None = None, leaves: bool = False) -> None:
        """hands: the person's. leaves: who may go, and then is not asked."""
        self._hands, self._leaves = hands, leaves
        self._queue: deque[int] = deque()
        self.shown = 0

    @property
    def open(self) -> bool:
        """See `OperatorQueue`."""
        return not self._leaves or self._hands is None or self._hands.there

    @property
    def waiting(self) -> int:
        """Stations that wait for their turn."""
        return max(len(self._queue) - 1, 0)

    @property
    def served(self) -> int | None:
        """The station whose turn it is."""
        return self._queue[0] if self._queue else None

    def ask(self, row: int) -> None:
        """See `OperatorQueue`."""
        if row not in self._queue:
            self._queue.append(row)
            if self.serves(row):
                self._turn()

    def serves(self, row: int) -> bool:
        """See `OperatorQueue`."""
        return self.served == row

    def takes(self, row: int) -> bool:
        """See `OperatorQueue`."""
        if self._queue or self._hands is None or row != self.shown or not self._hands.touched:
            return False
        for command in (OperatorCommand.GIVE_BACK, OperatorCommand.DONE, OperatorCommand.DISCARD):
            self._hands.was_given(command)  # before: it was for nobody
        self._queue.append(row)
        return True

    def gives_back(self, row: int) -> bool:
        """See `OperatorQueue`."""
        return self._hands is not None and self._hands.was_given(OperatorCommand.GIVE_BACK)

    def leave(self, row: int) -> None:
        """See `OperatorQueue`."""
        if row in self._queue:
            served = self.serves(row)
            self._queue.remove(row)
            if served:
                self._turn()

    def show_next(self, stations: int) -> None:
        """Show another station, if nobody is served."""
        if not self._queue:
            self.shown = (self.shown + 1) % stations

    def _turn(self) -> None:
        """Another station's turn: keys that were hit before were for the last one."""
        if self._hands is not None:
            self._hands.forget()
        if self._queue:
            self.shown = self._queue[0]
