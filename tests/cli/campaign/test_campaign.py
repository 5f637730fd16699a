"""`enpire campaign`: what it asks for, and what it refuses before anything is begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.cli import main
from enpire.cli.campaign import agents, campaign
from enpire.sandbox import sandbox
from enpire.sandbox.sandbox import Availability
from enpire.session.loop_settings import BUDGETS, SETTINGS
from enpire.store import Run


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The error of a command that is refused."""
    assert main(["campaign", *words]) == 2
    return capsys.readouterr().err


def test_its_settings_are_those_of_a_loop() -> None:
    assert set(campaign.OF_CAMPAIGN) <= SETTINGS.keys()
    assert {"max_time", "max_robot_hours"} <= campaign.BUDGETS.keys() & BUDGETS.keys()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--agents", "tuner:0"], "KIND:HOW_MANY"),
        (["--agents", "nothing_such"], "nothing_such"),
        (["--max-dollars", "0"], "above 0"),
        (["--max-rounds", "3"], "--max-rounds"),
        (["--from", "nothing/such"], "nothing/such"),
        (["--from", "start", "--from", "phase"], "one of start and phase"),
        (["--without", "board"], "not for a tuner"),
        (["--without", "everything"], "literature"),
        (["--prompt", "nothing_such.md"], "nothing_such.md"),
    ],
)
def test_what_is_not_there_is_refused(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    assert why in said(capsys, "--task", "pick_cube", "--run", str(folder), *words)
    assert not folder.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--seed", "1"],
        ["--agents", "tuner:2"],
        ["--recipe.lr", "1"],
        ["--begin", "start"],
        ["--without", "board"],
    ],
)
def test_a_campaign_goes_on_under_its_own_settings(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    error = said(capsys, "--resume", str(tmp_path), *words)
    assert "only budgets may change" in error


def test_a_loop_is_no_campaign(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Run.create(tmp_path / "run", {"loop": {}}).close()
    assert main(["campaign", "--resume", str(tmp_path / "run")]) == 1
    assert "is no campaign" in capsys.readouterr().err


def test_programs_do_not_start_without_walls_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from enpire.errors import UsageError

    monkeypatch.setattr(sandbox, "available", lambda: Availability(False, "no bwrap"))
    named = [("scripted-0", "scripted"), ("tuner-0", "tuner")]
    with pytest.raises(UsageError, match=r"no bwrap.*--no-sandbox"):
        agents.confinement_of(named, False)
    assert "not sandboxed" in agents.confinement_of(named, True)
    assert agents.confinement_of(named[1:], False) == agents.NOBODY
