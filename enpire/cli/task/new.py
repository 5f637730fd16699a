"""`enpire new task NAME`: a pack of your own that runs as it stands.

With `--agent KIND` an agent drafts it from a sentence: `drafting.py`.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.cli.task.least_pack import make_least
from enpire.cli.task.pack_template import (
    NAME,
    require_free,
    require_robot,
    write_template,
)
from enpire.errors import UsageError
from enpire.option_values import duration, more_than_zero, tokens
from enpire.packs.finder import LOOP, unknown

DESCRIPTION = """\
task NAME: make ./tasks/NAME from the shortest task there is for the robot. It runs as it stands,
and comments that begin with YOURS say what to change; docs/new-task.md goes through them.
task --agent KIND "SENTENCE": an agent drafts it in a sandbox, under ./drafts. What the harness then
certifies is put into ./tasks; a person looks at it and signs it: enpire task sign."""

KINDS = ["task"]

LOOP_TOML = """\
# What `enpire loop` does with {name} unless told otherwise. Each line that is not a comment counts.
# recipe = "best_of_n"       # how a round improves the policy; "heuristic" wants a skill script
# demonstrations = 40        # that the first policy is made of
"""


def add_options(parser: Parser) -> None:
    """The options of `enpire new`."""
    parser.add_argument("kind", metavar="task", help="what to make")
    parser.add_argument(
        "name",
        metavar="NAME",
        help="name of small letters, digits and underscores; with --agent, a sentence that "
        "says what the task is",
    )
    parser.add_argument(
        "--robot",
        default="so101",
        metavar="R",
        help="robot pack that the task is for (default so101)",
    )
    agents = parser.add_argument_group("an agent that drafts it")
    agents.add_argument(
        "--agent", metavar="KIND", help="pack in agents/ that drafts the task, such as claude_code"
    )
    agents.add_argument(
        "--name",
        dest="called",
        metavar="NAME",
        help="name of the drafted task (default: made from the sentence)",
    )
    agents.add_argument(
        "--from",
        dest="draft",
        metavar="DRAFT",
        type=Path,
        help="draft to go on with; the sentence says what to do next",
    )
    agents.add_argument(
        "--max-time",
        type=duration,
        metavar="TIME",
        help="longest time that the agent may work: 30m, 2h",
    )
    agents.add_argument(
        "--max-tokens", type=tokens, metavar="N", help="most tokens that the agent's model may take"
    )
    agents.add_argument(
        "--max-dollars",
        type=more_than_zero,
        metavar="X",
        help="highest cost of the agent's model [dollars]",
    )


def run(options: Namespace) -> int:
    """Write the pack, or have it written, and say what to do with it."""
    if options.kind not in KINDS:
        raise UsageError(unknown("kind", options.kind, KINDS))
    if options.agent is not None:
        from enpire.cli.task.drafting import draft

        return draft(options)
    for name in ("called", "draft", "max_time", "max_tokens", "max_dollars"):
        if getattr(options, name) is not None:
            raise UsageError("--name, --from and --max-... are for --agent KIND")
    if not NAME.fullmatch(options.name):
        raise UsageError(f"{options.name!r} is no name for a task: write it like usb_insert")
    require_robot(options.robot)
    folder = require_free(options.name)
    source = write_template(folder, options.name, options.robot)
    make_least(folder)
    (folder / LOOP).write_text(LOOP_TOML.format(name=options.name), "utf-8")
    print(f"{folder}: made from {source}; it runs as it stands")
    print(f"enpire task check ./{folder}   # after every change")
    return 0
