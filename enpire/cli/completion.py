"""`enpire completion SHELL`: the script by which a shell completes verbs, options and names."""

from __future__ import annotations

import importlib
from argparse import Action, Namespace
from pathlib import Path
from typing import Any

from enpire.cli.options.parser import Parser
from enpire.cli.verbs import VERBS

SHELLS = ("bash", "zsh", "fish")

DESCRIPTION = """\
Print the script that completes verbs, options, tasks and files in a shell. Keep it where the shell
looks for such scripts:
  bash  enpire completion bash > ~/.local/share/bash-completion/completions/enpire
  zsh   enpire completion zsh > ~/.zfunc/_enpire     (with fpath+=~/.zfunc before compinit)
  fish  enpire completion fish > ~/.config/fish/completions/enpire.fish"""


def add_options(parser: Parser) -> None:
    """The options of `enpire completion`."""
    parser.add_argument("shell", choices=SHELLS, help="shell to print the script for")


def run(options: Namespace) -> int:
    """Print the script."""
    import shtab

    print(shtab.complete(whole_parser(), options.shell))
    return 0


def whole_parser() -> Parser:
    """Return one parser of all verbs: a verb of two words is a verb of its first one."""
    root = Parser("enpire", "Robot policies that improve themselves")
    below = root.add_subparsers(metavar="VERB")
    groups: dict[str, Any] = {}
    for verb, (module, line) in VERBS.items():
        first, _, second = verb.partition(" ")
        command = importlib.import_module(f"enpire.cli.{module}")
        if second:
            if first not in groups:
                group = below.add_parser(first, help=f"{first} ...", description=first)
                groups[first] = group.add_subparsers()
            _add(groups[first], second, line, command)
        elif any(other.startswith(f"{verb} ") for other in VERBS):
            groups[verb] = _group(below, verb, line, command)
        else:
            _add(below, verb, line, command)
    return root


def _add(below: Any, name: str, line: str, command: Any, without: str = "") -> Parser:
    """Add one verb; without: what it begins with that is known already."""
    parser: Parser = below.add_parser(name, help=line, description=line)
    command.add_options(parser)
    for action in list(parser._actions):
        if action.dest == without:
            parser._remove_action(action)
        else:
            _complete(action)
    return parser


def _group(below: Any, verb: str, line: str, command: Any) -> Any:
    """Add a verb that others begin with; returns where those are added.

    Where it begins with a word of a few, such as `station pause`, each is a verb of its own.
    """
    alone = Parser(verb, line)
    command.add_options(alone)
    words = next((a for a in alone._actions if not a.option_strings and a.choices), None)
    if words is None:
        return _add(below, verb, line, command).add_subparsers()
    parser = below.add_parser(verb, help=line, description=line)
    group = parser.add_subparsers()
    for word in words.choices or ():
        _add(group, str(word), line, command, without=words.dest)
    return group


def _complete(action: Action) -> None:
    """Say what an argument is completed by."""
    import shtab

    if action.dest == "task" and action.choices is None:
        from enpire.packs.finder import available

        action.choices = available("tasks")
    elif action.type is Path:
        action.complete = shtab.FILE  # type: ignore[attr-defined]
