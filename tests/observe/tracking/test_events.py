"""TensorBoard's event files, read back by TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from enpire.cli import main
from enpire.observe.tracking.events import EventFiles, event_files
from enpire.observe.tracking.scalars import Key, Scalar, ScalarReader
from enpire.observe.tracking.thread import TrackingThread
from enpire.store import Run
from tests.observe.tracking.made_run import begin, go_on


def _follow(run: Run, said: list[str] | None = None) -> TrackingThread:
    say = (lambda _: None) if said is None else said.append
    return TrackingThread(run, "TensorBoard", lambda: EventFiles(run.folder), say, look_s=0.01)


def _read_back(folder: Path) -> list[tuple[str, int, np.float32, float]]:
    """Return all that TensorBoard finds, sorted."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(folder / "tensorboard"))
    multiplexer.Reload()
    found = []
    for name, content in multiplexer.Runs().items():
        prefix = "" if name == "." else f"{name}/"
        for tag in content["scalars"]:
            for event in multiplexer.Scalars(name, tag):
                value = np.float32(event.value)
                found.append((prefix + tag, event.step, value, event.wall_time))
    return sorted(found)


def _recorded(run: Run) -> list[tuple[str, int, np.float32, float]]:
    scalars = ScalarReader(run).read(last=True)
    return sorted((s.name, s.step, np.float32(s.value), s.at) for s in scalars)


def test_tensorboard_reads_back_all_that_a_run_has_recorded(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as run:
        with _follow(run):
            go_on(run)
        recorded = _recorded(run)
        assert len(recorded) > 20
        assert _read_back(run.folder) == recorded


def test_a_run_that_goes_on_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as run, _follow(run):
        pass
    (before,) = (path for path in event_files(run.folder) if path.parent.name == "tensorboard")
    torn = before.read_bytes()
    before.write_bytes(torn[:-5])  # as a kill in the middle of a write leaves it
    with Run.open(run.folder, writable=True) as again:
        with _follow(again):
            go_on(again)
        recorded = _recorded(again)
    assert _read_back(run.folder) == recorded
    assert len({(name, step) for name, step, _, _ in recorded}) == len(recorded)


def test_files_that_were_deleted_are_written_again(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as run:
        with _follow(run):
            go_on(run)
        before = _read_back(run.folder)
        for path in event_files(run.folder):
            path.unlink()
        with _follow(run):
            pass
        assert _read_back(run.folder) == before


def test_a_disk_that_refuses_ends_no_run(tmp_path: Path) -> None:
    said: list[str] = []
    with begin(tmp_path / "run") as run:
        (run.folder / "tensorboard").write_text("no folder")
        with _follow(run, said):
            go_on(run)
        assert run.ledger.rounds()
    assert len(said) == 1
    assert "the run goes on" in said[0]


class _Hanging:
    """A tracker that never comes back."""

    def known_keys(self) -> set[Key]:
        return set()

    def log(self, scalars: Sequence[Scalar]) -> None:
        import threading

        threading.Event().wait()

    def close(self) -> None: ...


def test_a_tracker_that_hangs_stalls_no_run(tmp_path: Path) -> None:
    said: list[str] = []
    with (
        begin(tmp_path / "run") as run,
        TrackingThread(run, "slow", _Hanging, said.append, look_s=0.01, close_s=0.1),
    ):
        go_on(run)
    assert said == ["slow: gave up after 0.1 s; the run itself is whole"]


def test_fsck_names_an_event_file_that_is_not_what_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with begin(tmp_path / "run") as run, _follow(run):
        pass

    def damage() -> list[str]:
        capsys.readouterr()
        main(["fsck", str(run.folder), "--json"])
        said = json.loads(capsys.readouterr().out)
        return [each["file"] for each in said["damage"] if "tensorboard" in each["file"]]

    assert damage() == []
    path = event_files(run.folder)[-1]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert damage() == [path.relative_to(run.folder).as_posix()]
