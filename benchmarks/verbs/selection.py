"""`enpire bench selection`: which rule finds a better candidate with the fewest episodes."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from enpire.cli.options.parser import print_json


def run(options: Namespace) -> int:
    """Measure and print; the options are those of `enpire bench statistics`."""
    from benchmarks import selection as bench

    rows = list(bench.measure(options.runs, options.seed))
    print(bench.markdown(rows))
    if options.json:
        print_json({"rows": [asdict(row) for row in rows]})
    return 0
