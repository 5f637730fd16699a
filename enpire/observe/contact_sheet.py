"""Many small pictures on one sheet, each with some lines of text below it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from enpire.types import Image

GAP = 8  # between tiles [px]
LINE = 17  # height of a line of text [px]
LETTER = 7.6  # width of a letter, roughly [px]
FONT, SIZE = cv2.FONT_HERSHEY_SIMPLEX, 0.42
PAPER, INK = (250, 250, 248), (40, 40, 44)


@dataclass(frozen=True, slots=True, eq=False)
class SheetTile:
    """One picture, (height, width, 3), and what stands below it."""

    image: Image
    lines: tuple[str, ...]


def contact_sheet(tiles: Sequence[SheetTile], title: str) -> Image:
    """Return all tiles in rows, about as wide as the sheet is high, below a title.

    tiles: one or more, of pictures of one size.
    """
    height, width, _ = tiles[0].image.shape
    below = LINE * max(len(tile.lines) for tile in tiles) + 4
    columns = max(2, math.ceil(math.sqrt(len(tiles) * (height + below) / width)))
    rows = math.ceil(len(tiles) / columns)
    head = 2 * LINE + GAP
    size = head + rows * (height + below + GAP), GAP + columns * (width + GAP), 3
    sheet: Image = np.empty(size, np.uint8)
    sheet[:] = PAPER
    _write(sheet, title, GAP, GAP + LINE, size[1] - 2 * GAP)
    for at, tile in enumerate(tiles):
        row, column = divmod(at, columns)
        top, left = head + row * (height + below + GAP), GAP + column * (width + GAP)
        sheet[top : top + height, left : left + width] = tile.image
        for number, words in enumerate(tile.lines):
            _write(sheet, words, left, top + height + (number + 1) * LINE - 3, width)
    return sheet


def captioned(image: Image, words: str) -> Image:
    """Return a picture with a line of text in a dark bar at its lower edge."""
    shown = image.copy()
    bar = shown[-LINE - 5 :]
    bar[:] = (0.35 * bar).astype(np.uint8)
    _write(shown, words, 6, len(shown) - 7, shown.shape[1] - 12, (255, 255, 255))
    return shown


def _write(
    image: Image, words: str, x: int, y: int, room: int, ink: tuple[int, int, int] = INK
) -> None:
    """Write a line, cut to `room` [px], with its lower left corner at (x, y)."""
    most = max(int(room / LETTER), 4)
    text = words if len(words) <= most else words[: most - 2] + ".."
    plain = text.encode("ascii", "replace").decode()  # the font has no other letters
    cv2.putText(image, plain, (x, y), FONT, SIZE, ink, 1, cv2.LINE_AA)
