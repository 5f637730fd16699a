"""`--json` of a verb that runs for long: lines of JSON on stdout, words for people on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any

from enpire.cli.options.parser import finite
from enpire.session.audience import Emit


@contextmanager
def json_lines(wanted: bool) -> Iterator[Emit | None]:
    """Have stdout hold nothing but lines of JSON in the block, if they are wanted.

    Yields what prints one; None where they are not wanted.
    """
    if not wanted:
        yield None
        return
    stdout = sys.stdout

    def emit(content: Mapping[str, Any]) -> None:
        print(json.dumps(finite(content), allow_nan=False), file=stdout, flush=True)

    with redirect_stdout(sys.stderr):
        yield emit
