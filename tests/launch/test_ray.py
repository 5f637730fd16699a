"""launch/ray/node, with a fake `ray` in a checkout that is set up."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

LAUNCH = Path(__file__).parents[2] / "launch"
SET_UP = """
fail() { printf "%s\\n" "$*" >&2; exit 1; }
set_up() { :; }
"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    shutil.copytree(LAUNCH, tmp_path / "launch")
    (tmp_path / "launch" / "setup.sh").write_text(SET_UP)
    ray = tmp_path / ".venv" / "bin" / "ray"
    ray.parent.mkdir(parents=True)
    ray.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    ray.chmod(0o755)
    return tmp_path / "launch" / "ray" / "node"


def said(node: Path, *words: str) -> list[str]:
    done = subprocess.run([node, *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_head_and_a_node_that_joins_it(node: Path) -> None:
    head = said(node, "head", "3", "--block")
    assert head[:2] == ["start", "--disable-usage-stats"]
    assert '--resources={"station": 3}' in head
    assert head[-3:] == ["--head", "--include-dashboard=false", "--block"]
    other = said(node, "10.0.0.1:6379", "16")
    assert '--resources={"station": 16}' in other
    assert other[-1] == "--address=10.0.0.1:6379"


def test_by_default_a_station_a_processor(node: Path) -> None:
    processors = subprocess.run(["getconf", "_NPROCESSORS_ONLN"], capture_output=True, text=True)
    (wanted,) = [w for w in said(node, "head", "--num-gpus=1") if w.startswith("--resources")]
    assert wanted == f'--resources={{"station": {processors.stdout.strip()}}}'


def test_it_stops_and_says_what_it_needs(node: Path) -> None:
    assert said(node, "stop") == ["stop"]
    done = subprocess.run([node], capture_output=True, text=True)
    assert done.returncode == 1
    assert "HOST:PORT" in done.stderr
