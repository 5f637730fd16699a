"""Whatever is done to a stored file, `fsck` names it, and no verb is wrong in silence."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.cli import main
from enpire.errors import StoreError
from enpire.store import Run
from enpire.store.fsck import check
from enpire.store.repair import repair
from tests.cli.made_run import made

VOLATILE = ("writer.lock",)  # holds no record


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("made") / "run")


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "runs" / "run")
    return tmp_path / "runs" / "run"


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any], str]:
    """Exit code of a verb, its object (empty if it printed none), what it said on stderr."""
    capsys.readouterr()
    code = main([*words, "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else {}, err


def _damage(capsys: pytest.CaptureFixture[str], folder: Path) -> list[str]:
    code, said, _ = _said(capsys, "fsck", str(folder))
    lines = [f"{each['file']}: {each['what']}" for each in said["damage"]]
    assert code == (1 if lines else 0)
    return lines


def _sql(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "ledger.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()


def _rows(folder: Path) -> dict[str, object]:
    """All rows of a ledger that are not about repairs."""
    with Run.open(folder) as run:
        tables = ("policies", "batches", "episodes", "intervals", "sealed")
        ledger = run.ledger
        return {
            **{table: ledger.file.written(table) for table in tables},
            "predicates": [ledger.predicates(row.id) for row in ledger.episodes()],
            "rounds": ledger.rounds(),
            "states": [row.state for row in ledger.policies()],
            "decisions": [note for note in ledger.decisions() if note.kind != "found"],
        }


def test_of_a_whole_run_it_finds_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(folder.rglob("*"))
    code, said, _ = _said(capsys, "fsck", str(folder))
    assert (code, said["damage"], said["notes"]) == (0, [], [])
    assert said["intact"] == {"episodes": 26, "policies": 2}
    assert sorted(folder.rglob("*")) == before
    assert main(["fsck", str(folder)]) == 0
    assert "0 damaged, 26 episodes and 2 policies are intact" in capsys.readouterr().out


def test_a_sealed_result_that_was_changed_is_noticed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _sql(folder, "UPDATE sealed SET successes = 64")
    assert any("sealed: rows 1 to 1" in line for line in _damage(capsys, folder))
    for writable in (True, False):
        with pytest.raises(StoreError, match="sealed: rows 1 to 1 are not what was recorded"):
            Run.open(folder, writable)
    code, said, _ = _said(capsys, "show", str(folder))
    assert code == 1
    assert "ledger.sqlite: sealed: rows 1 to 1 are not what was recorded" in said["damage"]
    assert main(["show", str(folder)]) == 1
    assert capsys.readouterr().out.startswith("DAMAGED  ledger.sqlite: sealed")


def _forge(folder: Path, statement: str) -> None:
    """Change a ledger as one does who knows of chain and seal."""
    from enpire.store.chain import ChainEnd, extend
    from enpire.store.seal import seal

    connection = sqlite3.connect(folder / "ledger.sqlite")
    connection.execute(statement)
    connection.execute("DELETE FROM chain")
    extend(connection, ChainEnd())
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    for log in folder.glob("ledger.sqlite-*"):
        log.unlink()
    seal(folder)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE sealed SET successes = 3", "sealed"),
        ("UPDATE episodes SET outcome = 'success' WHERE number = 1", "outcome is success in the"),
        ("UPDATE predicates SET accuracy = 1.0", "predicates is"),
        ("UPDATE decisions SET numbers = replace(numbers, '9.0', '8.0')", "(8, 0, 0) wins, losses"),
        ("UPDATE decisions SET kind = 'kept' WHERE kind = 'promoted'", "is kept, by its episodes"),
        ("UPDATE rounds SET policy = 'policy-0'", "ends with policy-0, its comparison left"),
        ("UPDATE policies SET sha256 = 'ab' WHERE name = 'policy-1'", "its sha256 differs"),
        ("DELETE FROM sealed", "sealed_attempts is 1, by the ledger 0"),
    ],
)
def test_what_a_chain_cannot_know_the_files_tell(
    folder: Path, capsys: pytest.CaptureFixture[str], statement: str, named: str
) -> None:
    if statement.startswith("UPDATE predicates"):
        statement = "UPDATE episodes SET score = 0.25 WHERE number = 2"
        named = "score is 0.25 in the ledger"
    _forge(folder, statement)
    lines = _damage(capsys, folder)
    assert any(named in line for line in lines), lines


@pytest.mark.parametrize("content", [None, b"", b"no database" * 99])
def test_a_lost_ledger_is_made_again_from_the_batches(
    folder: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    before = _rows(folder)
    ledger = folder / "ledger.sqlite"
    ledger.unlink()
    if content is not None:
        ledger.write_bytes(content)
    assert any(line.startswith("ledger.sqlite") for line in _damage(capsys, folder))
    _, said, _ = _said(capsys, "fsck", str(folder), "--repair")
    assert "ledger.sqlite was made again from 11 batches" in said["repaired"]
    after = _rows(folder)
    same = set(before) - {"sealed", "states"}  # those came after the last batch
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert [line for line in _damage(capsys, folder) if "result.json" not in line] == []
    Run.open(folder, writable=True).close()


def test_an_older_ledger_is_brought_up_to_its_batches(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = tmp_path / "older"
    with Run.open(folder) as run:
        config = run.config
    with Run.create(older, config) as run:
        run.ledger.set_facts({"state": "running"})
    shutil.copy(older / "ledger.sqlite", folder / "ledger.sqlite")
    with pytest.raises(StoreError, match=r"11 in all.*enpire fsck .* --repair"):
        Run.open(folder, writable=True)
    lines = _damage(capsys, folder)
    assert "episodes/00000001.zip: is whole and has no row" in lines
    _said(capsys, "fsck", str(folder), "--repair")
    with Run.open(folder, writable=True) as run:
        assert len(run.episodes(without=None)) == 26
        assert [row.name for row in run.ledger.policies()] == ["policy-0", "policy-1"]


def test_repair_takes_over_what_the_chain_vouches_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _rows(folder)
    _sql(folder, "UPDATE episodes SET outcome = 'success'")
    with pytest.raises(StoreError):
        Run.open(folder)
    _, said, _ = _said(capsys, "fsck", str(folder), "--repair")
    assert _rows(folder) == before
    assert (folder / "lost" / "ledger.sqlite").is_file()
    assert said["damage"] == []
    with Run.open(folder) as run:
        found = [note.text for note in run.ledger.decisions() if note.kind == "found"]
    assert found == said["repaired"], "told and recorded"


@pytest.mark.parametrize("last", ["record_again", "_take_over", "_policies_again"])
def test_a_repair_that_was_cut_short_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    before = _rows(folder)
    _sql(folder, "UPDATE episodes SET outcome = 'success'")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"enpire.store.repair.{last}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            repair(folder)
    repair(folder)
    assert _rows(folder) == before
    assert not check(folder).damage


def test_pictures_that_cannot_be_checked_are_named(folder: Path) -> None:
    (folder / "episodes/00000011.zip").write_bytes(b"damaged")
    for ledger in (True, False):
        if not ledger:
            (folder / "ledger.sqlite").unlink()
        unchecked = [note for note in check(folder).notes if "is not checked" in note]
        assert unchecked[0].startswith("evidence/00000011-0-front.png: is not checked, its sha256")
        assert len(unchecked) == len(list((folder / "evidence").iterdir()))


def test_one_missing_batch_blocks_no_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "episodes" / "00000003.zip").rename(folder.parent / "elsewhere")
    assert "episodes/00000003.zip: is missing" in _damage(capsys, folder)
    code, said, _ = _said(capsys, "show", str(folder))
    assert (code, said["damage"]) == (1, ["episodes/00000003.zip: is recorded and missing"])
    assert said["success"] == 1.0


def test_a_run_of_before_chains_is_told_as_such(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _sql(folder, "DROP TABLE chain")
    _sql(folder, "PRAGMA user_version = 3")
    (folder / "ledger.sha256").unlink()
    code, said, _ = _said(capsys, "fsck", str(folder))
    assert code == 0
    assert any(note.startswith("no chain: its ledger was written before") for note in said["notes"])
    Run.open(folder, writable=True).close()
    _, said, _ = _said(capsys, "fsck", str(folder))
    assert any("its first 26 episodes were recorded before" in note for note in said["notes"])


# Any damage at all


def _flip(path: Path, rng: np.random.Generator) -> str:
    data = bytearray(path.read_bytes())
    at = int(rng.integers(len(data)))
    data[at] ^= 1 << int(rng.integers(8))
    path.write_bytes(data)
    return f"a bit of byte {at}"


def _delete(path: Path, rng: np.random.Generator) -> str:
    path.unlink()
    return "deleted"


def _truncate(path: Path, rng: np.random.Generator) -> str:
    size = int(rng.integers(path.stat().st_size))
    with path.open("r+b") as file:
        file.truncate(size)
    return f"cut to {size}"


SWAPPED = "swapped with "


def _swap(path: Path, rng: np.random.Generator) -> str:
    root = next(each for each in path.parents if each.name == "run")
    others = [each for each in _files(root) if each.read_bytes() != path.read_bytes()]
    other = others[int(rng.integers(len(others)))]
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)
    return f"{SWAPPED}{other.relative_to(root)}"


def _files(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    return sorted(path for path in found if path.name not in VOLATILE)


Act = Callable[[Path, np.random.Generator], str]


def _case(whole: Path, at: Path, act: Act, seed: int) -> tuple[Path, str]:
    """A copy of the run with one file damaged; which, and how."""
    rng = np.random.default_rng(seed)
    folder = at / "runs" / "run"
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.copytree(whole, folder)
    # Half of all in what is not a batch: else the many files of batches take nearly all.
    files = _files(folder)
    top = [path for path in files if "episodes" not in path.relative_to(folder).parts]
    among = top if rng.random() < 0.5 else files
    path = among[int(rng.integers(len(among)))]
    return folder, f"{path.relative_to(folder)}: {act(path, rng)}"


def _faults(whole: Path, at: Path, capsys: pytest.CaptureFixture[str], act: Act, seed: int) -> str:
    """Why a damage was not handled as it must be; empty if it was."""
    folder, what = _case(whole, at, act, seed)
    name, _, how = what.partition(": ")
    names = [name] + [how.removeprefix(SWAPPED)] * how.startswith(SWAPPED)
    try:
        _, said, err = _said(capsys, "fsck", str(folder))
        named = [f"{each['file']}: {each['what']}" for each in said.get("damage", ())]
        named += said.get("notes", [])
        for each in names:
            if not any(each in line for line in (*named, err)):
                return f"seed {seed}, {what}: {each} is not named, but {named} {err}"
        sure = json.loads((whole.parent / "said.json").read_text())
        for verb, at_ in (("show", folder), ("list", folder.parent)):
            code, told, err = _said(capsys, verb, str(at_))
            silent = code == 0 and not (told.get("damage") or told.get("unreadable"))
            if silent and told != json.loads(json.dumps(sure[verb]).replace("HERE", str(folder))):
                return f"seed {seed}, {what}: {verb} tells something else in silence"
            if code and not told and not err:
                return f"seed {seed}, {what}: {verb} says nothing"
    except Exception as error:
        return f"seed {seed}, {what}: {error!r}"
    return ""


@pytest.fixture(scope="module")
def undamaged(whole: Path) -> None:
    """What `show` and `list` say of the whole run, with HERE for its folder."""
    import contextlib
    import io

    sure = {}
    for verb, at in (("show", whole), ("list", whole.parent)):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main([verb, str(at), "--json"])
        sure[verb] = json.loads(out.getvalue().replace(str(whole), "HERE"))
    (whole.parent / "said.json").write_text(json.dumps(sure))


ACTS: dict[str, Act] = {"flip": _flip, "delete": _delete, "truncate": _truncate, "swap": _swap}


@pytest.mark.medium
@pytest.mark.usefixtures("undamaged")
@pytest.mark.parametrize(
    ("act", "cases"), [("flip", 40), ("delete", 15), ("truncate", 15), ("swap", 10)]
)
def test_any_damage_is_named_and_tells_no_wrong_number(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], act: str, cases: int
) -> None:
    faults = [_faults(whole, tmp_path, capsys, ACTS[act], seed) for seed in range(cases)]
    assert [fault for fault in faults if fault] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("undamaged")
@pytest.mark.parametrize(
    ("act", "cases"), [("flip", 1000), ("delete", 70), ("truncate", 70), ("swap", 60)]
)
def test_any_damage_of_many(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], act: str, cases: int
) -> None:
    """Other cases than those of the fast lane."""
    seeds = range(10_000, 10_000 + cases)
    faults = [_faults(whole, tmp_path, capsys, ACTS[act], seed) for seed in seeds]
    assert [fault for fault in faults if fault] == []


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("until", ["known", "there"])
def test_a_result_that_a_kill_left_half_told_is_one_that_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, until: str
) -> None:
    """The writer dies once the ledger knows of the new result, or once its file is there too."""
    with Run.create(tmp_path / "run", {"loop": {}}) as run:
        for number in range(before):
            run.write_result({"success": number})
        dies = "enpire.store.run.publish_file" if until == "known" else "set_facts"
        calls = []

        def die(*arguments: Any) -> None:
            calls.append(arguments)
            if dies != "set_facts" or len(calls) == 2:
                raise KeyboardInterrupt
            type(run.ledger).set_facts(run.ledger, *arguments)

        owner = (dies,) if dies != "set_facts" else (run.ledger, dies)
        monkeypatch.setattr(*owner, die)
        with pytest.raises(KeyboardInterrupt):
            run.write_result({"success": 5})
        monkeypatch.undo()
    assert not check(tmp_path / "run").damage
    if before or until == "there":
        (tmp_path / "run" / "result.json").write_text('{"success": 6}')
        assert [each.file for each in check(tmp_path / "run").damage] == ["result.json"]
