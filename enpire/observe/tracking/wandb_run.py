"""A run's scalars in Weights & Biases: online for who is logged in, else in files of the run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from enpire.observe.tracking.events import TRAININGS
from enpire.observe.tracking.identity import PROJECT, TrackedRun
from enpire.observe.tracking.scalars import Key, Scalar
from enpire.observe.tracking.sent_file import SentFile

TOLD = "wandb-told.jsonl"  # in the folder of a run
ROBOT_S = "robot_s"


class WandbRun:
    """See `Tracker`.

    W&B's own step only ever rises, and each training counts its own. So every scalar is logged with
    the step that it belongs to, and charts are drawn over that.
    """

    def __init__(self, run: TrackedRun) -> None:
        """Begin, or go on with, the run of this id in W&B's project."""
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # it would ask the network
        import wandb

        settings = wandb.Settings(
            console="off",
            silent=True,
            save_code=False,
            disable_git=True,
            x_disable_stats=True,
            x_disable_meta=True,
            x_save_requirements=False,
        )
        self._told = SentFile(run.folder / TOLD)
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=run.id,
            name=run.name,
            resume="allow",
            dir=str(run.folder),
            mode=_mode(),
            config=dict(run.settings),
            settings=settings,
        )
        for group in ("success", "collection", "run"):
            self._run.define_metric(f"{group}/*", step_metric=ROBOT_S)
        self._trainings: set[str] = set()

    def known_keys(self) -> set[Key]:
        """See `Tracker`: by what the run's folder says that it was told."""
        return self._told.read()

    def log(self, scalars: Sequence[Scalar]) -> None:
        """See `Tracker`."""
        rows: dict[tuple[str, int], dict[str, float]] = {}
        for scalar in scalars:
            rows.setdefault((self._axis(scalar.name), scalar.step), {})[scalar.name] = scalar.value
        for (axis, step), values in rows.items():
            self._run.log({**values, axis: step})
        self._told.add(scalar.key for scalar in scalars)

    def close(self) -> None:
        """See `Tracker`."""
        self._run.finish()

    def _axis(self, name: str) -> str:
        """Return what a scalar is drawn over."""
        if not name.startswith(TRAININGS):
            return ROBOT_S
        training = name.partition("/")[0]
        axis = f"{training}/step"
        if training not in self._trainings:
            self._trainings.add(training)
            self._run.define_metric(f"{training}/*", step_metric=axis)
        return axis


def _mode() -> Any:
    """Return what the environment asks for, else online where the user is logged in."""
    from wandb.apis.internal import Api

    if "WANDB_MODE" in os.environ:
        return os.environ["WANDB_MODE"]
    return "online" if Api().is_authenticated else "offline"
