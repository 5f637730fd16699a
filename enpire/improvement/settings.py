"""Settings of a recipe: the fields of its dataclass, and of those within, as text from outside."""

from __future__ import annotations

import contextlib
import io
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass, make_dataclass
from operator import attrgetter
from typing import Any

import tyro

from enpire.errors import UsageError, error_text
from enpire.option_values import is_plain

LARGEST = 2**63 - 1  # of whole numbers
MOST, LARGE = 1_000_000_000, 1_000_000  # of what our recipes count; examples a step
SHOWN = 20  # digits of one in a message
BATCH, RATE = "batch", "lr"  # what a number of examples and a learning rate are called
PLAIN = (tyro.conf.FlagConversionOff,)  # yes or no is said as any other value: `look_again false`
FLAG = "recipe"  # what an option begins with: --recipe.training.lr 3e-4


def configured[T](recipe: T, settings: Mapping[str, str]) -> tuple[T, set[str]]:
    """`recipe` with those of the `settings` that it has, and which these are.

    A setting is called by its dotted name, `training.lr`, or by the end of it, `lr`, where only one
    ends so. Entries of a list are told apart by commas or spaces: `4, 2, 0`.

    Raises:
        UsageError: a name that fits several, or a value that is none of the setting's type, no
            finite number, too large, below nought where the default is above, or an empty list
            where the default has entries; or the recipe's fields are no settings.
    """
    known = list(_names(recipe))
    taken = {key: name for key in settings if (name := _meant(key, known))}
    arguments = [
        part for key, name in taken.items() for part in _option(recipe, name, settings[key])
    ]
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(told):
            made = tyro.cli(_options(recipe), args=arguments, use_underscores=True, config=PLAIN)
    except Exception as error:  # a field of a type that there is not, in a file of somebody's
        raise _no_settings(recipe, error) from error
    except SystemExit:
        said = _one_line(told.getvalue())
        why = re.search(r"Error parsing (\S+: .*?)( Argument helptext:|$)", said)
        message = why[1] if why else said
        raise UsageError(message) from None
    result: T = getattr(made, FLAG)
    ours = type(recipe).__module__.startswith("enpire.")
    for name in taken.values():
        value, usual = attrgetter(name)(result), attrgetter(name)(recipe)
        if isinstance(usual, tuple) and usual:
            if not value:
                raise UsageError(f"--{FLAG}.{name} is an empty list; by default it is {usual}")
            for one in value:
                _require_sense(name, one, usual[0], ours=ours)
        else:
            _require_sense(name, value, usual, ours=ours)
    return result, set(taken)


def _option(recipe: Any, name: str, text: str) -> list[str]:
    """What a command line has for a setting.

    Raises:
        UsageError: it is a list with options in it, or a number that Python alone reads.
    """
    usual = attrgetter(name)(recipe)
    if not isinstance(usual, tuple):
        if not isinstance(usual, str):
            _require_plain(name, text)
        if isinstance(usual, bool):
            text = text.capitalize()  # Python's own spelling
        return [f"--{FLAG}.{name}={text}"]
    parts = text.strip("()[] ").replace(",", " ").split()
    if option := next((part for part in parts if re.match(r"-(?![.\d])", part)), None):
        raise UsageError(f"--{FLAG}.{name}: {option} is no entry of a list")
    for part in parts:
        _require_plain(name, part)
    return [f"--{FLAG}.{name}", *parts]


def _require_plain(name: str, text: str) -> None:
    """Raises UsageError for a number with an underscore, or in digits of another script."""
    try:
        float(text)
    except ValueError:
        return
    if not is_plain(text):
        raise UsageError(f"--{FLAG}.{name}: {text!r:.40} is no number: write its digits alone")


def _require_sense(name: str, value: Any, default: Any, *, ours: bool) -> None:
    """Raises UsageError for a number that is none, or one below nought where the default is not.

    ours: whether the recipe is; in others' a sign may mean something.
    """
    if isinstance(value, float) and not math.isfinite(value) and value != default:
        raise UsageError(f"--{FLAG}.{name}: {value} is no finite number")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise UsageError(f"--{FLAG}.{name}: {str(value)[:SHOWN]}: at most {LARGEST} is taken")
    count = isinstance(default, int) and not isinstance(default, bool) and default >= 0
    if count and isinstance(value, int) and value < 0:
        raise UsageError(f"--{FLAG}.{name}: {value} is below nought; by default it is {default}")
    most = LARGE if name.rpartition(".")[2] == BATCH else MOST
    if ours and count and isinstance(value, int) and value > most:
        raise UsageError(f"--{FLAG}.{name}: {str(value)[:SHOWN]}: at most {most} is taken")
    if ours and count and name.rpartition(".")[2] == BATCH and value == 0:
        raise UsageError(f"--{FLAG}.{name}: 0 examples a step: give at least 1")
    if (
        ours
        and name.rpartition(".")[2] == RATE
        and isinstance(value, float)
        and not 0.0 < value <= 1.0
    ):
        raise UsageError(
            f"--{FLAG}.{name}: {value:g} is no learning rate: give one above 0, and at most 1"
        )
    if ours and isinstance(default, float) and isinstance(value, float) and value < 0 < default:
        raise UsageError(f"--{FLAG}.{name}: {value:g} is below nought; by default it is {default}")


def defaults(recipe: Any) -> dict[str, str]:
    """The defaults of all settings, as texts, by dotted name."""
    return {name: str(attrgetter(name)(recipe)) for name in _names(recipe)}


def described(recipe: Any) -> str:
    """All settings with types and defaults, for a person."""
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit):
            tyro.cli(_options(recipe), args=["--help"], use_underscores=True, config=PLAIN)
    except Exception as error:
        raise _no_settings(recipe, error) from error
    lines = told.getvalue().splitlines()
    return "\n".join(lines[next(i for i, line in enumerate(lines) if "recipe" in line) :])


def _no_settings(recipe: Any, error: Exception) -> UsageError:
    name = type(recipe).__name__
    return UsageError(f"the fields of {name} cannot be settings: {error_text(error)}")


def _one_line(told: str) -> str:
    """What is said in a box of several lines, without the box and the hint below it."""
    words = re.sub(r"[─-╿]|-{3,}", " ", told).partition("For full helptext")[0].split()
    return " ".join(words)


def _names(recipe: Any) -> Iterator[str]:
    for each in fields(recipe):
        value = getattr(recipe, each.name)
        if is_dataclass(value):
            yield from (f"{each.name}.{inner}" for inner in _names(value))
        else:
            yield each.name


def _meant(key: str, known: list[str]) -> str | None:
    found = [name for name in known if name == key or name.endswith(f".{key}")]
    if key in known or not found:
        return key if found else None
    if len(found) > 1:
        raise UsageError(f"--{FLAG}.{key} is {' or '.join(found)}: give one of them")
    return found[0]


def _options(recipe: Any) -> type[Any]:
    default = field(default_factory=lambda: recipe)  # one that is not frozen is no plain default
    return make_dataclass("Options", [(FLAG, type(recipe), default)])
