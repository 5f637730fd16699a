"""Gymnasium environments with plain vectors in and out, in a process of their own.

Run as a script it serves one environment, or a vector of them, to `enpire` over its standard input
and output. It is run by interpreters that have other packages than ours: it imports gymnasium,
numpy and the standard library only, and must do on Python 3.9.

A message is the length of its JSON and of its array's bytes (big-endian, 4 bytes each), the JSON,
and the array, little-endian float64.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
import random
import re
import struct
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any, BinaryIO
from urllib.parse import unquote

import gymnasium
import numpy as np
from gymnasium.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    Space,
    Tuple,
    flatten,
    flatten_space,
)
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Came = tuple[dict[str, Any], Vector]
Acts = Callable[[Any], Any]  # an observation to an action, both as their environment has them
LENGTHS = struct.Struct(">II")
LONGEST = 10_000  # steps, of an episode that its environment does not end
KEYS = 20  # of an info that are told, at most
SAYS = ("is_success", "success", "succeed")  # of an info, what says whether it was a success
HZ = 25.0  # of an environment that does not say
RATES = (1e-3, 1e5)  # steps a second that make sense
CALLS = 3  # of a traceback, the last
WORDS = 80  # characters of a value in a message
LONGEST_TEXT = 600  # characters of a message
NARROWEST = 1e-9  # between bounds of actions: what is nearer is one value
WIDEST = 1e9  # of a bound of actions: what is beyond says that there is none
LARGEST = 1e20  # of what is seen or earned: more is what a simulation shows that has come apart
SIDE = 16  # entries, from which two sides of an array may be a picture's
CONSTANTS = ("true", "false", "none", "null", "yes", "no", "on", "off")  # none of JSON's spelling
LIKE_A_NUMBER = re.compile(r"[+-]?[.,]?\d")  # how a text begins that may be meant as one
MADE = 0  # the seed that environments are made with
DEEPEST = 100  # wrappers around one another
RUNNING = ("NormalizeObservation", "NormalizeReward")  # wrappers by running statistics
NUMBERS = "biufO"  # of NumPy's types; objects are looked at one by one


class Unsuitable(Exception):
    """The environment cannot be a station; says why."""


class Misfit(Exception):
    """What came of an environment is not what it declares, or makes no sense; says what."""


def make(task: str, stations: int, key: str = "", script: str = "") -> Single | Several:
    """The environment called `[MODULE:]ID[?KEY=VALUE&...]`.

    The module is imported first, for what it registers; without one the ID's namespace is, where
    it is a module. Keys and values are what the environment is made with; a value is JSON, or else
    text. An ID that is registered as a vector environment only is made with so many `stations`.
    key: of the info, what says whether an episode was a success; by default those of `SAYS`.
    script: a file that can act there, see `script_of`; by default none.
    """
    text, asked, query = task.partition("?")
    module, _, env_id = text.rpartition(":")
    namespace = env_id.partition("/")[0] if "/" in env_id else ""
    known = module or env_id in gymnasium.registry or not namespace.isidentifier()
    if module:
        importlib.import_module(module)
    elif not known and importlib.util.find_spec(namespace) is not None:
        importlib.import_module(namespace)
    given, keys = arguments(query) if asked else {}, (key,) if key else SAYS
    begin = script_of(script) if script else None
    spec = gymnasium.registry.get(env_id)
    _seed_all(MADE)  # some draw what their seeds choose from as they are made: once for all workers
    try:
        if spec is not None and spec.entry_point is None:
            return Several(gymnasium.make_vec(env_id, num_envs=stations, **given), keys, begin)
        return Single(gymnasium.make(env_id, **given), keys, begin)
    except gymnasium.error.UnregisteredEnv as error:
        hint = "" if module else "; MODULE:ID imports the module that registers it"
        raise Unsuitable(f"{error}{hint}") from error


def _seed_all(seed: int) -> None:
    """Seed the generators that belong to nobody."""
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)


def script_of(path: str) -> Callable[[Any], Acts]:
    """What begins an episode of the script in this file: an environment to what acts in it.

    The file has `begin(env)`, which is called once an episode and returns a function from an
    observation to an action; or it has that function itself, `act(observation)`.

    Raises:
        Unsuitable: there is no such file, or it has neither.
    """
    spec = importlib.util.spec_from_file_location(os.path.basename(path).partition(".")[0], path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise Unsuitable(f"there is no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    begin: Callable[[Any], Acts] | None = getattr(module, "begin", None)
    if callable(begin):
        return begin
    if callable(act := getattr(module, "act", None)):
        return lambda _: act
    raise Unsuitable(f"{path} has neither begin(env) nor act(observation)")


def arguments(query: str) -> dict[str, Any]:
    """`obs_type=state&width=64` as keyword arguments."""
    found: dict[str, Any] = {}
    for part in query.split("&"):
        key, given, value = part.partition("=")
        if not given or not key.isidentifier():
            raise Unsuitable(f"{part!r} after its question mark is no KEY=VALUE")
        if key in found:
            raise Unsuitable(f"{key} is twice after its question mark")
        found[key] = _argument(key, value)
    most = found.get("max_episode_steps", 1)
    if isinstance(most, bool) or not isinstance(most, int):
        raise Unsuitable(f"max_episode_steps is {most!r}: a whole number is needed")
    return found


def _argument(key: str, value: str) -> Any:
    """A value as JSON, or as the text that it is.

    Text that looks like a number, a truth, a list or several arguments is none of JSON's, and its
    environment would be made with the text: 'False' counts as true, and '0x10' is no number.
    """
    try:
        text = unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise Unsuitable(f"{key}={short(value)} after its question mark is no UTF-8") from None
    try:
        return json.loads(text, parse_float=_finite, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        if not (_meant_otherwise(text) or _numeric(text)):
            return text
        raise Unsuitable(
            f"{key}={short(value)} after its question mark is no JSON: write true, false, null, "
            "0.5 or [1, 2]; '\"left\"' is text"
        ) from None


def _finite(digits: str) -> float:
    """A number of JSON; raises ValueError where it is beyond every float."""
    if abs(float(digits)) == float("inf"):
        raise ValueError(digits)
    return float(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; raises ValueError where a key is there twice."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _meant_otherwise(text: str) -> bool:
    """Whether a text without quotes may stand for something that is no text."""
    return (
        text[:1] in ("[", "{", '"', "'")
        or text.casefold() in CONSTANTS
        or LIKE_A_NUMBER.match(text) is not None
        or any(sign in text for sign in "=;")
    )


def _numeric(text: str) -> bool:
    """Whether a text is a number for Python, or for a person who writes a comma in it."""
    try:
        float(text.replace(",", ".", 1))
    except ValueError:
        return False
    return True


def _fixed(space: Box) -> NDArray[np.bool_]:
    """Entries of actions (act,) between whose bounds nothing lies that a person would ask for."""
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    return (high - low < NARROWEST).reshape(-1)


class Spaces:
    """Vectors for an environment's observations and actions.

    Observations are flattened, without the images among them; actions are scaled from [-1, 1].
    """

    def __init__(self, observation: Space[Any], action: Space[Any]) -> None:
        """Raises Unsuitable where these are no vectors of fixed length."""
        if not (isinstance(action, Box) and np.isfinite([action.low, action.high]).all()):
            raise Unsuitable(f"its actions are {action}: a Box with bounds is needed; wrap it")
        if np.abs([action.low, action.high]).max(initial=0) > WIDEST:
            raise Unsuitable(
                f"its actions are {action}: bounds beyond {WIDEST:g} are none, and an action is a "
                "share of them; wrap it"
            )
        if action.low.size and ((action.low > action.high).any() or _fixed(action).all()):
            raise Unsuitable(f"its actions are {action}: nothing lies between its bounds; wrap it")
        seen = without_images(observation)
        if seen is None:
            raise Unsuitable(
                f"its observations are images only ({observation}), and policies see numbers: ask "
                "it for other observations, as with ?obs_type=state, or wrap it"
            )
        flat = flatten_space(seen)
        if not isinstance(flat, Box):
            raise Unsuitable(f"its observations are {observation}: no fixed vector")
        if not (flat.shape[0] and np.prod(action.shape, dtype=int)):
            raise Unsuitable(f"its observations are {observation}, its actions {action}: no entry")
        self._whole, self._seen, self._action = observation, seen, action
        self._low, self._high = action.low.astype(np.float64), action.high.astype(np.float64)
        self.observation = int(flat.shape[0])
        self.action = int(np.prod(action.shape, dtype=int))
        self.images = seen != observation
        self.keys = list(seen.spaces) if isinstance(seen, Dict) else []
        self.bounds = [
            [float(end) if np.isfinite(end) else None for end in ends]
            for ends in (flat.low, flat.high)
        ]

    def vector(self, observation: Any) -> Vector:
        """An observation, shape (obs,).

        Raises:
            Misfit: it is not of its space's shape, or not of finite numbers.
        """
        wrong = unlike(self._seen, observation)
        if wrong:
            raise Misfit(f"its observation{wrong}")
        try:
            flat = np.asarray(flatten(self._seen, observation), dtype=np.float64)
        except Exception as error:  # in every way there is
            raise Misfit(
                f"its observation is {short(observation)}, which is not in {short(self._seen)}"
            ) from error
        if flat.shape != (self.observation,):
            raise Misfit(
                f"its observation has {flat.size} numbers, and {self.observation} are declared"
            )
        bad = np.flatnonzero(~(np.abs(flat) <= LARGEST))
        if len(bad):
            raise Misfit(f"entry {bad[0]} of its observation is {flat[bad[0]]}")
        return flat

    def unlike_declared(self, observation: Any) -> dict[str, Any]:
        """Keys of an observation that nobody sees, and whether it has whole numbers for fractions.

        It is looked at once an episode, not in every period.
        """
        return {
            "undeclared": undeclared(self._whole, observation),
            "whole": whole(self._seen, observation),
        }

    def require_same(self, observation: Space[Any], action: Space[Any]) -> None:
        """Raise Misfit where it declares another space now than when it was made."""
        for what, now, before in (
            ("actions are", action, self._action),
            ("observations are", observation, self._whole),
        ):
            if now is not before and now != before:
                raise Misfit(
                    f"its {what} {short(now)} after a reset, and were {short(before)} when it was "
                    "made"
                )

    def scaled(self, action: Vector) -> NDArray[Any]:
        """An action in [-1, 1], shape (act,), as the environment takes it."""
        low, high = self._low, self._high
        scaled = low + 0.5 * (action.reshape(low.shape) + 1.0) * (high - low)
        if self._action.dtype.kind in "iu":
            scaled = np.rint(scaled)
        return scaled.clip(low, high).astype(self._action.dtype)

    def unscaled(self, action: Any) -> Vector:
        """An action as the environment takes it: the inverse of `scaled`, beyond [-1, 1] too.

        Raises:
            Misfit: it is not of the space's shape, or not of finite numbers.
        """
        wrong = unlike(self._action, action)
        taken = np.zeros(0) if wrong else np.asarray(action, dtype=np.float64)
        if wrong or not np.isfinite(taken).all():
            raise Misfit(f"its script's action{wrong or ' is ' + short(action)}")
        half = np.maximum(self._high - self._low, 1e-12) / 2
        return ((taken - self._low) / half - 1.0).clip(-WIDEST, WIDEST).reshape(-1)

    def about(self, env: Any, stations: int) -> dict[str, Any]:
        """What is told of an environment before anything else."""
        return {
            "stations": stations,
            "observation": self.observation,
            "action": self.action,
            "low": self._low.reshape(-1).tolist(),  # of an action, in its own units
            "high": self._high.reshape(-1).tolist(),
            "fixed": np.flatnonzero(_fixed(self._action)).tolist(),  # of an action
            "unrolled": unrolled(self._seen),
            "keys": self.keys,  # of what is seen, where it is a dictionary
            "id": getattr(getattr(env, "spec", None), "id", ""),
            "bounds": self.bounds,  # of each entry that is seen, lowest and highest
            "hz": rate(env.metadata),
            "paced": (env.metadata or {}).get("render_fps") is not None,
            "version": versions(type(env.unwrapped)) + (", without images" if self.images else ""),
        }


def require_steady(env: Any) -> None:
    """Raise Unsuitable for a wrapper whose numbers mean something else in each episode."""
    for _ in range(DEEPEST):
        name = type(env).__name__
        if name in RUNNING and getattr(env, "update_running_mean", True):
            raise Unsuitable(
                f"its {name} goes on learning: the same numbers mean something else in a later "
                "episode. Set its update_running_mean to False, or leave it out"
            )
        env = getattr(env, "__dict__", {}).get("env")


def without_images(space: Space[Any]) -> Space[Any] | None:
    """A space without the images that its dictionaries hold; None if nothing is left."""
    if isinstance(space, Dict):
        kept = {key: without_images(inner) for key, inner in space.spaces.items()}
        left = {key: inner for key, inner in kept.items() if inner is not None}
        return Dict(left) if left else None
    image = isinstance(space, Box) and space.dtype == np.uint8 and len(space.shape) > 1
    return None if image else space


def unrolled(space: Space[Any], name: str = "it") -> list[str]:
    """The parts that may be pictures, though not of bytes: each number of them is an entry."""
    if isinstance(space, Dict):
        return [said for key, part in space.spaces.items() for said in unrolled(part, short(key))]
    picture = isinstance(space, Box) and sorted(space.shape)[-2:-1] >= [SIDE]
    return [f"{name} of shape {space.shape}"] if picture else []


def rate(metadata: Any) -> float:
    """Steps a second, as an environment's metadata say; raises Unsuitable for nonsense."""
    if not isinstance(metadata or {}, dict):
        raise Unsuitable(f"its metadata are {short(metadata)}, and no dictionary; wrap it")
    said = (metadata or {}).get("render_fps")
    if said is None:
        return HZ
    number = isinstance(said, (int, float, np.integer, np.floating)) and not isinstance(said, bool)
    if not number or not RATES[0] <= said <= RATES[1]:
        raise Unsuitable(
            f"its metadata say render_fps={short(said)}, and a number of steps a second is needed: "
            "give it one, or none, in a wrapper"
        )
    return float(said)


def undeclared(space: Space[Any], value: Any) -> list[str]:
    """Return the keys that a value's dictionaries have and its space does not declare."""
    if not isinstance(space, Dict) or not isinstance(value, dict):
        return []
    found = [short(key) for key in value if key not in space.spaces]
    for key, inner in space.spaces.items():
        found += [f"{short(key)}.{each}" for each in undeclared(inner, value.get(key))]
    return found[:KEYS]


def whole(space: Space[Any], value: Any) -> bool:
    """Whether an array of whole numbers or truths stands where fractions are declared."""
    if isinstance(space, Dict):
        return any(whole(inner, value.get(key)) for key, inner in space.spaces.items())
    kind = value.dtype.kind if isinstance(value, (np.ndarray, np.generic)) else ""
    return isinstance(space, Box) and space.dtype.kind == "f" and kind in ("i", "u", "b")


def unlike(space: Space[Any], value: Any) -> str:
    """How a value differs from what its space declares, in shape or type; empty if it does not.

    Gymnasium would make a number of it all the same: of text, of a fraction where whole numbers
    are declared, of a choice that is not there.
    """
    if isinstance(space, Dict):
        if not isinstance(value, dict):
            return f" is {short(value)}, and {short(space)} is declared"
        for key, inner in space.spaces.items():
            if key not in value:
                return f" lacks {key!r}"
            wrong = unlike(inner, value[key])
            if wrong:
                return f", {key!r},{wrong}"
    elif isinstance(space, Box):
        try:
            shape = np.shape(value)
        except ValueError:
            return f" is ragged, and shape {space.shape} is declared"
        if shape != space.shape:
            return f" has shape {shape}, and {space.shape} is declared"
        kind = np.asarray(value).dtype
        if kind.kind not in NUMBERS or _masked(value):
            return f" is {short(value)}, and numbers are declared"
        if space.dtype.kind in "iub" and not _whole(space, value):
            return f" is {short(value)}, which is not in {short(space)}"
    elif isinstance(space, Tuple):
        if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != len(space.spaces):
            return f" is {short(value)}, and {short(space)} is declared"
        for place, (inner, one) in enumerate(zip(space.spaces, value)):  # noqa: B905  Python 3.9
            wrong = unlike(inner, one)
            if wrong:
                return f", its part {place},{wrong}"
    elif isinstance(space, (Discrete, MultiDiscrete, MultiBinary)) and not _among(space, value):
        return f" is {short(value)}, which is not in {short(space)}"
    return ""


def _masked(value: Any) -> bool:
    return isinstance(value, np.ma.MaskedArray) and bool(np.any(value.mask))


def _whole(space: Box, value: Any) -> bool:
    """Whether nothing of a value is lost in a space of whole numbers."""
    try:
        plain = np.asarray(value, dtype=np.float64)
        return bool((plain.astype(space.dtype) == plain).all())
    except (TypeError, ValueError):
        return False


def _among(space: Space[Any], value: Any) -> bool:
    """Whether a value is one of those that a space of choices has; one number may be in a list."""
    plain = np.asarray(value)
    if plain.dtype.kind not in "iufb" or _masked(value):
        return False
    if isinstance(space, Discrete):
        low = int(space.start)
        return bool(
            plain.size == 1
            and plain.dtype.kind != "f"
            and (plain >= low).all()
            and (plain < low + int(space.n)).all()
        )
    return bool(
        plain.shape == space.shape
        and space.contains(plain.astype(space.dtype))
        and (plain.astype(space.dtype) == plain).all()
    )


def short(value: Any) -> str:
    """A value for a message."""
    text = printable(" ".join(repr(value).split()))
    return text if len(text) <= WORDS else text[: WORDS - 4] + " etc"


def printable(text: str) -> str:
    """A text that others wrote, for a message: without what a terminal or a file would choke on."""
    kept = text[:LONGEST_TEXT] + (" etc" if len(text) > LONGEST_TEXT else "")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in kept)


class Single:
    """One environment: one station."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        keys: Sequence[str] = SAYS,
        begin: Callable[[Any], Acts] | None = None,
    ) -> None:
        """keys: see `success_claims`. begin: see `script_of`.

        Raises Unsuitable: it cannot be a station.
        """
        self._env, self._keys, self._begin = env, keys, begin
        self._acts: Acts | None = None  # of this episode
        self._seen: Any = None
        require_steady(env)
        self._spaces = Spaces(env.observation_space, env.action_space)
        self._steps = 0
        self.about = self._spaces.about(env, 1)

    def tick(self, seeds: dict[int, int], actions: dict[int, Vector]) -> dict[int, Came]:
        """Reset with the seed, or step the action in [-1, 1], of station 0.

        Returns what came of the step (of a reset: whether it is a success already) and the
        observation, shape (obs,).
        """
        return {row: self._reset(seed) for row, seed in seeds.items()} | {
            row: self._step(action) for row, action in actions.items()
        }

    def suggest(self, row: int) -> Vector:
        """What the script would do now, scaled so that an action is in [-1, 1].

        Raises:
            Misfit: that makes no sense.
        """
        if self._acts is None:
            self._acts = _script_acts(self._begin, self._env)
        return self._spaces.unscaled(self._acts(self._seen))

    def close(self) -> None:
        """Let go of it."""
        self._env.close()

    def _reset(self, seed: int) -> Came:
        self._steps, self._acts = 0, None
        # Some draw their task before they pass the seed on: the generator has to have it by then.
        # Others draw from generators that belong to nobody.
        with suppress(AttributeError):  # of one that has its own, which nobody sets
            self._env.unwrapped.np_random, _ = gymnasium.utils.seeding.np_random(seed)
        _seed_all(seed)
        result = self._env.reset(seed=seed)
        try:
            self._seen, info = parts(result, "reset", ("observation", "info"))
            claimed = success_claims(info, self._keys)
            self._spaces.require_same(self._env.observation_space, self._env.action_space)
            vector = self._spaces.vector(self._seen)
            told = self._spaces.unlike_declared(self._seen)
            return {"success": achieved(claimed), **told}, vector
        except Misfit as misfit:
            return self._wrong(misfit)

    def _step(self, action: Vector) -> Came:
        result = self._env.step(self._spaces.scaled(action))
        try:
            names = ("observation", "reward", "terminated", "truncated", "info")
            self._seen, reward, terminated, truncated, info = parts(result, "step", names)
            self._steps += 1
            found = step_message(reward, terminated, truncated, success_claims(info, self._keys))
            found["keys"] = known_keys(info)
            found["truncated"] = found["truncated"] or self._steps >= LONGEST
            return found, self._spaces.vector(self._seen)
        except Misfit as misfit:
            return self._wrong(misfit)

    def _wrong(self, misfit: Misfit) -> Came:
        return {"wrong": str(misfit)}, np.zeros(self._spaces.observation)


class Several:
    """A vector environment: a station each of its environments.

    They step together. One that has no episode under way is reset and stepped all the same, and
    nobody hears of it. A reset is of some of them, with a seed each, by Gymnasium's `reset_mask`;
    hence it does not matter whether and when they reset by themselves.
    """

    def __init__(
        self,
        env: gymnasium.vector.VectorEnv[Any, Any, Any],
        keys: Sequence[str] = SAYS,
        begin: Callable[[Any], Acts] | None = None,
    ) -> None:
        """As `Single`; a script is begun with the whole vector, once an episode of each."""
        self._env: Any = env  # typed as if it took one seed for all
        self._keys, self._begin = keys, begin
        self._acts: dict[int, Acts] = {}  # of the episode of each
        self._seen: list[Any] = []
        require_steady(env)
        self._count = env.num_envs
        self._spaces = Spaces(env.single_observation_space, env.single_action_space)
        self._steps = np.zeros(self._count, dtype=int)
        self._over: NDArray[np.bool_] = np.zeros(self._count, dtype=np.bool_)
        self.about = self._spaces.about(env, self._count)
        before = self._reset(dict.fromkeys(range(self._count), 0))
        after = self._reset({0: 1})
        if any((before[row][1] != after[row][1]).any() for row in range(1, self._count)):
            raise Unsuitable(
                "a reset with a `reset_mask` changes others too: seeds would not fix its episodes"
            )

    def tick(self, seeds: dict[int, int], actions: dict[int, Vector]) -> dict[int, Came]:
        """Step the stations of `actions`, each in [-1, 1], then reset those of `seeds`."""
        came: dict[int, Came] = {}
        if actions:
            over = np.flatnonzero(self._over).tolist()
            if over:
                self._reset(dict.fromkeys(over, 0))
            came |= self._step(actions)
        if seeds:
            seen = self._reset(seeds)
            came |= {row: seen[row] for row in seeds}
        return came

    def suggest(self, row: int) -> Vector:
        """See `Single`."""
        if row not in self._acts:
            self._acts[row] = _script_acts(self._begin, self._env)
        return self._spaces.unscaled(self._acts[row](self._seen[row]))

    def close(self) -> None:
        """Let go of them."""
        self._env.close()

    def _reset(self, seeds: dict[int, int]) -> list[Came]:
        """Reset some; what all of them see."""
        mask = np.zeros(self._count, dtype=np.bool_)
        mask[list(seeds)] = True
        for row in seeds:
            self._acts.pop(row, None)
        self._steps[mask], self._over[mask] = 0, False
        asked = [seeds.get(row) for row in range(self._count)]
        observations, infos = self._env.reset(seed=asked, options={"reset_mask": mask})
        found = self._vectors(observations)
        for row in seeds:
            told, _ = found[row]
            told["success"] = achieved(success_claims_of(infos, row, self._keys))
        return found

    def _step(self, actions: dict[int, Vector]) -> dict[int, Came]:
        still = np.zeros(self._spaces.action)
        chosen = [self._spaces.scaled(actions.get(row, still)) for row in range(self._count)]
        result = self._env.step(np.stack(chosen))
        observations, rewards, terminated, truncated, infos = result
        self._steps += 1
        late = np.asarray(truncated) | (self._steps >= LONGEST)
        self._over = np.asarray(terminated) | late
        seen = self._vectors(observations)
        came: dict[int, Came] = {}
        for row in actions:
            wrong, vector = seen[row]
            if not wrong:
                try:
                    found = success_claims_of(infos, row, self._keys)
                    wrong = step_message(rewards[row], terminated[row], late[row], found)
                except Misfit as misfit:
                    wrong = {"wrong": str(misfit)}
            came[row] = wrong, vector
        return came

    def _vectors(self, observations: Any) -> list[Came]:
        """What each sees, and what is wrong with that, if anything is."""
        each = gymnasium.vector.utils.iterate(self._env.observation_space, observations)
        self._seen = list(each)
        found: list[Came] = []
        for observation in self._seen:
            try:
                found.append(({}, self._spaces.vector(observation)))
            except Misfit as misfit:
                found.append(({"wrong": str(misfit)}, np.zeros(self._spaces.observation)))
        return found


def _script_acts(begin: Callable[[Any], Acts] | None, env: Any) -> Acts:
    acts = begin(env) if begin is not None else None
    if not callable(acts):
        raise Misfit(f"its script's begin(env) returned {short(acts)}: a function is needed")
    return acts


def parts(result: Any, what: str, names: tuple[str, ...]) -> Any:
    """What `reset` or `step` returned; raises Misfit unless it is a tuple of these."""
    if not isinstance(result, tuple) or len(result) != len(names):
        count = f"{len(result)} values" if isinstance(result, tuple) else type(result).__name__
        raise Misfit(f"its {what} returned {count}, not ({', '.join(names)})")
    return result


def step_message(
    reward: Any, terminated: Any, truncated: Any, success: Sequence[tuple[str, Any]]
) -> dict[str, Any]:
    """What came of a step. success: see `success_claims`.

    `unclear` is a success that is neither true nor false: whether it counts, its rule knows.

    Raises:
        Misfit: any of the others makes no sense.
    """
    try:
        plain = np.asarray(reward).reshape(())
        if plain.item() is None or plain.dtype.kind not in NUMBERS or _masked(reward):
            raise TypeError
        number = float(plain.astype(np.float64))
    except (TypeError, ValueError, OverflowError):
        raise Misfit(f"its reward is {short(reward)}: a number is needed") from None
    if not abs(number) <= LARGEST:
        raise Misfit(f"its reward is {number}")
    found: dict[str, Any] = {
        "reward": number,
        "terminated": flag("terminated", terminated),
        "truncated": flag("truncated", truncated),
        "success": None,  # of one that is not told, too
    }
    try:
        found["success"] = agreed(success)
    except Misfit as misfit:
        found["unclear"] = str(misfit)
    return found


def flag(name: str, value: Any) -> bool:
    """A truth value, or a number 0 or 1; raises Misfit for anything else."""
    try:
        plain = np.asarray(value).reshape(()).item()
    except ValueError:
        plain = None
    masked = _masked(value)
    if masked or not isinstance(plain, (bool, int, float)) or plain not in (0, 1):
        raise Misfit(f"{name} is {short(value)}: true or false is needed, or 1 or 0")
    return bool(plain)


def agreed(success: Sequence[tuple[str, Any]]) -> bool | None:
    """Whether it was a success, by the first of what an info says; None if it says nothing.

    Raises:
        Misfit: that is neither true nor false, or another key says the contrary.
    """
    if not success:
        return None
    first, value = success[0]
    found = flag(first, value)
    for key, other in success[1:]:
        try:
            contrary = flag(key, other) != found
        except Misfit:  # of another meaning
            continue
        if contrary:
            raise Misfit(f"{first} is {found} and {key} is {not found}: --success info:KEY tells")
    return found


def achieved(success: Sequence[tuple[str, Any]]) -> bool:
    """Whether a reset says that it is a success already, before anything was done."""
    try:
        return bool(agreed(success))
    except Misfit:  # neither true nor false: a step's counts, and no reset's
        return False


def known_keys(info: Any) -> list[str]:
    """Return the first of an info's keys, for a person who looks for one."""
    return [short(key) for key in list(info)[:KEYS]] if isinstance(info, dict) else []


def success_claims(info: Any, keys: Sequence[str]) -> list[tuple[str, Any]]:
    """Return by which of `keys` an info says whether it was a success, and what."""
    if not isinstance(info, dict):
        raise Misfit(f"its info is {short(info)}, and no dictionary")
    return [(key, info[key]) for key in keys if info.get(key) is not None]


def success_claims_of(
    infos: dict[str, Any], row: int, keys: Sequence[str]
) -> list[tuple[str, Any]]:
    """The same of one environment of a vector; the key `_KEY` tells who says KEY at all."""
    if "final_info" in infos and infos["_final_info"][row]:  # it has reset itself in this step
        return success_claims_of(infos["final_info"], row, keys)
    there = [k for k in keys if k in infos and ("_" + k not in infos or infos["_" + k][row])]
    return [(key, infos[key][row]) for key in there if infos[key][row] is not None]


def versions(made: type) -> str:
    """What an environment's behaviour depends on, as far as package versions say it."""
    parts = [f"python {platform.python_version()}"]
    for package in (made.__module__.partition(".")[0], "gymnasium", "numpy"):
        try:
            parts.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:  # not installed as a package of its own name
            continue
    return f"{made.__module__}:{made.__qualname__} ({', '.join(dict.fromkeys(parts))})"


def send(stream: BinaryIO, told: dict[str, Any], array: Any = ()) -> None:
    """Write one message."""
    text, data = json.dumps(told).encode(), np.asarray(array, dtype="<f8").tobytes()
    stream.write(LENGTHS.pack(len(text), len(data)) + text + data)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], Vector] | None:
    """Read one message; None at the stream's end."""
    head = stream.read(LENGTHS.size)
    if len(head) < LENGTHS.size:
        return None
    text, data = (stream.read(length) for length in LENGTHS.unpack(head))
    return json.loads(text), np.frombuffer(data, dtype="<f8")


def serve(
    asked: BinaryIO, answers: BinaryIO, task: str, stations: int, key: str, script: str = ""
) -> None:
    """Answer until the other side closes.

    Asked are `seeds`, a list of [station, seed], `rows`, the stations that step the rows of the
    array, and which of them are `scripted`. Answered are `told`, a list of what came of
    each, in that order, for the scripted with what the script would do next, and what they see.
    """
    mine = os.getpid()

    def answer(told: dict[str, Any], array: Any = ()) -> None:
        if os.getpid() != mine:  # a fork that its environment left behind: one has to answer
            os._exit(0)
        send(answers, told, array)

    try:
        environment = make(task, stations, key, script)
        answer(environment.about)
        while (message := receive(asked)) is not None:
            ask, array = message
            seeds, rows = dict(ask["seeds"]), ask["rows"]
            chosen = array.reshape(len(rows), environment.about["action"])
            came = environment.tick(seeds, {row: chosen[i] for i, row in enumerate(rows)})
            for row in ask["scripted"]:
                told = came[row][0]
                if not any(told.get(end) for end in ("wrong", "terminated", "truncated")):
                    told["suggested"] = environment.suggest(row).tolist()
            each = [came[row] for row in (*seeds, *rows)]
            answer({"told": [what for what, _ in each]}, [seen for _, seen in each])
        environment.close()
    except Exception as error:
        answer(failed(error))


def failed(error: Exception) -> dict[str, Any]:
    """The message that says an environment raised."""
    if isinstance(error, Unsuitable):
        return {"unsuitable": str(error)}
    if isinstance(error, Misfit):
        return {"raised": str(error)}
    frames = traceback.extract_tb(error.__traceback__)
    try:
        why = str(error)
    except Exception:
        why = "an error that does not say what it is"
    place = f"({frames[-1].filename}:{frames[-1].lineno})"
    text = f"{type(error).__name__}: {printable(why)} {place}"
    if not why:  # an assertion says where it was, and no more
        calls = [f"{frame.filename}:{frame.lineno} {frame.line}" for frame in frames[-CALLS:]]
        text = f"{type(error).__name__} at {', from '.join(reversed(calls))}"
    return {"raised": f"raised {printable(text)}"}


def main() -> None:
    """Serve; what libraries print goes to stderr, so that it cannot mix with the answers."""
    sys.path[0] = os.getcwd()  # where modules are looked for, instead of this script's folder
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    serve(asked, answers, sys.argv[1], int(sys.argv[2]), *sys.argv[3:5])


if __name__ == "__main__":
    main()
