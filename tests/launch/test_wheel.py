"""The built wheel: one top-level package, with the packs inside it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {"robots": "robot.toml", "tasks": "task.py", "agents": "agent.toml", "sim": "world.toml"}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_only_enpire_is_importable(names: list[str]) -> None:
    assert {name.split("/")[0] for name in names} == {"enpire", "enpire-0.1.0.dist-info"}


def test_every_pack_is_carried(names: list[str]) -> None:
    packs = [path for kind, marker in KINDS.items() for path in ROOT.glob(f"{kind}/*/{marker}")]
    assert packs
    missing = {f"enpire/builtin_packs/{path.relative_to(ROOT)}" for path in packs} - set(names)
    assert not missing


def test_cards_and_variants_are_carried(names: list[str]) -> None:
    files = [*ROOT.glob("agents/literature/*.md"), *ROOT.glob("agents/tuner/variants/*.py")]
    assert len(files) > 80
    missing = {f"enpire/builtin_packs/{path.relative_to(ROOT)}" for path in files} - set(names)
    assert not missing


def test_pages_are_carried_with_their_parts(names: list[str]) -> None:
    parts = [p for kind in ("html", "css", "js", "svg") for p in ROOT.glob(f"enpire/**/*.{kind}")]
    assert len(parts) >= 8
    assert not {str(path.relative_to(ROOT)) for path in parts} - set(names)


def test_command_is_installed(names: list[str]) -> None:
    assert "enpire-0.1.0.dist-info/entry_points.txt" in names
