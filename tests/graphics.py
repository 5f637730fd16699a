"""Tests that render are skipped, with the reason, where nothing can be rendered."""

from __future__ import annotations

import pytest

from enpire.environment import Stations
from enpire.environment.cameras.twin_cameras import NoGraphics, TwinVerifierCameras


def verifier_cameras_of(stations: Stations) -> TwinVerifierCameras:
    """The cameras of some stations."""
    try:
        return TwinVerifierCameras(stations.twin)
    except NoGraphics as error:
        pytest.skip(str(error))
