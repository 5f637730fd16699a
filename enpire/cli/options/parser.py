"""Reading options, with messages a person can act on."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from enpire.errors import UsageError
from enpire.packs.finder import unknown
from enpire.real_path import expanded
from enpire.session.task_starts import STARTS, task_from

if TYPE_CHECKING:
    from enpire.store import Run


class _HelpAll(argparse.Action):
    """Prints all of the help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(parser.format_help(), end="")
        parser.exit()


class _OldFrom(argparse.Action):
    """`--from` where it is `--begin` now."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        print(f"--from {values} is called --begin {values} now", file=sys.stderr)
        namespace.begin = values


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError, and knows the nearest option.

    gathers: what options begin with that the parser need not know, `--recipe.` for one; what they
    say is then in `gathered`, by that beginning, text by the rest of their names. everyday: what
    `--help` lists, by the names of its values, where the rest is left to `--help-all`.
    """

    gathers: tuple[str, ...] = ()
    everyday: tuple[str, ...] = ()

    def __init__(self, prog: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_argument("--help-all", action=_HelpAll, nargs=0, help=argparse.SUPPRESS)

    def print_help(self, file: Any = None) -> None:
        """Print the help, of a verb with many options without those that few need."""
        if not self.everyday:
            super().print_help(file)
            return
        short = Parser(self.prog, self.description or "")
        for each in self._actions:
            if each.dest in self.everyday:
                short._add_action(each)
        argparse.ArgumentParser.print_help(short, file)
        print(f"\nThere are more: {self.prog} --help-all", file=file)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; raises UsageError, for an argument without a letter too."""
        for before, word in zip((self.prog, *args), args, strict=False):
            if not word.strip() or (word.startswith("--") and word.endswith("=")):
                empty = word.rstrip("=") if word.strip() else before
                self.error(f"{empty} is given nothing: a variable of the shell that is not set?")
        args = [_expanded(word) for word in args]
        self._tell_twice(args)
        gathered: dict[str, dict[str, str]] = {}
        for begin in self.gathers:
            args, gathered[begin] = self._gather(list(args), begin)
        found, rest = self.parse_known_args(args, namespace)
        found.gathered = gathered
        if rest and rest[0].startswith("-"):
            known = [flag for flag in self._option_string_actions if flag.startswith("--")]
            raise UsageError(unknown("option", rest[0].split("=")[0], known))
        if rest:
            self.error(f"{rest[0]!r} is one argument too many")
        return found

    def _tell_twice(self, args: Sequence[str]) -> None:
        """Say which one counts of an option that is given twice with two values: the last."""
        said: dict[str, str] = {}
        for word, after in itertools.zip_longest(args, args[1:], fillvalue=""):
            flag, equals, value = word.partition("=")
            known = self._option_string_actions.get(flag)
            single = isinstance(known, argparse._StoreAction) and known.nargs is None
            if not (single or flag.startswith(self.gathers)):
                continue
            value = value if equals else after
            if said.get(flag, value) != value:
                print(
                    f"{flag} is given twice: {value} counts, {said[flag]} does not", file=sys.stderr
                )
            said[flag] = value

    def _gather(self, args: list[str], begin: str) -> tuple[list[str], dict[str, str]]:
        rest: list[str] = []
        gathered: dict[str, str] = {}
        given = iter(args)
        for word in given:
            name, equals, value = word.removeprefix(begin).partition("=")
            if not word.startswith(begin):
                rest.append(word)
            elif equals:
                gathered[name] = value
            else:
                gathered[name] = next(given, "")
        for name, value in gathered.items():
            if not value:
                self.error(f"{begin}{name} expects a value")
        return rest, gathered

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would have printed."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def _expanded(word: str) -> str:
    """Expand a word, or the value of `--run=~/runs/x`, which not every shell does."""
    flag, equals, value = word.partition("=")
    return f"{flag}={expanded(value)}" if equals and flag.startswith("--") else expanded(word)


def add_start(parser: argparse._ActionsContainer) -> None:
    """`--begin`, for `task_asked`; `--from`, as it was called, goes with 0.3."""
    add_begin(parser)
    parser.add_argument(
        "--from", dest="begin", choices=STARTS, action=_OldFrom, help=argparse.SUPPRESS
    )


def add_begin(parser: argparse._ActionsContainer) -> None:
    """`--begin`, for `task_asked`."""
    parser.add_argument(
        "--begin",
        choices=STARTS,
        help="where episodes begin: at the start of the whole task, or just before its hard "
        "phase (default)",
    )


def task_asked(options: argparse.Namespace, default: str = "") -> str:
    """What `--task` and `--begin` say together, as `find` takes it; default: without `--task`."""
    return task_from(options.task or default, options.begin or "")


def options_given(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return what the command line says of some options, by name; nothing of those left out."""
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def add_trust(parser: Parser) -> None:
    """The option that allows code of a run that was made elsewhere."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="run code that the run names by a path, even if it was made elsewhere or has changed",
    )


def print_notes(run: Run) -> None:
    """Say on stderr what opening a run for writing has found in its folder."""
    for note in run.notes:
        print(f"{run.folder}: {note}", file=sys.stderr)


def print_json(result: Mapping[str, Any]) -> None:
    """Print one object on one line; a number that is not finite becomes null."""
    print(json.dumps(finite(result), allow_nan=False), flush=True)


def finite(value: Any) -> Any:
    """Return a value with None for each number in it that is not finite: JSON has none."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
