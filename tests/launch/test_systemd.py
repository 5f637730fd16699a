"""Units of unattended stations: systemd takes them, and they start nothing that moves by itself."""

from __future__ import annotations

import configparser
import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from enpire.cli.options.parser import Parser
from enpire.cli.verbs import VERBS

FOLDER = Path(__file__).parents[2] / "launch" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
PROGRAM = "/opt/enpire/.venv/bin/enpire"


def read(unit: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment]
    parser.read(unit)
    return parser


def test_there_are_three() -> None:
    names = [unit.name for unit in UNITS]
    assert names == [f"enpire-{what}@.service" for what in ("check", "loop", "stop")]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_nothing_begins_or_repeats_by_itself(unit: Path) -> None:
    said = read(unit)
    assert "Install" not in said, "a boot starts nothing"
    assert said["Service"].get("Restart", "no") == "no"
    assert said["Service"]["NoNewPrivileges"] == "yes"
    loop = read(FOLDER / "enpire-loop@.service")
    assert loop["Unit"]["Requires"] == loop["Unit"]["After"] == "enpire-check@%i.service"
    same = ("User", "RuntimeDirectory", "RuntimeDirectoryMode", "Environment", "WorkingDirectory")
    assert all(said["Service"][key] == loop["Service"][key] for key in same)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_what_it_starts_is_a_verb_with_options_that_there_are(unit: Path) -> None:
    program, verb, *words = read(unit)["Service"]["ExecStart"].split()
    assert program == PROGRAM
    parser = Parser(verb, "")
    importlib.import_module(f"enpire.cli.{VERBS[verb][0]}").add_options(parser)
    known = parser._option_string_actions
    if verb == "station":
        parser.parse_args(words)
    else:
        assert words[-1] == "$ENPIRE_LOOP"
        missing = {word for word in words if word.startswith("--")} - set(known)
        assert missing <= {"--station"}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_it(unit: Path, tmp_path: Path) -> None:
    for each in UNITS:
        (tmp_path / each.name).write_text(each.read_text().replace(PROGRAM, sys.executable))
    asked = ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    told = [line for line in done.stderr.splitlines() if "enpire" in line]
    assert not told
