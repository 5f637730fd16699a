"""A copy of a run is whole, whoever writes the run meanwhile."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from enpire.errors import StoreError
from enpire.store import Run, copying
from enpire.store.copying import copy_run
from enpire.store.fsck import check
from enpire.store.ledger_file import LedgerFile
from tests.store.samples import episode
from tests.store.test_crash import WITHOUT_END, python


def _ids(folder: Path) -> list[str]:
    with Run.open(folder) as run:
        return [row.id for row in run.ledger.episodes()]


def _whole(folder: Path) -> bool:
    findings = check(folder)
    return not findings.damage and not findings.notes


def test_a_copy_of_a_run_that_has_ended_is_the_same(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        run.add_episodes([episode("a"), episode("b")])
        run.save_policy("p", {"w": np.ones(3)}, {})
        run.write_result({"success": 0.5})
    (tmp_path / "run" / "report.html").write_text("a page")
    copy_run(tmp_path / "run", tmp_path / "there" / "copy")
    assert _whole(tmp_path / "there" / "copy")
    names = [
        sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))
        for folder in (tmp_path / "run", tmp_path / "there" / "copy")
    ]
    assert set(names[0]) - set(names[1]) == {"writer.lock"}
    assert set(names[1]) <= set(names[0])
    with Run.open(tmp_path / "there" / "copy", writable=True) as copy:
        copy.add_episodes([episode("c")])
    assert _ids(tmp_path / "there" / "copy") == ["a", "b", "c"]
    assert _ids(tmp_path / "run") == ["a", "b"]


def test_a_copy_of_a_run_under_way_has_what_was_recorded_before(tmp_path: Path) -> None:
    run = tmp_path / "run"
    Run.create(run, {}).close()
    with subprocess.Popen(**python(WITHOUT_END, run), stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            for number in range(3):
                said = int(writer.stdout.readline())
                copy_run(run, tmp_path / f"copy-{number}")
                assert len(_ids(tmp_path / f"copy-{number}")) >= said
                assert _whole(tmp_path / f"copy-{number}")
        finally:
            writer.kill()


def test_what_is_recorded_after_the_ledger_was_copied_stays_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        run.add_episodes([episode("a")])
        run.write_result({"success": 0.0})
        copy_files, copy_to = copying._copy_files, LedgerFile.copy_to

        def soon(file: LedgerFile, path: Path) -> None:
            copy_to(file, path)
            run.add_episodes([episode(f"soon-{len(_ids(run.folder))}")])

        monkeypatch.setattr(LedgerFile, "copy_to", soon)

        def late(*arguments: object) -> None:
            run.add_episodes([episode("b")])
            run.save_policy("p", {"w": np.ones(3)}, {})
            run.write_result({"success": 1.0})
            copy_files(*arguments)

        monkeypatch.setattr(copying, "_copy_files", late)
        copy_run(run.folder, tmp_path / "copy")
    assert _ids(tmp_path / "copy") == ["a"]
    assert _whole(tmp_path / "copy")


def test_a_copy_is_refused_where_it_would_destroy_and_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Run.create(tmp_path / "run", {}).close()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").write_text("")
    for target, said in (("run/copy", "within"), ("taken", "something already"), ("run", "within")):
        with pytest.raises(StoreError, match=said):
            copy_run(tmp_path / "run", tmp_path / target)
    with pytest.raises(StoreError, match="no run"):
        copy_run(tmp_path / "nothing", tmp_path / "copy")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copy2", full)
    with pytest.raises(StoreError, match="No space left on device"):
        copy_run(tmp_path / "run", tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "taken"]
