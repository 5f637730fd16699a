"""One environment, or a vector of them, as stations."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .messages import Came, Vector
from .script_signs import ScriptSigns
from .spaces import Spaces
from .success import (
    SAYS,
    achieved,
    known_keys,
    step_message,
    success_claims,
    success_claims_of,
)
from .words import Misfit, Unsuitable, short

Acts = Callable[[Any], Any]  # an observation to an action, both as their environment has them
LONGEST = 10_000  # steps, of an episode that its environment does not end
DEEPEST = 100  # wrappers around one another
RUNNING = ("NormalizeObservation", "NormalizeReward")  # wrappers by running statistics


class ActAlone:
    """Begins an episode of a script that is a function from an observation to an action."""

    def __init__(self, act: Acts) -> None:
        """act: the function."""
        self._act = act

    def __call__(self, env: Any) -> Acts:
        """Return it."""
        return self._act


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
        self._first: tuple[int, Vector] | None = None  # seed, and what it shows first
        self._reviewed = False  # whether that seed has been reset to again
        self.script = ScriptSigns(_fractional(env.action_space))
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
        acts = self._acts
        alone = isinstance(self._begin, ActAlone)
        if alone and not self._steps:
            self.script.begins(lambda: acts)
        action = acts(copy.deepcopy(self._seen) if alone else self._seen)
        self.script.answered(self._seen, action)
        return self._spaces.unscaled(action)

    def close(self) -> None:
        """Let go of it."""
        self._env.close()

    def _reset(self, seed: int) -> Came:
        again = self._seen_again() if self._steps else {}
        self._steps, self._acts = 0, None
        result = self._reset_to(seed)
        try:
            self._seen, info = parts(result, "reset", ("observation", "info"))
            claimed = success_claims(info, self._keys)
            self._spaces.require_same(self._env.observation_space, self._env.action_space)
            vector = self._spaces.vector(self._seen)
            told = self._spaces.unlike_declared(self._seen)
            if self._first is None:
                self._first = seed, vector.copy()
            return {"success": achieved(claimed), **told, **again}, vector
        except Misfit as misfit:
            return self._wrong(misfit)

    def _reset_to(self, seed: int) -> Any:
        # Some draw their task before they pass the seed on: the generator has to have it by then.
        # Others draw from generators that belong to nobody.
        with suppress(AttributeError):  # of one that has its own, which nobody sets
            self._env.unwrapped.np_random, _ = gymnasium.utils.seeding.np_random(seed)
        seed_all(seed)
        return self._env.reset(seed=seed)

    def _seen_again(self) -> dict[str, Any]:
        """What the first seed begins with once an episode has been run; looked at once."""
        if self._reviewed or self._first is None:
            return {}
        self._reviewed, (seed, _) = True, self._first
        try:
            seen, _ = parts(self._reset_to(seed), "reset", ("observation", "info"))
            return {"again": [seed, self._spaces.vector(seen).tolist()]}
        except Misfit:  # which is told where it counts
            return {}

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
        self.script = ScriptSigns(_fractional(env.single_action_space))
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


def _fractional(space: gymnasium.Space[Any]) -> bool:
    """Tell whether actions of it have fractions."""
    return space.dtype is not None and bool(np.issubdtype(space.dtype, np.floating))


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


def seed_all(seed: int) -> None:
    """Seed the generators that belong to nobody."""
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
