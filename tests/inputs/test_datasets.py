"""LeRobot datasets of the catalogue; docs/inputs.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inputs import datasets, movements, recordings
from tests.inputs.entry import Input, tried


@pytest.mark.parametrize("one", [*datasets.ALL, *recordings.ALL, *movements.ALL], ids=str)
def test_each_ends_as_it_has_to(one: Input, tmp_path: Path) -> None:
    tried(one, tmp_path)
