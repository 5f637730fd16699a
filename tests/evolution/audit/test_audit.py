"""An audit finds whatever was changed, and says where; of what nobody touched it finds nothing."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from enpire.cli import main
from enpire.errors import StoreError
from enpire.evolution import audit as audits
from enpire.evolution.campaign import report
from enpire.evolution.campaign.history import FOLDER
from enpire.evolution.experiments import unbiased_estimate
from enpire.store import Run
from enpire.store.chain import ChainEnd, extend
from enpire.store.head import head
from tests.evolution.finished import ENOUGH, finish


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    finish(folder)
    return folder


@pytest.fixture(autouse=True)
def soon_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unbiased_estimate, "ENOUGH", ENOUGH)


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def found(folder: Path) -> dict[str, tuple[str, ...]]:
    """What does not hold, by check."""
    with Run.open(folder, damaged=True) as run:
        return {check.name: check.wrong for check in audits.audit(run) if not check.holds}


def sql(folder: Path, *commands: str) -> None:
    """Change a ledger as one does who knows of its chain."""
    ledger = sqlite3.connect(folder / "ledger.sqlite")
    for command in commands:
        ledger.execute(command)
    rechained(ledger)
    ledger.close()


def rechained(ledger: sqlite3.Connection) -> None:
    """Begin the chain anew over what is there, and commit."""
    ledger.execute("DELETE FROM chain")
    extend(ledger, ChainEnd())
    ledger.commit()


def test_who_does_not_know_of_the_chain_is_noticed(folder: Path) -> None:
    ledger = sqlite3.connect(folder / "ledger.sqlite")
    ledger.execute("UPDATE sealed SET trials = trials + 1")
    ledger.commit()
    ledger.close()
    assert "sealed: rows 1 to 1 are not what was recorded" in found(folder)["ledger"]
    with pytest.raises(StoreError, match="is not what was recorded"):
        Run.open(folder)


def test_of_what_nobody_touched_it_finds_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(["campaign", "audit", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 14
    assert all(line.startswith("holds") for line in lines)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {p: d for p, d in after.items() if ".sqlite-" not in p.name} == before


@dataclass(frozen=True)
class Tampering:
    """What is changed; which check says so, and in which words."""

    name: str
    act: Callable[[Path], None]
    check: str
    words: str

    def __str__(self) -> str:
        return self.name


def rows(*commands: str) -> Callable[[Path], None]:
    return lambda folder: sql(folder, *commands)


def first(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


def flip(pattern: str) -> Callable[[Path], None]:
    """One bit of a file's last byte."""

    def act(folder: Path) -> None:
        path = first(folder, pattern)
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)

    return act


def said(kind: str, change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    """The last event of a kind says something else."""

    def act(folder: Path) -> None:
        ledger = sqlite3.connect(folder / "ledger.sqlite")
        where = f"kind = '{kind}' AND text LIKE '%kept%'" if kind == "experiment" else "kind = ?"
        given = () if kind == "experiment" else (kind,)
        number, text = ledger.execute(
            f"SELECT number, text FROM events WHERE {where} ORDER BY number DESC", given
        ).fetchone()
        values = json.loads(text)
        change(values)
        ledger.execute("UPDATE events SET text = ? WHERE number = ?", (json.dumps(values), number))
        rechained(ledger)
        ledger.close()

    return act


def rewrite_commit(folder: Path) -> None:
    """Another effect in a commit's message, under the name of the old one."""
    for path in (folder / FOLDER / "objects").rglob("*"):
        data = zlib.decompress(path.read_bytes()) if path.is_file() else b""
        if data.startswith(b"commit") and b"kept" in data:
            path.write_bytes(zlib.compress(data.replace(b"State: kept", b"State: best")))


def add_branch(folder: Path) -> None:
    heads = folder / FOLDER / "refs" / "heads"
    (heads / "other").write_bytes((heads / "main").read_bytes())


def examined(folder: Path) -> str:
    """Counts of the one examination: its seeds are drawn anew in each run, so these vary."""
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as ledger:
        ((successes, trials),) = ledger.execute("SELECT successes, trials FROM sealed")
    return f"{successes} of {trials}"


def unseal(folder: Path) -> None:
    """Another attempt, that went badly, and no trace of it but the words that seeds were drawn."""
    sql(
        folder,
        "INSERT INTO decisions SELECT NULL, round, kind, replace(text, 'one-1', 'policy-0'),"
        " 'policy-0', candidate, replace(numbers, '\"attempt\": 1.0', '\"attempt\": 2.0')"
        " FROM decisions WHERE kind = 'sealing'",
        "INSERT INTO decisions SELECT NULL, round, kind, replace(text, 'one-1', 'two-0'),"
        " 'two-0', candidate, replace(numbers, '\"attempt\": 1.0', '\"attempt\": 3.0')"
        " FROM decisions WHERE kind = 'sealing' AND number = (SELECT min(number) FROM decisions"
        " WHERE kind = 'sealing')",
    )


def forget_sealed(folder: Path) -> None:
    sql(folder, "DELETE FROM sealed", "DELETE FROM episodes WHERE purpose = 'sealed'")


def forget_episode(folder: Path) -> None:
    """With its robot time, and what follows moved up: its file still has it."""
    sql(
        folder,
        "PRAGMA foreign_keys = OFF",
        "DELETE FROM intervals WHERE episode = (SELECT id FROM episodes WHERE number = 5)",
        "DELETE FROM episodes WHERE number = 5",
        "UPDATE episodes SET number = number - 1 WHERE number > 5",
    )


def edit_report(folder: Path) -> None:
    path = folder / "report.md"
    path.write_text(path.read_text().replace("dropped", "kept"))


def swap_policy(folder: Path) -> None:
    """Another file under its name, and the ledger says so."""
    files = folder / "policies"
    shutil.copy(files / "two-0.safetensors", files / "one-1.safetensors")
    of = "(SELECT sha256 FROM policies WHERE name = 'two-0')"
    sql(folder, f"UPDATE policies SET sha256 = {of} WHERE name = 'one-1'")


def forge_effect(folder: Path) -> None:
    """And the comparison that it comes of."""
    said("experiment", lambda v: v.update(effect=[20, 0, 0]))(folder)
    text = "(SELECT text FROM events WHERE kind = 'match' AND text LIKE '%true%')"
    forged = json.dumps({"opponent": "policy-0", "record": [20, 0, 0], "won": True})
    sql(folder, f"UPDATE events SET text = '{forged}' WHERE text = {text}")


SEED = "(SELECT seed FROM episodes WHERE purpose = 'sealed' LIMIT 1)"
TAMPERINGS = (
    Tampering(
        "an-outcome",
        rows("UPDATE episodes SET outcome = 'success' WHERE outcome = 'failure'"),
        "episodes",
        "outcome is success in the ledger, failure in",
    ),
    Tampering(
        "a-predicate",
        rows("UPDATE predicates SET value = 0.0 WHERE holds = 0"),
        "episodes",
        "predicates is",
    ),
    Tampering("an-array", flip("episodes/*.zip"), "episodes", "is damaged"),
    Tampering(
        "weights", flip("policies/one-1.safetensors"), "policies", "one-1.* is not what was frozen"
    ),
    Tampering(
        "weights-and-their-hash",
        swap_policy,
        "sealed",
        "one-1 is not the policy whose sealed seeds were drawn",
    ),
    Tampering(
        "an-effect",
        said("experiment", lambda v: v.update(effect=[20, 0, 0])),
        "events",
        "one-1: its effect is not what",
    ),
    Tampering(
        "an-effect-and-its-comparison",
        forge_effect,
        "effects",
        "recorded is 20 won, 0 lost",
    ),
    Tampering(
        "a-decision",
        said("experiment", lambda v: v.update(state="dropped")),
        "events",
        "one-1 won against the incumbent and was dropped",
    ),
    Tampering("an-episode", rows("DELETE FROM episodes WHERE number = 5"), "ledger", "row 5"),
    Tampering("an-episode-and-its-time", forget_episode, "episodes", "the ledger has"),
    Tampering(
        "robot-time",
        rows("DELETE FROM intervals WHERE phase = 'execute' AND station = 0"),
        "robot time",
        "lacks a phase",
    ),
    Tampering("an-event", rows("DELETE FROM events WHERE kind = 'match'"), "ledger", "events lack"),
    Tampering(
        "an-event-and-its-number",
        rows(
            "DELETE FROM events WHERE kind = 'experiment' AND text LIKE '%trials%'",
            "UPDATE events SET number = -number",
            "UPDATE events SET number = (SELECT count(*) FROM events e WHERE e.number >="
            " events.number AND e.number < 0) + (SELECT count(*) FROM events e WHERE e.number > 0)",
        ),
        "events",
        "event \\d+ cannot follow",
    ),
    Tampering("an-examination", forget_sealed, "robot time", "sealed-.* has robot time and no rec"),
    Tampering("attempts-that-went-badly", unseal, "sealed", "attempt 2, of policy-0, is missing"),
    Tampering(
        "counts-of-an-examination",
        rows("UPDATE sealed SET trials = 300, successes = 300"),
        "sealed",
        "recorded are 300 of 300, by its episodes it is {examined}",
    ),
    Tampering(
        "entropy",
        rows("UPDATE sealed SET entropy = '1'"),
        "sealed",
        "attempt 1 is of one-1, its seeds were drawn for",
    ),
    Tampering(
        "a-sealed-seed-run-before",
        rows(f"UPDATE episodes SET seed = {SEED} WHERE number = 1"),
        "sealed",
        "was run on a sealed seed",
    ),
    Tampering(
        "an-evaluation-that-nobody-asked-for",
        rows("UPDATE episodes SET seed = 7 WHERE purpose = 'evaluation' AND round = 2"),
        "jobs",
        "was never asked for",
    ),
    Tampering("packs", rows("INSERT OR REPLACE INTO run VALUES ('packs', '{\"tasks/x\": \"1\"}')"),
              "packs", "run on other packs"),
    Tampering("a-commit", rewrite_commit, "history", "is missing or damaged"),
    Tampering("a-branch", add_branch, "history", "refs/heads/other is not of the ledger"),
    Tampering(
        "the-report",
        edit_report,
        "report",
        "kept",
    ),
)  # fmt: skip


@pytest.mark.parametrize("tampering", TAMPERINGS, ids=str)
def test_it_says_what_was_changed(tampering: Tampering, folder: Path) -> None:
    words = tampering.words.replace("{examined}", examined(folder))
    tampering.act(folder)
    wrong = found(folder)
    assert tampering.check in wrong, wrong
    said_ = "\n".join(wrong[tampering.check])
    assert re.search(words, said_), wrong


def test_who_has_noted_the_head_sees_what_was_changed_consistently(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The control: without the head, nothing is found of it."""
    with Run.open(folder) as run:
        noted = str(head(run))
    assert f"    {noted}" in (folder / "report.md").read_text().splitlines()
    assert main(["campaign", "audit", str(folder), "--head", noted]) == 0
    sql(folder, "UPDATE events SET text = replace(text, 'a speed of', 'my idea of')")
    with Run.open(folder) as run:
        shutil.rmtree(folder / FOLDER)
        from enpire.evolution.campaign import history

        history.write(run)
        report.write(run)
    assert found(folder) == {}
    capsys.readouterr()
    assert main(["campaign", "audit", str(folder), "--head", noted]) == 1
    said_ = capsys.readouterr().out
    assert "FAILS  head" in said_
    assert said_.count("FAILS") == 1


def test_a_loop_has_no_campaign_to_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Run.create(tmp_path / "run", {"loop": {}}).close()
    assert main(["campaign", "audit", str(tmp_path / "run")]) == 1
    assert "is no campaign" in capsys.readouterr().err
