"""Values of settings, read from text, with messages that a person can act on.

Each function takes a text and returns its value, or raises `ArgumentTypeError`, as argparse has it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

RESETS = ("fast", "physical")
VERIFIERS = ("sensors", "cameras")
PACES = ("free", "real")
BOUNDS = ("point", "lower")
CHOICES = ("spread", "drawn")
AUTO = "auto"
PAGE = ("keyboard", "gamepad")
SCRIPT = "script"
LEROBOT = "lerobot"
HANDS = (
    "keyboard or gamepad (the page takes either), script (the task's, in a person's place), "
    "lerobot:TYPE (a teleoperator of LeRobot's), lerobot (the station file's)"
)
RANDOM = "random"  # the policy of uniform random actions
CHUNK = 8  # actions; `ChunkSpec` has it too, which takes long to import
LARGEST = 2**63 - 1  # a whole number: the ledger and TOML keep no larger one
MOST = 1_000_000  # of anything that is counted: as many episodes take a twin of this day weeks
FARTHEST = 100.0  # from a bench [m]: from farther off there is nothing to see
ENDLESS = 1e9  # of any number that is no count: hours, dollars
LONGEST_S = 1e10  # a duration: three centuries
PORTS = 2**16
SHOWN = 20  # characters of a number in a message
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhd])")


def one_of(choices: tuple[str, ...], wrong: str) -> Callable[[str], str]:
    """Return what takes a text that is among the choices; wrong: what any other is not."""

    def read(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"{text!r} {wrong}: {' or '.join(choices)}")
        return text

    return read


bound = one_of(BOUNDS, "is no kind of bound")
reset_mode = one_of(RESETS, "is no kind of reset")
verifier = one_of(VERIFIERS, "verifies nothing")
choice_of_starts = one_of(CHOICES, "is no choice of starts")
pace = one_of(PACES, "is no pace")


def duration(text: str) -> float:
    """Seconds of `90s`, `30m`, `10h` or `1h30m`."""
    parts = _DURATION.findall(text)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    whole = "".join(number + unit for number, unit in parts) == text
    if whole and seconds > LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text} is too long: {LONGEST_S / 3600:.0f}h at most")
    if not whole or not seconds > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration: write 0.2s, 90s, 30m or 10h")
    return seconds


def spell(text: str) -> float:
    """Seconds as `duration`, or 0 for none at all."""
    return 0.0 if text == "0" else duration(text)


def positive(text: str) -> int:
    """A count of at least 1."""
    return _whole(text, 1, MOST)


def natural(text: str) -> int:
    """A count of at least 0."""
    return _whole(text, 0, MOST)


def seed_number(text: str) -> int:
    """A whole number of at least 0, which counts nothing."""
    return _whole(text, 0, LARGEST)


def tokens(text: str) -> int:
    """A whole number of at least 1, of what comes by the thousand million."""
    return _whole(text, 1, LARGEST)


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


def no_or_one(text: str) -> int:
    """0 or 1."""
    if text not in ("0", "1"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither 0 nor 1")
    return int(text)


def any_number(text: str) -> float:
    """A finite number."""
    value = _number(text)
    if not abs(value) <= MOST:
        raise argparse.ArgumentTypeError(f"{text} is out of range: give a finite number of use")
    return value


def more_than_zero(text: str) -> float:
    """A finite number above 0."""
    value = _number(text)
    if not 0.0 < value <= ENDLESS:
        raise argparse.ArgumentTypeError(f"{text} is out of range: give a number above 0")
    return value


def distance(text: str) -> float:
    """A number above 0 of m, from which something of a bench is seen."""
    value = more_than_zero(text)
    if value > FARTHEST:
        raise argparse.ArgumentTypeError(f"{text} is too far: give at most {FARTHEST:g} m")
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


def hands(text: str) -> str:
    """Whose hands help: one of those that `HANDS` says."""
    if text not in (*PAGE, SCRIPT, LEROBOT) and not re.fullmatch(rf"{LEROBOT}:\w+", text):
        raise argparse.ArgumentTypeError(f"{text!r} are no hands: {HANDS}")
    return text


def nobody_or_hands(text: str) -> str:
    """Whose hands help, or empty for nobody."""
    return text and hands(text)


def _whole(text: str, least: int, most: int) -> int:
    try:
        value = int(_plain(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"{value} is too few: give at least {least}")
    if value > most:
        raise argparse.ArgumentTypeError(f"{text[:SHOWN]}: give at most {most}")
    return value


def is_plain(text: str) -> bool:
    """Whether a number is one for everybody: Python alone reads 1_0, and digits of all scripts."""
    return "_" not in text and text.isascii()


def _plain(text: str) -> str:
    """The same; raises ValueError where it is not `is_plain`."""
    if not is_plain(text):
        raise ValueError(text)
    return text


def _number(text: str) -> float:
    try:
        return float(_plain(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
