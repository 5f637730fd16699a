"""A run folder runs no code of its own: what it names by a path has to be trusted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from enpire.cli import main
from enpire.errors import StoreError
from enpire.observe import policy_loading
from enpire.observe.trust import RECIPES, distrusted, recipes_called, require_trusted
from enpire.packs import find
from enpire.policies import ChunkPolicy, ChunkSpec, metadata
from enpire.store import Run

CANARY = "raise SystemExit('code of the run was run')\n"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A task pack that tells when it is imported."""
    folder = tmp_path / "packs" / "canary"
    folder.mkdir(parents=True)
    (folder / "task.py").write_text(CANARY)
    return folder


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(CANARY)
    return path


def _run(folder: Path, pack: Path | None, **settings: Any) -> Path:
    loop = {"task": str(pack or "pin_box"), "seed": 0, **settings}
    with Run.create(folder, {"loop": loop}) as run:
        packs = {"tasks/canary": find("tasks", str(pack)).sha256} if pack else {}
        run.ledger.set_facts({"packs": json.dumps(packs), "state": "reached"})
        policy = ChunkPolicy(ChunkSpec("canary", 4, 2))
        run.save_policy("policy-0", policy.tensors(), metadata(policy))
    return folder


def _from_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder on another machine: its user has another key."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent / "another"))
    return folder


def _reason(folder: Path) -> str:
    with Run.open(folder) as run:
        return distrusted(run)


def test_a_run_made_here_goes_on_with_its_own_code(tmp_path: Path, pack: Path) -> None:
    assert _reason(_run(tmp_path / "run", pack, python="/usr/bin/python3")) == ""


def test_code_that_has_changed_since_is_refused(tmp_path: Path, pack: Path) -> None:
    folder = _run(tmp_path / "run", pack)
    (pack / "task.py").write_text("# another\n")
    assert "is not what it was when" in _reason(folder)
    shutil.rmtree(pack)
    assert "is not what it was when" in _reason(folder)


def test_so_is_a_recipe_that_has(tmp_path: Path, recipe: Path) -> None:
    folder = _run(tmp_path / "run", None, recipe=f"bc,{recipe}", first_recipe="bc")
    with Run.open(folder, writable=True) as run:
        run.ledger.set_facts(recipes_called(f"bc,{recipe}", "bc"))
        assert str(recipe) in run.ledger.facts()[RECIPES]
    assert _reason(folder) == ""
    recipe.write_text("# another\n")
    assert f"{recipe} is not what it was" in _reason(folder)


@pytest.mark.parametrize(
    "setting", ["task", "python", "demonstrator", "recipe", "first_recipe", "world"]
)
def test_code_of_a_run_from_elsewhere_is_refused_unless_trusted(
    tmp_path: Path, pack: Path, recipe: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    value = str(recipe if "recipe" in setting else pack)
    folder = _from_elsewhere(
        _run(tmp_path / "run", pack if setting == "task" else None, **{setting: value}), monkeypatch
    )
    with Run.open(folder) as run:
        with pytest.raises(StoreError, match=rf"names code by its path \({setting} = .*--trust"):
            require_trusted(run, trust=False)
        require_trusted(run, trust=True)


def test_names_are_looked_up_here_and_need_no_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _run(tmp_path / "run", None, recipe="bc", first_recipe="bc")
    assert _reason(_from_elsewhere(folder, monkeypatch)) == ""


def test_a_configuration_that_was_changed_has_no_mark(tmp_path: Path, pack: Path) -> None:
    """Whoever changes it and the ledger's hash of it still lacks the key."""
    folder = _run(tmp_path / "run", None)
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("pin_box", str(pack)))
    with pytest.raises(StoreError, match="is not what was written when the run began"):
        Run.open(folder)
    from enpire.store.layout import CONFIG_HASH
    from enpire.store.ledger import Ledger
    from enpire.store.ledger_file import LedgerFile
    from enpire.store.weights import sha256_of

    with Ledger(LedgerFile(folder / "ledger.sqlite", writable=True)) as ledger:
        ledger.set_facts({CONFIG_HASH: sha256_of(config)})
    assert "was not written here by this user" in _reason(folder)


@pytest.mark.parametrize(
    "words",
    [
        ["eval", "--policy", "RUN", "--episodes", "1"],
        ["stress", "RUN"],
        ["serve", "policy", "RUN", "--port", "0"],
        ["rank", "RUN:policy-0", "RUN"],
        ["export", "lerobot", "RUN", "OUT"],
        ["loop", "--resume", "RUN"],
        ["campaign", "--resume", "RUN"],
        ["show", "RUN"],
        ["fsck", "RUN"],
        ["list", "RUNS"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_no_verb_runs_code_of_a_run_from_elsewhere(
    tmp_path: Path,
    pack: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    folder = _from_elsewhere(_run(tmp_path / "runs" / "run", pack), monkeypatch)
    named = {"RUNS": str(folder.parent), "OUT": str(tmp_path / "out")}
    said = [named.get(word, word.replace("RUN", str(folder))) for word in words]
    code = main(said)  # the pack would end the process
    err = capsys.readouterr().err
    if words[0] in ("show", "fsck", "list"):
        assert code == 0
    else:
        assert code in (1, 2)
        assert "--trust" in err or "is no campaign" in err or "two different" in err


def test_the_key_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from enpire.store import origin

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = origin.mark(b"x")
    assert first == origin.mark(b"x") != origin.mark(b"y")
    path = tmp_path / "enpire" / origin.KEY
    assert path.stat().st_mode & 0o077 == 0
    (blocked := tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    assert origin.mark(b"x") == ""
    assert not origin.made_here(b"x", {origin.ORIGIN: ""}), "no mark is no mark of ours"


def test_frozen_says_why(tmp_path: Path, pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = policy_loading.load(str(_from_elsewhere(_run(tmp_path / "run", pack), monkeypatch)))
    with pytest.raises(StoreError, match="--trust"):
        chosen.require_trusted(str(pack), trust=False)
    chosen.require_trusted("pin_box", trust=False)
