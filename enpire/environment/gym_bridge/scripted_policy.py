"""A policy that somebody wrote as a function, on stations of a task pack.

On stations of a Gymnasium environment the same file runs beside the environment, which then says
what it would do (`gym_stations.ScriptedActions`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from enpire.environment.control.sensing import Readings
from enpire.environment.core.faults import where
from enpire.environment.core.policy_watch import PolicyWatch
from enpire.environment.core.station_backend import StationBackend, Tasked
from enpire.environment.gym_bridge.gym_worker.environments import Acts
from enpire.environment.gym_bridge.gym_worker.making import script_of
from enpire.environment.gym_bridge.gym_worker.words import Unsuitable, short
from enpire.environment.gym_bridge.script_watch import ScriptWatch
from enpire.errors import PolicyError, UsageError, error_text
from enpire.twin.twin import Rows
from enpire.types import Float32Array

NUMBERS = "iuf"  # kinds of arrays that are actions: no truth values, no text, no objects
LARGEST = 1e6  # of an action: what is larger is as far beyond 1


class ScriptedPolicy:
    """Acts by a file: `begin(task)` once an episode, or `act(observation)`; see `script_of`.

    An observation has the shape (obs,), in the order of the task's `observation_names`; an action
    (act,), in [-1, 1].
    """

    def __init__(
        self, path: str, stations: StationBackend, begin: Callable[[Any], Acts] | None = None
    ) -> None:
        """Raise UsageError unless there is such a file, with either of the two.

        begin: of a script that is at hand already, whose code is in that file.
        """
        self._path, self._size = path, stations.action_size
        try:
            with self._blamed():
                self._begin = begin or script_of(path)
        except Unsuitable as error:
            raise UsageError(str(error)) from error
        self.watch = PolicyWatch(path)
        self._script_watch = ScriptWatch(self.watch.tell)
        self._task: Any = stations.task if isinstance(stations, Tasked) else None
        self._acts: dict[int, Acts] = {}

    @classmethod
    def of(cls, acts: Any, stations: StationBackend) -> Self:
        """Act by an object instead of a file: it has `begin(task)`, or is `act(observation)`."""
        begin = getattr(acts, "begin", None)
        code = acts if inspect.isroutine(acts) or inspect.isclass(acts) else type(acts)
        try:
            path = inspect.getsourcefile(code) or "?"
        except TypeError:  # compiled, or typed in
            path = "?"
        return cls(path, stations, begin if callable(begin) else lambda _: acts)

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Begin the script anew; raises PolicyError where it fails, or returns no function."""
        with self._blamed():
            self._script_watch.begins(lambda: self._begin(self._task))
            acts = self._begin(self._task)
        if not callable(acts):
            raise PolicyError(f"{self._path}: begin returned {acts!r:.80}: a function is needed")
        self._acts[row] = acts

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """Each episode's own action; raises PolicyError for one of another shape, or for none.

        What it is shown is a copy: the observation itself is recorded.
        """
        self._script_watch.asked()
        with self._blamed():
            said = [
                self._acts[row](seen.copy())
                for row, seen in zip(rows.tolist(), observations, strict=True)
            ]
            actions = [_array(action) for action in said]
        if wrong := [action.shape for action in actions if action.shape != (self._size,)]:
            raise PolicyError(f"{self._path}: an action has shape {wrong[0]}, not ({self._size},)")
        for action in actions:
            if action.dtype.kind not in NUMBERS or not np.isfinite(action).all():
                raise PolicyError(f"{self._path}: an action is {short(action)}: finite numbers")
        self._script_watch.answered(observations, said)
        made: Float32Array = np.stack(actions).clip(-LARGEST, LARGEST).astype(np.float32)
        self.watch.count(made)
        return made.clip(-1.0, 1.0)

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Say in which line of the script something went wrong, and what."""
        try:
            yield
        except (Unsuitable, KeyboardInterrupt):
            raise
        except BaseException as error:  # sys.exit, too: it would end the command without a word
            at = where(error, Path(self._path).parent, self._path)
            raise PolicyError(f"{at}: {error_text(error)}") from error


def _array(action: Any) -> NDArray[Any]:
    """An action as it stands; raises ValueError for entries that are masked."""
    if isinstance(action, np.ma.MaskedArray) and np.any(action.mask):
        raise ValueError(f"its action has entries that are masked: {action}")
    return np.asarray(action)
