"""The answer of a report: how good the policy became, from what, at which cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enpire.certification import certificate
from enpire.observe import account, throughput
from enpire.observe.overview import sealed_of, state
from enpire.store import EpisodeRow, Run, SealedRow
from enpire.store.ledger import Ledger
from enpire.types import Estimate


@dataclass(frozen=True, slots=True)
class LineageStep:
    """One policy on the way from the first policy to the final one."""

    policy: str  # its name
    recipe: str  # that made it; empty where nothing was recorded
    text: str  # of the decision that made it the incumbent; empty for the first policy
    success: Estimate  # over all its evaluations, sealed ones apart


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run came to."""

    folder: str
    task: str
    seed: int
    state: str
    verified_by: str
    target: float | None  # success rate to reach on sealed seeds; None where none was asked for
    reached: bool
    start: Estimate  # success of the first policy
    final: Estimate  # success of `policy`; on sealed seeds if `sealed`
    sealed: bool
    at_least: float | None  # bound on the true success that the sealed evaluation allows to claim
    corrected: str  # `final` corrected for the verifier's errors, for a person; empty if not known
    policy: str
    robot_s: float  # robot time from reset to verdict, sealed evaluations apart [s]
    sealed_s: float  # robot time of sealed evaluations [s]
    wall_s: float  # time on the clock [s]; 0 where it was not recorded
    mru: float  # share of the stations' time spent executing, in [0, 1]
    at_work: float  # share of it neither resetting nor aside in which they executed or verified
    speed: str  # time to success and successes an hour, for a person; empty without a success
    robots: int
    rounds: int
    episodes: int
    lineage: tuple[LineageStep, ...]  # the policies that led to `policy`, the first one first


def read_summary(run: Run, rows: Sequence[EpisodeRow]) -> RunSummary:
    """Return what a run came to; rows: all its episodes."""
    ledger, settings, facts = run.ledger, run.asked, run.ledger.facts()
    evaluations = sealed_of(run)
    passing = evaluations.passing
    last = passing[-1] if passing else None
    policy = last.policy if last else account.incumbent(ledger)
    by_phase = ledger.robot_seconds()
    open_s, sealed_s = account.robot_seconds(rows)
    figures = account.speed(account.measured_rows(ledger, passing, rows)).as_json()
    return RunSummary(
        folder=str(run.folder),
        task=str(settings.get("task", "?")),
        seed=int(settings.get("seed", 0)),
        state=state(run),
        verified_by=account.verified_by(ledger),
        target=settings.get("target"),
        reached=last is not None,
        start=account.start(ledger),
        final=last.success if last else account.evaluations(ledger, policy),
        sealed=last is not None,
        at_least=evaluations.at_least(last) if last else None,
        corrected=_corrected(run, last, settings) if last else "",
        policy=policy,
        robot_s=open_s,
        sealed_s=sealed_s,
        wall_s=float(facts.get("wall_s", 0.0)),
        mru=account.executing(by_phase),
        at_work=account.at_work(by_phase),
        speed=throughput.text(figures),
        robots=int(settings.get("robots", 0)) or len({row.station for row in rows}),
        rounds=max((row.number for row in ledger.rounds()), default=0),
        episodes=len(rows),
        lineage=lineage(ledger, policy),
    )


def lineage(ledger: Ledger, policy: str) -> tuple[LineageStep, ...]:
    """Return the policies that led to `policy` by their parents, the first one first."""
    known = {row.name: row for row in ledger.policies()}
    texts = {note.candidate: note.text for note in ledger.decisions() if note.kind == "promoted"}
    steps: list[LineageStep] = []
    passed: set[str] = set()
    while policy in known and policy not in passed:
        passed.add(policy)
        row = known[policy]
        success = account.evaluations(ledger, policy)
        steps.append(LineageStep(policy, row.recipe, texts.get(policy, ""), success))
        policy = row.parent
    return tuple(reversed(steps))


def _corrected(run: Run, last: SealedRow, settings: Mapping[str, Any]) -> str:
    packs = run.ledger.packs()
    verifier = account.verified_by(run.ledger)
    task = str(settings.get("task", ""))
    return certificate.text(
        certificate.corrected(last.successes, last.trials, task, packs, verifier)
    )
