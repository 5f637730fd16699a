"""A task's stations as Gymnasium environments, one by one or batched.

A step is one control period of an execution. The step that ends it holds the whole verification
too: the harness probes and judges, and `info` carries the verdict. So a reset is all that comes
before the first observation that a policy sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from enpire.environment import Job, Readings, Stations, build_stations
from enpire.environment.core.answers import observed
from enpire.environment.core.policy_watch import PolicyWatch
from enpire.environment.stations.period_start import Sensed
from enpire.errors import PolicyError, ResetFailed, UsageError
from enpire.observe.picture import Viewpoint, draw
from enpire.twin.twin import Rows
from enpire.types import Episode, Float32Array, Image, Outcome, Purpose, Verdict

Info = dict[str, Any]
Seeds = int | Sequence[int | None] | None
LARGEST = 1e6  # of an action: what is larger is as far beyond 1
LONGEST_SIDE = 4096  # of a picture [px]
METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 25}


class Supplied:
    """A controller whose actions come from outside, a row per station."""

    def __init__(self, stations: int, size: int) -> None:
        self.actions = np.zeros((stations, size), dtype=np.float32)

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Nothing to forget."""

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """What was supplied."""
        return self.actions[rows]


class Stepper:
    """Stations that stand still wherever an action is awaited.

    observations: the last one of each station, (n, obs). over: whether its episode has ended.
    """

    def __init__(self, stations: Stations) -> None:
        self.stations = stations
        task, count = stations.task, len(stations)
        self.observations = np.zeros((count, len(task.observation_names)), dtype=np.float32)
        self.over = np.ones(count, dtype=np.bool_)
        self._watch = PolicyWatch(f"actions of {task.name}")
        self._controller = Supplied(count, task.policy_actions.size)
        self._awaiting: list[Sensed] = []

    def abort(self) -> None:
        """End what is under way."""
        self.stations.abort("reset before its end")
        self._awaiting.clear()
        self.over[:] = True

    def require_actions(self, given: Any, shape: tuple[int, ...]) -> Float32Array:
        """Actions of this shape, in single precision; what is odd about them is told once.

        Raises:
            PolicyError: They are of another shape, or no finite numbers.
        """
        values = np.asarray(given)
        masked = isinstance(given, np.ma.MaskedArray)
        if values.dtype.kind not in "iuf" or masked:
            what = "a mask" if masked else values.dtype.name
            raise PolicyError(f"an action is of {what}: finite numbers are needed")
        if values.shape != shape:
            raise PolicyError(f"an action has shape {values.shape}, and {shape} is needed")
        if not np.isfinite(values).all():
            entry = ", ".join(map(str, np.argwhere(~np.isfinite(values))[0]))
            raise PolicyError(f"entry {entry} of an action is no finite number")
        actions: Float32Array = values.clip(-LARGEST, LARGEST).astype(np.float32)
        self._watch.count(actions)
        return actions

    def step(self, actions: Float32Array, seeds: dict[int, int]) -> list[Episode]:
        """Carry out `actions`, (n, act), where an episode is under way; reset where `seeds` says.

        Returns:
            The episodes that ended.

        Raises:
            PolicyError: an action is not a number.
            ResetFailed: no initial condition of a seed could be set up.
        """
        self._controller.actions[...] = actions
        rows = [*np.flatnonzero(~self.over).tolist(), *seeds]
        for sensed in self._awaiting:
            self.stations.act(sensed)
        self._awaiting.clear()
        for row, seed in seeds.items():
            _require_seed(seed)
            self.stations.begin(row, Job(seed, Purpose.COLLECTION, self._controller, "supplied"))
            self.over[row] = False
        ended = self._until_awaiting(rows)
        for episode in ended:
            if episode.station in seeds:
                raise ResetFailed(
                    f"seed {episode.seed} gives no episode, it ended before the first action: "
                    f"{episode.verdict.outcome}, {episode.verdict.reason}; take another"
                )
        return ended

    def _until_awaiting(self, rows: list[int]) -> list[Episode]:
        """Wait until each of `rows` awaits an action or has ended."""
        ended: list[Episode] = []
        while rows:
            waiting: set[int] = set()
            sensed = self.stations.sense(rows)
            if sensed is not None:
                self.observations[sensed.rows] = observed(self.stations.task, sensed.readings)
                waiting.update(sensed.rows[sensed.executing].tolist())
                self._awaiting.append(sensed)
            done = self.stations.ended()
            waiting.update(episode.station for episode in done)
            rows = [row for row in rows if row not in waiting]
            ended += done
        for episode in ended:
            self.over[episode.station] = True
        return ended


class TaskEnv(gymnasium.Env[Float32Array, Float32Array]):
    """One station of a task.

    Reward: 1 at the end of an episode that the harness judges a success, else 0. terminated: the
    scene looked done and was verified, or a wrist felt too much force. truncated: time ran out (it
    is verified then too, and terminated if it is a success), or the physics diverged.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
        task: str,
        render_mode: str | None = None,
        threads: int = 1,
        width: int = 640,
        height: int = 480,
    ) -> None:
        """A station of the task called `task`; width and height [pixels] of what it renders."""
        _require_rendering(render_mode, width, height)
        self.stations = build_stations(task, 1, threads)
        self.observation_space, self.action_space = spaces(self.stations)
        self.render_mode = render_mode
        self.metadata = METADATA | {"render_fps": round(self.stations.task.control_hz)}
        self._view = Viewpoint(width=width, height=height)
        self._stepper = Stepper(self.stations)

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[Float32Array, Info]:
        """The first observation of the episode that `seed` fixes, as it does a Job's.

        Without a seed one is drawn from the environment's generator; `info` says which.
        """
        if seed is not None:
            _require_seed(seed)
        super().reset(seed=seed)
        job_seed = drawn(self.np_random) if seed is None else seed
        self._stepper.abort()
        self._stepper.step(np.zeros(self.action_space.shape or (), np.float32), {0: job_seed})
        return self._stepper.observations[0].copy(), {"seed": job_seed}

    def step(self, action: Float32Array) -> tuple[Float32Array, float, bool, bool, Info]:
        """One control period, or the last one and the verification."""
        if self._stepper.over[0]:
            raise gymnasium.error.ResetNeeded("the episode has ended: reset before the next step")
        shape = self.action_space.shape or ()
        ended = self._stepper.step(self._stepper.require_actions(action, shape), {})
        observation = self._stepper.observations[0].copy()
        if not ended:
            return observation, 0.0, False, False, {}
        (episode,) = ended
        terminated = is_terminal(episode, self.stations)
        return (
            observation,
            float(episode.success),
            terminated,
            not terminated,
            verdict_info(episode),
        )

    def render(self) -> Image | None:
        """What the harness's pictures show, (height, width, 3); None without `rgb_array`."""
        if self.render_mode != "rgb_array":
            return None
        return draw(self.stations, self._view, still=False)

    def close(self) -> None:
        """End what is under way; safe to call twice."""
        self._stepper.abort()


class TaskVectorEnv(VectorEnv[Float32Array, Float32Array, NDArray[Any]]):
    """n stations of a task on one twin.

    Each does what `TaskEnv` does with the same seeds, to the last bit. An episode that has ended is
    followed by a reset in the next step, whose action is not used (`AutoresetMode.NEXT_STEP`).
    """

    metadata: dict[str, Any] = METADATA | {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        render_mode: str | None = None,
        threads: int = 0,
        width: int = 640,
        height: int = 480,
    ) -> None:
        """Stations of the task called `task`, on `threads` threads (0: one a processor)."""
        _require_rendering(render_mode, width, height)
        self.stations = build_stations(task, num_envs, threads)
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = spaces(self.stations)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = render_mode
        self.metadata = type(self).metadata | {
            "render_fps": round(self.stations.task.control_hz),
        }
        self._view = Viewpoint(width=width, height=height)
        self._stepper = Stepper(self.stations)
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]

    def reset(
        self, *, seed: Seeds = None, options: Info | None = None
    ) -> tuple[Float32Array, Info]:
        """Begin everywhere; one seed is the first station's, the second has the next, and so on."""
        if options and "reset_mask" in options:
            raise ValueError("stations reset by themselves: reset_mask is not supported")
        if seed is None or isinstance(seed, int):
            super().reset(seed=seed)
            seeds = [None if seed is None else seed + row for row in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} environments")
        for own in filter(lambda each: each is not None, seeds):
            _require_seed(own)
        for row, own in enumerate(seeds):
            if own is not None:
                self._generators[row] = seeding.np_random(own)[0]
        self._stepper.abort()
        return self._begin(seeds)

    def _begin(self, seeds: list[int | None]) -> tuple[Float32Array, Info]:
        job_seeds = {
            row: drawn(self._generators[row]) if own is None else own
            for row, own in enumerate(seeds)
        }
        self._stepper.step(np.zeros(self.action_space.shape or (), np.float32), job_seeds)
        return self._stepper.observations.copy(), self._infos(job_seeds, [])

    def step(
        self, actions: Float32Array
    ) -> tuple[Float32Array, NDArray[Any], NDArray[Any], NDArray[Any], Info]:
        """One control period everywhere, but for stations that reset."""
        seeds = {row: drawn(self._generators[row]) for row in np.flatnonzero(self._stepper.over)}
        shape = self.action_space.shape or ()
        ended = self._stepper.step(self._stepper.require_actions(actions, shape), seeds)
        reward = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        for episode in ended:
            row = episode.station
            reward[row] = float(episode.success)
            terminated[row] = is_terminal(episode, self.stations)
            truncated[row] = not terminated[row]
        observations = self._stepper.observations.copy()
        return observations, reward, terminated, truncated, self._infos(seeds, ended)

    def _infos(self, seeds: dict[int, int], ended: list[Episode]) -> Info:
        infos: Info = {}
        for row, seed in seeds.items():
            infos = self._add_info(infos, {"seed": seed}, row)
        for episode in ended:
            infos = self._add_info(infos, verdict_info(episode), episode.station)
        return infos

    def render(self) -> tuple[Image, ...] | None:
        """A frame of each station, as `TaskEnv.render`."""
        if self.render_mode != "rgb_array":
            return None
        rows = range(self.num_envs)
        return tuple(draw(self.stations, self._view, row, still=False) for row in rows)

    def close_extras(self, **kwargs: Any) -> None:
        """End what is under way."""
        self._stepper.abort()


def spaces(
    stations: Stations,
) -> tuple[gymnasium.spaces.Box[np.float32], gymnasium.spaces.Box[np.float32]]:
    """The spaces of one station: observations, scaled to about one and not bounded; actions."""
    seen, size = len(stations.task.observation_names), stations.task.policy_actions.size
    return (
        gymnasium.spaces.Box(-np.inf, np.inf, (seen,), np.float32),
        gymnasium.spaces.Box(-1.0, 1.0, (size,), np.float32),
    )


def _require_seed(seed: Any) -> None:
    """Raise UsageError for others than whole numbers of Python's, of 63 bits."""
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise UsageError(f"seed {seed!r:.40} is none: a whole number from 0 to 2**63 - 1 is needed")


def _require_rendering(mode: Any, width: Any, height: Any) -> None:
    """Raise UsageError for pictures that cannot be."""
    if mode not in (None, *METADATA["render_modes"]):
        raise UsageError(f"render_mode is {mode!r:.40}: None or rgb_array is needed")
    for name, side in (("width", width), ("height", height)):
        if not isinstance(side, int) or not 1 <= side <= LONGEST_SIDE:
            raise UsageError(f"{name} is {side!r:.40}: 1 to {LONGEST_SIDE} pixels are needed")


def drawn(generator: np.random.Generator) -> int:
    """A Job's seed."""
    return int(generator.integers(2**63))


def is_terminal(episode: Episode, stations: Stations) -> bool:
    """Whether an ended episode ended in the task itself, and not for time or broken physics."""
    out_of_time = len(episode) >= stations.execute_periods
    return episode.success or (not out_of_time and episode.verdict.outcome is Outcome.FAILURE)


def verdict_info(episode: Episode) -> Info:
    """An episode's verdict, as its last step's `info`."""
    verdict: Verdict = episode.verdict
    return {
        "is_success": episode.success,
        "outcome": str(verdict.outcome),
        "stage": verdict.stage,
        "score": verdict.score,
        "reason": verdict.reason,
        "predicates": {
            p.name: {"value": p.value, "threshold": p.threshold, "holds": p.holds}
            for p in verdict.predicates
        },
    }
