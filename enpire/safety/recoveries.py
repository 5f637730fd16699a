"""How often a station may go on by itself after a stop."""

from __future__ import annotations

MOST = 3  # in one episode; after that the station is set aside for a person


class Recoveries:
    """Counts the automatic recoveries of an episode."""

    def __init__(self) -> None:
        self.count = 0

    def take(self) -> bool:
        """Take one; False if none is left."""
        if self.count >= MOST:
            return False
        self.count += 1
        return True

    def renew(self) -> None:
        """A new episode, or a person has looked."""
        self.count = 0
