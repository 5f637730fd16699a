"""requirements.lock, pyproject.toml and the package agree."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import enpire

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = dict(re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", LOCK, re.MULTILINE))


def test_lock_pins_every_dependency_within_its_bound() -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *chain.from_iterable(extras.values())]
    for requirement in map(Requirement, wanted):
        pin = PINS.get(canonicalize_name(requirement.name))
        assert pin, f"{requirement.name} is not in requirements.lock: compile it anew"
        assert requirement.specifier.contains(pin), f"{requirement} excludes the lock's {pin}"


def test_every_pin_has_a_hash() -> None:
    blocks = re.split(r"^(?=[a-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(PINS)
    assert all("--hash=sha256:" in block for block in blocks)


def test_lock_names_no_address() -> None:
    assert "://" not in LOCK
    assert not re.search(r"^--(index|extra-index|find-links)", LOCK, re.MULTILINE)


def test_version_is_the_packages() -> None:
    assert PROJECT["version"] == enpire.__version__
