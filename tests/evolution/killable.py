"""A campaign in a process of its own, to be killed: `python -m tests.evolution.killable FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from enpire.evolution import fresh
from enpire.improvement.training import Beside

from .moving import FAST, SLOW, Steps, go

PLAN = {"one": [-1.0, FAST], "two": [SLOW]}


class Lines(Steps):
    """Prints a line at each step, so that whoever kills it knows how far it is."""

    deadly = True

    def step(self, *_: object) -> None:
        print(".", flush=True)


def main() -> None:
    """Start or continue it, to its end."""
    fresh.ENOUGH = 8
    with Beside() as trainer:
        go(Path(sys.argv[1]), PLAN, Lines(), trainer=trainer)


if __name__ == "__main__":
    main()
