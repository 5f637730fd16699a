"""Gymnasium environments that are slightly wrong, in this process: its worker is called, not run.

What ends a process is in `tests/environment/test_odd.py`, which runs workers.
"""

from __future__ import annotations

import fractions
import itertools
import json
import logging
import re
import types
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium
import numpy as np
from gymnasium.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    Sequence,
    Text,
    Tuple,
)

from enpire.environment import Job, RandomActions
from enpire.environment.gym_bridge import episode_signs, gym_process, gym_stations
from enpire.environment.gym_bridge.gym_stations import GymStations
from enpire.environment.gym_bridge.gym_worker import environments, making, serving, spaces
from enpire.environment.gym_bridge.gym_worker.success import SAYS
from enpire.types import FAULT, Outcome, Purpose
from tests.environment.odd import Odd
from tests.inputs.entry import INVALID, REFUSED, TAKEN, TOLD, Input

STEPS = 10_050  # of the longest episode, and some
SHORT = 30  # of one of several that does not end
TWO = Box(-5, 5, (2,), np.float64)


class Worker:
    """In place of `gym_stations.GymWorker`: what it is asked is answered here, as JSON has it."""

    make: Callable[[], Any]

    def __init__(self, env_id: str, stations: int, python: str, key: str = "", *_: str) -> None:
        self.about: dict[str, Any] = {}
        self._keys = (key,) if key else SAYS

    def started(self) -> None:
        try:
            self._env = environments.Single(type(self).make(), self._keys)
        except Exception as error:
            raise gym_process.worker_error("odd", serving.failed(error)) from error
        self.about = json.loads(json.dumps(self._env.about))

    def ask(self, seeds: dict, actions: dict, scripted: list) -> None:
        self._asked = seeds, actions

    def answer(self) -> dict[int, Any]:
        try:
            came = self._env.tick(*self._asked)
        except Exception as error:
            raise gym_process.worker_error("odd", serving.failed(error)) from error
        return {
            row: (json.loads(json.dumps(told)), np.asarray(seen, "<f8"))
            for row, (told, seen) in came.items()
        }

    def close(self) -> None:
        """Nothing runs."""


def episode(make: Callable[[], Any], success: str = "") -> tuple[str, str]:
    """How an episode ends, by stations, and why."""
    before = gym_stations.GymWorker
    gym_stations.GymWorker = type("Here", (Worker,), {"make": staticmethod(make)})
    try:
        stations = GymStations("gym:odd", 1, success=success)
        controller = RandomActions(stations.action_size)
        stations.begin(0, Job(5, Purpose.EVALUATION, controller, "p"))
        done = next(found for _ in range(STEPS) if (found := stations.tick()))[0]
    finally:
        gym_stations.GymWorker = before
    assert np.isfinite(done.observations).all()
    assert np.isfinite(done.actions).all()
    verdict = done.verdict
    if verdict.outcome is Outcome.INVALID:
        assert verdict.stage == FAULT
        return INVALID, verdict.reason
    return TAKEN, f"{verdict.outcome} {verdict.reason}"


def several(
    make: Callable[[], Any], seeds: tuple[int, ...] = (1, 2, 3, 4, 1, 2)
) -> tuple[str, str]:
    """What is told of some episodes: if not said, of two seeds twice and two more."""
    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    before = gym_stations.GymWorker
    gym_stations.GymWorker = type("Here", (Worker,), {"make": staticmethod(make)})
    for module in (episode_signs, gym_stations):
        module.LOG.addHandler(handler)
    short = [patch.object(module, "LONGEST", SHORT) for module in (environments, episode_signs)]
    try:
        for each in short:
            each.start()
        stations = GymStations("gym:odd", 1)
        controller = RandomActions(stations.action_size)
        for seed in seeds:
            stations.begin(0, Job(seed, Purpose.EVALUATION, controller, "p"))
            while not stations.tick():
                pass
    finally:
        for each in short:
            each.stop()
        for module in (episode_signs, gym_stations):
            module.LOG.removeHandler(handler)
        gym_stations.GymWorker = before
    return (TOLD if told else TAKEN), "; ".join(told)


class Made(Odd):
    """The line, with another part. step: instead of its own; seen: what it shows, from the end."""

    def __init__(
        self,
        space: Any = TWO,
        seen: Any = None,
        action: Any = None,
        meta: Any = None,
        step: Callable[[Made], Any] | None = None,
        **returned: Any,
    ) -> None:
        super().__init__()
        self.observation_space, self._seen = space, seen
        self._returned, self._instead = returned, step
        if action is not None:
            self.action_space = action
        if meta is not None:
            self.metadata = meta

    def _observation(self) -> Any:
        return super()._observation() if self._seen is None else self._seen

    def step(self, action: np.ndarray) -> Any:
        seen, *_ = super().step(np.resize(np.asarray(action, float), 1))
        over = self._steps >= 8
        if self._instead is not None:
            return self._instead(self)
        said = {"reward": 0.0, "terminated": over, "truncated": False}
        said = {"observation": seen, **said, "info": {"is_success": over}}
        return tuple((said | self._returned).values())


class Versioned(Odd):
    """The line, as it is registered."""

    spec = gymnasium.envs.registration.EnvSpec("odd-v3")  # type: ignore[assignment]


def one(name: str, words: str, ends: str = INVALID, success: str = "", **part: Any) -> Input:
    """An entry: the line with another part."""
    return Input(name, lambda _: episode(lambda: Made(**part), success), words, ends)


def asked(name: str, query: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: what stands after the question mark of an environment's name."""

    def give(_: Path) -> tuple[str, str]:
        try:
            return TAKEN, repr(making.arguments(query))
        except Exception as error:
            raise gym_process.worker_error("odd", serving.failed(error)) from error

    return Input(f"?{name}", give, words, ends)


def odd(kind: str, words: str, ends: str = INVALID, success: str = "") -> Input:
    """An entry: a kind of `tests/environment/odd.py`."""
    return Input(kind, lambda _: episode(lambda: Odd(kind), success), words, ends)


def spoiled(name: str, words: str, ends: str, **attributes: Any) -> Input:
    """An entry: actions of a space whose bounds were written over."""

    def make() -> Made:
        space = Box(0, 1, (1,), np.float32)
        for key, value in attributes.items():
            setattr(space, key, np.array(value, np.float32))
        return Made(action=space)

    return Input(name, lambda _: episode(make), words, ends)


def raising(name: str, error: BaseException, words: str) -> Input:
    """An entry: a step that raises."""

    def step(_: Made) -> None:
        raise error

    return one(name, words, step=step)


class Speechless(Exception):
    """Does not say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


class OwnGenerator(Odd):
    """Its generator is a property that nobody sets."""

    @property
    def np_random(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._goal, self._point, self._steps = 0.0, 0.0, 0
        return np.zeros(2), {}


class Stale(Odd):
    """Shows first what the last episode ended with."""

    _last: Any = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        seen, info = super().reset(seed=seed)
        return (seen if self._last is None else self._last), info

    def step(self, action: np.ndarray) -> Any:
        answer = super().step(action)
        self._last = answer[0]
        return answer


class Late(Odd):
    """Shows what was so a step before: it may be what this environment is."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._before, info = super().reset(seed=seed)
        return self._before, info

    def step(self, action: np.ndarray) -> Any:
        seen, *others = super().step(action)
        self._before, shown = seen, self._before
        return (shown, *others)


class Seedless(Odd):
    """Of before there were seeds."""

    def reset(self) -> Any:
        return np.zeros(2), {}


class Unseeded(Odd):
    """Draws from a generator that it made itself, once; or from none."""

    def __init__(self, draw: Callable[[], float]) -> None:
        super().__init__()
        self._draw = draw

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._goal = self._draw()
        return self._observation(), {}


class Unchanging(Odd):
    """Shows what it showed first, and something else in each episode."""

    def _observation(self) -> Any:
        return np.array([self._goal, 0.0])


class Freezes(Odd):
    """Shows one thing from its fifth step on."""

    def step(self, action: np.ndarray) -> Any:
        seen, *_ = super().step(action)
        if self._steps <= 4:
            self._kept = seen
        return self._kept, 0.0, False, self._steps >= 24, {"is_success": False}


class OneBuffer(Odd):
    """Shows the same array each time, with other numbers in it."""

    def __init__(self) -> None:
        super().__init__()
        self._buffer = np.zeros(2)

    def _observation(self) -> Any:
        self._buffer[:] = super()._observation()
        return self._buffer


class LeftOver(Odd):
    """Its success is true from the reset on, or from the first step."""

    def __init__(self, at_reset: bool) -> None:
        super().__init__()
        self._at_reset = at_reset

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed)[0], {"is_success": self._at_reset}

    def step(self, action: np.ndarray) -> Any:
        seen, reward, over, _, _ = super().step(action)
        return seen, reward, over or self._at_reset, False, {"is_success": True}


class Shown(Odd):
    """Shows something else once it has been reset."""

    def reset(self, **given: Any) -> Any:
        began = super().reset(**given)
        self.observation_space = Box(-1, 1, (5,))
        return began


class Blank(Odd):
    """Shows nothing but 0 in each fifth step."""

    def step(self, action: np.ndarray) -> Any:
        seen, *more = super().step(action)
        return seen * bool(self._steps % 5), *more


class Wider(Odd):
    """Takes other actions once it has been reset."""

    def __init__(self, space: Box) -> None:
        super().__init__()
        self._then = space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.action_space = self._then
        return super().reset(seed=seed)


class Begins(Odd):
    """Its reset returns something else."""

    def __init__(self, what: Callable[[np.ndarray], Any]) -> None:
        super().__init__()
        self._what = what

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self._what(super().reset(seed=seed)[0])


def begins(name: str, what: Callable[[np.ndarray], Any], words: str, ends: str = INVALID) -> Input:
    """An entry: what a reset returns."""
    return Input(name, lambda _: episode(lambda: Begins(what)), words, ends)


def normalised(wrapper: Callable[[Any], Any], learns: bool) -> Any:
    """In a wrapper that normalises by what it has seen so far."""
    env = gymnasium.wrappers.TransformReward(wrapper(Made()), lambda reward: reward)
    env.env.update_running_mean = learns
    return env


def running(name: str, wrapper: Callable[[Any], Any], words: str, ends: str, learns: bool) -> Input:
    """An entry: it, in another wrapper."""
    return Input(name, lambda _: episode(lambda: normalised(wrapper, learns)), words, ends)


def itself(made: Made) -> Any:
    """Calls itself without end."""
    return made.step(np.zeros(1))


STEP = namedtuple("STEP", "observation reward terminated truncated info")
SHAPES = r"has shape {}, and \(2,\) is declared"
FLOATS = np.finfo(np.float32).max
PARTS = Tuple((Box(-5, 5, (2,)), Box(-5, 5, (1,))))
KNOWN = (
    odd("success_nan", "is_success is nan: true or false is needed"),
    odd("success_text", "is_success is 'False'"),
    odd("success_two", "is_success is 2"),
    odd("success_list", r"is_success is \[True, False\]"),
    odd("success_one", "success", TAKEN),
    odd("success_array", "success", TAKEN),
    odd("success_numpy", "success", TAKEN),
    odd("bare_action", "success", TAKEN),
    odd("reward_nan", "reward is nan"),
    odd("reward_infinite", "reward is inf"),
    odd("reward_none", "reward is nan|reward is None"),
    odd("reward_text", "reward is 'much'"),
    odd("reward_pair", "reward is array"),
    odd("ended_nan", "terminated is nan"),
    odd("ended_text", "terminated is 'False'"),
    odd("ended_none", "terminated is None"),
    odd("info_list", "info is .*no dictionary"),
    odd("shorter", SHAPES.format(r"\(1,\)")),
    odd("longer", SHAPES.format(r"\(3,\)")),
    odd("flat", SHAPES.format(r"\(\)")),
    odd("folded", SHAPES.format(r"\(1, 2\)")),
    odd("none", SHAPES.format(r"\(\)")),
    odd("text", SHAPES.format(r"\(\)")),
    odd("ragged", "is ragged"),
    odd("words", "numbers are declared"),
    odd("seen_nan", "entry 1 of its observation is nan"),
    odd("seen_infinite", "entry 0 of its observation is -inf"),
    odd("reset_shorter", SHAPES.format(r"\(1,\)")),
    odd("varying", SHAPES.format(r"\(1,\)")),
    odd("old_step", "step returned 4 values, not"),
    odd("old_reset", "reset returned ndarray, not"),
    odd("raises", r"raised RuntimeError: out of cheese \(.*odd\.py:\d+\)"),
    odd("asserts", r"raised AssertionError at .*odd\.py:\d+ assert self\._steps < 0.*, from "),
    odd("reset_raises", "raised RuntimeError: no scene"),
    odd("in_the_middle", "was 1 at step 3: --success any", TAKEN),
    odd("other_key", "--success info:KEY", REFUSED),
    odd("succeed", "success", TAKEN),
    *(
        odd(f"rate_{kind}", "render_fps=", REFUSED)
        for kind in ("negative", "nothing", "text", "nan", "infinite", "flag", "list")
    ),
    odd("no_action", "no entry", REFUSED),
    odd("nothing_seen", "no entry", REFUSED),
)
SEEN, PAID = gymnasium.wrappers.NormalizeObservation, gymnasium.wrappers.NormalizeReward
MORE = (
    Input(
        "begins with the last one's end", lambda _: several(Stale), "the same seed .1. begins", TOLD
    ),
    Input("is one step late", lambda _: several(Late), "^$", TAKEN),
    one("a view of memory", "success", TAKEN, seen=memoryview(np.array([0.1, 0.2]))),
    one("a number beyond 64 bits", "entry 0 of its observation is 1e.30", seen=[10**30, 0]),
    one("a success of NaN", "is_success is nan: true or", info={"is_success": float("nan")}),
    one("a set", r"has shape \(\), and", seen={0.1, 0.2}),
    one("a string of bytes", r"has shape \(\), and", seen=b"01"),
    one("pairs for an info", "and no dictionary", info=[("is_success", True)]),
    one("a reward by name", "its reward is {'a': 1}: a number", reward={"a": 1}),
    one("flags of NumPy's", "success", TAKEN, truncated=np.bool_(False)),
    one(
        "a bound in half precision",
        "with bounds is needed",
        REFUSED,
        action=Box(-np.inf, 1, (1,), np.float16),
    ),
    running("seen by a running mean", SEEN, "NormalizeObservation goes on", REFUSED, True),
    running("paid by a running mean", PAID, "NormalizeReward goes on", REFUSED, True),
    running("seen by a mean that stands", SEEN, "success", TAKEN, False),
    one("an observation of 1e300", "is 1e.300", seen=np.array([0, 1e300])),
    one("an observation of 1e30", "is 1e.30", seen=np.array([0, 1e30])),
    one("text that looks like numbers", "numbers are declared", seen=np.array(["0.1", "0.2"])),
    one("bytes that look like numbers", "numbers are declared", seen=np.array([b"1", b"2"])),
    one("complex numbers", "numbers are declared", seen=np.array([1j, 0.2])),
    one("dates", "numbers are declared", seen=np.array(["2020", "2021"], "M8[Y]")),
    one("a mask", "numbers are declared", seen=np.ma.masked_array([0.1, 0.2], [True, False])),
    one("an entry of None", "is nan", seen=[None, 0.1]),
    one("objects that are numbers", "success", TAKEN, seen=np.array([0.1, 0.2], object)),
    one(
        "fractions where whole numbers are declared",
        "is not in Box",
        space=Box(-5, 5, (2,), np.int64),
        seen=np.array([0.7, 0.2]),
    ),
    one(
        "300 in a byte",
        "is not in Box",
        space=Box(0, 255, (2,), np.uint8),
        seen=np.array([300, -1]),
    ),
    one("a choice", "success", TAKEN, space=Discrete(4), seen=2),
    one("a choice in a list", "success", TAKEN, space=Discrete(4), seen=np.array([2])),
    one("a choice below nought", "is not in Discrete", space=Discrete(4), seen=-1),
    one("a choice beyond", "is not in Discrete", space=Discrete(4), seen=4),
    one("a choice that is a fraction", "is not in Discrete", space=Discrete(4), seen=1.0),
    one("a choice that is none", "is not in Discrete", space=Discrete(4), seen=float("nan")),
    one("two choices", "is not in Discrete", space=Discrete(4), seen=[1, 2]),
    one(
        "choices beyond",
        "is not in MultiD",
        space=MultiDiscrete([3, 3]),
        seen=np.array([4, 0]),
    ),
    one(
        "choices below nought",
        "is not in MultiD",
        space=MultiDiscrete([3, 3]),
        seen=np.array([-1, 0]),
    ),
    one("a bit of 2", "is not in MultiBinary", space=MultiBinary(2), seen=np.array([2, 0])),
    one("half a bit", "is not in MultiBinary", space=MultiBinary(2), seen=np.array([0.5, 0])),
    one("parts swapped", "part 0", space=PARTS, seen=(np.zeros(1), np.zeros(2))),
    one("a part missing", "is declared", space=PARTS, seen=(np.zeros(2),)),
    one("a part too many", "is declared", space=PARTS, seen=(np.zeros(2), np.zeros(1), 1)),
    one("a key missing", "lacks 'b'", space=Dict(a=TWO, b=TWO), seen={"a": np.zeros(2)}),
    one("a key more", "success", TAKEN, space=Dict(a=TWO), seen={"a": np.zeros(2), "b": 3}),
    one("None within", "'a', is None", space=Dict(a=Dict(b=TWO)), seen={"a": None}),
    one("letters of no set", "not in", space=Dict(t=Text(5), a=TWO), seen={"t": "é", "a": [0, 0]}),
    one("a sequence", "no fixed vector", REFUSED, space=Sequence(TWO), seen=()),
    one("a graph", "no fixed vector", REFUSED, space=Graph(Box(-1, 1, (2,)), None)),
    one("a space that is none", "Unknown space", REFUSED, space=3),
    one("a reward of text", "reward is '0.5'", reward="0.5"),
    one("a reward of bytes", "reward is b'0.5'", reward=b"0.5"),
    one("a complex reward", "a number is needed", reward=np.complex128(1 + 2j)),
    one("a reward of 1e308", "reward is 1e.308", reward=1e308),
    one("a reward of 400 digits", "a number is needed", reward=10**400),
    one("a masked reward", "a number is needed", reward=np.ma.masked),
    one("a reward of time", "a number is needed", reward=np.timedelta64(3, "s")),
    one("a reward of None", "its reward is None: a number", reward=None),
    one("success under no known key", "which has 'won'", REFUSED, info={"won": True}),
    Input(
        "keys that are not declared",
        lambda _: several(lambda: Made(space=Dict(a=TWO), seen={"a": np.ones(2), "mass": 3})),
        "its observation has 'mass', which its space does not declare",
        TOLD,
    ),
    one("a reward of one entry", "success", TAKEN, reward=np.array([1.0])),
    one("a return of text", "reward is '9'", success="return>=5", reward="9"),
    one("terminated is 2", "terminated is 2", terminated=2),
    one("terminated is complex", "terminated is", terminated=1 + 0j),
    one("an info of None", "no dictionary", info=None),
    one("an info that is a view", "no dictionary", info=types.MappingProxyType({"is_success": 1})),
    one("success twice, alike", "success", TAKEN, info={"is_success": True, "success": 1}),
    one("success and failure", "--success info:KEY", info={"is_success": True, "success": False}),
    one("failure and success", "--success info:KEY", info={"is_success": False, "success": True}),
    one(
        "success and failure, one named",
        "success",
        TAKEN,
        "info:success",
        info={"is_success": False, "success": True},
    ),
    one("a masked success", "is_success is masked", info={"is_success": np.ma.masked}),
    one("nearly a success", "is_success is 1.0000001", info={"is_success": 1.0000001}),
    one("a success of bytes", "is_success is b'1'", info={"is_success": b"1"}),
    one("a success that is a function", "is_success is <fun", info={"is_success": lambda: True}),
    one("a success of no entry", "is_success is array", info={"is_success": np.array([])}),
    one("a success within", "is_success is {", info={"is_success": {"a": True}}),
    one("a success in capitals", "--success info:KEY", REFUSED, info={"Success": True}),
    one(
        "a named tuple", "success", TAKEN, step=lambda _: STEP(np.zeros(2), 0, 1, 0, {"success": 1})
    ),
    one("a step that is a list", "returned list", step=lambda _: [np.zeros(2), 0, 1, 0, {}]),
    one("a step of nothing", "returned NoneType", step=lambda _: None),
    one(
        "never ends",
        "cut off",
        TAKEN,
        step=lambda _: (np.zeros(2), 0, 0, 0, {"is_success": False}),
    ),
    one("ends at once", "success", TAKEN, terminated=True, info={"success": True}),
    one("calls itself", "RecursionError", step=itself),
    raising("raises what clears the screen", RuntimeError("\ud800\x1b[2J"), r"ud800.x1b\[2J"),
    raising("raises 100000 letters", RuntimeError("x" * 10**5), "xxx etc"),
    raising("raises what does not say", Speechless(), "does not say what it is"),
    raising("raises StopIteration", StopIteration(), "StopIteration at"),
    one(
        "bounds that are none", "beyond 1e.09 are none", REFUSED, action=Box(-FLOATS, FLOATS, (1,))
    ),
    one("no bounds", "a Box with bounds", REFUSED, action=Box(-np.inf, np.inf, (1,))),
    one("half a bound", "a Box with bounds", REFUSED, action=Box(0, np.inf, (1,))),
    spoiled("bounds the other way", "nothing lies between", REFUSED, low=[1], high=[0]),
    spoiled("bounds of no number", "a Box with bounds", REFUSED, low=[float("nan")]),
    one("nothing between bounds", "nothing lies between", REFUSED, action=Box(1, 1, (1,))),
    one("actions of choices", "a Box with bounds", REFUSED, action=Discrete(3)),
    one("actions by name", "a Box with bounds", REFUSED, action=Dict(a=TWO)),
    one("actions that are none", "a Box with bounds", REFUSED, action=7),
    one("whole actions", "success", TAKEN, action=Box(0, 3, (1,), np.int64)),
    one("metadata that are a list", "no dictionary", REFUSED, meta=[1]),
    one("a complex rate", "render_fps=", REFUSED, meta={"render_fps": np.complex128(25)}),
    one("a rate of 400 digits", "render_fps=1000", REFUSED, meta={"render_fps": 10**400}),
    one("a rate in a list", "render_fps=", REFUSED, meta={"render_fps": np.array(25)}),
    one("a rate of fractions", "render_fps=", REFUSED, meta={"render_fps": fractions.Fraction(25)}),
    one("a rate of a million", "render_fps=", REFUSED, meta={"render_fps": 1e6}),
    begins("a reset of three", lambda seen: (seen, {}, 1), "reset returned 3 values"),
    begins("a reset of nothing", lambda _: None, "reset returned NoneType"),
    begins("a reset whose info is a list", lambda seen: (seen, []), r"its info is \[\]"),
    begins("a reset the other way round", lambda seen: ({}, seen), "no dictionary"),
    begins("a reset of text", lambda _: ("left", {}), r"has shape \(\)"),
    begins("a reset of a list", lambda seen: (seen.tolist(), {}), "success", TAKEN),
    one("flags of one entry", "success", TAKEN, truncated=np.array([False])),
    one("a success of one entry", "success", TAKEN, info={"success": np.array([[True]])}),
    one("a success of episodes", "--success info", REFUSED, info={"episode": {"success": True}}),
    one("a success that is '0'", "is_success is '0'", info={"is_success": "0"}),
    one("numbers of several types", "success", TAKEN, seen=[np.float32(0), np.int64(1)]),
    Input(
        "goes on from the last one, each seed once",
        lambda _: several(Stale, (1, 2)),
        "the same seed .1. begins otherwise than before",
        TOLD,
    ),
    Input(
        "hangs halfway", lambda _: several(Freezes), "4 of 4 episodes show one and the same", TOLD
    ),
    Input("one array for all that it shows", lambda _: several(OneBuffer), "^$", TAKEN),
    one("terminated and truncated", "failure", TAKEN, terminated=True, truncated=True),
    one("a reward of no dimension", "success", TAKEN, reward=np.array(0.5)),
    one(
        "fractions in bytes",
        "array.*0.5, 0.2.* not in Box",
        space=Box(0, 255, (2,), np.uint8),
        seen=np.array([0.5, 0.2]),
    ),
    one(
        "success in what a vector ends with",
        "does not say whether .* 'final_info'",
        REFUSED,
        info={"final_info": {"is_success": True}},
    ),
    Input("a generator of its own", lambda _: episode(OwnGenerator), "success", TAKEN),
    Input(
        "an action with one value",
        lambda _: several(lambda: Made(action=Box(np.float32([-1, 0.5]), np.float32([1, 0.5])))),
        "entry 1 of its actions has one value only",
        TOLD,
    ),
    Input(
        "a name without its version",
        lambda _: several(Versioned),
        "is odd-v3 here, and may be",
        TOLD,
    ),
    Input("six good episodes", lambda _: several(Odd), "^$", TAKEN),
    Input(
        "seeds that nobody heeds",
        lambda _: several(lambda: Unseeded(partial(next, itertools.count(0, 0.1)))),
        r"the same seed \(1\) begins otherwise",
        TOLD,
    ),
    Input(
        "one beginning whatever the seed",
        lambda _: several(lambda: Unseeded(lambda: 0.5)),
        "4 episodes of 4 seeds begin with the same",
        TOLD,
    ),
    Input(
        "shows what it showed first", lambda _: several(Unchanging), "nothing that it shows", TOLD
    ),
    Input(
        "a success before anything was done",
        lambda _: several(lambda: LeftOver(True)),
        "from the first step on in 4 of 4",
        TOLD,
    ),
    Input(
        "a success that is left over",
        lambda _: several(lambda: LeftOver(False)),
        "from the first step on in 4 of 4",
        TOLD,
    ),
    Input(
        "a success that passes",
        lambda _: several(lambda: Odd("in_the_middle")),
        "of 8 steps was a success at step 3, and none by .*--success any",
        TOLD,
    ),
    Input(
        "six that never end",
        lambda _: several(lambda: Made(step=lambda _: (np.zeros(2), 0, 0, 0, {"success": 0}))),
        "cut off at step 30",
        TOLD,
    ),
    Input(
        "other bounds after a reset",
        lambda _: episode(lambda: Wider(Box(0.0, 4.0, (1,), np.float32))),
        r"its actions are Box\(0.0, 4.0.* after a reset, and were Box\(0.0, 0.4",
        INVALID,
    ),
    Input(
        "more actions after a reset",
        lambda _: episode(lambda: Wider(Box(0.0, 0.4, (2,), np.float32))),
        "its actions are .* after a reset",
        INVALID,
    ),
    Input(
        "the same actions of another object",
        lambda _: episode(lambda: Wider(Box(0.0, 0.4, (1,), np.float32))),
        "success",
        TAKEN,
    ),
    *(
        Input(
            f"{name} where fractions are declared",
            lambda _, seen=seen, space=space: several(lambda: Made(space=space, seen=seen)),
            "has whole numbers, or truths, where its space declares fractions",
            TOLD,
        )
        for name, space, seen in (
            ("bytes", TWO, np.array([3, 250], np.uint8)),
            ("truths", TWO, np.array([True, False])),
            ("whole numbers of a part", Dict(a=Dict(b=TWO)), {"a": {"b": np.array([1, 2])}}),
        )
    ),
    Input(
        "shows more after a reset", lambda _: episode(Shown), "observations are .* after", INVALID
    ),
    Input(
        "nothing in each fifth step", lambda _: several(Blank), "all that it shows is 0 at s", TOLD
    ),
    Input(
        "over at its first step",
        lambda _: several(lambda: Made(truncated=True, info={"success": False})),
        "each of 4 episodes ended at its first step, and none as a success",
        TOLD,
    ),
    Input(
        "an action with hardly two values",
        lambda _: several(lambda: Made(action=Box(np.array([-1, 0]), np.array([1, 1e-12])))),
        "entry 1 of its actions has one value only, or nearly",
        TOLD,
    ),
    one("bounds of 1e-12", "nothing lies between", REFUSED, action=Box(-1e-12, 1e-12, (1,), float)),
    *(
        Input(
            name,
            lambda _, seen=seen, space=space: several(lambda: Made(space=space, seen=seen)),
            words,
            TOLD,
        )
        for name, space, seen, words in (
            (
                "stamps in ns",
                Box(0, 2**62, (2,), np.int64),
                np.array([1, 1796048150 * 10**9]),
                r"entry 1 of its observation is 1.8e.18, and policies see 7 digits",
            ),
            (
                "a picture of fractions",
                Dict(at=TWO, cam=Box(0, 1, (3, 32, 32))),
                {"at": np.array([0.1, 0.2]), "cam": np.full((3, 32, 32), 0.5, np.float32)},
                r"shows 'cam' of shape \(3, 32, 32\), each number of it as an entry",
            ),
        )
    ),
    asked("as it should be", "a=2&b=left&c=[1,0.5]&d=true&e=%22False%22", "'left'.*'False'", TAKEN),
    asked("Python's truth", "sparse=False", "sparse='False' .* is no JSON: write true, false"),
    asked("Python's None", "a=None", "is no JSON"),
    asked("a number without its nought", "a=.5", "a='.5' .*is no JSON"),
    asked("a number without its end", "a=1.", "is no JSON"),
    asked("a comma in a number", "a=0,5", "is no JSON"),
    asked("an underscore in a number", "a=1_000", "is no JSON"),
    asked("a number in single quotes", "a='1'", "is no JSON"),
    asked("a list cut off", "a=[1,2", "is no JSON"),
    asked("keys without quotes", "a={x:1}", "is no JSON"),
    asked("a key twice within", 'a={"x":1,"x":2}', "is no JSON"),
    asked("a number beyond any", "a=1e999", "is no JSON"),
    asked("5000 digits", f"a={'9' * 5000}", "is no JSON"),
    asked("too deep", f"a={'[' * 3000}", "is no JSON"),
    asked("no UTF-8", "a=%ff", "is no UTF-8"),
    *(
        asked(value, f"a={value}", f"a='{re.escape(value)}' after .* is no JSON: write true")
        for value in ("0x10", "0b1", "10Hz", "-5deg", "1;b=2", "left;b=2", "x=1", "yes", "OFF")
    ),
    asked("no and more", "a=north&b=v3&c=on-top", "'north'.*'v3'.*'on-top'", TAKEN),
    asked("a number in quotes", "a=%224x4%22", "'4x4'", TAKEN),
    asked("two letters with a comma", "a=x,y", "'x,y'", TAKEN),
    Input("takes no seed", lambda _: episode(Seedless), "unexpected keyword.*'seed'", INVALID),
)
ALL = (*KNOWN, *MORE)


def acted(_: Path) -> list[float]:
    """What a whole-numbered environment is given for the shares of its range."""
    declared = spaces.Spaces(TWO, Box(0, 3, (1,), np.int64))
    return [declared.scaled(np.array([share]))[0] for share in (-1, -0.5, 0.2, 0.9, 1)]
