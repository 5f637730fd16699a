"""A run as it was recorded, for whoever reads it in Python: `enpire.Run`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.errors import StoreError
from enpire.observe import account
from enpire.observe.overview import overview
from enpire.session import frames
from enpire.session.keywords import as_text
from enpire.session.recorded_episode import RecordedEpisode, recorded_episode
from enpire.store import LogEntry, PolicyRow, RoundRow, Run, SealedRow
from enpire.store.stress import lost_stress
from enpire.types import (
    Estimate,
    Purpose,
    Verdict,
)

if TYPE_CHECKING:
    import pandas

    from enpire.policies import Policy


class RecordedRun:
    """A run that was recorded: its rounds, episodes, verdicts, decisions and policies.

    It is the folder as it was when it was opened: a run that goes on is opened again to see more.
    Nothing is held open, and nothing is written, so a folder may be read-only or still be written.
    A damaged run opens too; `damage` says what is wrong with it.

        run = enpire.Run("runs/20260101-pick_cube-1")
        run.success.rate, run.episodes[0].actions.shape

    Attributes:
        folder: Where it is.
        config: All that it was asked for, as in its `config.toml`.
        task: The task's name; `?` where the folder does not say.
        seed: What everything random in it was drawn from, sealed seeds apart.
        state: Why it ended, `running`, or `killed` where its process ended without a word.
        success: Success rate of its best policy, with the 95% interval; of an evaluation that was
            kept, over its episodes.
        sealed: Whether that was measured on sealed seeds, which then reached the target.
        start: Success rate of its first policy.
        incumbent: Name of its best policy; empty before there is one.
        verified_by: What verdicts were come by with.
        rounds: Its rounds in order, each with the policy it ended with and what it cost.
        episodes: All its episodes in the order in which they were recorded.
        decisions: What the loop decided, in words and numbers.
        policies: The policies that it made, oldest first.
        evaluations: Its sealed evaluations in order.
        damage: A sentence for everything that is not as it was recorded; empty for a sound run.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Read a run's record.

        Args:
            folder: The run's folder.

        Raises:
            StoreError: There is no run, or its record cannot be followed.
        """
        self.folder = Path(as_text("folder", folder))
        with Run.open(self.folder, damaged=True) as run:
            lost = [*run.missing(), *lost_stress(self.folder)]
            self.damage = (*run.damage, *(f"{path}: is recorded and missing" for path in lost))
            try:
                self._read(run)
            except (StoreError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise StoreError(
                    f"what {self.folder} recorded cannot be followed ({error!r}): "
                    f"enpire fsck {self.folder} says more"
                ) from error

    def _read(self, run: Run) -> None:
        ledger, at_a_glance = run.ledger, overview(run)
        self.config: Mapping[str, Any] = run.config
        self.task, self.seed, self.state = at_a_glance.task, at_a_glance.seed, at_a_glance.state
        self.sealed: bool = at_a_glance.sealed
        self.start: Estimate = account.start(ledger)
        self.incumbent = account.incumbent(ledger)
        self.success: Estimate = at_a_glance.success
        if not self.incumbent:  # it was to measure, and has made no policy
            self.success = account.success(ledger.episodes({Purpose.EVALUATION}))
        self.verified_by = account.verified_by(ledger)
        self.rounds: tuple[RoundRow, ...] = tuple(ledger.rounds())
        self.decisions: tuple[LogEntry, ...] = tuple(ledger.decisions())
        self.policies: tuple[PolicyRow, ...] = tuple(ledger.policies())
        self.evaluations: tuple[SealedRow, ...] = tuple(ledger.sealed())
        predicates = ledger.all_predicates()
        self.episodes: tuple[RecordedEpisode, ...] = tuple(
            recorded_episode(self.folder, row, predicates.get(row.id, ()))
            for row in ledger.episodes()
        )

    def __repr__(self) -> str:
        return (
            f"Run({str(self.folder)!r}: {self.task}, {self.state}, {len(self.episodes)} episodes)"
        )

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict of each episode, in the order of `episodes`."""
        return tuple(episode.verdict for episode in self.episodes)

    @property
    def robot_hours(self) -> float:
        """Robot time of all episodes from reset to verdict, sealed ones among them [h]."""
        return sum(episode.robot_s for episode in self.episodes) / 3600

    def load_policy(self, name: str = "") -> Policy:
        """Read one of the run's policies.

        Args:
            name: As in `policies`; without one, the best.

        Returns:
            The policy, for `enpire.evaluate` or to act with.

        Raises:
            StoreError: The run has no such policy, or its file is not what was recorded.
            PolicyError: The file holds no policy.
        """
        from enpire.observe import policy_loading

        name = name or self.incumbent
        return policy_loading.load(f"{self.folder}:{name}" if name else str(self.folder)).policy

    def episodes_frame(self) -> pandas.DataFrame:
        """Lay the episodes out as a table, a row each, indexed by their ids.

        Columns are those of `RecordedEpisode` and of its verdict, times in seconds. `robot_hours`
        adds up robot time to the end of each episode, in the order of recording [h].

        Raises:
            EnpireError: pandas is not installed.
        """
        return frames.episodes_frame(self.episodes)

    def verdicts_frame(self) -> pandas.DataFrame:
        """Lay the verdicts' predicates out as a table, a row for each predicate of each episode.

        Columns: episode, name, value, threshold, unit, at_least, accuracy, margin, state.

        Raises:
            EnpireError: pandas is not installed.
        """
        return frames.verdicts_frame(self.episodes)

    def rounds_frame(self) -> pandas.DataFrame:
        """Lay the rounds out as a table, a row each, indexed by their numbers.

        Columns: policy, success, low and high (95% interval), trials, robot_hours, wall_s.

        Raises:
            EnpireError: pandas is not installed.
        """
        return frames.rounds_frame(self.rounds)
