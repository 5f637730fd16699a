"""A live view of twins: what the world's cameras see of the station that is shown, as JPEG."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

import cv2
import numpy as np

from enpire.environment.cameras.twin_cameras import SAMPLES, Renderings, calibrated
from enpire.environment.stations.stations import Stations
from enpire.errors import EnpireError
from enpire.types import Image

SIZE = (480, 360)  # of one camera's picture [px]
QUALITY = 80  # of a JPEG


class LiveView:
    """Renders beside the stations, and no more than the machine can."""

    def __init__(self, stations: Stations, show: Callable[[bytes], None]) -> None:
        """show: is given each picture, on the thread that renders.

        Raises:
            NoGraphics: this machine cannot render.
        """
        twin = stations.twin
        model = copy.copy(twin.model)
        model.vis.quality.offsamples = SAMPLES
        names = [camera.name for camera in calibrated(twin.model)]
        self._stations, self._show = stations, show
        self._renderings = Renderings(twin, model, names, SIZE, shadows=False)
        self._under_way: Future[None] | None = None

    def take(self, row: int) -> None:
        """Take a picture of station `row` as it is now, between two ticks; returns at once."""
        if self._under_way is not None:
            if not self._under_way.done():
                return
            self._under_way.result()
        self._stations.wait()
        self._under_way = self._renderings.of(row, self._show_images)

    def close(self) -> None:
        """Give back the OpenGL context."""
        with suppress(EnpireError):
            self._renderings.close()

    def _show_images(self, images: list[Image]) -> None:
        self._show(jpeg(np.concatenate(images, axis=1)))


def jpeg(image: Image) -> bytes:
    """A picture (height, width, 3), red green blue, as JPEG."""
    _, data = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return bytes(data)
