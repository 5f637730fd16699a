"""Runs that an older enpire wrote, as it wrote them, are read, continued, checked and made again.

`older/schema-4.zip` is the run of `tests.cli.made_run`. Its batches are folders.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from enpire.store import Run
from enpire.store.copying import copy_run
from enpire.store.fsck import check
from enpire.store.repair import repair
from tests.cli.made_run import made
from tests.store.samples import episode, same

OLDER = Path(__file__).parent / "older"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.unpack_archive(OLDER / "schema-4.zip", tmp_path / "run")
    return tmp_path / "run"


def _version(folder: Path) -> int:
    with Run.open(folder) as run:
        return run.ledger.file.version


def test_it_is_read_and_is_whole(folder: Path, tmp_path: Path) -> None:
    before = sorted(folder.rglob("*"))
    found = check(folder)
    assert (found.damage, found.notes, found.episodes, found.policies) == ([], [], 26, 2)
    with Run.open(folder) as run, Run.open(made(tmp_path / "now")) as now:
        assert same(run.episodes(), now.episodes())
    assert sorted(p for p in folder.rglob("*") if p.name != "writer.lock") == before
    assert _version(folder) == 4, "who only reads changes nothing"


def test_it_is_continued_in_the_form_of_today(folder: Path) -> None:
    for number in range(2):
        with Run.open(folder, writable=True) as run:
            assert run.notes == []
            run.add_episodes([episode(f"new-{number}")])
    names = sorted(path.name for path in (folder / "episodes").iterdir())
    assert names[-4:] == ["00000011", "00000012.zip", "00000013.zip", "zarr.json"]
    assert _version(folder) == 5
    assert not check(folder).damage
    with Run.open(folder) as run:
        assert len([each.actions for each in run.episodes(without=None)]) == 28
    (folder / "episodes" / "zarr.json").unlink()
    assert [each.file for each in check(folder).damage] == ["episodes/zarr.json"]


@pytest.mark.parametrize("continued", [False, True])
def test_its_ledger_is_made_again(folder: Path, continued: bool) -> None:
    if continued:
        with Run.open(folder, writable=True) as run:
            run.add_episodes([episode("new")])
    with Run.open(folder) as run:
        before = run.ledger.file.written("episodes")
    (folder / "ledger.sqlite").unlink()
    repair(folder)
    with Run.open(folder, writable=True) as run:
        assert run.ledger.file.written("episodes") == before
    assert [each.file for each in check(folder).damage if each.file != "result.json"] == []


def test_a_part_of_a_folder_that_changed_is_named(folder: Path) -> None:
    chunk = folder / "episodes" / "00000002" / "actions" / "c.0.0"
    chunk.write_bytes(bytes(chunk.stat().st_size))
    assert [each.file for each in check(folder).damage] == ["episodes/00000002"]


def test_it_is_copied(folder: Path, tmp_path: Path) -> None:
    with Run.open(folder, writable=True) as run:
        run.add_episodes([episode("new")])
    copy_run(folder, tmp_path / "copy")
    assert not check(tmp_path / "copy").damage
    assert len(list((tmp_path / "copy" / "evidence").iterdir())) == 6
