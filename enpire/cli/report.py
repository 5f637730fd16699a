"""`enpire report RUN`: one page on a run, to look at and to pass on."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.cli.helpers.pdf import find_browser, print_page
from enpire.cli.helpers.report_file import FILE, write_report
from enpire.cli.options.parser import Parser
from enpire.errors import UsageError
from enpire.session.graphics import choose_graphics
from enpire.session.progress_bar import progress_bar

DESCRIPTION = """\
Write one HTML file on a run: the answer first, success against robot-hours, stations, failures with
frames and margins, where it fails, the verifier, experiments of a campaign, safety events. The file
needs no other one and no network. Every loop and campaign writes it by itself when it ends."""


def add_options(parser: Parser) -> None:
    """The options of `enpire report`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run, running or not")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.html", help=f"file to write (default RUN/{FILE})"
    )
    parser.add_argument(
        "--pdf",
        action="store_true",
        help="print the page to a PDF beside it too, with a Chromium or Chrome that is installed",
    )
    parser.add_argument(
        "--no-frames",
        action="store_true",
        help="leave out pictures of failures, which are carried out again for them",
    )


def run(options: Namespace) -> int:
    """Write the report, and print where it is."""
    if options.output is not None and options.output.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{options.output} is no HTML file: give a name that ends in .html")
    browser = find_browser() if options.pdf else ""
    choose_graphics()
    from enpire.store import Run

    with Run.open(options.run) as opened, progress_bar("writing the report"):
        path = write_report(opened, options.output, frames=not options.no_frames)
    print(path)
    if browser:
        with progress_bar("printing it"):
            printed = print_page(browser, path)
        print(printed)
    return 0
