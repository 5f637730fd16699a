"""What a task pack has to say: its scene, its variation, what is seen, and what success is.

One lifecycle, in this order, for every episode of every station:

    sample → reset → settle … → (observe → act) … until done or out of time → probe … → verify

A fast reset writes the scene: `randomize_physics → set_initial_state`. A physical one has a robot
bring it about: `randomize_physics`, then a `Restorer`'s skills from wherever the last episode
ended, with the station's fixture if it has one (`operate`). These, `settle` and `after_step` (which
is physics) know the twin. All else sees sensor readings only, so it is the same on an arm.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.environment.cameras.camera import CameraView
from enpire.environment.control.cartesian_control import ActionSpec, CartesianControl
from enpire.environment.control.joint_actions import JointActions
from enpire.environment.control.sensing import Readings, SensorNoise
from enpire.environment.core.fake import Fake
from enpire.environment.core.renamed_hooks import accept_old_names
from enpire.errors import PackError
from enpire.twin import Twin, read_scene
from enpire.twin.unused_options import tell_of_unused
from enpire.types import Float32Array, FloatArray, Predicate, Verdict


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number of a skill script: its plain value, and what it may be, in `unit`."""

    name: str
    plain: float
    low: float
    high: float
    unit: str = ""


class Demonstrator(ABC):
    """A scripted expert for one episode, with a teleoperator's imperfections."""

    @abstractmethod
    def act(self, readings: Readings) -> Float32Array:
        """The next action, shape (act,) in [-1, 1], from one station's readings (m = 1)."""


class Restorer(ABC):
    """One try at a physical reset: a robot's skills, by which an arm and a twin put a scene back.

    In this order: `clear`, to the posture, `act`, to the posture, `in_place`. The harness takes the
    arms to their posture, straight in the joints; so it matters little how a policy had bent them.

    posture: joints (arms, dof) [rad] and grippers (arms,) of the start; until `act` is done it may
    be another, from which the skills begin. fixture: what of the station's own fixture is to be on
    now, by name; all is off once the try is over, and whenever a policy runs. bearing: how far the
    start's setpoints are ahead of its joints, (arms, dof) [rad], where hands bear a load that their
    arms' gravity compensation does not know.
    """

    posture: tuple[FloatArray, FloatArray]
    bearing: FloatArray | float = 0.0
    fixture: tuple[str, ...] = ()

    @abstractmethod
    def clear(self, readings: Readings) -> Float32Array | None:
        """The next action, shape (act,) in [-1, 1], from one station's readings (m = 1).

        It lets go of what the hands hold and takes them to where the way to the posture is free;
        None once they are there.
        """

    @abstractmethod
    def act(self, readings: Readings) -> Float32Array | None:
        """The next action, to bring the scene about, with hands that begin in their posture.

        None once there is nothing more to do, or nothing that can be done; the way to the posture
        is then free again.
        """

    @abstractmethod
    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """What must hold of the objects, seen by hands that rest in their posture."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What a station's cameras showed in the middle of a probe."""

    at: int  # which of the readings they were asked after; their stamps say when they took it
    views: Sequence[CameraView]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the verifier may look at: the readings of one station while it probed, oldest first.

    views: what its cameras showed at the end; none where nobody looks, or no picture can be made.
    watched: the same in those periods before in which the task wanted it (`Task.watch`).
    """

    readings: Sequence[Readings]
    period: float
    views: Sequence[CameraView] = ()
    watched: Sequence[Watched] = ()

    @property
    def elapsed(self) -> float:
        """Time since the first reading [s]."""
        return (len(self.readings) - 1) * self.period


class Task(ABC):
    """A task; a pack's `task.py` holds one subclass."""

    robot: ClassVar[str]
    world: ClassVar[str] = "bench"
    instruction: ClassVar[str]
    control_hz: ClassVar[float] = 25.0
    time_limit: ClassVar[float]  # of the execution [s]
    probe_limit: ClassVar[float] = 3.0  # of the verification [s]
    settle_limit: ClassVar[float] = 2.0  # of the reset [s]
    force_limit: ClassVar[float] = 40.0  # at a wrist while a policy runs; ends the execution [N]
    tracked: ClassVar[tuple[str, ...]]  # sites whose poses the tracker gives
    noise: ClassVar[SensorNoise] = SensorNoise()
    actions: ClassVar[ActionSpec]
    # Entries of an action that no policy chooses, and the value that each has.
    fixed_action_dims: ClassVar[dict[int, float]] = {}
    observation_names: ClassVar[tuple[str, ...]]
    variation_names: ClassVar[tuple[str, ...]]
    target_names: ClassVar[tuple[str, ...]] = ()  # those of them that a `restorer` brings about
    restore_limit: ClassVar[float] = 60.0  # of one try at a physical reset [s]
    reset_actions: ClassVar[ActionSpec | None] = None  # of its skills, if not a policy's
    # That its skills take a hand's setpoint ahead of the hand, at most [m]. A soft arm that is
    # stretched further springs faster than it may once what holds it gives way.
    reset_stretch: ClassVar[float] = math.inf
    parameters: ClassVar[tuple[Parameter, ...]] = ()  # of its skill script, if it has one

    def __init_subclass__(cls) -> None:
        """Accept old names of hooks, with a warning."""
        super().__init_subclass__()
        accept_old_names(cls)

    def __init__(self, folder: Path) -> None:
        """A task of the pack in `folder`; `name` is what episodes are recorded under."""
        self.folder = folder
        self.name = folder.name

    @property
    def joint_actions(self) -> JointActions | None:
        """The layout of a policy's actions if they say where joints are to be; None: `actions`."""
        return None

    @property
    def policy_actions(self) -> ActionSpec | JointActions:
        """The layout of a policy's actions."""
        return self.joint_actions or self.actions

    def build(self, spec: mujoco.MjSpec) -> None:
        """Add the task's objects, by default all of `scene.xml`, under names that begin `task_`."""
        scene = read_scene(self.folder / "scene.xml")
        tell_of_unused(self.folder / "scene.xml", scene, spec)
        spec.attach(scene, prefix="task_", frame=spec.worldbody.add_frame())

    def tighten(self, spec: mujoco.MjSpec, by: float) -> None:
        """Take `by` [m], in diameter, from the clearance of what fits into something.

        It changes a scene that `build` has just built, to see how much of the clearance a policy
        needs. What the task's own code knows of sizes stays as it is. A task that does not override
        it has no clearance.
        """

    def after_compile(self, twin: Twin) -> None:
        """Called once on a new twin, to expand the model fields that `set_initial_state` varies."""

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw an initial condition, a value per name in `variation_names`."""

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """Set what no robot brings about: friction, masses, latency. Before any kind of reset."""

    @abstractmethod
    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """Write an initial condition into a station that was just reset to defaults."""

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        """Skills for one try at a physical reset, in a task that has `target_names`.

        target: values of these, all that the skills are told of the initial condition.
        """
        raise PackError(f"{self.folder / 'task.py'} has target_names, and no restorer")

    def operate(self, twin: Twin, row: int, on: tuple[str, ...]) -> None:
        """Have the fixture do what a restorer's `fixture` says, each period of a physical reset.

        It is the twin's side of a feeder, a clamp or a stage that a station has for resets only.
        Nothing is on when a try begins, nor after it has ended.

        Raises:
            ResetFailed: a hand, or what it holds, is in its way; the try is over.
        """

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """See to a scene that was placed so long ago; 0 once it is ready, all in seconds.

        Otherwise, how long it can be left alone: it is called again no later than that.

        Raises:
            ResetFailed: the scene is not as it should be; the station tries again, with the next
                initial condition that the seed gives.
        """
        return time_left(elapsed, 0.2)

    def after_step(self, twin: Twin, row: int) -> None:
        """One-way rules of the twin's physics that MuJoCo does not know, after each control period.

        A bond that breaks under load, say: it may open what the scene holds together (`eq_active`)
        and must decide by the twin's state alone. Only the reset puts it back.
        """

    @abstractmethod
    def observe(self, readings: Readings) -> Float32Array:
        """What a policy sees, shape (m, len(observation_names)); each row by itself.

        The rows are stations in one period, or periods of one station.
        """

    @abstractmethod
    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        """Whether the scene looks done, shape (m,): the harness then stops acting and verifies.

        It counts in periods in which the controller is asked: what is planned is carried out.
        """

    @abstractmethod
    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        """The verifier's own next action for one station, shape (act,); None once it saw all."""

    def watch(self, evidence: Evidence) -> bool:
        """Whether cameras are to show this period of the probe, too, and not its end alone.

        For what moves by itself: `verify_views` finds what they saw under `evidence.watched`. The
        probe does not wait for it.
        """
        return False

    @abstractmethod
    def verify(self, evidence: Evidence) -> Verdict:
        """Success or failure from the evidence; never from a policy's word."""

    def verify_views(self, evidence: Evidence) -> Verdict:
        """The same from the cameras, the joints, the grippers and the wrists; not from the tracker.

        A task that overrides it can be verified by cameras. A predicate that the views do not give
        is unsure. A verdict that is `undecided` is asked for again with new views, some times.
        """
        raise NotImplementedError(f"{self.name} is not verified by cameras: see `verifies_views`")

    @property
    def verifies_views(self) -> bool:
        """Whether it can be verified by cameras."""
        return type(self).verify_views is not Task.verify_views

    @abstractmethod
    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """A scripted expert for one episode."""

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        """The skill script for one episode, in a task that has `parameters`; these are theirs.

        It sees readings only, as a demonstrator does, and has no imperfections of a person's.
        """
        raise PackError(f"{self.folder / 'task.py'} has parameters, and no skill")

    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        """The conditions of success as they truly are at the end of an episode, by the simulator.

        It audits the verifier in `enpire task check` and `enpire stress`. An arm has no such thing,
        so no policy runs and nothing is judged by it. Its measures and thresholds are its own: it
        imports nothing of the verifier, or both would share their blind spots. Lengths are in mm
        and angles in deg, so that an episode near a threshold is known as one. Nothing by default:
        not audited.
        """
        return ()

    def fakes(self) -> tuple[Fake, ...]:
        """States that are no success, although they may pass for one, for `enpire task check`.

        Ask of each predicate how it could hold without the task being done: with hands that still
        touch, or with an object in a place that no predicate excludes.
        """
        return ()


accept_old_names(Task)  # `super().prepare(...)` finds its own


def time_left(elapsed: float, *moments: float) -> float:
    """The time to the next of some moments, given in their order; 0 once all have come [s]."""
    return next((moment - elapsed for moment in moments if elapsed < moment), 0.0)
