"""A run that begins where another one stands."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from enpire.errors import StoreError
from enpire.store import Run, branch

from .samples import episode, same

CONFIG = {"loop": {"recipe": "one"}}
OTHER = {"loop": {"recipe": "other"}}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    with Run.create(tmp_path / "source", CONFIG) as run:
        run.add_episodes([episode("a"), episode("b")])
        run.save_policy("policy-0", {"w": torch.ones(3)}, {"kind": "test"}, state="incumbent")
        run.ledger.set_facts({"state": "reached", "wall_s": "3.5"})
        run.write_result({"success": 1.0})
    return tmp_path / "source"


def test_both_go_on_by_themselves(source: Path, tmp_path: Path) -> None:
    branch(source, tmp_path / "new" / "run", OTHER, {"state": "interrupted"})
    with Run.open(tmp_path / "new" / "run", writable=True) as run, Run.open(source) as before:
        assert run.config == OTHER
        facts = run.ledger.facts()
        assert (facts["state"], facts["wall_s"]) == ("interrupted", "3.5")
        assert same(run.episodes(), before.episodes())
        assert run.load_policy("policy-0")[1]["kind"] == "test"
        assert not (run.folder / "result.json").exists(), "it has come to nothing yet"
        run.add_episodes([episode("c")])
        assert {e.id for e in run.episodes()} == {"a", "b", "c"}
        assert {e.id for e in before.episodes()} == {"a", "b"}
        assert before.config == CONFIG


def test_nothing_is_made_of_a_run_that_is_being_written(source: Path, tmp_path: Path) -> None:
    with Run.open(source, writable=True), pytest.raises(StoreError):
        branch(source, tmp_path / "new", OTHER, {})
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_there_is_not_touched(source: Path, tmp_path: Path) -> None:
    with Run.create(tmp_path / "taken", OTHER) as run:
        run.add_episodes([episode("x")])
    with pytest.raises(StoreError, match="there already"):
        branch(source, tmp_path / "taken", CONFIG, {})
    with Run.open(tmp_path / "taken") as run:
        assert [e.id for e in run.episodes()] == ["x"]


def test_what_cannot_be_written_leaves_nothing(source: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="TOML"):
        branch(source, tmp_path / "new", {"recipe": object()}, {})
    (tmp_path / "file").touch()
    with pytest.raises(StoreError):
        branch(source, tmp_path / "file" / "new", OTHER, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "source"]
