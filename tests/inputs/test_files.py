"""Files of robots, worlds, stations, agents, loops and tasks of the catalogue; docs/inputs.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inputs.entry import Input, tried
from tests.inputs.files import FILES, TASKS

pytestmark = pytest.mark.medium


@pytest.mark.parametrize("one", [*FILES, *TASKS], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_each_ends_as_it_has_to(one: Input, tmp_path: Path) -> None:
    tried(one, tmp_path)
