"""Stations with arms: the same episodes as on a twin, through a supervisor and in real time."""

from enpire.environment.wired.loading import open_wired
from enpire.environment.wired.stations import HardwareStations

__all__ = ["HardwareStations", "open_wired"]
