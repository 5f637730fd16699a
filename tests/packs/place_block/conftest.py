"""One station for all tests of the pack."""

from __future__ import annotations

import pytest

from enpire.environment import Stations, build_stations


@pytest.fixture(scope="package")
def stations() -> Stations:
    return build_stations("place_block", 1, 1)
