"""The verb: a line a check, and 1 where something is bad."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from enpire.cli import doctor, main
from enpire.observe.machine import CheckState, MachineCheck

CHECKS = [
    MachineCheck("GL", CheckState.GOOD, "draws"),
    MachineCheck("GPU", CheckState.NOTE, "none", "buy one"),
]
BROKEN = MachineCheck("fsync", CheckState.BAD, "tmpfs", "another disk")


@pytest.mark.parametrize(("checks", "code"), [(CHECKS, 0), ([*CHECKS, BROKEN], 1)])
def test_it_ends_with_what_it_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    checks: list[MachineCheck],
    code: int,
) -> None:
    monkeypatch.setattr(doctor, "_checks", lambda _: iter(checks[:-1]))
    monkeypatch.setattr(doctor, "_timing", lambda: iter(checks[-1:]))
    assert main(["doctor", str(tmp_path)]) == code
    out = capsys.readouterr().out
    assert out.startswith("good  GL: draws\nnote  GPU: none\n      buy one\n")
    assert main(["doctor", str(tmp_path), "--json"]) == code
    said = json.loads(capsys.readouterr().out)["checks"]
    assert [each["state"] for each in said] == [str(check.state) for check in checks]


def test_it_wants_a_folder(tmp_path: Path) -> None:
    assert main(["doctor", str(tmp_path / "nothing")]) == 2
