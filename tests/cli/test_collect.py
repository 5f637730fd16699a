"""`enpire collect` as it is used: a script, a person at the page, and a policy between them."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

import enpire.people
from enpire.cli import main
from enpire.people import Page
from enpire.store import Run
from enpire.types import Outcome, Purpose


@pytest.mark.medium
def test_a_script_in_a_persons_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    asked = ["collect", "--task", "pick_cube", "--teleop", "script", "--run", str(folder)]
    assert main([*asked, "--episodes", "1", "--seed", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    with Run.open(folder) as run:
        (first,) = run.episodes()
    assert said["outcomes"] == {first.verdict.outcome: 1}
    assert first.verdict.outcome in (Outcome.SUCCESS, Outcome.FAILURE), "it was judged"
    assert main([*asked, "--episodes", "1", "--seed", "2"]) == 0
    with Run.open(folder) as run:
        made = list(run.episodes())
    assert [e.purpose for e in made] == [Purpose.DEMONSTRATION] * 2
    assert len({e.seed for e in made}) == 2
    assert main(["show", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["task"] == "pick_cube"
    assert main(["export", "lerobot", str(folder), str(tmp_path / "set")]) == 0
    assert "2 episodes" in capsys.readouterr().out


@pytest.mark.medium
def test_a_persons_keys_move_the_hand_until_it_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("enpire.people.LiveView", Blind)
    pages: list[Page] = []

    class Kept(Page):
        def __enter__(self) -> Kept:
            pages.append(self)
            super().__enter__()
            return self

    monkeypatch.setattr(enpire.people, "Page", Kept)

    def person() -> None:
        while not pages:
            time.sleep(0.02)

        def state() -> str:
            with urlopen(pages[0].address + "state", timeout=60) as answer:
                return str(json.load(answer)["line"])

        def hold(*keys: str) -> None:
            body = json.dumps({"held": keys}).encode()
            urlopen(pages[0].address + "hands", body, timeout=60).close()

        while "execute" not in state():
            time.sleep(0.02)
        for _ in range(20):
            hold("KeyR")
            time.sleep(0.05)
        hold("Enter")

    at_keys = threading.Thread(target=person)
    at_keys.start()
    folder = tmp_path / "run"
    asked = ["collect", "--task", "pick_cube", "--episodes", "1", "--run", str(folder)]
    assert main(asked) == 0
    at_keys.join()
    assert "open http://127.0.0.1:" in capsys.readouterr().out
    with Run.open(folder) as run:
        (episode,) = run.episodes()
    assert episode.policy == "person"
    assert episode.verdict.outcome is Outcome.FAILURE
    assert (episode.actions[:, 2] == 1.0).any()
    assert not episode.actions[:, :2].any()


class Blind:
    """A view on a machine without OpenGL."""

    def __init__(self, *given: object) -> None:
        pass

    def take(self, row: int) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give --task"),
        (["--task", "gym:CartPole-v1"], "task packs"),
        (["--task", "pick_cube", "--robots", "2"], "one station at a time"),
    ],
)
def test_what_cannot_be_is_refused(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", *words]) == 2
    assert says in capsys.readouterr().err
