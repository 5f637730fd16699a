"""What a model's answer costs: tokens by class, priced by a table that a pack brings.

    [prices]                      # of any model that has no table of its own
    date = "2026-11-23"
    input_tokens = 4.0            # dollars for a million

    [prices.within]               # a class that another one holds: it is priced once, as itself
    "input_tokens_details.cached_tokens" = "input_tokens"

    [prices.models."claude-haiku"]  # by the beginning of its name; the longest that fits
    input_tokens = 1.0

APIs differ in that: Anthropic's cached tokens stand beside `input_tokens`, OpenAI's and Gemini's
are in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from enpire.errors import PackError
from enpire.evolution.usage import Usage
from enpire.packs.toml import Table

MILLION = 1_000_000
ABOUT = ("date", "source", "within", "models")  # keys that are no class


@dataclass(frozen=True, slots=True)
class Prices:
    """A dated table. classes: dollars for a million tokens of any model but those in `models`.

    within: the class that holds a class. models: tables by the beginning of a model's name.
    """

    date: str = ""
    classes: Mapping[str, float] = field(default_factory=dict)
    within: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, table: Table) -> Prices:
        """`[prices]`; raises PackError for what is no price, or names no class."""
        classes = _numbers(table, ABOUT)
        models = table.table("models") if table.has("models") else None
        within = table.table("within") if table.has("within") else None
        if models is not None and not classes:
            raise PackError(f"{table.where}: needs prices for models that it does not name")
        return cls(
            table.text("date"),
            classes,
            {name: within.text(name) for name in within.names} if within else {},
            {name: _numbers(models.table(name)) for name in models.names} if models else {},
        )

    def __bool__(self) -> bool:
        return bool(self.classes)

    def dollars(self, usage: Usage) -> float:
        """What an answer costs; a class that has no price costs nothing."""
        fitting = [name for name in self.models if usage.model.startswith(name)]
        prices = self.models[max(fitting, key=len)] if fitting else self.classes
        alone = dict(usage.classes)
        for name, count in usage.classes.items():
            holder = self.within.get(name, "")
            if name in prices and holder in alone:
                alone[holder] -= count
        return sum(count * prices.get(name, 0.0) for name, count in alone.items()) / MILLION


def _numbers(table: Table, without: tuple[str, ...] = ()) -> dict[str, float]:
    return {name: table.number(name) for name in table.names if name not in without}
