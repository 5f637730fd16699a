"""EN: one station that puts its scene back, runs an episode, judges the outcome."""

from enpire.environment.cameras.camera import (
    Camera,
    CameraView,
    ColourPatch,
    VerifierCameras,
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
from enpire.environment.cameras.camera_marks import CameraMarks
from enpire.environment.control.cartesian_control import ActionSpec, ArmAction, CartesianControl
from enpire.environment.control.joint_actions import JointActions, MovesHands
from enpire.environment.control.sensing import Readings, SensorNoise
from enpire.environment.core.answers import initial_condition
from enpire.environment.core.controller import (
    DEMONSTRATOR,
    Controller,
    Demonstrations,
    PeriodCommand,
    RandomActions,
    SupervisedController,
)
from enpire.environment.core.displacement import Displacement, Face, RelativePlace
from enpire.environment.core.fake import Fake
from enpire.environment.core.intervention import (
    FailureDetector,
    InterventionWrapper,
    Operator,
    OperatorQueue,
)
from enpire.environment.core.jobs import Job
from enpire.environment.core.observed import (
    UPRIGHT,
    MovedHand,
    ObservedLead,
    ObservedPoint,
    ObservedRotation,
    ObservedYaw,
)
from enpire.environment.core.policy_cameras import PolicyCameras
from enpire.environment.core.relative_targets import RelativeTarget, relative_targets
from enpire.environment.core.replay import Replay
from enpire.environment.core.station_backend import (
    DeclaredSpaces,
    Eventful,
    StationBackend,
    StationEvent,
    Tasked,
    grippers,
    instruction,
)
from enpire.environment.core.symmetry import (
    Heading,
    Idleness,
    Mirror,
    Symmetry,
    read_symmetry,
    symmetry_of,
)
from enpire.environment.core.task import (
    Demonstrator,
    Evidence,
    Parameter,
    Restorer,
    Task,
    Watched,
    time_left,
)
from enpire.environment.loading import Order, build_stations, load_task, open_stations
from enpire.environment.stations.resets import ResetMode
from enpire.environment.stations.stations import Stations
from enpire.renamed import renamed

__all__ = [
    "DEMONSTRATOR",
    "UPRIGHT",
    "ActionSpec",
    "ArmAction",
    "Camera",
    "CameraMarks",
    "CameraView",
    "CartesianControl",
    "ColourPatch",
    "Controller",
    "DeclaredSpaces",
    "Demonstrations",
    "Demonstrator",
    "Displacement",
    "Eventful",
    "Evidence",
    "Face",
    "FailureDetector",
    "Fake",
    "Heading",
    "Idleness",
    "InterventionWrapper",
    "Job",
    "JointActions",
    "Mirror",
    "MovedHand",
    "MovesHands",
    "ObservedLead",
    "ObservedPoint",
    "ObservedRotation",
    "ObservedYaw",
    "Operator",
    "OperatorQueue",
    "Order",
    "Parameter",
    "PeriodCommand",
    "PolicyCameras",
    "RandomActions",
    "Readings",
    "RelativePlace",
    "RelativeTarget",
    "Replay",
    "ResetMode",
    "Restorer",
    "SensorNoise",
    "StationBackend",
    "StationEvent",
    "Stations",
    "SupervisedController",
    "Symmetry",
    "Task",
    "Tasked",
    "VerifierCameras",
    "Watched",
    "aim",
    "as_drawn",
    "build_stations",
    "coloured",
    "corners_of",
    "draw",
    "fresh",
    "grippers",
    "initial_condition",
    "instruction",
    "load_task",
    "open_stations",
    "outline_area",
    "overlay",
    "read_symmetry",
    "relative_targets",
    "room",
    "symmetry_of",
    "time_left",
    "triangulate",
]

__getattr__ = renamed(
    __name__,
    {"Eyes": "VerifierCameras", "Sight": "PolicyCameras", "Workcells": "StationBackend"},
)
