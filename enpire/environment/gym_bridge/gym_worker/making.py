"""An environment by its name, and the arguments and the script beside it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import gymnasium

from .environments import ActAlone, Acts, Several, Single, seed_all
from .success import SAYS
from .words import Unsuitable, short

CONSTANTS = ("true", "false", "none", "null", "yes", "no", "on", "off")  # none of JSON's spelling
LIKE_A_NUMBER = re.compile(r"[+-]?[.,]?\d")  # how a text begins that may be meant as one
MADE = 0  # the seed that environments are made with


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
    seed_all(MADE)  # some draw what their seeds choose from as they are made: once for all workers
    try:
        if spec is not None and spec.entry_point is None:
            return Several(gymnasium.make_vec(env_id, num_envs=stations, **given), keys, begin)
        return Single(gymnasium.make(env_id, **given), keys, begin)
    except gymnasium.error.UnregisteredEnv as error:
        hint = "" if module else "; MODULE:ID imports the module that registers it"
        raise Unsuitable(f"{error}{hint}") from error


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
        return ActAlone(act)
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
