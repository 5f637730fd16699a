"""A drafted pack needs a person's signature, which counts for exactly what was looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from enpire.cli import main
from enpire.errors import PackError
from enpire.packs import CERTIFICATE, find
from enpire.packs.finder import SIGNATURE
from enpire.packs.signing import ANSWERED, DRAFTED, require_signed, standing
from enpire.session.signing import warn_unsigned


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "tasks" / "mine"
    folder.mkdir(parents=True)
    (folder / "task.py").write_text('"""Mine."""\n')
    (folder / DRAFTED).write_text('agent = "fake"\n')
    certify(folder)
    return folder


def certify(folder: Path, passed: bool = True) -> None:
    row = {"check": "nothing", "counted": "solved", "k": 0, "n": 9, "passed": passed}
    packs = {"tasks/mine": find("tasks", "mine").sha256}
    (folder / CERTIFICATE).write_text(json.dumps({"packs": packs, "versions": {}, "checks": [row]}))


def sign(sha256: str = "") -> int:
    sha256 = sha256 or find("tasks", "mine").sha256
    return main(["task", "sign", "mine", "--by", "Ada", "--hash", sha256])


def test_signed_and_void_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PackError, match="enpire task sign mine"):
        require_signed(find("tasks", "mine"))
    before = find("tasks", "mine").sha256
    assert sign() == 0
    assert find("tasks", "mine").sha256 == before
    require_signed(find("tasks", "mine"))
    assert main(["tasks"]) == 0
    assert "drafted, signed by Ada" in capsys.readouterr().out
    (folder / "task.py").write_text('"""Another."""\n')
    assert standing(find("tasks", "mine")) == "drafted, unsigned"
    with pytest.raises(PackError):
        require_signed(find("tasks", "mine"))


@pytest.mark.parametrize("name", [".hidden.py", "link.py", "__pycache__"])
def test_what_the_hash_does_not_tell_makes_it_void(folder: Path, name: str) -> None:
    assert sign() == 0
    if name == "link.py":
        (folder / name).symlink_to(folder)
    else:
        (folder / name).write_text("")
    assert sign() == 1
    with pytest.raises(PackError):
        require_signed(find("tasks", "mine"))


def test_refusals(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sign("0" * 64) == 2
    assert main(["task", "sign", "mine", "--by", "Ada"]) == 2
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert main(["task", "sign", "mine"]) == 2
    certify(folder, passed=False)
    assert sign() == 1
    (folder / CERTIFICATE).unlink()
    assert sign() == 1
    assert not (folder / SIGNATURE).exists()


def test_a_certificate_made_anew_is_signed_anew(folder: Path) -> None:
    assert sign() == 0
    (folder / CERTIFICATE).write_text("{}")
    assert standing(find("tasks", "mine")) == "drafted, unsigned"


def test_what_a_person_wrote_needs_none(folder: Path) -> None:
    (folder / DRAFTED).unlink()
    require_signed(find("tasks", "mine"))
    assert standing(find("tasks", "mine")) == ""


def test_one_line_where_a_twin_runs_it_unsigned(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warn_unsigned("mine")
    assert capsys.readouterr().err == "", "it will be refused"
    monkeypatch.setenv(ANSWERED, "1")
    warn_unsigned("mine")
    assert capsys.readouterr().err.count("drafted by an agent, unsigned") == 1
    assert sign() == 0
    capsys.readouterr()
    warn_unsigned("mine")
    warn_unsigned("gym:CartPole-v1")
    assert capsys.readouterr().err == ""
