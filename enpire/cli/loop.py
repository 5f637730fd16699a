"""`enpire loop`: reset → execute → verify → refine, until the target holds on sealed seeds."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.cli.helpers.json_lines import json_lines
from enpire.cli.helpers.report_file import report_line
from enpire.cli.helpers.summary import resume_command, summary
from enpire.cli.options.backends import add_arms, add_cluster, backend_of, backend_words
from enpire.cli.options.menagerie import add_menagerie, use_menagerie
from enpire.cli.options.parser import Parser, add_start, add_trust, options_given, task_asked
from enpire.cli.options.recording import add_recording, require_tracking
from enpire.cli.options.recovery import add_recovery
from enpire.cli.options.settings import add_setting
from enpire.errors import UsageError
from enpire.option_values import port
from enpire.session.audience import Audience
from enpire.session.graphics import choose_graphics
from enpire.session.improvement import LoopStart, begin_loop, resume_loop
from enpire.session.loop_settings import (
    BUDGETS,
    EVERYDAY,
    FIRST,
    GROUPS,
    HELPER,
    RECIPE,
    SETTINGS,
    flag,
)
from enpire.session.session import INTERRUPTED, NOT_REACHED
from enpire.session.teleop_options import FIELDS

if TYPE_CHECKING:
    from enpire.store import Run

DESCRIPTION = """\
Improve a policy by itself: demonstrations, a first policy, then rounds of collecting, training and
comparing on fresh seeds, until the target holds on sealed seeds or a budget ends. --policy begins
with one that is there, of a run or of LeRobot's; --demonstrations-of with another run's, or with
those of a dataset that was imported. Everything is recorded in a run folder; Ctrl-C loses nothing
and prints the command that goes on."""


def add_options(parser: Parser) -> None:
    """The options of `enpire loop`."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--task",
        metavar="NAME",
        help="task that the policy learns: its name or its folder, or gym:ENV_ID",
    )
    what.add_argument(
        "--resume", metavar="RUN", type=Path, help="go on with a run, under its own settings"
    )
    add_start(parser)
    add_recording(parser)
    add_cluster(parser)
    add_menagerie(parser)
    add_arms(parser)
    budgets = parser.add_argument_group(
        "budgets (none unless given; a resumed run may change them)"
    )
    for name, (read, shown, line) in BUDGETS.items():
        budgets.add_argument(flag(name), type=read, metavar=shown, help=line)
    add_recovery(parser, "when a physical reset has failed (a resumed run may be given others)")
    for title, names in GROUPS.items():
        group = parser.add_argument_group(
            title or "settings (a task's loop.toml may have other defaults)"
        )
        for name in names:
            add_setting(group, name)
    parser.add_argument(
        "--port",
        type=port,
        default=0,
        metavar="N",
        help="port of the page that --helper serves (default: any free one)",
    )
    parser.gathers = (RECIPE, FIRST, HELPER)
    parser.add_argument_group(
        "settings of the recipes",
        f"{RECIPE}SETTING VALUE, {FIRST}SETTING VALUE; enpire recipes show NAME lists them",
    )
    parser.add_argument_group("settings of a helper's device", f"{HELPER}SETTING VALUE: {FIELDS}")
    add_trust(parser)
    parser.everyday = ("task", "resume", "run", *BUDGETS, *EVERYDAY)


def run(options: Namespace) -> int:
    """Run the loop; returns the exit code."""
    with json_lines(options.json) as options.emit:
        return _run(options)


def _run(options: Namespace) -> int:
    choose_graphics()
    use_menagerie(options)
    require_tracking(options)
    given = options_given(options, SETTINGS)
    gathered = (RECIPE, "recipe"), (FIRST, "first_recipe"), (HELPER, "helper")
    for begin, name in ((begin, f"{of}_settings") for begin, of in gathered):
        if options.gathered[begin]:
            given[name] = options.gathered[begin]
    limits = options_given(options, BUDGETS)
    if options.resume is not None:
        clash = sorted(given) + (["run"] if options.run is not None else [])
        clash += ["begin"] if options.begin is not None else []
        if clash:
            raise UsageError(
                f"{flag(clash[0])} cannot be given with --resume: a run goes on under the "
                "settings in its config.toml; only budgets may change"
            )
    start = LoopStart(
        limits=limits,
        arms=options.station,
        audience=Audience(emit=options.emit),
        **options_given(options, ("run", "port", "recover", "recover_limit", "track", "trust")),
    )
    changed = limits if options.resume is not None else {}

    def tell(run: Run, figures: dict[str, Any]) -> None:
        command = resume_command(run.folder, changed, options.recover, backend_words(options))
        print(summary(run, figures, command))
        print(report_line(run))
        if options.emit is not None:
            options.emit(figures)

    with backend_of(options) as where:
        if options.resume is not None:
            end = resume_loop(options.resume, start, where, tell)
        else:
            end = begin_loop(task_asked(options), given, start, where, tell)
    if end.interrupted:
        return INTERRUPTED
    return 0 if end.reached else NOT_REACHED
