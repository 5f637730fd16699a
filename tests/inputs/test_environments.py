"""Gymnasium environments of the catalogue; docs/inputs.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inputs.entry import Input, tried
from tests.inputs.environments import ALL, acted


@pytest.mark.parametrize("one", ALL, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_each_ends_as_it_has_to(one: Input, tmp_path: Path) -> None:
    tried(one, tmp_path)


def test_a_whole_number_is_the_nearest(tmp_path: Path) -> None:
    """And not the one below, by which the last would hardly ever come."""
    assert acted(tmp_path) == [0, 1, 2, 3, 3]
