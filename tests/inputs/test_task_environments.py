"""Tasks as environments of the catalogue; docs/inputs.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inputs.entry import Input, tried
from tests.inputs.task_environments import ALL

pytestmark = pytest.mark.medium


@pytest.mark.parametrize("one", ALL, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_each_ends_as_it_has_to(one: Input, tmp_path: Path) -> None:
    tried(one, tmp_path)
