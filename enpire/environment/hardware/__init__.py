"""Stations with arms: the same episodes as on a twin, through a supervisor and in real time."""

from enpire.environment.hardware.loading import open_wired
from enpire.environment.hardware.stations import HardwareStations

__all__ = ["HardwareStations", "open_wired"]
