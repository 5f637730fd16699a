"""A sheet of pictures: all of them, whole, each with its words."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.observe.contact_sheet import SheetTile, captioned, contact_sheet

HEIGHT, WIDTH = 40, 64


def _tile(level: int) -> SheetTile:
    return SheetTile(np.full((HEIGHT, WIDTH, 3), level, np.uint8), ("on_bench: lifted", "an id"))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_picture_is_there(count: int) -> None:
    levels = [10 + 20 * at for at in range(count)]
    sheet = contact_sheet([_tile(level) for level in levels], "policy-1: failures")
    for level in levels:
        assert (sheet == level).all(axis=2).sum() >= HEIGHT * WIDTH


def test_words_are_written_below() -> None:
    plain = SheetTile(_tile(200).image, ("", ""))
    with_words, without = contact_sheet([_tile(200)], ""), contact_sheet([plain], "")
    assert with_words.shape == without.shape
    changed = (with_words != without).any(axis=2)
    assert changed.any()
    assert not changed[without[..., 0] == 200].any(), "no picture is written over"


def test_a_caption_darkens_the_lower_edge_only() -> None:
    image = np.full((100, 200, 3), 200, np.uint8)
    shown = captioned(image, "policy-1, 2.0 s – ok")
    assert (shown[:70] == 200).all()
    assert shown[-10:].mean() < 120
    assert (image == 200).all(), "the picture itself is left as it is"
