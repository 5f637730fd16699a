"""The built wheel: one top-level package, with the packs inside it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {"robots": "robot.toml", "tasks": "task.py", "agents": "agent.toml", "sim": "world.toml"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
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


# Away from a checkout


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel, and of all else what this one has."""
    folder = tmp_path_factory.mktemp("away") / "environment"
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # A path alone: what is installed there by a .pth of its own, as a checkout is, is not found.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def said(python: Path, folder: Path, *arguments: str, code: int = 0) -> str:
    """What the command of the wheel says, in a folder that is nobody's."""
    inherited = {"PYTHONPATH", "ENPIRE_PACKS"}
    environment = {name: value for name, value in os.environ.items() if name not in inherited}
    command = [str(python), "-m", "enpire.cli", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.medium
def test_it_says_what_there_is_away_from_a_checkout(python: Path, tmp_path: Path) -> None:
    where = [str(python), "-c", "import enpire; print(enpire.__file__)"]
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        where, cwd=tmp_path, env=plain, capture_output=True, text=True, check=True
    )
    assert Path(found.stdout.strip()).is_relative_to(python.parents[1])
    assert "pick_cube" in said(python, tmp_path, "tasks")
    assert "so101" in said(python, tmp_path, "robots")
    assert "best_of_n" in said(python, tmp_path, "recipes")
    shown = said(python, tmp_path, "bench", "--help")
    assert "twin:" in shown
    assert "recipes:" not in shown, "what is not installed is not offered"
    assert "from a checkout" in said(python, tmp_path, "bench", "fleet", code=2)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_loop_and_its_report_away_from_a_checkout(python: Path, tmp_path: Path) -> None:
    """Its packs are those in the wheel; exit code 3 is a budget that ended."""
    little = ["--demonstrations", "6", "--start-episodes", "4", "--max-rounds", "1"]
    little += ["--collect", "4", "--max-pairs", "2", "--recipe", "bc", "--robots", "3"]
    little += ["--first-recipe.training.steps", "20", "--recipe.training.steps", "20"]
    asked = ["loop", "--task", "pick_cube", "--run", "run", *little]
    assert "pick_cube" in said(python, tmp_path, *asked, code=3)
    said(python, tmp_path, "report", "run")
    assert "pick_cube" in said(python, tmp_path, "show", "run")
    said(python, tmp_path, "fsck", "run")
