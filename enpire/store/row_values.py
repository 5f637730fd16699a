"""Rows of a ledger as SQLite has them, to and from what they say."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from enpire.store.rows import EpisodeRow
from enpire.types import Episode, Outcome, Predicate, Purpose

EPISODE_COLUMNS = (
    "id, seed, purpose, policy, round, station, outcome, score, stage, reason, reset_s, execute_s,"
    " verify_s, path, position, sha256, bytes, committed_at"
)


_PURPOSES = {str(purpose): purpose for purpose in Purpose}
_OUTCOMES = {str(outcome): outcome for outcome in Outcome}


def real(value: float | None) -> float:
    """SQLite keeps NaN as NULL."""
    return math.nan if value is None else value


def json_of(numbers: Mapping[str, float]) -> str:
    """Return numbers by name as text."""
    return json.dumps({name: float(value) for name, value in numbers.items()})


def episode_values(episode: Episode, path: str, position: int) -> tuple[object, ...]:
    """Return an episode's row, as `INSERT` takes it; path, position: where its arrays are."""
    verdict, times = episode.verdict, episode.times
    return (
        episode.id,
        int(episode.seed),
        episode.purpose,
        episode.policy,
        int(episode.round),
        int(episode.station),
        verdict.outcome,
        float(verdict.score),
        verdict.stage,
        verdict.reason,
        float(times.reset),
        float(times.execute),
        float(times.verify),
        path,
        position,
    )


def predicate_values(episode: Episode) -> Iterator[tuple[object, ...]]:
    """Return the rows of an episode's predicates, as `INSERT` takes them."""
    for position, one in enumerate(episode.verdict.predicates):
        numbers = float(one.value), float(one.threshold)
        said = one.unit, one.at_least, one.holds, float(one.accuracy)
        yield episode.id, position, one.name, *numbers, *said


def predicate_of(row: Sequence[Any]) -> Predicate:
    """Return the predicate that a row says."""
    name, value, threshold, unit, at_least, accuracy = row
    if value is None or threshold is None or accuracy is None:  # few, and this is called often
        value, threshold, accuracy = real(value), real(threshold), real(accuracy)
    return Predicate(name, value, threshold, unit, bool(at_least), accuracy)


def episode_row(row: tuple[Any, ...]) -> EpisodeRow:
    """Return the episode that a row of `EPISODE_COLUMNS` says."""
    id, seed, purpose, policy, round, station, outcome, score, *rest = row
    named = _PURPOSES[purpose], policy, round, station, _OUTCOMES[outcome]
    return EpisodeRow(id, seed, *named, real(score), *rest)
