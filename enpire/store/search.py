"""Which episodes of a run somebody looks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from enpire.types import Outcome, Purpose


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """What episodes must be like; None, and an empty policy, let all by."""

    seed: int | None = None
    station: int | None = None
    outcome: Outcome | None = None
    stage: str | None = None  # the last one reached; empty is one that was not recorded
    policy: str | None = None
    purpose: Purpose | None = None
    round: int | None = None

    def condition(self) -> tuple[str, list[object]]:
        """Return it as a condition in SQL, and the values in it."""
        wanted = {one.name: getattr(self, one.name) for one in fields(self)}
        given = {name: value for name, value in wanted.items() if value is not None}
        terms = [f"{name} = ?" for name in given]
        return " AND ".join(["TRUE", *terms]), list(given.values())


def one_of(wanted: Mapping[str, Collection[object] | None]) -> tuple[str, list[object]]:
    """Return a condition in SQL, and its values: each column has one of its choices.

    None lets all by, and an empty collection none.
    """
    given = {column: choices for column, choices in wanted.items() if choices is not None}
    terms = [f"{column} IN ({', '.join('?' * len(of))})" for column, of in given.items()]
    return " AND ".join(["TRUE", *terms]), [value for of in given.values() for value in of]
