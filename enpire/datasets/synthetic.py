"""Episodes that never were, for a policy of LeRobot's to be measured on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from enpire.datasets.columns import Layout
from enpire.environment import PolicyCameras
from enpire.policies import ChunkSpec, LeRobotPolicy, PictureSpec
from enpire.policies.lerobot.blank import TOLD
from enpire.types import Episode, Image, Outcome, Purpose, Times, Verdict

EPISODES, PERIODS, FPS = 8, 80, 25
COARSE = 8  # pixels of a picture that are drawn; the rest lie between, as real ones do


def synthetic_episodes(policy: LeRobotPolicy, seed: int) -> list[Episode]:
    """Successes that never were, in which the policy's cameras show something in every period."""
    rng, said = np.random.default_rng(seed), policy.spec
    widths = max(said.observation, 1), said.action
    return [
        replace(
            random_episode(rng, number, said.task, PERIODS, widths),
            **_pictured(rng, (PERIODS, len(said.cameras)), said.size),
        )
        for number in range(EPISODES)
    ]


def random_episode(
    rng: np.random.Generator, number: int, task: str, periods: int, widths: tuple[int, int]
) -> Episode:
    """Make up a success whose observations and actions, of these widths, are drawn."""
    observed, acted = widths
    return Episode(
        id=f"e{number}",
        task=task,
        seed=number,
        purpose=Purpose.DEMONSTRATION,
        policy="",
        round=0,
        station=0,
        verdict=Verdict(Outcome.SUCCESS, (), 1.0, "", ""),
        times=Times(1.0, 1.0, 1.0),
        observations=rng.standard_normal((periods, observed), np.float32),
        actions=rng.uniform(-1, 1, (periods, acted)).astype(np.float32),
        stamps=np.arange(periods) / FPS,
        rewards=np.zeros(periods, np.float32),
    )


def _pictured(rng: np.random.Generator, shape: tuple[int, int], size: int) -> dict[str, Any]:
    if not size:
        return {}
    return {"pictures": smooth_pictures(rng, shape, size), "pictured": np.arange(shape[0])}


def smooth_pictures(rng: np.random.Generator, shape: tuple[int, int], size: int) -> Image:
    """Smooth pictures of cameras, (*shape, size, size, 3)."""
    coarse = torch.from_numpy(rng.uniform(0, 255, (shape[0] * shape[1], 3, COARSE, COARSE)))
    fine = torch.nn.functional.interpolate(coarse, size, mode="bilinear").to(torch.uint8)
    made: Image = fine.movedim(1, -1).reshape(*shape, size, size, 3).contiguous().numpy()
    return made


def shapes(policy: LeRobotPolicy) -> tuple[ChunkSpec, Layout]:
    """What a recipe and a data set are to know of episodes that fit the policy."""
    said = policy.spec
    width = max(said.observation, 1)
    seen, done = (
        tuple(f"{what}{i}" for i in range(n))
        for what, n in zip("oa", (width, said.action), strict=True)
    )
    if not said.size:
        return ChunkSpec(said.task, width, said.action), Layout(FPS, TOLD, "", seen, done)
    felt = tuple(range(width))
    spec = PictureSpec(
        said.task, width, said.action, cameras=said.cameras, size=said.size, felt=felt
    )
    policy_cameras = PolicyCameras(said.cameras, said.size, felt)
    return spec, Layout(FPS, TOLD, "", seen, done, policy_cameras)
