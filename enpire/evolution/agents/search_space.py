"""What a tuner may change of a recipe: its settings, each with a range around its default.

A recipe says of its settings what type they have and what is usual, not how far they may go. Hence
ranges of a factor either way, on a scale that fits: whole and real numbers by their logarithm;
those within (0.5, 1), a discount or a decay, by that of their distance to 1; words and switches by
their choices. Texts, zeros and negative numbers are left as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from enpire.improvement import recipe_finding as recipes
from enpire.packs.finder import shipped

FACTOR = 4.0  # either way
MOST_SHARE = 0.9  # of what is a part of 1 by default and below a half

Scale = Literal["whole", "real", "near one", "choice"]


@dataclass(frozen=True, slots=True)
class TunableSetting:
    """One setting, by its dotted name; default: as text. low, high: of numbers, both included."""

    name: str
    scale: Scale
    default: str
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()

    def value(self, text: str) -> float | str | None:
        """A text's value on the setting's scale; None for one that is out of its range.

        Of "near one" that is the distance to 1.
        """
        if self.scale == "choice":
            return text if text in self.choices else None
        try:
            number = float(text)
        except ValueError:
            return None
        if not self.low * (1 - 1e-3) <= number <= self.high * (1 + 1e-3):  # texts are rounded
            return None
        number = min(max(number, self.low), self.high)
        if self.scale == "whole":
            return round(number)
        return 1.0 - number if self.scale == "near one" else number

    def text(self, value: float | str) -> str:
        """The inverse of `value`, rounded to three digits of what varies."""
        if isinstance(value, str):
            return value
        if self.scale == "whole":
            return str(int(value))
        return f"{1.0 - float(f'{value:.3g}'):.6g}" if self.scale == "near one" else f"{value:.3g}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of a number on the setting's scale."""
        return (
            (1.0 - self.high, 1.0 - self.low) if self.scale == "near one" else (self.low, self.high)
        )


@dataclass(frozen=True, slots=True)
class RecipeChoice:
    """A recipe that may be chosen. source: the text of its file; empty for a built-in."""

    recipe: str
    settings: tuple[TunableSetting, ...]
    source: str = ""

    def values(self, given: tuple[tuple[str, str], ...]) -> dict[str, float | str] | None:
        """Every setting's value with those `given`; None if one of them is none of its own."""
        texts = {setting.name: setting.default for setting in self.settings}
        if not {name for name, _ in given} <= texts.keys():
            return None
        texts |= dict(given)
        values = {s.name: s.value(texts[s.name]) for s in self.settings}
        if any(value is None for value in values.values()):
            return None
        return {name: value for name, value in values.items() if value is not None}


def choice(name: str) -> RecipeChoice:
    """The recipe `name`, a built-in or a file ending in `.py`, which is imported: trust it.

    Raises:
        UsageError: there is none of that name.
    """
    found = recipes.find(name)
    settings = tuple(_settings(found.recipe))
    if found.source != found.name:
        path = Path(found.source)
        return RecipeChoice(path.stem, settings, path.read_text())
    return RecipeChoice(name, settings)


def repertoire(names: Sequence[str]) -> tuple[RecipeChoice, ...]:
    """The recipes of these names, and after them the variants that come with the tuner."""
    variants = sorted(shipped("agents", "tuner").glob("variants/*.py"))
    return tuple(choice(name) for name in (*names, *map(str, variants)))


def _settings(recipe: Any, inside: str = "") -> Iterator[TunableSetting]:
    hints = get_type_hints(type(recipe))
    for field in fields(recipe):
        name, value = inside + field.name, getattr(recipe, field.name)
        if is_dataclass(value):
            yield from _settings(value, f"{name}.")
        elif isinstance(value, bool):
            yield TunableSetting(name, "choice", str(value), choices=("True", "False"))
        elif get_origin(hints[field.name]) is Literal:
            yield TunableSetting(name, "choice", value, choices=tuple(get_args(hints[field.name])))
        elif isinstance(value, int) and value > 0:
            least, most = max(1, round(value / FACTOR)), math.ceil(value * FACTOR)
            yield TunableSetting(name, "whole", str(value), least, most)
        elif isinstance(value, float) and 0.5 <= value < 1.0:
            far = min((1.0 - value) * FACTOR, 0.95)
            low, high = 1.0 - far, 1.0 - (1.0 - value) / FACTOR
            yield TunableSetting(name, "near one", str(value), low, high)
        elif isinstance(value, float) and value > 0.0:
            high = min(value * FACTOR, MOST_SHARE) if value < 1.0 else value * FACTOR
            yield TunableSetting(name, "real", str(value), value / FACTOR, high)
