"""A ChArUco board: a chessboard with a marker in each white square, so that parts of it will do."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from enpire.errors import UsageError
from enpire.types import FloatArray, Image

LEAST = 6  # corners in a picture that counts


@dataclass(frozen=True, slots=True)
class CharucoBoard:
    """columns, rows: of squares. square, marker: their sides [m]. dictionary: OpenCV's name."""

    columns: int
    rows: int
    square: float
    marker: float
    dictionary: str = "DICT_4X4_50"

    def __post_init__(self) -> None:
        names = [name for name in dir(cv2.aruco) if name.startswith("DICT_")]
        if self.dictionary not in names:
            raise UsageError(f"{self.dictionary} is no dictionary of OpenCV: {', '.join(names)}")
        if min(self.columns, self.rows) < 3 or not 0 < self.marker < self.square:
            raise UsageError("a board has 3 squares or more a side, and markers within squares")
        most = len(cv2.aruco.getPredefinedDictionary(self._number).bytesList)
        if self.columns * self.rows // 2 > most:
            raise UsageError(f"{self.dictionary} has {most} markers: too few for this board")

    @property
    def corners(self) -> FloatArray:
        """Where squares meet, (n, 3), in the board's frame [m]."""
        found: FloatArray = np.array(self._board.getChessboardCorners(), np.float64)
        return found

    def find(self, image: Image) -> tuple[FloatArray, FloatArray] | None:
        """Corners in a picture: in the board's frame (m, 3) [m], and pixels (m, 2); None if few."""
        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else image
        pixels, ids, _, _ = cv2.aruco.CharucoDetector(self._board).detectBoard(grey)
        if ids is None or len(ids) < LEAST:
            return None
        points = self.corners[ids[:, 0]]
        # OpenCV counts these from a pixel's corner, not its middle, at times: looked for once more.
        near = np.linalg.norm(pixels[1:] - pixels[:-1], axis=-1).min()
        reach = int(np.clip(near / 4, 2, 5))
        first = np.array(pixels, np.float32).reshape(-1, 1, 2).copy()
        fine = cv2.cornerSubPix(grey, first, (reach, reach), (-1, -1), (3, 50, 1e-3))
        if np.linalg.matrix_rank(points[:, :2] - points[:, :2].mean(0), tol=self.square / 2) < 2:
            return None  # all in one line
        return points, fine[:, 0].astype(np.float64)

    def picture(self, per_metre: float) -> Image:
        """The board as it is to be printed, (height, width), `per_metre` pixels a metre."""
        size = (
            round(self.columns * self.square * per_metre),
            round(self.rows * self.square * per_metre),
        )
        drawn: Image = self._board.generateImage(size).astype(np.uint8)
        return drawn

    @property
    def _number(self) -> int:
        return int(getattr(cv2.aruco, self.dictionary))

    @property
    def _board(self) -> cv2.aruco.CharucoBoard:
        markers = cv2.aruco.getPredefinedDictionary(self._number)
        return cv2.aruco.CharucoBoard((self.columns, self.rows), self.square, self.marker, markers)
