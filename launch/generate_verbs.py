"""Write `docs/reference/verbs.md`, the page of all verbs, from the parser of the command line.

    python launch/generate_verbs.py

`tests/docs/test_verbs.py` holds the page against what this script makes.
"""

from __future__ import annotations

import argparse
import importlib
import os
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.cli.verbs import EXIT_CODES, VERBS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "verbs.md"

FURTHER = {
    "loop": ("explanation/loop.md", "improvement.md", "rollout.md"),
    "collect": ("people.md",),
    "campaign": ("evolution.md",),
    "campaign audit": ("evolution.md",),
    "ablate": ("evolution.md",),
    "replay": ("replay.md",),
    "doctor": ("guarantees.md",),
    "copy": ("reference/run-folder.md",),
    "fsck": ("reference/run-folder.md", "threat-model.md"),
    "dash": ("dashboard.md",),
    "eval": ("policies.md", "simulators.md"),
    "rank": ("statistics.md",),
    "stress": ("stress.md",),
    "export lerobot": ("lerobot.md",),
    "export policy": ("lerobot.md",),
    "import lerobot": ("lerobot.md", "inputs.md"),
    "serve policy": ("remote-policies.md",),
    "station": ("station.md", "safety.md"),
    "station calibrate": ("calibration.md",),
    "station teleop": ("lerobot-arms.md",),
    "twin explore": ("identification.md",),
    "twin fit": ("identification.md",),
    "twin gap": ("identification.md",),
    "task": ("new-task.md", "tasks.md"),
    "new": ("new-task.md", "evolution.md"),
    "tasks": ("tasks.md",),
    "recipes": ("improvement.md", "recipes.md"),
    "bench": ("performance.md", "statistics.md", "identification.md"),
}
"""Verb: the pages below `docs/` that say more."""


def page() -> str:
    """Return the whole page, as Markdown."""
    rows = [
        f"| [`enpire {verb}`](#{_anchor(verb)}) | {line} |" for verb, (_, line) in VERBS.items()
    ]
    return "\n".join(
        [
            "# Verbs",
            "",
            "`python launch/generate_verbs.py` makes this page from the command line.",
            "[The command line](command-line.md) describes what several verbs have in common.",
            "",
            "| verb | what it is for |",
            "|---|---|",
            *rows,
            "",
            *(line for verb in VERBS for line in _section(verb)),
            "## Exit codes",
            "",
            "```text",
            *EXIT_CODES.splitlines()[1:],
            "```",
            "",
        ]
    )


def _anchor(verb: str) -> str:
    return f"enpire-{verb.replace(' ', '-')}"


def _section(verb: str) -> list[str]:
    """Return the lines on one verb: what it does, its arguments, and where more is said."""
    module, line = VERBS[verb]
    command = importlib.import_module(f"enpire.cli.{module}")
    parser = Parser(f"enpire {verb}", command.DESCRIPTION or line)
    command.add_options(parser)
    lines = [f"## enpire {verb}", "", "```text", *parser.description.splitlines(), "```", ""]  # type: ignore[union-attr]
    for group in parser._action_groups:
        actions = [one for one in group._group_actions if one.help != argparse.SUPPRESS]
        actions = [one for one in actions if "--help" not in one.option_strings]
        if not actions and not group.description:
            continue
        lines += [f"*{_cell(group.title or 'options')}*", ""]
        if group.description:
            lines += [_cell(group.description), ""]
        if actions:
            lines += ["| | |", "|---|---|"]
            lines += [f"| {_name(one)} | {_cell(_help(one, parser))} |" for one in actions]
            lines.append("")
    if verb in FURTHER:
        links = (f"[{at}]({os.path.relpath(at, PAGE.parent.name)})" for at in FURTHER[verb])
        lines += [f"More: {', '.join(links)}.", ""]
    return lines


def _name(action: argparse.Action) -> str:
    """Return an option with its value, or an argument, as `--help` prints them."""
    value = action.metavar or (action.choices and "{" + ",".join(map(str, action.choices)) + "}")
    shown = " ".join(value) if isinstance(value, tuple) else str(value or action.dest.upper())
    flag = ", ".join(action.option_strings)
    name = flag if action.nargs == 0 else f"{flag} {shown}".strip()
    return f"<code>{name.replace('|', '&#124;')}</code>" if "|" in name else f"`{name}`"


def _help(action: argparse.Action, parser: Parser) -> str:
    """Return an argument's help with its default written in."""
    return parser._get_formatter()._expand_help(action) if action.help else ""


def _cell(text: str) -> str:
    """Return text on one line, without what Markdown would take for its own."""
    one = " ".join(text.split())
    for mark in ("|", "<", "*", "_"):
        one = one.replace(mark, f"\\{mark}")
    return one


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
