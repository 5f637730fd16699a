"""Runs another module's `main` in a process of its own: `python -m enpire.quick_start MODULE`."""

from __future__ import annotations

import gc
import importlib
import sys


def main() -> None:
    """Import the module without the collector of garbage, and run it.

    What imports make stays. The collector would look at it again and again, for a seventh of the
    time that torch and all else takes to load.
    """
    gc.disable()
    module = importlib.import_module(sys.argv.pop(1))
    gc.freeze()
    gc.enable()
    module.main()


if __name__ == "__main__":
    main()
