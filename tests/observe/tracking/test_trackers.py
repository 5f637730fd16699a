"""Other trackers, each read back by its own library, without a network."""

from __future__ import annotations

import glob
import importlib.util
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enpire.cli import main
from enpire.observe.tracking.choice import tracker
from enpire.observe.tracking.identity import PROJECT, TrackedRun, tracked_run
from enpire.observe.tracking.scalars import Key, ScalarReader
from enpire.observe.tracking.sent_file import SentFile
from enpire.observe.tracking.thread import TrackingThread
from enpire.store import Run
from tests.observe.tracking.made_run import begin, go_on

Values = dict[tuple[str, int], float]

LONG = 120.0  # seconds; some trackers' libraries take long to import on a busy machine


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def only_here(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a tracker asks the network for {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_here)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with begin(tmp_path / "run") as made:
        yield made


def _twice(kind: str, run: Run) -> Values:
    """Track a run in two starts, with a process that ends between; returns what was recorded."""
    said: list[str] = []
    for part in (lambda run: None, go_on):
        start = tracker(kind, tracked_run(run))
        with TrackingThread(run, kind, start, said.append, look_s=0.01, close_s=LONG):
            part(run)
    assert said == []
    scalars = ScalarReader(run).read(last=True)
    recorded = {(scalar.name, scalar.step): scalar.value for scalar in scalars}
    assert len(recorded) > 20
    return recorded


@pytest.mark.medium
def test_mlflow_holds_what_is_recorded(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    recorded = _twice("mlflow", run)
    client = mlflow.MlflowClient()
    number = client.get_experiment_by_name(PROJECT).experiment_id
    (found,) = client.search_runs([number])
    assert found.data.params["task"] == "reach"
    history = [
        metric
        for name in found.data.metrics
        for metric in client.get_metric_history(found.info.run_id, name)
    ]
    held = {(metric.key, metric.step): metric.value for metric in history}
    assert held == recorded
    assert len(history) == len(held), "nothing is told twice"


@pytest.mark.medium
def test_trackio_holds_what_is_recorded(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trackio")
    import trackio.sqlite_storage
    import trackio.utils

    monkeypatch.setattr(trackio.utils, "TRACKIO_DIR", tmp_path / "trackio")
    monkeypatch.setattr(trackio.sqlite_storage, "TRACKIO_DIR", tmp_path / "trackio")
    recorded = _twice("trackio", run)
    (only,) = trackio.Api().runs(PROJECT)
    logs = trackio.sqlite_storage.SQLiteStorage.get_logs(PROJECT, only.name, run_id=only.id)
    history = [((name, row["step"]), row[name]) for row in logs for name in row if "/" in name]
    assert dict(history) == recorded
    assert len(history) == len(recorded), "nothing is told twice"


def _in_wandbs_files(folder: Path) -> list[tuple[tuple[str, int], float]]:
    """What W&B's own reader finds in the files that it keeps below a run's folder."""
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    history: list[tuple[tuple[str, int], float]] = []
    for path in glob.glob(f"{folder}/wandb/offline-run-*/*.wandb"):
        store = DataStore()
        store.open_for_scan(path)
        while (data := store.scan_data()) is not None:
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            row = {
                "/".join(item.nested_key) or item.key: float(item.value_json)
                for item in record.history.item
            }
            axis = next((name for name in row if name.endswith(("robot_s", "/step"))), "")
            history += [
                ((name, int(row[axis])), value)
                for name, value in row.items()
                if name != axis and not name.startswith("_")
            ]
    return history


@pytest.mark.medium
def test_wandb_holds_what_is_recorded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_PROJECT", PROJECT)
    recorded = _twice("wandb", run)
    end = time.monotonic() + LONG
    history = _in_wandbs_files(run.folder)
    while len(history) < len(recorded) and time.monotonic() < end:  # its service writes on
        time.sleep(0.1)
        history = _in_wandbs_files(run.folder)
    assert dict(history) == recorded
    assert len(history) == len(recorded), "nothing is told twice"


def test_what_was_told_survives_a_kill(tmp_path: Path) -> None:
    told = SentFile(tmp_path / "told.jsonl")
    assert told.read() == set()
    told.add([Key("a/b", 1), Key("a/c", 2)])
    with told._path.open("a") as file:
        file.write('["a/d"')
    assert told.read() == {Key("a/b", 1), Key("a/c", 2)}
    told.add([Key("a/d", 3)])
    assert Key("a/d", 3) in told.read()


def test_a_run_keeps_its_identity(run: Run) -> None:
    first = tracked_run(run)
    assert tracked_run(run) == first
    assert first.name == f"run-{first.id[:8]}"
    assert isinstance(first, TrackedRun)


def test_a_tracker_that_is_not_installed_is_said_before_a_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "enpire.observe.tracking.choice.find_spec",
        lambda name: None if name == "trackio" else found(name),
    )
    options = ["loop", "--task", "pick_cube", "--run", str(tmp_path / "run"), "--track", "trackio"]
    assert main(options) == 2
    assert "pip install 'enpire[trackio]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
