"""Every planted fault is caught by the tests that are named for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.planted import ALL, Mutant

ROOT = Path(__file__).parents[2]
FEWEST = 30
FAILED = 1  # of pytest: tests ran, and some failed


def test_every_mutant_can_be_planted_and_names_tests_that_are_there() -> None:
    assert len(ALL) >= FEWEST
    assert len({mutant.name for mutant in ALL}) == len(ALL)
    for mutant in ALL:
        assert (ROOT / "enpire" / mutant.file).read_text().count(mutant.old) == 1, mutant.name
        for test in mutant.tests:
            file, _, name = test.partition("::")
            assert (ROOT / "tests" / file).exists(), test
            assert not name or f"def {name}(" in (ROOT / "tests" / file).read_text(), test


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files that are there, so that no mutant outlives its test."""
    copy = tmp_path_factory.mktemp("mutants") / "checkout"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, copy / name)
    tests = dict.fromkeys(test for mutant in ALL for test in mutant.tests)
    ended = _run(copy, tuple(tests), copy.parent / "scratch")
    assert ended.returncode == 0, "without a mutant all of them pass\n" + ended.stdout[-2000:]
    return copy


def _run(checkout: Path, tests: tuple[str, ...], scratch: Path) -> subprocess.CompletedProcess[str]:
    """Run tests of a checkout, until the first that fails."""
    paths = [f"tests/{test}" for test in tests]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", "--basetemp", str(scratch)]
    outer = {name for name in os.environ if name.startswith("PYTEST_")}  # of this very process
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *paths],
        cwd=checkout,
        env=environment | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mutant", ALL, ids=str)
def test_it_is_caught(mutant: Mutant, checkout: Path, tmp_path: Path) -> None:
    file = checkout / "enpire" / mutant.file
    before = file.read_text()
    file.write_text(before.replace(mutant.old, mutant.new))
    try:
        ended = _run(checkout, mutant.tests, tmp_path / "scratch")
    finally:
        file.write_text(before)
    assert ended.returncode == FAILED, ended.stdout[-2000:] + ended.stderr[-2000:]
