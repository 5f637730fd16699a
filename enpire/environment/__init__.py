"""EN: one station that puts its scene back, runs an episode, judges the outcome."""

from enpire.environment.control import ActionSpec, ArmAction, CartesianControl
from enpire.environment.controller import Controller, Demonstrations, RandomActions
from enpire.environment.loading import build_stations, load_task, open_stations
from enpire.environment.sensing import Readings, SensorNoise
from enpire.environment.stations import Job, ResetMode, Stations
from enpire.environment.task import Demonstrator, Evidence, Restorer, Task
from enpire.environment.workcells import Workcells

__all__ = [
    "ActionSpec",
    "ArmAction",
    "CartesianControl",
    "Controller",
    "Demonstrations",
    "Demonstrator",
    "Evidence",
    "Job",
    "RandomActions",
    "Readings",
    "ResetMode",
    "Restorer",
    "SensorNoise",
    "Stations",
    "Task",
    "Workcells",
    "build_stations",
    "load_task",
    "open_stations",
]
