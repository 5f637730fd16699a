"""Gymnasium environments with plain vectors in and out, in this process or in their own.

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
import struct
import sys
import traceback
from importlib import metadata
from typing import Any, BinaryIO
from urllib.parse import unquote

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Space, flatten, flatten_space
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Came = tuple[dict[str, Any], Vector]
LENGTHS = struct.Struct(">II")
LONGEST = 10_000  # steps, of an episode that its environment does not end
SAYS = ("is_success", "success")  # of an info, what says whether an episode was a success


class Unsuitable(Exception):
    """The environment cannot be a station; says why."""


def make(task: str, stations: int) -> Single | Several:
    """The environment called `[MODULE:]ID[?KEY=VALUE&...]`.

    The module is imported first, for what it registers; without one the ID's namespace is, where
    it is a module. Keys and values are what the environment is made with; a value is JSON, or else
    text. An ID that is registered as a vector environment only is made with so many `stations`.
    """
    text, asked, query = task.partition("?")
    module, _, env_id = text.rpartition(":")
    namespace = env_id.partition("/")[0] if "/" in env_id else ""
    known = module or env_id in gymnasium.registry or not namespace.isidentifier()
    if module:
        importlib.import_module(module)
    elif not known and importlib.util.find_spec(namespace) is not None:
        importlib.import_module(namespace)
    given = arguments(query) if asked else {}
    spec = gymnasium.registry.get(env_id)
    try:
        if spec is not None and spec.entry_point is None:
            return Several(gymnasium.make_vec(env_id, num_envs=stations, **given))
        return Single(gymnasium.make(env_id, **given))
    except gymnasium.error.UnregisteredEnv as error:
        hint = "" if module else "; MODULE:ID imports the module that registers it"
        raise Unsuitable(f"{error}{hint}") from error


def arguments(query: str) -> dict[str, Any]:
    """`obs_type=state&width=64` as keyword arguments."""
    found: dict[str, Any] = {}
    for part in query.split("&"):
        key, given, value = part.partition("=")
        if not given or not key.isidentifier():
            raise Unsuitable(f"{part!r} after its question mark is no KEY=VALUE")
        try:
            found[key] = json.loads(unquote(value))
        except json.JSONDecodeError:
            found[key] = unquote(value)
    return found


class Spaces:
    """Vectors for an environment's observations and actions.

    Observations are flattened, without the images among them; actions are scaled from [-1, 1].
    """

    def __init__(self, observation: Space[Any], action: Space[Any]) -> None:
        """Raises Unsuitable where these are no vectors of fixed length."""
        if not (isinstance(action, Box) and np.isfinite([action.low, action.high]).all()):
            raise Unsuitable(f"its actions are {action}: a Box with bounds is needed; wrap it")
        seen = without_images(observation)
        if seen is None:
            raise Unsuitable(
                f"its observations are images only ({observation}), and policies see numbers: ask "
                "it for other observations, as with ?obs_type=state, or wrap it"
            )
        flat = flatten_space(seen)
        if not isinstance(flat, Box):
            raise Unsuitable(f"its observations are {observation}: no fixed vector")
        self._seen, self._action = seen, action
        self._low, self._high = action.low.astype(np.float64), action.high.astype(np.float64)
        self.observation = int(flat.shape[0])
        self.action = int(np.prod(action.shape, dtype=int))
        self.images = seen != observation

    def vector(self, observation: Any) -> Vector:
        """An observation, shape (obs,)."""
        return np.asarray(flatten(self._seen, observation), dtype=np.float64)

    def scaled(self, action: Vector) -> NDArray[Any]:
        """An action in [-1, 1], shape (act,), as the environment takes it."""
        low, high = self._low, self._high
        scaled = low + 0.5 * (action.reshape(low.shape) + 1.0) * (high - low)
        return scaled.clip(low, high).astype(self._action.dtype)

    def about(self, env: Any, stations: int) -> dict[str, Any]:
        """What is told of an environment before anything else."""
        return {
            "stations": stations,
            "observation": self.observation,
            "action": self.action,
            "hz": float(env.metadata.get("render_fps") or 25.0),
            "version": versions(type(env.unwrapped)) + (", without images" if self.images else ""),
        }


def without_images(space: Space[Any]) -> Space[Any] | None:
    """A space without the images that its dictionaries hold; None if nothing is left."""
    if isinstance(space, Dict):
        kept = {key: without_images(inner) for key, inner in space.spaces.items()}
        left = {key: inner for key, inner in kept.items() if inner is not None}
        return Dict(left) if left else None
    image = isinstance(space, Box) and space.dtype == np.uint8 and len(space.shape) > 1
    return None if image else space


class Single:
    """One environment: one station."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Raises Unsuitable where it cannot be a station."""
        self._env = env
        self._spaces = Spaces(env.observation_space, env.action_space)
        self._steps = 0
        self.about = self._spaces.about(env, 1)

    def tick(self, seeds: dict[int, int], actions: dict[int, Vector]) -> dict[int, Came]:
        """Reset with the seed, or step the action in [-1, 1], of station 0.

        Returns what came of the step (nothing of a reset) and the observation, shape (obs,).
        """
        return {row: self._reset(seed) for row, seed in seeds.items()} | {
            row: self._step(action) for row, action in actions.items()
        }

    def close(self) -> None:
        """Let go of it."""
        self._env.close()

    def _reset(self, seed: int) -> Came:
        self._steps = 0
        # Some draw their task before they pass the seed on: the generator has to have it by then.
        self._env.unwrapped.np_random, _ = gymnasium.utils.seeding.np_random(seed)
        observation, _ = self._env.reset(seed=seed)
        return {}, self._spaces.vector(observation)

    def _step(self, action: Vector) -> Came:
        result = self._env.step(self._spaces.scaled(action))
        observation, reward, terminated, truncated, info = result
        self._steps += 1
        said = next((info[key] for key in SAYS if key in info), None)
        truncated = truncated or self._steps >= LONGEST
        return told(reward, terminated, truncated, said), self._spaces.vector(observation)


class Several:
    """A vector environment: a station each of its environments.

    They step together. One that has no episode under way is reset and stepped all the same, and
    nobody hears of it. A reset is of some of them, with a seed each, by Gymnasium's `reset_mask`;
    hence it does not matter whether and when they reset by themselves.
    """

    def __init__(self, env: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        """Raises Unsuitable where its environments cannot be stations."""
        self._env: Any = env  # typed as if it took one seed for all
        self._count = env.num_envs
        self._spaces = Spaces(env.single_observation_space, env.single_action_space)
        self._steps = np.zeros(self._count, dtype=int)
        self._over: NDArray[np.bool_] = np.zeros(self._count, dtype=np.bool_)
        self.about = self._spaces.about(env, self._count)
        before = self._reset(dict.fromkeys(range(self._count), 0))
        after = self._reset({0: 1})
        if any((before[row] != after[row]).any() for row in range(1, self._count)):
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
            came |= {row: ({}, seen[row]) for row in seeds}
        return came

    def close(self) -> None:
        """Let go of them."""
        self._env.close()

    def _reset(self, seeds: dict[int, int]) -> list[Vector]:
        """Reset some; what all of them see."""
        mask = np.zeros(self._count, dtype=np.bool_)
        mask[list(seeds)] = True
        self._steps[mask], self._over[mask] = 0, False
        asked = [seeds.get(row) for row in range(self._count)]
        observations, _ = self._env.reset(seed=asked, options={"reset_mask": mask})
        return self._vectors(observations)

    def _step(self, actions: dict[int, Vector]) -> dict[int, Came]:
        still = np.zeros(self._spaces.action)
        chosen = [self._spaces.scaled(actions.get(row, still)) for row in range(self._count)]
        result = self._env.step(np.stack(chosen))
        observations, rewards, terminated, truncated, infos = result
        self._steps += 1
        late = np.asarray(truncated) | (self._steps >= LONGEST)
        self._over = np.asarray(terminated) | late
        seen = self._vectors(observations)
        return {
            row: (told(rewards[row], terminated[row], late[row], said(infos, row)), seen[row])
            for row in actions
        }

    def _vectors(self, observations: Any) -> list[Vector]:
        each = gymnasium.vector.utils.iterate(self._env.observation_space, observations)
        return [self._spaces.vector(observation) for observation in each]


def told(reward: Any, terminated: Any, truncated: Any, said: Any) -> dict[str, Any]:
    """What came of a step."""
    return {
        "reward": float(reward),
        "terminated": bool(terminated),
        "truncated": bool(truncated),
        "success": None if said is None else bool(said),
    }


def said(infos: dict[str, Any], row: int) -> Any:
    """What one environment of a vector says of its success; `_KEY` is who says KEY at all."""
    if "final_info" in infos and infos["_final_info"][row]:  # it has reset itself in this step
        return said(infos["final_info"], row)
    for key in SAYS:
        if key in infos and ("_" + key not in infos or infos["_" + key][row]):
            return infos[key][row]
    return None


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


def serve(asked: BinaryIO, answers: BinaryIO, task: str, stations: int) -> None:
    """Answer until the other side closes.

    Asked are `seeds`, a list of [station, seed], and `rows`, the stations that step the rows of the
    array. Answered are `told`, a list of what came of each, in that order, and what they see.
    """
    try:
        environment = make(task, stations)
        send(answers, environment.about)
        while (message := receive(asked)) is not None:
            ask, array = message
            seeds, rows = dict(ask["seeds"]), ask["rows"]
            chosen = array.reshape(len(rows), environment.about["action"])
            came = environment.tick(seeds, {row: chosen[i] for i, row in enumerate(rows)})
            each = [came[row] for row in (*seeds, *rows)]
            send(answers, {"told": [what for what, _ in each]}, [seen for _, seen in each])
        environment.close()
    except Exception as error:
        send(answers, failed(error))


def failed(error: Exception) -> dict[str, Any]:
    """The message that says an environment raised."""
    if isinstance(error, Unsuitable):
        return {"unsuitable": str(error)}
    last = traceback.extract_tb(error.__traceback__)[-1]
    return {"raised": f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"}


def main() -> None:
    """Serve; what libraries print goes to stderr, so that it cannot mix with the answers."""
    sys.path[0] = os.getcwd()  # where modules are looked for, instead of this script's folder
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    serve(asked, answers, sys.argv[1], int(sys.argv[2]))


if __name__ == "__main__":
    main()
