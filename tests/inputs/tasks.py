"""Tasks whose methods answer what is slightly wrong: the smallest one, with another method."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from enpire.certification.examination import require_fit
from enpire.environment import Demonstrations, Demonstrator, Evidence, Job, Readings
from enpire.environment.stations import verdict_watch
from enpire.twin import Twin
from enpire.types import Float32Array, Frame, Outcome, Predicate, Purpose, Verdict
from tests.environment.reach import Reach, Speed, reach_stations
from tests.inputs.entry import INVALID, REFUSED, TAKEN, TOLD, Input

TICKS = 3000  # of the longest episode, and some
NAN = float("nan")
COUNT: list[int] = []  # of calls of what counts them


def episode(**methods: Callable[..., Any]) -> tuple[str, str]:
    """How an episode of such a task ends, and why."""
    stations = reach_stations(1, task=type("Mine", (Reach,), methods)())
    stations.begin(0, Job(5, Purpose.EVALUATION, Speed(), "p"))
    done = next(found for _ in range(TICKS) if (found := stations.tick()))[0]
    assert np.isfinite(done.observations).all()
    verdict = done.verdict
    ends = INVALID if verdict.outcome is Outcome.INVALID else TAKEN
    return ends, f"{verdict.outcome} {verdict.reason}"


def checked(**methods: Callable[..., Any]) -> tuple[str, str]:
    """What `enpire task check` says of such a task before its first episode."""
    require_fit(reach_stations(1, task=type("Mine", (Reach,), methods)()))
    return TAKEN, "fits"


def one(name: str, method: str, answer: Any, words: str, ends: str = REFUSED) -> Input:
    """An entry: a method that always answers this."""

    def always(*_: Any) -> Any:
        return answer

    return Input(name, lambda _: episode(**{method: always}), words, ends)


def judged(name: str, answer: Any, words: str, ends: str = INVALID) -> Input:
    """An entry: a verdict."""
    return one(name, "verify", answer, words, ends)


class Shown(Demonstrator):
    """Somebody who acts at random, and whose actions are changed."""

    def __init__(self, rng: np.random.Generator, change: Callable[[Float32Array], Any]) -> None:
        self._rng, self._change = rng, change

    def act(self, readings: Readings) -> Any:
        return self._change(self._rng.uniform(-1, 1, 7).astype(np.float32))


def shows(
    name: str, change: Callable[[Float32Array], Any], words: str, ends: str = REFUSED
) -> Input:
    """An entry: what a demonstrator does in some episodes."""

    def demonstrator(_: Any, rng: np.random.Generator) -> Demonstrator:
        return Shown(rng, change)

    def give(_: Path) -> tuple[str, str]:
        task = type("Mine", (Reach,), {"demonstrator": demonstrator})()
        stations, people = reach_stations(1, task=task), Demonstrations(task)
        for seed in range(8):
            stations.begin(0, Job(seed, Purpose.DEMONSTRATION, people, "p"))
            while not stations.tick():
                pass
        return (TOLD if people.watch.text else TAKEN), people.watch.text

    return Input(f"shows {name}", give, words, ends)


def kept_up(**methods: Callable[..., Any]) -> tuple[str, str]:
    """What comes of four episodes of such a task, and what is told of it."""
    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    verdict_watch.LOG.addHandler(handler)
    try:
        stations = reach_stations(1, task=type("Mine", (Reach,), methods)())
        for seed in range(4):
            stations.begin(0, Job(seed, Purpose.EVALUATION, Speed(), "p"))
            while not stations.tick():
                pass
    finally:
        verdict_watch.LOG.removeHandler(handler)
    return (TOLD if told else TAKEN), "; ".join(told)


def keeps(name: str, words: str, ends: str = REFUSED, **methods: Callable[..., Any]) -> Input:
    """An entry: methods that keep something from one episode to the next, or draw by themselves."""
    return Input(f"four episodes: {name}", lambda _: kept_up(**methods), words, ends)


def best_so_far(self: Any, evidence: Evidence) -> Verdict:
    """By the best distance of all episodes so far."""
    (near,) = Reach.verify(self, evidence).predicates
    self.best = min(getattr(self, "best", np.inf), near.value + 0.01 * len(evidence.readings))
    return held(Outcome.FAILURE, self.best)


def counted(self: Any, evidence: Evidence) -> Verdict:
    """By how many verdicts there have been."""
    COUNT.append(1)
    return held(Outcome.FAILURE, 1.0 + len(COUNT))


def since_last(self: Any, readings: Readings) -> Float32Array:
    """What is seen, and how far that is from what was seen last."""
    seen = Reach.observe(self, readings)
    before, self.before = getattr(self, "before", seen), seen
    return seen + (seen - before if before.shape == seen.shape else 0 * seen)


def placed_anywhere(self: Reach, twin: Twin, *more: Any) -> None:
    """The goal is somewhere else for the same variation."""
    Reach.set_initial_state(self, twin, *more)
    twin.qpos[more[1], twin.model.joint("task_goal").qposadr[0]] += 1e-3 * len(COUNT)
    COUNT.append(1)


def dropped(self: Reach, twin: Twin, *more: Any) -> None:
    """The goal is on its way down when the scene has been placed."""
    Reach.set_initial_state(self, twin, *more)
    twin.qvel[more[1], twin.model.joint("task_goal").dofadr[0] + 2] = -5.0


LIMITLESS = Verdict(Outcome.FAILURE, (Predicate("near", 0.0, NAN, "m", at_least=False),))


def held(outcome: Outcome, value: float) -> Verdict:
    """A verdict by one measure, which is to be 0.008 m at most."""
    return Verdict(outcome, (Predicate("near", value, 0.008, "m", at_least=False),))


def measured(**parts: Any) -> Verdict:
    """A failure by one measure, of which some parts are others."""
    return Verdict(Outcome.FAILURE, (replace(HOLDS, **parts),))


def told(reason: str) -> Verdict:
    """A failure for this reason."""
    return Verdict(Outcome.FAILURE, reason=reason)


def shown(frame: Any) -> Verdict:
    """A failure with this picture."""
    return Verdict(Outcome.FAILURE, frames=(frame,))


class Mute(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError


def exits(*_: Any) -> None:
    raise SystemExit(3)


def interrupts(*_: Any) -> None:
    raise KeyboardInterrupt


def closes(*_: Any) -> None:
    raise GeneratorExit


def mute(*_: Any) -> None:
    raise Mute


def one_buffer(_: Path) -> tuple[str, str]:
    """How many rows differ of what a task shows that writes into one array."""
    buffer = np.zeros((1, 2), np.float32)

    def observe(self: Reach, readings: Readings) -> Float32Array:
        buffer[...] = Reach.observe(self, readings)
        return buffer

    stations = reach_stations(1, task=type("Mine", (Reach,), {"observe": observe})())
    stations.begin(0, Job(5, Purpose.EVALUATION, Speed(), "p"))
    done = next(found for _ in range(TICKS) if (found := stations.tick()))[0]
    return TAKEN, f"{len(np.unique(done.observations, axis=0))} different"


GREY = np.full((4, 4, 3), 99, np.uint8)
HOLDS = Predicate("near", 0.0, 0.008, "m", at_least=False)
TWICE = (HOLDS, replace(HOLDS, value=1.0))
ENDLESS = Predicate("clear", np.inf, 0.008, "m")
TRUE = Predicate("near", 1.0, True, "m", at_least=False)
NEAR, UNSURE = held(Outcome.SUCCESS, 0.0), held(Outcome.FAILURE, NAN)


CLOCK = itertools.count()


def writes(self: Reach, readings: Readings) -> Float32Array:
    """Zero the joints before looking."""
    readings.joints[...] = 0.0
    return Reach.observe(self, readings)


def seen(*numbers: float) -> np.ndarray:
    """An observation of one station."""
    return np.array([numbers], np.float32)


ALL = (
    Input("as it should be", lambda _: episode(), "success", TAKEN),
    judged("no verdict", None, "its verdict is None"),
    judged("a verdict that is true", True, "its verdict is True"),
    judged("an outcome in words", Verdict("success"), "an Outcome is needed"),  # type: ignore[arg-type]
    judged("success by NaN", held(Outcome.SUCCESS, NAN), "near does not hold"),
    judged("a threshold of NaN", LIMITLESS, "near is held against a threshold of nan"),
    Input(
        "a thing that falls",
        lambda _: episode(set_initial_state=dropped),
        "falls at .* once the scene",
        INVALID,
    ),
    shows("as it should be", lambda action: action, "^$", TAKEN),
    shows("in degrees", lambda action: 57.3 * action + 2.0, "beyond .-1, 1.*another unit", TOLD),
    shows("by nothing", lambda action: None, "its demonstrator acts by None"),
    shows("what it masks", lambda a: np.ma.array(a, mask=a > 0), "acts by .*an array of an act"),
    shows("nobody", lambda a: a / {}["x"], "KeyError"),
    shows("an exit", exits, "SystemExit: 3"),
    shows("by a list", lambda action: action.tolist(), "^$", TAKEN),
    shows("by truths", lambda action: action > 0.0, "its demonstrator acts by .*an array"),
    judged("success against its measure", held(Outcome.SUCCESS, 1.0), "near does not hold"),
    judged("a failure whose measure holds", held(Outcome.FAILURE, 0.0), "failure", TAKEN),
    keeps("as it is", "^$", TAKEN),
    keeps(
        "a verdict by the best so far",
        "verify judges the same evidence otherwise",
        TOLD,
        verify=best_so_far,
    ),
    keeps(
        "a verdict by a count", "verify judges the same evidence otherwise", TOLD, verify=counted
    ),
    keeps("an observation since the last", "observe shows otherwise", observe=since_last),
    keeps(
        "a place of its own",
        "set_initial_state places otherwise",
        set_initial_state=placed_anywhere,
    ),
    keeps(
        "a failure whose measure holds",
        "a failure, though all its predicates hold .near among them.",
        TOLD,
        verify=lambda *_: held(Outcome.FAILURE, 0.0),
    ),
    keeps(
        "looks done at once",
        "looks_done is true at once in each of 4",
        TOLD,
        looks_done=lambda _, readings: np.ones(len(readings.joints), bool),
    ),
    judged("success without a measure", Verdict(Outcome.SUCCESS), "success", TAKEN),
    judged("a score in per cent", replace(NEAR, score=50.0), "its score is 50.0: a share from 0"),
    judged("a score below nought", replace(NEAR, score=-0.1), "its score is -0.1: a share from 0"),
    judged("a score of NaN", replace(NEAR, score=NAN), "its score is nan: a share from 0 to 1"),
    judged(
        "a threshold that is true", Verdict(Outcome.FAILURE, (TRUE,)), "near has threshold True"
    ),
    judged("a stage that is a number", Verdict(Outcome.FAILURE, stage=3), "stage is 3: text"),  # type: ignore[arg-type]
    judged("two measures of one name", Verdict(Outcome.FAILURE, TWICE), "2 predicates called near"),
    judged(
        "success by two measures of one name",
        Verdict(Outcome.SUCCESS, (HOLDS, HOLDS)),
        "2 predicates called near",
    ),
    judged("success by infinity", Verdict(Outcome.SUCCESS, (ENDLESS,)), "clear is infinite"),
    judged("success by less than all", held(Outcome.SUCCESS, -np.inf), "near is infinite"),
    judged("a failure by infinity", held(Outcome.FAILURE, np.inf), "failure", TAKEN),
    judged("an endless threshold", measured(threshold=np.inf), "against a threshold of inf"),
    judged("an accuracy below nought", measured(accuracy=-0.1), "accuracy -0.1: 0 or more"),
    judged("a measure of no name", measured(name=" "), "called ' ': a name on one line"),
    judged("a measure of two lines", measured(name="near\n"), "a name on one line is needed"),
    judged("a measure that clears the screen", measured(name="\x1b[2J"), r"called '.x1b"),
    judged("a measure of a number", measured(name=3), "called 3: a name"),
    judged("a unit that is none", measured(unit=None), "near has unit None: text"),
    judged("a sense in words", measured(at_least="no"), "at_least 'no': true or false"),
    judged("a measure in words", measured(value="0.1"), "near has value '0.1': a number"),
    judged("a complex measure", measured(value=1j), "near has value 1j: a number"),
    judged("a measure of nothing", measured(value=None), "near has value None: a number"),
    judged("a measure in an array", measured(value=np.zeros(1)), r"value array.*: a number"),
    judged("a measure of half precision", measured(value=np.float16(0.5)), "failure", TAKEN),
    judged("a measure that is a truth", measured(value=np.True_), "failure", TAKEN),
    judged(
        "a measure that is a table", Verdict(Outcome.FAILURE, ({"near": 0.0},)), "a Predicate is"
    ),  # type: ignore[arg-type]
    judged("measures bit by bit", Verdict(Outcome.SUCCESS, iter((HOLDS,))), "a tuple is needed"),  # type: ignore[arg-type]
    judged("measures in a list", Verdict(Outcome.FAILURE, [HOLDS]), "failure", TAKEN),  # type: ignore[arg-type]
    judged("a stage of a book", Verdict(Outcome.FAILURE, stage="s" * 9999), "a name is needed"),
    judged("a measure of a book", measured(name="n" * 9999), "a name on one line is needed"),
    judged("a reason that clears the screen", told("\x1b[2J"), r"failure .x1b\[2J$", TAKEN),
    judged("a reason of three lines", told("a\nb\r\nc"), "failure a b c$", TAKEN),
    judged("a reason of a book", told("x" * 99999), "x etc$", TAKEN),
    judged("a reason of half a letter", told("\ud800"), r"failure .ud800$", TAKEN),
    judged("a picture in words", shown("top"), "'top' is among its frames: a Frame"),
    judged("no pictures", Verdict(Outcome.FAILURE, frames=None), "its frames are None: a tuple"),  # type: ignore[arg-type]
    judged(
        "a picture of fractions", shown(Frame("a", GREY / 2.0)), r"is float64 \(4, 4, 3\): uint8"
    ),  # type: ignore[arg-type]
    judged("a picture of grey", shown(Frame("a", GREY[..., 0])), r"is uint8 \(4, 4\): uint8"),
    judged("a picture of no rows", shown(Frame("a", GREY[:0])), r"is uint8 \(0, 4, 3\)"),
    judged("a picture of no name", shown(Frame("", GREY)), "a frame is called ''"),
    judged("a picture that leads out", shown(Frame("../../x", GREY)), "called '../../x': a camera"),
    judged("a picture", shown(Frame("top", GREY)), "failure", TAKEN),
    Input("a verdict that exits", lambda _: episode(judge=exits), "SystemExit: 3", INVALID),
    Input("a verdict that interrupts", lambda _: episode(judge=interrupts), "Keyb", INVALID),
    Input("a verdict that cannot say why", lambda _: episode(judge=mute), "Mute: an e", INVALID),
    *(
        Input(f"{method} that {what}", lambda _, m={method: does}: episode(**m), words)
        for method in ("observe", "looks_done")
        for what, does, words in (("exits", exits, "task.py.*SystemExit: 3"), ("raises", mute, "M"))
    ),
    *(
        Input(
            f"{method} that closes", lambda _, m=method: episode(**{m: closes}), "GeneratorExit", e
        )
        for method, e in (
            *((name, REFUSED) for name in ("observe", "looks_done")),
            *((name, INVALID) for name in ("sample", "settle", "verification_action", "verify")),
        )
    ),
    one(
        "a probe of NaN",
        "verification_action",
        np.full(7, NAN, np.float32),
        "no finite number",
        INVALID,
    ),
    one(
        "a probe in degrees",
        "verification_action",
        np.full(7, 28.6, np.float32),
        "verification_action is up to 28.6, and 1 is a full one: degrees or mm",
        INVALID,
    ),
    one(
        "a probe that is too much for one entry",
        "verification_action",
        np.r_[np.zeros(6), -100.0].astype(np.float32),
        "is up to 100, and 1",
        INVALID,
    ),
    one(
        "a probe that is clipped",
        "verification_action",
        np.full(7, 1.5, np.float32),
        "^fail",
        TAKEN,
    ),
    one(
        "a probe too short",
        "verification_action",
        np.zeros(3, np.float32),
        r"action returns shape \(3,\)",
    ),
    one(
        "a probe that is true",
        "verification_action",
        True,
        r"action returns shape \(\), expected \(7,\)",
    ),
    one(
        "a probe of truths",
        "verification_action",
        np.ones(7, bool),
        "verification_action returns bool",
    ),
    one("a draw in mm", "sample", np.array([400.0]), "task_goal is at .* m once .*no mm", INVALID),
    Input(
        "what a clock says",
        lambda _: episode(observe=lambda *_: np.full((1, 2), next(CLOCK), np.float32)),
        "observe shows otherwise of the same readings",
    ),
    Input(
        "what it writes into",
        lambda _: episode(observe=writes),
        "observe writes into the joints of its readings",
    ),
    Input(
        "a truth in words",
        lambda _: checked(ground_truth=lambda *_: "yes"),
        "its ground_truth is 'yes': a tuple of Predicates",
    ),
    Input(
        "a truth by words",
        lambda _: checked(ground_truth=lambda *_: ("yes",)),
        "'yes' is among its predicates",
    ),
    Input("no truth", lambda _: checked(ground_truth=lambda *_: ()), "fits", TAKEN),
    Input("one array for all it shows", one_buffer, "^7 different", TAKEN),
    one("1e300 seen", "observe", np.array([[1e300, 0.0]]), "entry 0 of its obs.* inf", INVALID),
    Input(
        "a start by a generator of its own",
        lambda _: episode(sample=lambda *_: np.random.default_rng().uniform(0, 0.05, 1)),
        "sample draws otherwise for the same seed",
    ),
    judged("what nobody ended", Verdict(Outcome.ABORTED), "its verdict is aborted, as only"),
    judged("no reason", Verdict(Outcome.FAILURE, reason=None), "reason is None: text is needed"),  # type: ignore[arg-type]
    judged("a score of NaN that is unsure", replace(UNSURE, score=NAN), "failure", TAKEN),
    one("NaN seen", "observe", seen(0.0, NAN), "entry 1 of its observation is nan", INVALID),
    one("infinity seen", "observe", seen(np.inf, 0.0), "entry 0 of its obs.* is inf", INVALID),
    one("1e30 seen", "observe", seen(1e30, 0.0), r"entry 0 of its obs.* is 1.0\d+e\+30", INVALID),
    one("whole numbers seen", "observe", np.array([[1, 2]]), "failure|success", TAKEN),
    one("complex numbers seen", "observe", np.array([[1j, 0.0]]), "observe returns complex128"),
    one("truths seen", "observe", np.array([[True, False]]), "observe returns bool: an array"),
    one("objects seen", "observe", np.array([[0.1, None]], object), "observe returns object"),
    one("text seen", "observe", np.array([["0.1", "0.2"]]), "observe returns str"),
    one("a list seen", "observe", [[0.1, 0.2]], "observe returns list: an array of numbers"),
    one(
        "a mask seen",
        "observe",
        np.ma.masked_array([[0.1, 0.2]], [[True, False]]),
        "observe returns MaskedArray",
    ),
    one("an entry too few seen", "observe", seen(0.0), r"returns shape \(1, 1\)"),
    one("nothing seen", "observe", None, r"returns shape \(\)"),
    one("looks done in words", "looks_done", np.array(["False"]), "true or false is needed"),
    one("looks done by a share", "looks_done", np.array([0.3]), "true or false is needed"),
    one(
        "looks done in a list",
        "looks_done",
        [True],
        "looks_done returns list: true or false is needed",
    ),
    one(
        "looks done of two stations",
        "looks_done",
        np.array([False, False]),
        r"returns shape \(2,\)",
    ),
    one("a scene of NaN", "sample", np.array([NAN]), "returns nan for goal_x"),
    one("a scene with a number too many", "sample", np.array([0.03, 1.0]), r"returns shape \(2,\)"),
    Input(
        "one start for all seeds",
        lambda _: checked(sample=lambda *_: np.array([0.03])),
        "sample returns the same for each of 8 seeds",
    ),
    Input("a start for each seed", lambda _: checked(), "fits", TAKEN),
    one("a scene of complex numbers", "sample", np.array([0.03 + 1j]), "sample returns complex128"),
    one("a scene of truths", "sample", np.array([True]), "sample returns bool"),
    one("a scene in words", "sample", np.array(["0.03"]), "sample returns str"),
    one("a scene of objects", "sample", np.array([None], object), "sample returns object"),
    one("no scene", "sample", None, r"returns shape \(\)"),
    one("rest below nought", "settle", -1.0, "settle returns -1.0: a time", INVALID),
    one("rest that is NaN", "settle", NAN, "settle returns nan: a time", INVALID),
    one("a scene in a list", "sample", [0.03], "success", TAKEN),
)
