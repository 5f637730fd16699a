"""Reading options, with messages a person can act on."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from enpire.errors import UsageError
from enpire.packs.finder import AT_START, unknown

if TYPE_CHECKING:
    from enpire.store import Run

RESETS = ("fast", "physical")
VERIFIERS = ("sensors", "cameras")
PACES = ("free", "real")
BOUNDS = ("point", "lower")
AUTO = "auto"
STARTS = ("start", "phase")
CHUNK = 8  # actions; `ChunkSpec` has it too, which takes long to import
LARGEST = 2**63 - 1  # a whole number: the ledger and TOML keep no larger one
LONGEST_S = 1e10  # a duration: three centuries
PORTS = 2**16
SHOWN = 20  # characters of a number in a message
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError, and knows the nearest option.

    gathers: what options begin with that the parser need not know, `--recipe.` for one; what they
    say is then in `gathered`, by that beginning, text by the rest of their names.
    """

    gathers: tuple[str, ...] = ()

    def __init__(self, prog: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; raises UsageError, for an argument without a letter too."""
        for before, word in zip((self.prog, *args), args, strict=False):
            if not word.strip() or (word.startswith("--") and word.endswith("=")):
                empty = word.rstrip("=") if word.strip() else before
                self.error(f"{empty} is given nothing: a variable of the shell that is not set?")
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


def duration(text: str) -> float:
    """Seconds of `90s`, `30m`, `10h` or `1h30m`."""
    parts = _DURATION.findall(text)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    whole = "".join(number + unit for number, unit in parts) == text
    if not whole or not 0.0 < seconds <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration: write 90s, 30m or 10h")
    return seconds


def spell(text: str) -> float:
    """Seconds as `duration`, or 0 for none at all."""
    return 0.0 if text == "0" else duration(text)


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """A whole number of at least 0."""
    return _whole(text, 0)


def port(text: str) -> int:
    """A port's number; 0 for any that is free."""
    number = natural(text)
    if number >= PORTS:
        raise argparse.ArgumentTypeError(f"{number} is no port: give 0 to {PORTS - 1}")
    return number


def of_a_chunk(text: str) -> int:
    """How many of a chunk's eight actions are carried out."""
    number = positive(text)
    if number > CHUNK:
        raise argparse.ArgumentTypeError(f"{text}: a chunk has {CHUNK} actions")
    return number


def number_or_auto(text: str) -> int:
    """A whole number of at least 1, or 0 for `auto`."""
    return 0 if text == AUTO else positive(text)


def bound(text: str) -> str:
    """`point` or `lower`."""
    if text not in BOUNDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no kind of bound: {' or '.join(BOUNDS)}")
    return text


def no_or_one(text: str) -> int:
    """0 or 1."""
    if text not in ("0", "1"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither 0 nor 1")
    return int(text)


def any_number(text: str) -> float:
    """A finite number."""
    value = _number(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text} is out of range: give a finite number")
    return value


def more_than_zero(text: str) -> float:
    """A finite number above 0."""
    value = _number(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is out of range: give a number above 0")
    return value


def share(text: str) -> float:
    """A number from 0 to 1."""
    value = _number(text)
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is out of range: give 0 to 1")
    return value


def part(text: str) -> float:
    """A number from 0 to below 1."""
    value = _number(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is out of range: give 0 or more, below 1")
    return value


def rate(text: str) -> float:
    """A success rate in (0, 1]."""
    value = _number(text)
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is no success rate: give one above 0, at most 1")
    return value


def level(text: str) -> float:
    """A probability strictly between 0 and 1."""
    value = _number(text)
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is out of range: give one between 0 and 1")
    return value


def reset_mode(text: str) -> str:
    """`fast` or `physical`."""
    if text not in RESETS:
        raise argparse.ArgumentTypeError(f"{text!r} is no kind of reset: {' or '.join(RESETS)}")
    return text


def verifier(text: str) -> str:
    """`sensors` or `cameras`."""
    if text not in VERIFIERS:
        raise argparse.ArgumentTypeError(f"{text!r} verifies nothing: {' or '.join(VERIFIERS)}")
    return text


def pace(text: str) -> str:
    """`free` or `real`."""
    if text not in PACES:
        raise argparse.ArgumentTypeError(f"{text!r} is no pace: {' or '.join(PACES)}")
    return text


def add_start(parser: argparse._ActionsContainer) -> None:
    """`--from`, for `task_asked`."""
    parser.add_argument(
        "--from",
        dest="begin",
        choices=STARTS,
        help="the start of the whole task, or just before its hard phase (default)",
    )


def task_asked(options: argparse.Namespace, default: str = "") -> str:
    """What `--task` and `--from` say together, as `find` takes it; default: without `--task`."""
    task: str = options.task or default
    if options.begin is None or not task:
        return task
    return task.removesuffix(AT_START) + (AT_START if options.begin == "start" else "")


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"{value} is too few: give at least {least}")
    if value > LARGEST:
        raise argparse.ArgumentTypeError(f"{text[:SHOWN]}: give at most {LARGEST}")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None


def add_trust(parser: Parser) -> None:
    """The option that allows code of a run that was made elsewhere."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="run code that the run names by a path, though it was made elsewhere or has changed",
    )


def print_notes(run: Run) -> None:
    """Say on stderr what opening a run for writing has found in its folder."""
    for note in run.notes:
        print(f"{run.folder}: {note}", file=sys.stderr)


def print_json(result: Mapping[str, Any]) -> None:
    """Print one object on one line; a number that is not finite becomes null."""
    print(json.dumps(finite(result), allow_nan=False), flush=True)


def finite(value: Any) -> Any:
    """With None for each number in it that is not finite: JSON has none."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
