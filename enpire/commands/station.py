"""`enpire station pause RUN N` and `enpire station resume RUN N`, while a loop works on the run."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.commands.options import Parser, natural
from enpire.errors import StoreError, UsageError

DESCRIPTION = """\
Take a station of a running loop out of work after its episode, or put one back that was paused or
set aside, once its scene is set up. The other stations go on."""

PAUSE, RESUME = "pause", "resume"


def add_options(parser: Parser) -> None:
    """The options of `enpire station`."""
    parser.add_argument("what", choices=(PAUSE, RESUME))
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run that is under way")
    parser.add_argument("station", type=natural, metavar="N", help="number of the station, from 0")
    parser.add_argument("--why", metavar="TEXT", default="", help="for the record")


def run(options: Namespace) -> int:
    """Leave the request for the loop, which takes it at its next look."""
    from enpire.rollout.requests import Request, ask
    from enpire.store import Run, under_way

    with Run.open(options.run) as opened:
        robots = int(opened.config.get("loop", {}).get("robots", 0))
    if options.station >= robots:
        raise UsageError(f"{options.run} has no station {options.station}: 0 to {robots - 1}")
    if not under_way(options.run):
        raise StoreError(
            f"no loop works on {options.run}, so no station of it is aside: go on with "
            f"enpire loop --resume {options.run}"
        )
    reason = f"{options.what}d by a person" + (f": {options.why}" if options.why else "")
    ask(options.run, Request(options.station, options.what == PAUSE, reason))
    print(f"asked to {options.what} station {options.station}; enpire show {options.run} lists it")
    return 0
