"""The episode that a station's work is recorded as."""

from __future__ import annotations

import numpy as np

from enpire.environment.control.sensing import Readings
from enpire.environment.core import answers
from enpire.environment.core.controller import intervened, rewound
from enpire.environment.core.task import Task
from enpire.environment.stations.episode_state import EpisodeState
from enpire.types import NO_PICTURES, Episode, Float32Array, FloatArray, Times, Verdict


def episode_of(
    running: EpisodeState,
    verdict: Verdict,
    station: int,
    task: Task,
    period: float,
    axes: int,
    packs: dict[str, str],
) -> Episode:
    """Return the episode that has come to an end.

    Args:
        running: its state at the end.
        verdict: on it, unless what was to be seen at the end is no number.
        station: where it ran.
        task: of the station.
        period: of control [s].
        axes: joints and grippers of all arms.
        packs: content hashes by pack.
    """
    if running.unseen:
        missed = answers.observed(task, Readings.joined(running.unseen))
        if fault := answers.unusable(task, missed):
            verdict, missed = fault, answers.numbers_of(missed)
        running.record(missed)
    job, length = running.job, len(running.actions)
    actions = np.array(running.actions, np.float32).reshape(-1, task.policy_actions.size)
    return Episode(
        **job.labels,
        task=task.name,
        station=station,
        verdict=verdict,
        times=Times(
            period * running.reset,
            period * (running.executed + running.execute + running.waited),
            period * (running.verified + running.verify),
        ),
        observations=np.array(running.observations, np.float32).reshape(
            -1, len(task.observation_names)
        ),
        actions=actions.clip(-1.0, 1.0),  # as they were carried out
        stamps=period * np.arange(length, dtype=np.float64),
        rewards=verdict.rewards(length),
        packs=packs,
        attempts=running.attempt,
        intervened=intervened(job.controller, station, length),
        rewound=rewound(job.controller, station, length),
        pictures=np.array(running.pictures, np.uint8) if running.pictures else NO_PICTURES,
        pictured=np.array(running.pictured, np.int64),
        joints=_axes(running.joints, length, axes),
        setpoints=_axes(running.setpoints, length, axes),
    )


def _axes(parts: list[FloatArray], length: int, axes: int) -> Float32Array:
    """Rows (length, axes) of an episode; NaN for actions that a faulty policy cut off."""
    rows = np.full((length, axes), np.nan, np.float32)
    if parts:
        joined = np.concatenate(parts)[:length]
        rows[: len(joined)] = joined
    return rows
