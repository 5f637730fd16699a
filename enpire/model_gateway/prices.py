"""What a model's answer costs: tokens by class, priced by a table that a pack brings.

    [prices]                      # of any model that has no table of its own
    date = "2026-11-23"
    source = "where they are from"
    input_tokens = 4.0            # dollars for a million

    [prices.within]               # a class that another one holds: it is priced once, as itself
    "input_tokens_details.cached_tokens" = "input_tokens"

    [prices.models."claude-haiku"]  # by the beginning of its name; the longest that fits
    input_tokens = 0.1

    [prices.models."claude-haiku".long]  # of all tokens, where the prompt has more than so many
    over = 100000
    input_tokens = 0.5

APIs differ in what holds what: Anthropic's cached tokens stand beside `input_tokens`, OpenAI's and
Gemini's are in it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from enpire.errors import PackError
from enpire.model_gateway.usage import Usage
from enpire.packs.toml import Table

MILLION = 1_000_000
DEAREST = 1e6  # dollars for a million tokens
CHEAPEST = 1e-4  # likewise, of what costs anything
CLASSES = (  # that APIs count in; what a table calls nearly so is one of them misspelt
    *("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    *("prompt_tokens", "completion_tokens"),
    *("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount"),
)
NEARLY = 0.85  # of two names
PROMPT = (  # classes that a prompt is counted in; none of them holds another
    *("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    *("prompt_tokens", "promptTokenCount"),
)
ABOUT = ("date", "source", "within", "models", "long", "over")  # keys that are no class


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars for a million tokens, by class; `long` where the prompt has more tokens than `over`.

    A class that has no rate costs nothing.
    """

    classes: Mapping[str, float] = field(default_factory=dict)
    over: float = float("inf")
    long: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, table: Table) -> Rates:
        """Raises PackError for what is no price."""
        if not table.has("long"):
            return cls(_numbers(table))
        long = table.table("long")
        over = long.number("over")
        if over < 0:
            raise PackError(f"{long.where}: over is a count of tokens, found {over:g}")
        return cls(_numbers(table), over, _numbers(long))

    def of(self, classes: Mapping[str, int]) -> Mapping[str, float]:
        """The prices that an answer is priced by."""
        prompt = sum(classes.get(name, 0) for name in PROMPT)
        return self.long if prompt > self.over else self.classes


@dataclass(frozen=True, slots=True)
class Prices:
    """A dated table."""

    date: str = ""
    # Of any model but those in `models`, by the beginning of their names.
    usual: Rates = field(default_factory=Rates)
    within: Mapping[str, str] = field(default_factory=dict)  # the class that holds a class
    models: Mapping[str, Rates] = field(default_factory=dict)

    @classmethod
    def read(cls, table: Table) -> Prices:
        """`[prices]`; raises PackError for what is no price, or if models are left without any."""
        usual = Rates.read(table)
        if not usual.classes:
            raise PackError(f"{table.where}: needs prices for models that it does not name")
        models = table.table("models") if table.has("models") else None
        within = table.table("within") if table.has("within") else None
        return cls(
            _day(table),
            usual,
            _holders(within) if within else {},
            {name: Rates.read(models.table(name)) for name in models.names} if models else {},
        )

    def __bool__(self) -> bool:
        return bool(self.usual.classes)

    def dollars(self, usage: Usage) -> float:
        """What an answer costs."""
        fitting = [name for name in self.models if usage.model.startswith(name)]
        rates = self.models[max(fitting, key=len)] if fitting else self.usual
        prices, alone = rates.of(usage.classes), dict(usage.classes)
        for name, count in usage.classes.items():
            holder = self.within.get(name, "")
            if name in prices and holder in alone:
                alone[holder] -= count
        return sum(count * prices.get(name, 0.0) for name, count in alone.items()) / MILLION


def _day(table: Table) -> str:
    """The day that prices are from; raises PackError for what is none, or is to come."""
    text = table.text("date")
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise PackError(f"{table.where}: date is {text!r}: a day as 2026-11-23") from None
    if day > datetime.now(UTC).date() + timedelta(days=1):
        raise PackError(f"{table.where}: date is {text}, which is to come")
    return text


def _holders(table: Table) -> dict[str, str]:
    """The class that holds a class; raises PackError for one that holds itself."""
    holders = {name: table.text(name) for name in table.names}
    for name in holders:
        at, seen = name, {name}
        while (at := holders.get(at, "")) and at not in seen:
            seen.add(at)
        if at:
            raise PackError(f"{table.where}: {name} is within itself: its tokens cost nothing then")
    return holders


def _numbers(table: Table) -> dict[str, float]:
    prices = {name: table.number(name) for name in table.names if name not in ABOUT}
    for name, price in prices.items():
        if price and not CHEAPEST <= price <= DEAREST:
            raise PackError(
                f"{table.where}: {name} must be dollars for a million tokens, 0 or {CHEAPEST:g} to "
                f"{DEAREST:g}; found {price:g}"
            )
        near = difflib.get_close_matches(name, CLASSES, 1, NEARLY)
        if name not in CLASSES and near and near[0] not in prices:
            raise PackError(f"{table.where}: {name} is counted nowhere; do you mean {near[0]}?")
    return prices
