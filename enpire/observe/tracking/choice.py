"""Which tracker `--track` asks for, and whether its library is there."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from enpire.errors import UsageError
from enpire.observe.tracking.identity import TrackedRun
from enpire.observe.tracking.scalars import Tracker

NEEDS = {
    "wandb": ("wandb",),
    "mlflow": ("mlflow", "sqlalchemy", "alembic"),
    "trackio": ("trackio",),
}


def require_tracker(kind: str) -> None:
    """Raise UsageError where the libraries of a tracker are not installed."""
    missing = [name for name in NEEDS[kind] if find_spec(name) is None]
    if missing:
        raise UsageError(f"--track {kind} needs {missing[0]}: pip install 'enpire[{kind}]'")


def tracker(kind: str, run: TrackedRun) -> Callable[[], Tracker]:
    """Return what begins a tracker, which may take seconds and import much."""

    def begin() -> Tracker:
        if kind == "wandb":
            from enpire.observe.tracking.wandb_run import WandbRun

            return WandbRun(run)
        if kind == "mlflow":
            from enpire.observe.tracking.mlflow_run import MlflowRun

            return MlflowRun(run)
        from enpire.observe.tracking.trackio_run import TrackioRun

        return TrackioRun(run)

    return begin
