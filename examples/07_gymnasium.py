"""Gymnasium, both ways: our tasks as environments, and any environment as a task."""

import gymnasium

import enpire

# Every task is an environment. A success is a reward of 1, and `info` has the verdict.
env = gymnasium.make("enpire.gymnasium:enpire/PickCube-v0")
observation, info = env.reset(seed=1)
steps, over = 0, False
while not over:
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    steps, over = steps + 1, terminated or truncated
print(f"PickCube, random actions: {steps} steps, reward {reward:g}")
env.close()

# The stations of one twin, stepped together.
envs = gymnasium.make_vec("enpire.gymnasium:enpire/PickCube-v0", num_envs=4)
observations, infos = envs.reset(seed=1)
for _ in range(20):
    observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
print(f"four at a time: observations {observations.shape}")
envs.close()

# And any environment with a Box of actions is a task. A rule says what a success is.
print(enpire.evaluate("random", task="gym:Pendulum-v1", success="return>=-1000", episodes=20))
