"""Tables of a recorded run for pandas, which is imported for these alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from enpire.errors import EnpireError
from enpire.store import RoundRow
from enpire.types import JUDGED

if TYPE_CHECKING:
    import pandas

    from enpire.session.recorded_episode import RecordedEpisode


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise EnpireError("tables of a run need pandas: pip install pandas") from error
    return pandas


def episodes_frame(episodes: Sequence[RecordedEpisode]) -> pandas.DataFrame:
    """Lay episodes out, a row each; see `RecordedRun.episodes_frame`."""
    columns: dict[str, list[Any]] = {
        "id": [e.id for e in episodes],
        "seed": [e.seed for e in episodes],
        "purpose": [str(e.purpose) for e in episodes],
        "policy": [e.policy for e in episodes],
        "round": [e.round for e in episodes],
        "station": [e.station for e in episodes],
        "outcome": [str(e.outcome) for e in episodes],
        "judged": [e.outcome in JUDGED for e in episodes],
        "success": [e.success for e in episodes],
        "score": [e.verdict.score for e in episodes],
        "stage": [e.verdict.stage for e in episodes],
        "reason": [e.verdict.reason for e in episodes],
        "reset_s": [e.reset_s for e in episodes],
        "execute_s": [e.execute_s for e in episodes],
        "verify_s": [e.verify_s for e in episodes],
        "robot_s": [e.robot_s for e in episodes],
        "robot_hours": list(accumulate(e.robot_s / 3600 for e in episodes)),
        "recorded_at": [e.recorded_at for e in episodes],
    }
    return _pandas().DataFrame(columns).set_index("id")


def verdicts_frame(episodes: Sequence[RecordedEpisode]) -> pandas.DataFrame:
    """Lay predicates out, a row each; see `RecordedRun.verdicts_frame`."""
    names = ("name", "value", "threshold", "unit", "at_least", "accuracy", "margin", "state")
    rows = [
        (episode.id, *(getattr(predicate, name) for name in names))
        for episode in episodes
        for predicate in episode.verdict.predicates
    ]
    return _pandas().DataFrame(rows, columns=["episode", *names]).astype({"state": str})


def rounds_frame(rounds: Sequence[RoundRow]) -> pandas.DataFrame:
    """Lay rounds out, a row each; see `RecordedRun.rounds_frame`."""
    columns: dict[str, list[Any]] = {
        "round": [row.number for row in rounds],
        "policy": [row.policy for row in rounds],
        "success": [row.success.rate if row.trials else None for row in rounds],
        "low": [row.low for row in rounds],
        "high": [row.high for row in rounds],
        "trials": [row.trials for row in rounds],
        "robot_hours": [row.robot_s / 3600 for row in rounds],
        "wall_s": [row.wall_s for row in rounds],
    }
    return _pandas().DataFrame(columns).set_index("round")
