"""Whether a row of the ledger says what its batch says."""

from __future__ import annotations

from collections.abc import Iterator

from enpire.store.ledger import Ledger
from enpire.store.rows import EpisodeRow
from enpire.types import Episode, Outcome


def differences(ledger: Ledger, row: EpisodeRow, episode: Episode) -> Iterator[str]:
    """Tell where a row is not what its file says, a sentence each."""
    verdict, times = episode.verdict, episode.times
    pairs = {
        "id": (row.id, episode.id),
        "seed": (row.seed, episode.seed),
        "purpose": (row.purpose, episode.purpose),
        "policy": (row.policy, episode.policy),
        "round": (row.round, episode.round),
        "station": (row.station, episode.station),
        "outcome": (row.outcome, verdict.outcome),
        "score": (repr(row.score), repr(verdict.score)),
        "stage": (row.stage, verdict.stage),
        "reason": (row.reason, verdict.reason),
        "reset_s": (row.reset_s, times.reset),
        "execute_s": (row.execute_s, times.execute),
        "verify_s": (row.verify_s, times.verify),
        "predicates": (repr(ledger.predicates(row.id)), repr(verdict.predicates)),
    }
    for name, (recorded, filed) in pairs.items():
        if recorded != filed:
            yield f"{row.id}: {name} is {recorded} in the ledger, {filed} in {row.path}"
    if verdict.outcome is Outcome.SUCCESS and verdict.failed:
        yield f"{row.id} is a success, though {verdict.failed[0]} does not hold"
