"""EN: one station that puts its scene back, runs an episode, judges the outcome."""

from enpire.environment.cameras import (
    Camera,
    Eyes,
    Seen,
    View,
    aim,
    as_drawn,
    coloured,
    corners_of,
    draw,
    fresh,
    outline_area,
    overlay,
    room,
    triangulate,
)
from enpire.environment.control import ActionSpec, ArmAction, CartesianControl
from enpire.environment.controller import (
    Attended,
    Controller,
    Demonstrations,
    RandomActions,
    Word,
)
from enpire.environment.correcting import Corrected, Desk, Helper, Watch
from enpire.environment.fake import Fake
from enpire.environment.jobs import Job
from enpire.environment.loading import Order, build_stations, load_task, open_stations
from enpire.environment.replay import Replay
from enpire.environment.resets import ResetMode
from enpire.environment.sensing import Readings, SensorNoise
from enpire.environment.sight import Sight
from enpire.environment.stations import Stations
from enpire.environment.task import Demonstrator, Evidence, Parameter, Restorer, Task, time_left
from enpire.environment.workcells import (
    Eventful,
    Happening,
    Tasked,
    Workcells,
    grippers,
    instruction,
)

__all__ = [
    "ActionSpec",
    "ArmAction",
    "Attended",
    "Camera",
    "CartesianControl",
    "Controller",
    "Corrected",
    "Demonstrations",
    "Demonstrator",
    "Desk",
    "Eventful",
    "Evidence",
    "Eyes",
    "Fake",
    "Happening",
    "Helper",
    "Job",
    "Order",
    "Parameter",
    "RandomActions",
    "Readings",
    "Replay",
    "ResetMode",
    "Restorer",
    "Seen",
    "SensorNoise",
    "Sight",
    "Stations",
    "Task",
    "Tasked",
    "View",
    "Watch",
    "Word",
    "Workcells",
    "aim",
    "as_drawn",
    "build_stations",
    "coloured",
    "corners_of",
    "draw",
    "fresh",
    "grippers",
    "instruction",
    "load_task",
    "open_stations",
    "outline_area",
    "overlay",
    "room",
    "time_left",
    "triangulate",
]
