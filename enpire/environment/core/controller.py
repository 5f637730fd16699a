"""What acts in an episode: a policy, a demonstrator, or chance."""

from __future__ import annotations

from enum import Enum
from typing import Protocol, runtime_checkable

import numpy as np

from enpire.environment.control.joint_actions import MovesHands
from enpire.environment.control.sensing import Readings
from enpire.environment.core.faults import told_with_its_line
from enpire.environment.core.policy_watch import PolicyWatch
from enpire.environment.core.task import Demonstrator, Task
from enpire.errors import PackError
from enpire.twin.twin import Rows
from enpire.types import Flags, Float32Array, Image

DEMONSTRATOR = "demonstrator"  # who shows a task, by name, where it is not random actions


class Controller(Protocol):
    """Acts for the stations that run an episode under it, all of them in one call."""

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """An episode starts on station `row`; forget the last one there."""

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """Actions, shape (m, act) in [-1, 1], for observations of shape (m, obs)."""


@runtime_checkable
class ChunkedController(Controller, Protocol):
    """A controller that decides for several periods at once.

    In a period that it has decided before it is not asked, and what is seen then is worked out
    later, for all these periods in one call.
    """

    def plan(self, row: int) -> Float32Array:
        """Actions (k, act) for the periods after the one that `act` has just decided."""

    def saw(self, row: int, observations: Float32Array) -> None:
        """Observations (k, obs) of the periods of the plan, oldest first; `act` comes next."""


@runtime_checkable
class VisionController(Controller, Protocol):
    """A controller that sees by cameras."""

    def look(self, row: int, pictures: Image) -> None:
        """What the cameras show before it acts, (cameras, size, size, 3)."""

    def due(self, row: int) -> bool:
        """Whether it cannot act without pictures of now, however new the last ones are."""


@runtime_checkable
class AsyncController(Controller, Protocol):
    """A controller that thinks while time goes on, and needs a while for its first action."""

    def decided(self, row: int, observation: Float32Array) -> bool:
        """Whether the first action of a station's episode is there; if not, it is thought about.

        The station is at rest, and has shown `observation`, (obs,).
        """


@runtime_checkable
class Assisted(Controller, Protocol):
    """A controller in which somebody may help a policy."""

    def intervened(self, row: int) -> list[bool]:
        """Whether somebody did, of each period of a station's episode so far."""

    def rewound(self, row: int) -> list[bool]:
        """Whether, in these, hands only went back or waited before it."""


class PeriodCommand(Enum):
    """What is said of the period that comes, before who acts is asked.

    WAIT: hold still until who helps is there; nothing is recorded, and no time limit runs. DONE:
    judge what is there. DISCARD: end the episode without a verdict.
    """

    GO_ON = "go on"
    WAIT = "wait"
    DONE = "done"
    DISCARD = "discard"


@runtime_checkable
class SupervisedController(Controller, Protocol):
    """A controller in which a person, or who stands for one, has a hand."""

    def word(self, row: int) -> PeriodCommand:
        """The command for a station's next period."""

    def ended(self, row: int) -> None:
        """The episode on station `row` is over: who helped it is free."""


def show(controller: Controller, row: int, pictures: Image) -> None:
    """Show a station's pictures to a controller, if it is one that sees."""
    if isinstance(controller, VisionController):
        controller.look(row, pictures)


def needs_pictures(controller: Controller, row: int) -> bool:
    """Whether a controller needs pictures of now to act."""
    return isinstance(controller, VisionController) and controller.due(row)


def decided(controller: Controller, row: int, observation: Float32Array) -> bool:
    """Whether a controller can act at once, in the first period of a station's episode."""
    return not isinstance(controller, AsyncController) or controller.decided(row, observation)


def intervened(controller: Controller, row: int, length: int) -> Flags:
    """The periods (length,) of a station's episode in which somebody helped."""
    if not isinstance(controller, Assisted):
        return np.zeros(length, bool)
    return np.array(controller.intervened(row)[:length], bool)


def rewound(controller: Controller, row: int, length: int) -> Flags:
    """The periods (length,) of these in which hands only went back, or waited for the help."""
    if not isinstance(controller, Assisted):
        return np.zeros(length, bool)
    return np.array(controller.rewound(row)[:length], bool)


class Demonstrations(MovesHands):
    """The task's scripted expert, one for each episode."""

    def __init__(self, task: Task) -> None:
        """Demonstrate `task`."""
        self._task = task
        self._experts: dict[int, Demonstrator] = {}
        self.watch = PolicyWatch(f"the demonstrator of {task.name}")

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Another person takes over the station."""
        with told_with_its_line(self._task.folder):
            self._experts[row] = self._task.demonstrator(rng)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """Each expert's own action; raises PackError for what is no array."""
        actions: list[Float32Array] = []
        for i, row in enumerate(rows):
            with told_with_its_line(self._task.folder):
                said = self._experts[int(row)].act(readings.row(i))
                action = np.asarray(said)
            if (
                isinstance(said, np.ma.MaskedArray)
                or action.ndim != 1
                or action.dtype.kind not in "iuf"
            ):
                raise PackError(
                    f"{self._task.folder / 'task.py'}: its demonstrator acts by {said!r:.80}: an "
                    "array of an action's numbers is needed"
                )
            actions.append(action)
        told = self.told(rows, actions, readings)
        self.watch.count(np.stack(actions))
        return told


class RandomActions:
    """Every action uniform in [-1, 1], kept up for a random while of up to `hold` periods."""

    def __init__(self, size: int, hold: int = 1) -> None:
        """Actions of `size` entries."""
        self._size, self._hold = size, hold
        self._rng: dict[int, np.random.Generator] = {}
        self._action: dict[int, Float32Array] = {}
        self._left: dict[int, int] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Draw from the episode's own generator."""
        self._rng[row] = rng
        self._left[row] = 0

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The actions kept up; a new draw for each station whose while is over."""
        for row in rows.tolist():
            if not self._left[row]:
                rng = self._rng[row]
                self._left[row] = int(rng.integers(1, self._hold + 1))
                self._action[row] = rng.uniform(-1, 1, self._size).astype(np.float32)
            self._left[row] -= 1
        return np.stack([self._action[row] for row in rows.tolist()])
