"""A run's scalars in MLflow: where `MLFLOW_TRACKING_URI` says, else MLflow's own default."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import batched
from typing import Any

from enpire.observe.tracking.identity import PROJECT, TrackedRun
from enpire.observe.tracking.scalars import Key, Scalar

TAG = "enpire.run"  # the id of a run
MOST = 1000  # metrics that MLflow takes at a time
MOST_PARAMETERS = 100
LENGTH = 500  # characters of a parameter


class MlflowRun:
    """See `Tracker`."""

    def __init__(self, run: TrackedRun) -> None:
        """Begin, or go on with, the run that is tagged with this id."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # it would ask the network
        from mlflow.tracking import MlflowClient

        self._client: Any = MlflowClient()
        experiment = self._client.get_experiment_by_name(PROJECT)
        number = experiment.experiment_id if experiment else self._client.create_experiment(PROJECT)
        found = self._client.search_runs([number], f"tags.`{TAG}` = '{run.id}'")
        if found:
            self._id = found[0].info.run_id
            self._client.update_run(self._id, status="RUNNING")
            return
        begun = self._client.create_run(number, run_name=run.name, tags={TAG: run.id})
        self._id = begun.info.run_id
        self._log_settings(run)

    def known_keys(self) -> set[Key]:
        """See `Tracker`: as MLflow says."""
        names = self._client.get_run(self._id).data.metrics
        return {
            Key(name, int(metric.step))
            for name in names
            for metric in self._client.get_metric_history(self._id, name)
        }

    def log(self, scalars: Sequence[Scalar]) -> None:
        """See `Tracker`."""
        from mlflow.entities import Metric

        metrics = [Metric(s.name, s.value, round(1000 * s.at), s.step) for s in scalars]
        for some in batched(metrics, MOST):
            self._client.log_batch(self._id, metrics=some)

    def close(self) -> None:
        """See `Tracker`."""
        self._client.set_terminated(self._id)

    def _log_settings(self, run: TrackedRun) -> None:
        from mlflow.entities import Param

        params = [Param(name, value[:LENGTH]) for name, value in run.settings.items()]
        for some in batched(params, MOST_PARAMETERS):
            self._client.log_batch(self._id, params=some)
