"""EN: one station that puts its scene back, runs an episode, judges the outcome."""

from enpire.environment.control import ActionSpec, ArmAction, CartesianControl
from enpire.environment.controller import Controller, Demonstrations
from enpire.environment.loading import build_stations, load_task
from enpire.environment.sensing import Readings, SensorNoise
from enpire.environment.stations import Job, Stations
from enpire.environment.task import Demonstrator, Evidence, Task

__all__ = [
    "ActionSpec",
    "ArmAction",
    "CartesianControl",
    "Controller",
    "Demonstrations",
    "Demonstrator",
    "Evidence",
    "Job",
    "Readings",
    "SensorNoise",
    "Stations",
    "Task",
    "build_stations",
    "load_task",
]
