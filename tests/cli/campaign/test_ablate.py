"""`enpire ablate`: what it compares, and what it refuses before anything is begun."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from enpire.cli import main
from enpire.cli.campaign.ablate import arms_of


def options(**said: str) -> Namespace:
    nothing = dict.fromkeys(("agents", "recipes", "prompts", "without"))
    return Namespace(**nothing | said, no_sandbox=True)


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack of a program."""
    pack = tmp_path / "packs" / "agents" / "scripted"
    pack.mkdir(parents=True)
    (pack / "agent.toml").write_text('command = ["true"]')
    (pack / "prompt.md").write_text("{brief}")
    monkeypatch.setenv("ENPIRE_PACKS", str(tmp_path / "packs"))


def test_teams() -> None:
    what, arms = arms_of(options(agents="tuner:2,tuner:4", recipes="bc+replay_bc"))
    assert (what, [arm.name for arm in arms]) == ("agents", ["tuner:2", "tuner:4"])
    assert [arm.campaign["agents"] for arm in arms] == ["tuner:2", "tuner:4"]
    assert {arm.campaign["repertoire"] for arm in arms} == {"bc,replay_bc"}
    assert len({arm.folder for arm in arms}) == 2


def test_recipes() -> None:
    _, arms = arms_of(options(recipes="bc,bc+replay_bc"))
    assert [arm.campaign["repertoire"] for arm in arms] == ["bc", "bc,replay_bc"]


@pytest.mark.usefixtures("_installed")
def test_tools_are_left_out_one_at_a_time() -> None:
    _, arms = arms_of(options(agents="scripted", without="literature,board"))
    assert [arm.name for arm in arms] == ["everything", "without literature", "without board"]
    off = [arm.campaign.get("tools_off", ()) for arm in arms]
    assert off == [(), ("search_literature",), ("read_board", "post_finding")]


@pytest.mark.usefixtures("_installed")
def test_prompts_are_kept_as_text(tmp_path: Path) -> None:
    files = [tmp_path / "a.md", tmp_path / "b.md"]
    for file in files:
        file.write_text(f"{file.stem} {{brief}}")
    _, arms = arms_of(options(agents="scripted", prompts=",".join(map(str, files))))
    assert [arm.campaign["prompt"] for arm in arms] == ["a {brief}", "b {brief}"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "none of agents"),
        (["--agents", "tuner:2"], "vary one thing"),
        (["--agents", "tuner:2,tuner:4", "--recipes", "bc,rlpd"], "--agents and --recipes"),
        (["--without", "board"], "not for a tuner"),
        (["--agents", "tuner:2,nothing_such"], "nothing_such"),
        (["--agents", "tuner:2,tuner:4", "--max-time", "soon"], "duration"),
    ],
)
def test_what_compares_nothing_is_refused(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "bench"
    assert main(["ablate", "--task", "pick_cube", "--folder", str(folder), *words]) == 2
    assert why in capsys.readouterr().err
    assert not folder.exists()
