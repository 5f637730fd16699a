"""An episode as it was recorded, for whoever reads a run in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from enpire.store import EpisodeRow
from enpire.store.episodes import read_batch
from enpire.types import (
    Episode,
    Float32Array,
    FloatArray,
    Outcome,
    Predicate,
    Purpose,
    Verdict,
)

BATCHES = 16  # that stay in memory: episodes that follow each other are in one, or a few


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """One episode of a recorded run. Its arrays are read from the disk when they are asked for.

    Attributes:
        id: Its name, unlike any other in the run.
        seed: What its initial condition and its noise were drawn from.
        purpose: Why it was run: demonstration, collection, evaluation or sealed.
        policy: Name of the policy, or of the demonstrator, that acted.
        round: The round of the loop; 0 before the first one.
        station: Number of the station, from 0.
        verdict: How it ended, with the predicates that were measured.
        reset_s: Robot time of the reset [s].
        execute_s: Robot time in which the policy acted [s].
        verify_s: Robot time of the verification [s].
        recorded_at: When it was recorded, Unix time [s].
    """

    id: str
    seed: int
    purpose: Purpose
    policy: str
    round: int
    station: int
    verdict: Verdict
    reset_s: float
    execute_s: float
    verify_s: float
    recorded_at: float
    _batch: Path = field(repr=False)
    _index: int = field(repr=False)
    _sha256: str = field(repr=False)

    @property
    def outcome(self) -> Outcome:
        """How it ended: success, failure, aborted or invalid."""
        return self.verdict.outcome

    @property
    def success(self) -> bool:
        """Whether it was judged a success."""
        return self.outcome is Outcome.SUCCESS

    @property
    def robot_s(self) -> float:
        """Robot time from reset to verdict [s]."""
        return self.reset_s + self.execute_s + self.verify_s

    @property
    def observations(self) -> Float32Array:
        """What the policy saw, (T, obs), a row each control period. Read-only, as all arrays."""
        return self.load().observations

    @property
    def actions(self) -> Float32Array:
        """What was carried out, (T, act), in [-1, 1]."""
        return self.load().actions

    @property
    def times(self) -> FloatArray:
        """When each row was, (T,), since the policy began to act [s]."""
        return self.load().stamps

    def load(self) -> Episode:
        """Read the whole episode, with rewards, pictures and joints where there are any.

        Returns:
            The episode as a recipe gets it.

        Raises:
            StoreError: The file is missing, or is not what was recorded.
        """
        return _batch(self._batch, self._sha256)[self._index]


def recorded_episode(
    folder: Path, row: EpisodeRow, predicates: tuple[Predicate, ...]
) -> RecordedEpisode:
    """The episode of a row in the ledger of the run at `folder`."""
    verdict = Verdict(row.outcome, predicates, row.score, row.stage, row.reason)
    return RecordedEpisode(
        row.id,
        row.seed,
        row.purpose,
        row.policy,
        row.round,
        row.station,
        verdict,
        row.reset_s,
        row.execute_s,
        row.verify_s,
        row.committed_at,
        folder / row.path,
        row.index,
        row.sha256,
    )


@lru_cache(maxsize=BATCHES)
def _batch(folder: Path, sha256: str) -> Sequence[Episode]:
    """The episodes of a batch, which never changes once it is recorded."""
    return read_batch(folder, sha256)
