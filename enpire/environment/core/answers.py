"""What a task's code answers, before it counts: shapes, numbers and verdicts that make sense."""

from __future__ import annotations

import copy
import logging
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import NDArray

from enpire.environment.control.sensing import Readings
from enpire.environment.core.faults import told_with_its_line
from enpire.environment.core.task import Task
from enpire.errors import PackError
from enpire.twin import Twin
from enpire.types import (
    Flags,
    Float32Array,
    FloatArray,
    Frame,
    Outcome,
    Predicate,
    PredicateState,
    Verdict,
)

LOG = logging.getLogger(__name__)
LARGEST = 1e20  # of what is seen
AGAIN = 10, 100  # calls of `observe` after which what it showed first is asked for again
BEYOND, ROUNDED = 10.0, 1e-3  # of a verifier's action: another unit; still a full one
_CLIPPED: WeakSet[Task] = WeakSet()  # tasks of which it was told that their probes are clipped
_OBSERVED: WeakKeyDictionary[Task, FirstShown] = WeakKeyDictionary()  # once they have shown it
_DRAWN: WeakSet[Task] = WeakSet()  # tasks that were seen to draw alike twice
REAL = "fiu"  # NumPy's kinds of real numbers
NAME = r"[\w.-]{1,100}"  # of a camera, and of its picture's file
LONGEST_NAME = 100  # characters
NUMBERS = (int, float, np.integer, np.floating, np.bool_)  # of a predicate


def observed(task: Task, readings: Readings) -> Float32Array:
    """What a task shows of readings (m), shape (m, obs); in an array that no task writes into.

    Raises:
        PackError: it is of another shape than the task says, or of no real numbers.
    """
    before = _OBSERVED.get(task)
    kept = copy.deepcopy(readings) if before is None else readings
    with told_with_its_line(task.folder):
        seen = task.observe(readings)
    if before is None:
        _require_pure(task, seen, readings, kept)
        before = _OBSERVED[task] = FirstShown(kept, np.array(seen))
    before.require_again(task)
    _require_shape(task, "observe", seen, (len(readings.joints), len(task.observation_names)))
    _require_numbers(task, "observe", seen)
    with np.errstate(over="ignore"):  # infinite then, and refused
        return np.array(seen, np.float32)


@dataclass(slots=True)
class FirstShown:
    """What a task showed first, to be asked for again once it has shown others."""

    readings: Readings
    seen: Any
    calls: int = 0

    def require_again(self, task: Task) -> None:
        """Raise PackError where `observe` now shows otherwise of those readings than then."""
        self.calls += 1
        if self.calls not in AGAIN:
            return
        with told_with_its_line(task.folder):
            other = np.asarray(task.observe(copy.deepcopy(self.readings)))
        _require_equal(task, self.seen, other)


def _require_pure(task: Task, seen: Any, readings: Readings, kept: Readings) -> None:
    """Raise PackError where `observe` changes readings, or shows otherwise of the same ones."""
    for name in Readings.__slots__:
        if not np.array_equal(getattr(readings, name), getattr(kept, name), equal_nan=True):
            raise PackError(
                f"{task.folder / 'task.py'}: observe writes into the {name} of its readings, which "
                "the verifier reads, too: work on a copy"
            )
    one = np.array(seen)  # before another call writes into it
    with told_with_its_line(task.folder):
        other = np.asarray(task.observe(kept))
    _require_equal(task, one, other)


def _require_equal(task: Task, one: NDArray[Any], other: NDArray[Any]) -> None:
    """Raise PackError unless `observe` has shown the same twice."""
    if one.dtype.kind in REAL and not np.array_equal(one, other, equal_nan=True):
        raise PackError(
            f"{task.folder / 'task.py'}: observe shows otherwise of the same readings: by a clock, "
            "at random, or by what it kept from before? An observation is of its readings alone"
        )


def unusable(task: Task, seen: Float32Array) -> Verdict | None:
    """The verdict on an episode whose observations (m, obs) are no numbers; None if all are.

    One as large as none is shows a scene that has come apart, or a division by nearly nothing.
    """
    if np.abs(seen).sum(dtype=np.float64) <= LARGEST:  # as nearly always; false of NaN, too
        return None
    bad = np.argwhere(~(np.abs(seen) <= LARGEST))
    if not len(bad):
        return None
    what = f"entry {bad[0][1]} of its observation is {seen[tuple(bad[0])]}"
    return Verdict(Outcome.INVALID, reason=f"{task.folder.name}: {what}")


def numbers_of(seen: Float32Array) -> Float32Array:
    """Observations with 0 for what is no number."""
    numbers: Float32Array = np.where(np.isfinite(seen), seen, np.float32(0))
    return numbers


def looks_done(task: Task, readings: Readings) -> Flags:
    """Whether stations (m) look done; raises PackError for what is not true or false."""
    with told_with_its_line(task.folder):
        done = task.looks_done(readings)
    _require_shape(task, "looks_done", done, (len(readings.joints),))
    kind = done.dtype if isinstance(done, np.ndarray) else type(done).__name__
    if kind != np.bool_:
        raise PackError(
            f"{task.folder / 'task.py'}: looks_done returns {kind}: true or false is needed"
        )
    return done


def drawn_of(task: Task, rng: np.random.Generator) -> FloatArray:
    """An initial condition; raises PackError unless it has a number for each variation."""
    again = None if task in _DRAWN else copy.deepcopy(rng)
    sample = np.asarray(task.sample(rng))
    _require_shape(task, "sample", sample, (len(task.variation_names),))
    _require_numbers(task, "sample", sample)
    bad = np.flatnonzero(~np.isfinite(sample))
    if len(bad):
        raise PackError(
            f"{task.folder / 'task.py'}: sample returns {sample[bad[0]]} for "
            f"{task.variation_names[bad[0]]}"
        )
    if again is not None and not np.array_equal(sample, task.sample(again)):
        raise PackError(
            f"{task.folder / 'task.py'}: sample draws otherwise for the same seed: draw from its "
            "`rng` alone, and keep nothing from one draw to the next"
        )
    _DRAWN.add(task)
    return sample


def initial_condition(task: Task, seed: int, physical: bool) -> FloatArray:
    """The initial condition that a seed gives at its first try, (entries,); nothing is run.

    physical: only what skills bring about, which is all that can be chosen where they do.
    """
    drawn = drawn_of(task, np.random.default_rng(seed).spawn(1)[0])  # as in `Job.streams`
    if not physical:
        return drawn
    return drawn[[task.variation_names.index(name) for name in task.target_names]]


def truth_of(task: Task, twin: Twin, row: int) -> tuple[Predicate, ...]:
    """What the simulator knows of a station's success; raises PackError for what is no truth."""
    with told_with_its_line(task.folder):
        truth = task.ground_truth(twin, row)
        if not isinstance(truth, tuple | list):
            raise TypeError(f"its ground_truth is {truth!r:.80}: a tuple of Predicates is needed")
        for predicate in truth:
            _require_predicate(predicate)
    return tuple(truth)


def probed(task: Task, probe: Any) -> Float32Array:
    """Return a verifier's action (act,); raises PackError for what is none, ValueError for NaN."""
    _require_shape(task, "verification_action", probe, (task.actions.size,))
    _require_numbers(task, "verification_action", probe)
    if not np.isfinite(probe).all():
        raise ValueError("its verification_action is no finite number")
    most = float(np.abs(probe).max())
    if most > BEYOND:
        raise ValueError(
            f"its verification_action is up to {most:.3g}, and 1 is a full one: degrees or mm? "
            "Convert it, or clip it to [-1, 1]"
        )
    if most > 1.0 + ROUNDED and task not in _CLIPPED:
        _CLIPPED.add(task)
        LOG.warning(
            "%s: its verification_action is up to %.3g, and is clipped to [-1, 1]",
            *(task.folder / "task.py", most),
        )
    action: Float32Array = probe
    return action


def require_verdict(verdict: Verdict) -> None:
    """Raise TypeError or ValueError for a verdict that is none, or against its own evidence."""
    if not isinstance(verdict, Verdict) or not isinstance(verdict.outcome, Outcome):
        raise TypeError(f"its verdict is {verdict!r:.80}: a Verdict with an Outcome is needed")
    if verdict.outcome is Outcome.ABORTED:  # it would count nowhere
        raise ValueError("its verdict is aborted, as only a person or a budget ends an episode")
    for name in ("stage", "reason"):
        if not isinstance(text := getattr(verdict, name), str):
            raise TypeError(f"its verdict's {name} is {text!r:.80}: text is needed")
    if not (verdict.stage.isprintable() and len(verdict.stage) <= LONGEST_NAME):
        raise ValueError(f"its verdict's stage is {verdict.stage!r:.80}: a name is needed")
    if not isinstance(verdict.frames, tuple | list):
        raise TypeError(f"its frames are {verdict.frames!r:.80}: a tuple is needed")
    for frame in verdict.frames:
        _require_frame(frame)
    if not isinstance(verdict.predicates, tuple | list):
        raise TypeError(f"its predicates are {verdict.predicates!r:.80}: a tuple is needed")
    for predicate in verdict.predicates:
        _require_predicate(predicate)
    for name, count in Counter(predicate.name for predicate in verdict.predicates).items():
        if count > 1:  # tables and pages are by name
            raise ValueError(f"its verdict has {count} predicates called {name}: one name each")
    if verdict.outcome is Outcome.SUCCESS:
        _require_shown(verdict)
    unsure = any(p.state is PredicateState.UNSURE for p in verdict.predicates)
    unknown = unsure and math.isnan(verdict.score)  # how far it came was not seen either
    if not (0.0 <= verdict.score <= 1.0 or unknown):
        raise ValueError(f"its score is {verdict.score!r:.80}: a share from 0 to 1 is needed")


def _require_shown(success: Verdict) -> None:
    """Raise ValueError for a success that its own measures do not show."""
    if success.failed:
        raise ValueError(f"its verdict is a success, and {success.failed[0]} does not hold")
    for predicate in success.predicates:
        if math.isinf(predicate.value):  # as from a division by nought
            raise ValueError(f"its verdict is a success, and {predicate.name} is infinite")


def _require_frame(frame: Frame) -> None:
    """Raise TypeError or ValueError for evidence that is no picture, or has no name of a file."""
    if not isinstance(frame, Frame):
        raise TypeError(f"{frame!r:.80} is among its frames: a Frame is needed")
    if not (isinstance(frame.name, str) and re.fullmatch(NAME, frame.name)):
        raise ValueError(f"a frame is called {frame.name!r:.80}: a camera's name is needed")
    image = frame.image
    plain = type(image) is np.ndarray and image.dtype == np.uint8 and image.ndim == 3
    if not (plain and image.shape[2] == 3 and image.size):
        what = f"{image.dtype} {image.shape}" if type(image) is np.ndarray else type(image).__name__
        raise ValueError(f"its frame {frame.name} is {what}: uint8 (height, width, 3) is needed")


def _require_predicate(predicate: Predicate) -> None:
    """Raise TypeError or ValueError for a predicate whose parts are none."""
    if not isinstance(predicate, Predicate):
        raise TypeError(f"{predicate!r:.80} is among its predicates: a Predicate is needed")
    name = predicate.name
    named = isinstance(name, str) and name.strip() and name.isprintable()
    if not (named and len(name) <= LONGEST_NAME):
        raise ValueError(f"a predicate is called {name!r:.80}: a name on one line is needed")
    if not isinstance(predicate.unit, str):
        raise TypeError(f"its {name} has unit {predicate.unit!r:.80}: text is needed")
    if not isinstance(predicate.at_least, bool | np.bool_):
        raise TypeError(f"its {name} has at_least {predicate.at_least!r:.80}: true or false")
    for part in ("value", "threshold", "accuracy"):
        number = getattr(predicate, part)
        truth = isinstance(number, bool | np.bool_) and part != "value"  # a measure may be one
        if truth or not isinstance(number, NUMBERS):
            raise TypeError(f"its {name} has {part} {number!r:.80}: a number is needed")
    if not math.isfinite(predicate.threshold):  # a measure may be none, which says unsure
        raise ValueError(f"its {name} is held against a threshold of {predicate.threshold}")
    if predicate.accuracy < 0.0:
        raise ValueError(f"its {name} has accuracy {predicate.accuracy}: 0 or more is needed")


def _require_numbers(task: Task, method: str, value: Any) -> None:
    plain = type(value) is np.ndarray  # a masked array is none
    if not plain or value.dtype.kind not in REAL:
        what = value.dtype.name if plain else type(value).__name__
        raise PackError(
            f"{task.folder / 'task.py'}: {method} returns {what}: an array of numbers is needed"
        )


def _require_shape(task: Task, method: str, value: Any, needs: tuple[int, ...]) -> None:
    found = np.shape(value)
    if found != needs:
        raise PackError(
            f"{task.folder / 'task.py'}: {method} returns shape {found}, expected {needs}"
        )
