"""One Gymnasium environment with plain vectors in and out, in this process or in its own.

Run as a script it serves the environment to `enpire` over its standard input and output. It is run
by interpreters that have other packages than ours: it imports gymnasium, numpy and the standard
library only, and must do on Python 3.9.

A message is the length of its JSON and of its array's bytes (big-endian, 4 bytes each), the JSON,
and the array, little-endian float64.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
import struct
import sys
import traceback
from importlib import metadata
from typing import Any, BinaryIO

import gymnasium
import numpy as np
from gymnasium.spaces import Box, flatten, flatten_space
from numpy.typing import NDArray

Vector = NDArray[np.float64]
LENGTHS = struct.Struct(">II")
LONGEST = 10_000  # steps, of an episode that its environment does not end


class Unsuitable(Exception):
    """The environment cannot be a station; says why."""


class Environment:
    """Observations flattened to a vector, actions from a vector in [-1, 1]."""

    def __init__(self, env_id: str) -> None:
        """Make the environment; a namespace that is a module is imported first, as `module:ID`."""
        namespace = env_id.partition("/")[0] if "/" in env_id and ":" not in env_id else ""
        known = env_id in gymnasium.registry or not namespace.isidentifier()
        if not known and importlib.util.find_spec(namespace) is not None:
            importlib.import_module(namespace)
        self._env = env = gymnasium.make(env_id)
        action, seen = env.action_space, flatten_space(env.observation_space)
        if not (isinstance(action, Box) and np.isfinite([action.low, action.high]).all()):
            raise Unsuitable(f"its actions are {action}: a Box with bounds is needed; wrap it")
        if not isinstance(seen, Box):
            raise Unsuitable(f"its observations are {env.observation_space}: no fixed vector")
        self._action = action
        self._steps = 0
        self.about: dict[str, Any] = {
            "observation": int(seen.shape[0]),
            "action": int(np.prod(action.shape, dtype=int)),
            "hz": float(env.metadata.get("render_fps") or 25.0),
            "version": versions(type(env.unwrapped)),
        }

    def reset(self, seed: int) -> Vector:
        """The first observation, shape (obs,)."""
        self._steps = 0
        observation, _ = self._env.reset(seed=seed)
        return self._vector(observation)

    def step(self, action: Vector) -> tuple[dict[str, Any], Vector]:
        """One step of an action in [-1, 1], shape (act,): what came of it, and the observation."""
        box = self._action
        low, high = box.low.astype(np.float64), box.high.astype(np.float64)
        scaled = low + 0.5 * (action.reshape(box.shape) + 1.0) * (high - low)
        result = self._env.step(scaled.clip(low, high).astype(box.dtype))
        observation, reward, terminated, truncated, info = result
        self._steps += 1
        said = info.get("is_success", info.get("success"))
        told = {
            "reward": float(reward),
            "terminated": bool(terminated),
            "truncated": bool(truncated) or self._steps >= LONGEST,
            "success": None if said is None else bool(said),
        }
        return told, self._vector(observation)

    def close(self) -> None:
        """Let go of it."""
        self._env.close()

    def _vector(self, observation: Any) -> Vector:
        flat = flatten(self._env.observation_space, observation)
        return np.asarray(flat, dtype=np.float64)


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


def serve(asked: BinaryIO, answers: BinaryIO, env_id: str) -> None:
    """Answer until the other side closes."""
    try:
        environment = Environment(env_id)
        send(answers, environment.about)
        while (message := receive(asked)) is not None:
            told, array = message
            if "seed" in told:
                send(answers, {}, environment.reset(told["seed"]))
            else:
                send(answers, *environment.step(array))
        environment.close()
    except Exception as error:
        send(answers, failed(error))


def failed(error: Exception) -> dict[str, Any]:
    """The message that says an environment raised."""
    if isinstance(error, (Unsuitable, gymnasium.error.UnregisteredEnv)):
        return {"unsuitable": str(error)}
    last = traceback.extract_tb(error.__traceback__)[-1]
    return {"raised": f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"}


def main() -> None:
    """Serve; what libraries print goes to stderr, so that it cannot mix with the answers."""
    sys.path[0] = os.getcwd()  # where modules are looked for, instead of this script's folder
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    serve(asked, answers, sys.argv[1])


if __name__ == "__main__":
    main()
