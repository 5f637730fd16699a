"""LIBERO's tasks with poses in place of pictures, and a script that puts an object into the basket.

`gym:libero_state:mine/Libero-v0?suite=libero_object&number=0` is the first task of `libero_object`.
LIBERO is no Gymnasium environment: this makes one of it. What is seen are hand, jaws, and the pose
of each object relative to the hand.
"""

from pathlib import Path

import gymnasium as gym
import numpy as np

STEP = 0.05  # of an action of 1 [m]
WAIT = 10  # steps in which things come to rest, as LIBERO's own evaluation has


class LiberoState(gym.Env):
    metadata = {"render_modes": [], "render_fps": 20}  # noqa: RUF012  as Gymnasium's own

    def __init__(self, suite="libero_object", number=0):
        from libero.libero import benchmark, get_libero_path
        from libero.libero.envs.env_wrapper import ControlEnv

        tasks = benchmark.get_benchmark(suite)(task_order_index=0)
        task = tasks.get_task(number)
        self._starts = tasks.get_task_init_states(number)
        self.instruction = task.language
        self._env = ControlEnv(
            bddl_file_name=str(
                Path(get_libero_path("bddl_files")) / task.problem_folder / task.bddl_file
            ),
            use_camera_obs=False,
            has_offscreen_renderer=False,
            horizon=100_000,
        )
        self._env.reset()
        self.things = sorted(self._env.env.obj_body_id)
        size = len(self._seen(self._env.set_init_state(self._starts[0])))
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (7,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._env.seed(int(self.np_random.integers(2**31)))
        self._env.reset()
        self._env.set_init_state(self._starts[self.np_random.integers(len(self._starts))])
        for _ in range(WAIT):
            seen, *_ = self._env.step(np.array([0.0] * 6 + [-1.0]))
        return self._seen(seen), {}

    def step(self, action):
        seen, reward, _, _ = self._env.step(action)
        done = bool(self._env.check_success())
        return self._seen(seen), float(reward), done, False, {"success": done}

    def where(self, thing):
        """The place of an object [m]."""
        return np.array(self._env.sim.data.body_xpos[self._env.env.obj_body_id[thing]])

    def _seen(self, seen):
        hand = seen["robot0_eef_pos"]
        poses = [seen[f"{thing}_pos"] - hand for thing in self.things]
        return np.concatenate(
            [hand, seen["robot0_eef_quat"], seen["robot0_gripper_qpos"], *poses]
        ).astype(np.float64)


def begin(env):
    """Over the object, down, close, up, over the basket, open."""
    there = env.unwrapped
    thing, basket = there._env.obj_of_interest[:2]
    phase, since = 0, 0

    def act(seen):
        nonlocal phase, since
        hand, at, into = seen[:3], there.where(thing), there.where(basket)
        goals = {
            0: at + np.array([0.0, 0.0, 0.12]),
            1: at,
            2: hand,
            3: np.array([*hand[:2], 0.30]),
            4: np.array([*into[:2], 0.30]),
            5: hand,
        }
        off = goals[phase] - hand
        since += 1
        there_yet = np.linalg.norm(off) < 0.015 if phase in (0, 1, 3, 4) else since > 12
        if (there_yet or since > 80) and phase < 5:
            phase, since = phase + 1, 0
        jaws = 1.0 if phase in (2, 3, 4) else -1.0
        return np.array([*np.clip(off / STEP * 2.0, -1.0, 1.0), 0.0, 0.0, 0.0, jaws])

    return act


gym.register("mine/Libero-v0", entry_point=LiberoState, max_episode_steps=300)
