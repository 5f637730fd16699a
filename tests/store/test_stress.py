"""What was measured under stress is kept beside the run's policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enpire.errors import StoreError
from enpire.store import Run
from enpire.store.stress import keep_stress, read_stress


def measured(*names: str, rate: float = 1.0, sha256: str = "a") -> dict[str, Any]:
    points = [{"point": name, "success": rate} for name in names]
    same = {"task": "pick_cube", "packs": {"tasks/pick_cube": "h"}, "verified_by": "sensors only"}
    return {**same, "sha256": sha256, "points": points}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Run.create(tmp_path / "run", {"loop": {"task": "pick_cube"}}) as run:
        run.write_result({"reached": True})
    return tmp_path / "run"


def test_it_is_read_back_and_stands_in_the_result(folder: Path) -> None:
    path = keep_stress(folder, "policy-1", measured("baseline", "noise-x2"))
    assert path == folder / "stress" / "policy-1.json"
    assert read_stress(folder) == {"policy-1": measured("baseline", "noise-x2")}
    result = json.loads((folder / "result.json").read_text())
    assert result == {"reached": True, "stress": read_stress(folder)}


def test_other_points_stay_unless_something_else_was_measured(folder: Path) -> None:
    keep_stress(folder, "p", measured("baseline", "noise-x2"))
    keep_stress(folder, "p", measured("noise-x2", rate=0.5))
    points = {row["point"]: row["success"] for row in read_stress(folder)["p"]["points"]}
    assert points == {"baseline": 1.0, "noise-x2": 0.5}
    keep_stress(folder, "p", measured("noise-x2", sha256="b"))
    assert [row["point"] for row in read_stress(folder)["p"]["points"]] == ["noise-x2"]


def test_a_run_that_goes_on_keeps_its_result_to_itself(folder: Path) -> None:
    with Run.open(folder, writable=True):
        keep_stress(folder, "p", measured("baseline"))
    assert json.loads((folder / "result.json").read_text()) == {"reached": True}
    assert list(read_stress(folder)) == ["p"]


@pytest.mark.parametrize(
    ("lost", "words"),
    [("sha256_of_this", "it has no sha256"), ("points", "differs"), ("verified_by", "differs")],
)
def test_a_file_that_lacks_something_is_named(folder: Path, lost: str, words: str) -> None:
    path = keep_stress(folder, "p", measured("baseline"))
    content = json.loads(path.read_text())
    del content[lost]
    path.write_text(json.dumps(content))
    with pytest.raises(StoreError, match=words):
        read_stress(folder)


def test_a_broken_file_is_named(folder: Path) -> None:
    keep_stress(folder, "p", measured("baseline")).write_text("{")
    with pytest.raises(StoreError, match=r"p\.json does not parse"):
        read_stress(folder)
