"""Whether what a run concluded follows from its episodes: sealed evaluations, promotions, result.

For `enpire fsck`, which holds the files themselves against each other before.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from enpire.environment.control.sensing import Readings
from enpire.errors import EnpireError
from enpire.evolution.audit import sealed
from enpire.evolution.audit.check import RecordedCampaign
from enpire.json_text import loads
from enpire.observe.result import result
from enpire.rollout.evaluation.comparison import Decision
from enpire.rollout.evaluation.paired_comparison import PairedComparison
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.loop.round_decisions import LIMIT
from enpire.store import EpisodeRow, LogEntry, Run
from enpire.store.fsck import REPAIR, Damage
from enpire.store.layout import LEDGER, RESULT
from enpire.store.result import result_bytes
from enpire.twin.twin import Rows
from enpire.types import Episode, Float32Array, Times, Verdict

SHOWN = ("task", "seed", "target", "reached", "start", "final", "policy", "sealed_attempts")
COUNTED = ("rounds", "episodes", "robot_hours", "robot_hours_sealed", "mru", "speed", "verified_by")
UNFOLLOWED = (EnpireError, ArithmeticError, LookupError, TypeError, ValueError)
REMEDY = f"see what else is named; {REPAIR} makes rows again that batches have kept"


def conclusions(run: Run) -> list[Damage]:
    """What a loop's or a campaign's ledger concludes and its episodes do not bear out."""
    if "loop" not in run.config:
        return []
    try:
        of = RecordedCampaign(run)
        wrong = list(sealed.sealed(of).wrong)
        if "campaign" not in run.config:
            wrong += _comparisons(of)
            wrong += _rounds(of)
    except UNFOLLOWED as error:
        return [Damage(LEDGER, f"what it concludes cannot be followed ({error!r})", REMEDY)]
    found = [Damage(LEDGER, line, REMEDY) for line in wrong]
    try:
        return found + list(_result(run))
    except UNFOLLOWED as error:
        what = f"no result can be made of what it holds ({error!r})"
        return [*found, Damage(LEDGER, what, REMEDY)]


def _comparisons(of: RecordedCampaign) -> Iterator[str]:
    """Each comparison again, from the outcomes of its episodes."""
    settings, notes = of.settings, of.run.ledger.decisions()
    episodes = [_bare(row) for row in of.rows]
    limits = {(n.round, n.candidate): int(n.numbers["max_pairs"]) for n in notes if n.kind == LIMIT}
    for note in notes:
        if note.kind not in ("promoted", "kept") or "wins" not in note.numbers:
            continue
        most = settings.get("max_pairs") or limits.get((note.round, note.candidate))
        if not most:
            continue  # a run of before limits were noted
        match = PairedComparison(
            note.candidate,
            note.incumbent,
            {note.candidate: _NoController(), note.incumbent: _NoController()},
            note.round,
            stream(int(settings["seed"]), "compare", note.round),
            float(settings["alpha"]),
            int(most),
        )
        for episode in episodes:
            match.add(episode)
        for _ in match.jobs():
            pass
        yield from _against(note, match)


def _against(note: LogEntry, match: PairedComparison) -> Iterator[str]:
    record = match.record
    counted = tuple(int(note.numbers[name]) for name in ("wins", "losses", "ties"))
    if counted != (record.wins, record.losses, record.ties):
        yield (
            f"round {note.round}: {note.candidate} is noted with {counted} wins, losses, ties "
            f"against {note.incumbent}, its episodes give "
            f"{(record.wins, record.losses, record.ties)}"
        )
    elif (match.decision is Decision.PROMOTE) != (note.kind == "promoted"):
        yield f"round {note.round}: {note.candidate} is {note.kind}, by its episodes it is not"


def _rounds(of: RecordedCampaign) -> Iterator[str]:
    """The incumbent at a round's end is whom its comparison left."""
    decided = {n.round: n for n in of.run.ledger.decisions() if n.kind in ("promoted", "kept")}
    for row in of.run.ledger.rounds():
        if row.policy and row.policy not in of.policies:
            yield f"round {row.number} ends with {row.policy}, which is no policy"
        note = decided.get(row.number)
        left = note and (note.candidate if note.kind == "promoted" else note.incumbent)
        if left and row.policy != left:
            yield f"round {row.number} ends with {row.policy}, its comparison left {left}"
        if not 0 <= row.successes <= row.trials:
            yield f"round {row.number} has {row.successes} successes of {row.trials} trials"


def _result(run: Run) -> Iterator[Damage]:
    """`result.json` says what its ledger gives, unless the run went on since."""
    path = run.folder / RESULT
    if not path.is_file() or "campaign" in run.config:
        return
    try:
        written = dict(loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return  # told already
    ended = run.ledger.facts().get("state", "")
    if written.get("ended") != ended:
        return
    again = loads(result_bytes(result(run, ended)))
    for key in (*SHOWN, *COUNTED):
        if key in written and written[key] != again[key]:
            what = f"{key} is {written[key]}, by the ledger {again[key]}"
            yield Damage(RESULT, what, "run enpire loop --resume, which writes it again")


def _bare(row: EpisodeRow) -> Episode:
    """An episode with all but what was seen and done."""
    empty = np.zeros((0, 0), np.float32)
    return Episode(
        id=row.id,
        task="",
        seed=row.seed,
        purpose=row.purpose,
        policy=row.policy,
        round=row.round,
        station=row.station,
        verdict=Verdict(row.outcome, (), row.score, row.stage, row.reason),
        times=Times(row.reset_s, row.execute_s, row.verify_s),
        observations=empty,
        actions=empty,
        stamps=np.zeros(0),
        rewards=np.zeros(0, np.float32),
    )


class _NoController:
    """Stands for a policy where nothing is run."""

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Nothing begins."""
        raise NotImplementedError

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """Nobody acts."""
        raise NotImplementedError
