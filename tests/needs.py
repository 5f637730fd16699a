"""Which files of tests are left out where a package is not installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(package: str) -> None:
    """Skip the file that calls this unless there is a package, without importing it.

    Every worker reads every file, and `pytest.importorskip` would have each of them import what
    one of them needs.
    """
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)
