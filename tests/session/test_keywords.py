"""Keywords are read as options are, from Python's own values."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.errors import UsageError
from enpire.option_values import duration, number_or_auto, positive, share, spell
from enpire.session.keywords import Reader, as_text, read_keyword, read_path, read_paths


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (positive, 3, 3),
        (positive, "3", 3),
        (positive, np.int64(3), 3),
        (share, 0.25, 0.25),
        (share, np.float32(0.5), 0.5),
        (number_or_auto, "auto", 0),
        (duration, 90, 90.0),
        (duration, 0.5, 0.5),
        (duration, "1h30m", 5400.0),
        (duration, 1e6, 1e6),
        (spell, 0, 0.0),
        (spell, 0.0, 0.0),
        (spell, "8s", 8.0),
        (str, Path("a/b"), "a/b"),
        (bool, True, True),
        (read_path, "a", Path("a")),
        (read_paths, "a", [Path("a")]),
        (read_paths, ["a", Path("b")], [Path("a"), Path("b")]),
    ],
)
def test_a_value_is_read(read: Reader, value: Any, expected: Any) -> None:
    found = read_keyword("name", value, read)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (positive, 0),
        (positive, 1.5),
        (positive, True),
        (positive, None),
        (positive, np.array([1, 2])),
        (positive, "many"),
        (share, np.nan),
        (share, 2),
        (duration, 0),
        (duration, -1.0),
        (duration, float("inf")),
        (spell, -1),
        (str, 3),
        (bool, 1),
        (read_path, 3),
        (read_paths, 3),
        (read_paths, [3]),
    ],
)
def test_what_makes_no_sense_is_one_sentence_that_names_it(read: Reader, value: Any) -> None:
    with pytest.raises(UsageError) as raised:
        read_keyword("name", value, read)
    assert str(raised.value).startswith("name=")
    assert "\n" not in str(raised.value)


def test_a_text_is_a_text_or_a_path() -> None:
    assert as_text("task", b"x".decode()) == as_text("task", Path("x")) == "x"
    with pytest.raises(UsageError, match="give a text or a path"):
        as_text("task", Namespace())
