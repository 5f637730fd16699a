"""A campaign in a process of its own, to be killed: `python -m tests.evolution.killable FOLDER`.

With `coded` after it, agents bring code too, and no policy is good enough to end it early.
"""

from __future__ import annotations

import sys
from pathlib import Path

from enpire.evolution.experiments import unbiased_estimate
from enpire.improvement.training_process import SubprocessTrainer

from .coded import LEAVES, STILL, TOWARDS, Coder
from .moving import FAST, SLOW, TINY, Steps, go

PLAN = {"one": [-1.0, FAST], "two": [SLOW]}
CODED = {"three": [STILL, TOWARDS, STILL, TOWARDS], "four": [LEAVES, LEAVES]}


class Lines(Steps):
    """Prints a line at each step, so that whoever kills it knows how far it is."""

    deadly = True

    def step(self, *_: object) -> None:
        print(".", flush=True)


def main() -> None:
    """Start or continue it, to its end."""
    unbiased_estimate.ENOUGH = 8
    with SubprocessTrainer() as trainer:
        if sys.argv[2:] == ["coded"]:
            others = [Coder(name, texts) for name, texts in CODED.items()]
            endless = TINY.but(target=1.01)
            go(Path(sys.argv[1]), PLAN, Lines(), endless, others=others, trainer=trainer)
        else:
            go(Path(sys.argv[1]), PLAN, Lines(), trainer=trainer)


if __name__ == "__main__":
    main()
