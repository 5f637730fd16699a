"""Tasks as Gymnasium environments, held against Gymnasium's own checks and against a plain Job."""

from __future__ import annotations

import subprocess
import sys
import warnings
from functools import cache
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from enpire.environment import Demonstrations, Job, Stations, build_stations
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.errors import PolicyError
from enpire.gymnasium import environment_id, register_tasks
from enpire.gymnasium.environment import TaskEnv, TaskVectorEnv
from enpire.observe.picture import Viewpoint, draw, go_to
from enpire.packs import available
from enpire.packs.finder import with_start
from enpire.types import Episode, Outcome, Purpose
from tests.environment.reach import Reach, reach_stations

EXPECTED = ("minimum value is -infinity", "maximum value is infinity")  # observations: not bounded


@pytest.fixture
def reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever task is asked for, the smallest one comes."""

    def build(task: str, stations: int, threads: int = 0) -> Stations:
        return reach_stations(stations, threads)

    monkeypatch.setattr("enpire.gymnasium.environment.build_stations", build)


@cache
def can_render() -> bool:
    """Whether this process can: not by GLFW, as where MuJoCo was imported without MUJOCO_GL."""
    if "glfw" in mujoco.GLContext.__module__:
        return False
    stations = build_stations("pick_cube", 1)
    go_to(stations, 0, -1.0)
    try:
        draw(stations, Viewpoint(width=32, height=32), still=False)
    except NoGraphics:
        return False
    return True


def towards(observation: np.ndarray) -> np.ndarray:
    """Straight for the goal of the task `reach`."""
    action = np.zeros((*observation.shape[:-1], 7), dtype=np.float32)
    action[..., 0] = np.clip(observation[..., 0] * 0.05 / 0.008, -1, 1)
    return action


# Registration


def test_registering_imports_nothing_heavy() -> None:
    code = (
        "import sys, gymnasium, enpire.gymnasium;"
        "spec = gymnasium.spec('enpire/ZipTie-v0');"
        "assert spec.vector_entry_point;"
        "sys.exit(', '.join(m for m in ('torch', 'mujoco', 'lerobot') if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_task_is_registered_once() -> None:
    ids = register_tasks()
    starts = [f"{task}@start" for task in with_start()]
    assert ids == [environment_id(task) for task in available("tasks") + starts]
    assert {"enpire/ZipTie-v0", "enpire/PickCube-v0"} <= set(ids) <= set(gymnasium.registry)


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("zip_tie", "enpire/ZipTie-v0"),
        ("push_t", "enpire/PushT-v0"),
        ("peg-in2_hole", "enpire/PegIn2Hole-v0"),
        ("myTask", "enpire/MyTask-v0"),
    ],
)
def test_ids(task: str, name: str) -> None:
    assert environment_id(task) == name


# Gymnasium's own checks


@pytest.mark.medium
@pytest.mark.parametrize("task", available("tasks"))
def test_gymnasium_finds_nothing_wrong(task: str) -> None:
    env = gymnasium.make(f"enpire.gymnasium:{environment_id(task)}")
    assert isinstance(env.unwrapped, TaskEnv)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        # Of what other tests left, wherever the garbage collector happens to find it.
        warnings.simplefilter("ignore", ResourceWarning)
        check_env(env.unwrapped, skip_render_check=not can_render())
    messages = [str(warning.message) for warning in told]
    assert [m for m in messages if not any(words in m for words in EXPECTED)] == []


# Against a plain job


class Kept(Demonstrations):
    """Keeps what the demonstrator did."""

    def __init__(self, stations: Stations) -> None:
        super().__init__(stations.task)
        self.actions: list[np.ndarray] = []

    def act(self, rows: Any, observations: Any, readings: Any) -> Any:
        chosen = super().act(rows, observations, readings)
        self.actions.append(chosen[0])
        return chosen


def job(stations: Stations, seed: int) -> tuple[Episode, list[np.ndarray]]:
    controller = Kept(stations)
    stations.begin(0, Job(seed, Purpose.COLLECTION, controller, "p"))
    done: list[Episode] = []
    while stations.busy:
        done += stations.tick()
    return done[0], controller.actions


@pytest.mark.parametrize("task", ["pick_cube", "zip_tie"])
def test_an_episode_is_the_one_that_a_job_of_the_same_seed_is(task: str) -> None:
    expected, actions = job(build_stations(task, 1, 1), 5)
    env = gymnasium.make(environment_id(task))
    observation, info = env.reset(seed=5)
    assert info == {"seed": 5}
    seen, rewards = [observation], []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append(observation)
        rewards.append(reward)
    np.testing.assert_array_equal(seen[:-1], expected.observations)
    np.testing.assert_array_equal(rewards, expected.rewards)
    assert (terminated, truncated) == (True, False)
    assert info["is_success"] is expected.success
    assert info["outcome"] == expected.verdict.outcome
    assert expected.verdict.predicates, "it was judged"
    for predicate in expected.verdict.predicates:
        assert info["predicates"][predicate.name]["value"] == predicate.value
        assert info["predicates"][predicate.name]["holds"] == predicate.holds
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(actions[0])


# How episodes end


def test_time_that_runs_out_truncates(reach: None) -> None:
    env = TaskEnv("reach")
    env.reset(seed=3)
    nothing = np.zeros(7, np.float32)
    steps = [env.step(nothing) for _ in range(13)]
    assert not any(terminated for _, _, terminated, _, _ in steps)
    assert [truncated for *_, truncated, _ in steps] == [False] * 12 + [True]
    assert [info for *_, info in steps[:-1]] == [{}] * 12
    info = steps[-1][4]
    assert info["is_success"] is False
    assert info["outcome"] == "failure"
    assert not info["predicates"]["near"]["holds"]
    assert sum(reward for _, reward, *_ in steps) == 0


class Weak(Reach):
    force_limit = 0.02


def test_too_much_force_terminates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "enpire.gymnasium.environment.build_stations",
        lambda task, stations, threads: reach_stations(stations, threads, Weak()),
    )
    env = TaskEnv("reach")
    observation, _ = env.reset(seed=3)
    terminated = truncated = False
    while not (terminated or truncated):
        observation, reward, terminated, truncated, info = env.step(towards(observation))
    assert (terminated, truncated, reward) == (True, False, 0.0)
    assert info["stage"] == "stopped"
    assert not info["predicates"]["force"]["holds"]


def test_diverged_physics_truncates_and_is_no_failure(reach: None) -> None:
    env = TaskEnv("reach")
    first, _ = env.reset(seed=3)
    env.step(towards(first))
    env.stations.wait()
    env.stations.twin.qvel[0] = np.nan
    observation, reward, terminated, truncated, info = env.step(towards(first))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["outcome"] == Outcome.INVALID
    assert np.isfinite(observation).all()
    again, _ = env.reset(seed=3)
    np.testing.assert_array_equal(again, first)


def test_an_action_that_is_no_number_is_refused(reach: None) -> None:
    env = TaskEnv("reach")
    env.reset(seed=3)
    with pytest.raises(PolicyError):
        env.step(np.full(7, np.nan, np.float32))
    env.reset(seed=3)


def test_a_reset_without_a_seed_says_which_it_drew(reach: None) -> None:
    env = TaskEnv("reach")
    env.reset(seed=3)
    drawn, info = env.reset()
    np.testing.assert_array_equal(env.reset(seed=info["seed"])[0], drawn)


# Batched


def test_a_row_of_the_batch_is_the_single_environment(reach: None) -> None:
    """Over several episodes, each begun in the step after the last one's end."""
    count, steps = 3, 40
    batch = TaskVectorEnv("reach", count, threads=1)
    speed = np.array([1.0, 0.6, 0.0], np.float32)[:, None]
    observations, infos = batch.reset(seed=11)
    got = [(observations, np.zeros(count), np.zeros(count, bool), np.zeros(count, bool), infos)]
    for _ in range(steps):
        got.append(batch.step(speed * towards(got[-1][0])))
    ends = 0
    for row in range(count):
        env = TaskEnv("reach")
        observation, info = env.reset(seed=11 + row)
        over = False
        for step, (seen, reward, terminated, truncated, infos) in enumerate(got):
            if step and over:
                observation, info = env.reset()
                result: Any = (0.0, False, False)
            elif step:
                observation, *result, info = env.step(speed[row] * towards(observation))
            else:
                result = (0.0, False, False)
            over = result[1] or result[2]
            ends += over
            np.testing.assert_array_equal(seen[row], observation)
            assert (reward[row], terminated[row], truncated[row]) == tuple(result)
            for name in ("seed", "is_success", "outcome"):
                assert (name in info) == (name in infos and bool(infos[f"_{name}"][row]))
                assert name not in info or infos[name][row] == info[name]
    assert ends >= 2 * count


def test_make_vec_makes_stations_of_one_twin() -> None:
    envs = gymnasium.make_vec("enpire/PickCube-v0", num_envs=3)
    assert isinstance(envs.unwrapped, TaskVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert envs.observation_space.shape == (3, *envs.single_observation_space.shape)
    first, infos = envs.reset(seed=[7, None, 7])
    assert first in envs.observation_space
    assert infos["seed"][0] == infos["seed"][2] == 7
    np.testing.assert_array_equal(first[0], first[2])
    assert (first[0] != first[1]).any()
    second, reward, *_ = envs.step(envs.action_space.sample())
    assert second in envs.observation_space
    assert (second != first).any(axis=1).all()
    assert reward.shape == (3,)
    with pytest.raises(ValueError, match="2 seeds for 3"):
        envs.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.ones(3, bool)})
    envs.close()


def test_frames_of_all_rows() -> None:
    if not can_render():
        pytest.skip("this machine has no EGL")
    envs = gymnasium.make_vec(
        "enpire/PickCube-v0", num_envs=2, render_mode="rgb_array", width=64, height=48
    )
    envs.reset(seed=1)
    one, other = envs.render()
    assert one.shape == other.shape == (48, 64, 3)
    assert (one != other).any()
