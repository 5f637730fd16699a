"""Tests that render are skipped, with the reason, where nothing can be rendered."""

from __future__ import annotations

import pytest

from enpire.environment import Stations
from enpire.environment.cameras.twin_cameras import NoGraphics, TwinEyes


def eyes_of(stations: Stations) -> TwinEyes:
    """The cameras of some stations."""
    try:
        return TwinEyes(stations.twin)
    except NoGraphics as error:
        pytest.skip(str(error))
