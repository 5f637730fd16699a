"""control_msgs for tests: an installation's, or built here once and kept in pytest's cache."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "launch" / "ros2" / "control_msgs"


def require_control_msgs(config: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have it importable, here and in processes that are started; or skip the test."""
    if importlib.util.find_spec("control_msgs") is not None:
        return
    for program in ("gcc", "g++"):
        if shutil.which(program) is None:
            pytest.skip(f"no control_msgs, and no {program} to build it")
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        pytest.skip("no control_msgs, and no Python.h to build it")
    if importlib.util.find_spec("rosidl_generator_py") is None:
        pytest.skip("no control_msgs, and no rosidl_generator_py to build it")
    files = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".py", ".msg", ".action"))
    versions = f"{sys.version}{importlib.metadata.version('ros-rosidl-generator-py')}{sys.prefix}"
    key = hashlib.sha256(b"".join(f.read_bytes() for f in files) + versions.encode()).hexdigest()
    assert config.cache is not None
    folder = config.cache.mkdir("control_msgs") / key[:16]
    if not (folder / "control_msgs").is_dir():
        built = subprocess.run(
            [sys.executable, str(FOLDER / "build.py"), str(folder)], capture_output=True, text=True
        )
        # Whoever else builds it at the same time may have been faster.
        assert (folder / "control_msgs").is_dir(), built.stderr
    monkeypatch.syspath_prepend(str(folder))
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), before])))
