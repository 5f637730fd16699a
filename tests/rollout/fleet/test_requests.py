"""What a person asks of a running fleet reaches it once."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.errors import StoreError
from enpire.rollout.fleet import requests
from enpire.rollout.fleet.requests import FOLDER, Request, Requests, ask, require_loop
from enpire.store import Run


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "LOOK_S", 0.0)


def test_taken_once_and_in_order(tmp_path: Path) -> None:
    taking = Requests(tmp_path)
    asked = [Request(2, True, "a camera is loose"), Request(2, False, "mended")]
    for each in asked:
        ask(tmp_path, each)
    assert taking.take() == asked
    assert taking.take() == []


def test_requests_of_an_earlier_start_are_forgotten(tmp_path: Path) -> None:
    ask(tmp_path, Request(0, True, "of yesterday"))
    assert Requests(tmp_path).take() == []


@pytest.mark.parametrize("text", ["[]", '{"station": 1e999, "pause": true, "reason": "wear"}'])
def test_what_is_no_request(tmp_path: Path, text: str) -> None:
    taking = Requests(tmp_path)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "1.json").write_text(text)
    with pytest.raises(StoreError, match="is no request"):
        taking.take()


def test_a_stop_is_for_the_whole_run(tmp_path: Path) -> None:
    stopped: list[bool] = []
    taking = Requests(tmp_path, lambda: stopped.append(True))
    ask(tmp_path, Request(0, True, "lunch"))
    assert taking.take() == [Request(0, True, "lunch")]
    assert not stopped
    ask(tmp_path, Request.stop("enough"))
    assert taking.take() == []
    assert stopped == [True]


def test_nobody_hears_where_no_loop_runs(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        require_loop(run.folder)
    with pytest.raises(StoreError, match="no loop works on"):
        require_loop(run.folder)
