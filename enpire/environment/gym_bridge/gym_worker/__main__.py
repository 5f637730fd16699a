"""Serves an environment: `python .../gym_worker ENV_ID STATIONS KEY [SCRIPT]`."""

from __future__ import annotations

import importlib
import os
import sys


def main() -> None:
    """Serve; what libraries print goes to stderr, so that it cannot mix with the answers."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[0] = os.path.dirname(folder)
    serving = importlib.import_module(f"{os.path.basename(folder)}.serving")
    sys.path[0] = os.getcwd()  # where modules are looked for, instead of this package's folder
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    serving.serve(asked, answers, sys.argv[1], int(sys.argv[2]), *sys.argv[3:5])


if __name__ == "__main__":
    main()
