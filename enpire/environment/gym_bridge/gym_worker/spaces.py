"""Vectors for an environment's observations and actions."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Space, flatten, flatten_space
from numpy.typing import NDArray

from .messages import Vector
from .values import undeclared, unlike, unrolled, whole, without_images
from .words import LARGEST, Misfit, Unsuitable, short

HZ = 25.0  # of an environment that does not say
RATES = (1e-3, 1e5)  # steps a second that make sense
NARROWEST = 1e-9  # between bounds of actions: what is nearer is one value
WIDEST = 1e9  # of a bound of actions: what is beyond says that there is none


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


def _fixed(space: Box) -> NDArray[np.bool_]:
    """Entries of actions (act,) between whose bounds nothing lies that a person would ask for."""
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    return (high - low < NARROWEST).reshape(-1)


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


def versions(made: type) -> str:
    """What an environment's behaviour depends on, as far as package versions say it."""
    parts = [f"python {platform.python_version()}"]
    for package in (made.__module__.partition(".")[0], "gymnasium", "numpy"):
        try:
            parts.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:  # not installed as a package of its own name
            continue
    return f"{made.__module__}:{made.__qualname__} ({', '.join(dict.fromkeys(parts))})"
