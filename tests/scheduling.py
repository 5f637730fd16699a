"""Which worker gets which files of tests: those that speak of LeRobot go to two of them.

A process takes five seconds to import LeRobot, and each worker that gets one of these files would.
"""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

WORKERS = 2


class LeRobotTogether(LoadFileScheduling):
    """Hands out whole files, and those that speak of LeRobot in a part for each of its workers."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._parts: dict[str, str] = {}
        self._spoken = 0

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file not in self._parts:
            speaks = "lerobot" in (self.config.rootpath / file).read_text().lower()
            self._parts[file] = f"lerobot-{self._spoken % WORKERS}" if speaks else file
            self._spoken += speaks
        return self._parts[file]
