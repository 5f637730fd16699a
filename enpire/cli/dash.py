"""`enpire dash [RUN|DIR]`: a live page on a run, or on a folder of runs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.errors import UsageError
from enpire.option_values import port
from enpire.session.graphics import choose_graphics

DESCRIPTION = """\
Serve a page for the browser that grows with a run: stations now, success against robot-hours,
rounds or experiments, the log, a search over episodes. Of a folder it shows the runs, side by side.
It reads the ledger and never writes it. Pausing and stopping need the token that is printed at the
start. /metrics is for Prometheus. Ctrl-C ends it; the runs go on."""

PORT = 8321


def add_options(parser: Parser) -> None:
    """The options of `enpire dash`."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("runs"),
        metavar="RUN|DIR",
        help="a run, or a folder of runs (default runs)",
    )
    parser.add_argument(
        "--port",
        type=port,
        default=PORT,
        metavar="N",
        help=f"port of the page; 0: any free one (default {PORT})",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen at; any but this machine's own shows nothing without the token "
        "(default 127.0.0.1)",
    )
    parser.add_argument(
        "--read-only", action="store_true", help="leave out the controls that pause and stop"
    )


def run(options: Namespace) -> int:
    """Serve until Ctrl-C."""
    try:
        import sse_starlette  # noqa: F401
    except ImportError as error:
        raise UsageError(f"{error.name} is not installed: pip install 'enpire[dash]'") from error
    choose_graphics()
    from enpire.dashboard.run_board import RunBoard
    from enpire.dashboard.serving import access_to, serve

    access = access_to(options.host, options.read_only)

    def say(address: str) -> None:
        print(f"{options.folder}: {address}", flush=True)
        if not access.private:
            print("The token travels unencrypted: trust the network, or use ssh -L.", flush=True)

    serve(RunBoard(options.folder), access, options.port, say)
    return 0
