"""A LeRobot dataset as episodes: demonstrations that somebody gave elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enpire.datasets.columns import ACTION, POLICY, SEED, STATE, SUCCESS, WHOLE
from enpire.datasets.exported import BACKEND
from enpire.errors import StoreError
from enpire.types import Episode, Outcome, Purpose, Times, Verdict

BY = "imported"  # the policy of an episode whose dataset does not say
HELP = "intervention"


def demonstrations(folder: Path, task: str, observation: int, action: int) -> Iterator[Episode]:
    """The episodes of a dataset, in its order, as demonstrations of `task`.

    They are successes if the dataset says so (`success`, or `next.success` at the last frame), or
    says nothing: then they are somebody's demonstrations. No verifier of ours has seen them, which
    each verdict's reason says.

    Raises:
        StoreError: there is no dataset, or its states and actions are not those of the task.
    """
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    if not (folder / "meta" / "info.json").is_file():
        raise StoreError(f"{folder} holds no LeRobot dataset (meta/info.json)")
    try:
        dataset = LeRobotDataset(folder.name, root=folder, video_backend=BACKEND)
    except Exception as error:  # in every way there is; an older version, a file that is missing
        raise StoreError(f"{folder} is not read by LeRobot: {error}") from error
    seen = WHOLE if WHOLE in dataset.features else STATE
    _require_fit(folder, dataset.features, task, {seen: observation, ACTION: action})
    wanted = [seen, ACTION, SUCCESS, "next.success", POLICY, SEED, HELP, "next.reward"]
    there = [name for name in wanted if name in dataset.features]
    table = dataset.hf_dataset.select_columns(there).with_format("numpy")
    for index, about in enumerate(dataset.meta.episodes):
        rows = table[int(about["dataset_from_index"]) : int(about["dataset_to_index"])]
        yield _episode(f"{folder.name}-{index:06d}", task, index, rows, rows[seen], dataset.fps)


def _episode(
    name: str,
    task: str,
    index: int,
    rows: dict[str, NDArray[Any]],
    seen: NDArray[Any],
    fps: float,
) -> Episode:
    length = len(rows[ACTION])
    success = bool(rows[SUCCESS][0]) if SUCCESS in rows else True
    if SUCCESS not in rows and "next.success" in rows:
        success = bool(np.any(rows["next.success"]))
    outcome = Outcome.SUCCESS if success else Outcome.FAILURE
    rewards = np.zeros(length, np.float32)
    rewards[-1] = success
    return Episode(
        id=f"imported-{name}",
        task=task,
        seed=int(rows[SEED][0]) if SEED in rows else index,
        purpose=Purpose.DEMONSTRATION,
        policy=str(rows[POLICY][0]) if POLICY in rows else BY,
        round=0,
        station=0,
        verdict=Verdict(
            outcome, score=float(success), reason="as its dataset says, not judged here"
        ),
        times=Times(),
        observations=_rows(seen),
        actions=_rows(rows[ACTION]),
        stamps=(1.0 / fps) * np.arange(length, dtype=np.float64),
        rewards=rewards,
        intervened=np.asarray(rows.get(HELP, np.zeros(length)), bool).reshape(length),
    )


def _rows(values: NDArray[Any]) -> NDArray[np.float32]:
    return np.stack(list(values)).astype(np.float32, copy=False)


def _require_fit(
    folder: Path, features: dict[str, Any], task: str, sizes: Mapping[str, int]
) -> None:
    for name, size in sizes.items():
        found = None
        with contextlib.suppress(KeyError):
            found = tuple(features[name]["shape"])
        if found != (size,):
            raise StoreError(
                f"{folder} has {name} of shape {found}; {task} has {size} of them: a dataset fits "
                "a task that shows the same and is acted on alike"
            )
