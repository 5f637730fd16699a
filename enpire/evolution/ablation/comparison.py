"""What an ablation came to: a table with intervals, from the ledgers of its runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median, stdev
from typing import Any

from scipy import special

from enpire.evolution.ablation.ablation import SEALED, AblationBench, AblationCell, read_drawn
from enpire.evolution.campaign.report import fresh_of
from enpire.evolution.experiments.accounts import Accounts, Costs, accounts, millions, used_by
from enpire.evolution.experiments.effect import Effect, pooled
from enpire.evolution.experiments.events import FIRST, CampaignState, replay_events
from enpire.evolution.experiments.experiment import ExperimentState
from enpire.observe import account, overview
from enpire.observe.plots import Trace
from enpire.rollout.evaluation.comparison import PairedRecord
from enpire.rollout.evaluation.statistics import estimate
from enpire.store import EpisodeRow, Run
from enpire.types import JUDGED, Estimate, Outcome

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """What one campaign came to. curve: success of its incumbents on fresh seeds, and what had
    been used when each came; the last point is the end. sealed: success by common seed.
    """

    arm: str
    seed: int
    policy: str
    curve: tuple[tuple[Costs, Estimate], ...]
    sealed: Mapping[int, bool]
    accounts: Accounts
    experiments: int
    kept: int
    ended: str

    @property
    def success(self) -> Estimate:
        """Success of its best policy on the common seeds."""
        return estimate(sum(self.sealed.values()), len(self.sealed))


@dataclass(frozen=True, slots=True)
class TimeToTarget:
    """A median time or cost until the target; a bound below where it was not `known`."""

    value: float
    known: bool
    reached: int  # of so many campaigns
    of: int

    def text(self, shown: Callable[[float], str]) -> str:
        """Return it for a person, as in `>0.50 (1 of 3)`."""
        counted = f" ({self.reached} of {self.of})" if self.reached < self.of else ""
        return f"{'' if self.known else '>'}{shown(self.value)}{counted}"


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm over all its repeats."""

    arm: str
    results: tuple[CampaignResult, ...]

    @property
    def sealed(self) -> Estimate:
        """Success of its best policies on the common seeds, all repeats together."""
        judged = [won for result in self.results for won in result.sealed.values()]
        return estimate(sum(judged), len(judged))

    def pairs(self, first: ArmSummary) -> list[PairedRecord]:
        """Against another arm, seed by seed, a record a repeat that both have."""
        other = {result.seed: result for result in first.results}
        return [
            paired(result.sealed, other[result.seed].sealed)
            for result in self.results
            if result.seed in other
        ]

    def until(self, spent: Callable[[Costs], float]) -> TimeToTarget:
        """The time or cost until the target, by its own sealed evaluations."""
        known = [spent(r.accounts.success) for r in self.results if r.accounts.success]
        cut = [spent(r.accounts.total) for r in self.results if not r.accounts.success]
        bound, at_best = median(known + cut), median([*known, *(math.inf for _ in cut)])
        return TimeToTarget(bound, math.isfinite(at_best), len(known), len(self.results))

    def mean(self, of: Callable[[CampaignResult], float]) -> float:
        """Over its campaigns."""
        return fmean(of(result) for result in self.results)


def paired(one: Mapping[int, bool], other: Mapping[int, bool]) -> PairedRecord:
    """The pairs of seeds that both were judged on; one: the candidate."""
    record = PairedRecord()
    for seed in one:
        if seed in other:
            record = record.add(candidate=one[seed], incumbent=other[seed])
    return record


def over_repeats(records: Sequence[PairedRecord]) -> tuple[float, float] | None:
    """Mean of the repeats' differences, and half of its 95% interval (Student's t).

    The repeats are what varies here: it tells of the arms, where all pairs together tell of these
    policies. None for fewer than two.
    """
    differences = [Effect(record).difference for record in records if record.pairs]
    if len(differences) < 2:
        return None
    quantile = float(special.stdtrit(len(differences) - 1, 0.975))
    return fmean(differences), quantile * stdev(differences) / math.sqrt(len(differences))


def results(bench: AblationBench) -> list[CampaignResult]:
    """The results of all campaigns whose repeat has been measured."""
    return [
        _result(bench, cell)
        for seed in bench.seeds
        if all(cell.sealed.exists() for cell in bench.cells(seed))
        for cell in bench.cells(seed)
    ]


def lines(of: Iterable[CampaignResult]) -> list[ArmSummary]:
    """The lines by arm, in their order."""
    by: dict[str, list[CampaignResult]] = {}
    for result in of:
        by.setdefault(result.arm, []).append(result)
    return [ArmSummary(arm, tuple(some)) for arm, some in by.items()]


def _result(bench: AblationBench, cell: AblationCell) -> CampaignResult:
    drawn = read_drawn(bench.folder / str(cell.seed) / SEALED)
    with Run.open(cell.sealed) as run:
        rows = {row.seed: row for row in run.ledger.episodes() if row.outcome in JUDGED}
    sealed = {s: rows[s].outcome is Outcome.SUCCESS for s in drawn.seeds if s in rows}
    with Run.open(bench.start(cell.seed)) as run:
        began_s = float(run.ledger.facts().get("wall_s", 0.0))
    with Run.open(cell.run) as run:
        record, found = replay_events(run.ledger.events()), accounts(run)
        return CampaignResult(
            arm=cell.arm.name,
            seed=cell.seed,
            policy=drawn.policies[cell.arm.name][0],
            curve=tuple(_curve(run, record, found, began_s)),
            sealed=sealed,
            accounts=found,
            experiments=len(record.entries),
            kept=sum(e.state is ExperimentState.KEPT for e in record.experiments),
            ended=overview.state(run),
        )


def _curve(
    run: Run, record: CampaignState, found: Accounts, began_s: float
) -> list[tuple[Costs, Estimate]]:
    """Each incumbent by all that is known of it on fresh seeds, from when it became that."""
    rows, events = run.ledger.episodes(), run.ledger.events()
    seed = run.config["loop"]["seed"]

    def success(policy: str) -> Estimate:
        return fresh_of(rows, policy, record.number_of(policy), seed)

    points = [(Costs(began_s, _start_s(rows), 0, 0.0), success(FIRST))]
    before = FIRST
    for (number, incumbent), row in zip(record.decided, run.ledger.rounds(), strict=False):
        if incumbent != before:
            used = used_by(events, record.entries[number].ended)
            spent = Costs(row.wall_s, row.robot_s, used.tokens, used.dollars)
            points.append((spent, success(incumbent)))
            before = incumbent
    return [*points, (found.total, success(before))]


def _start_s(rows: Iterable[EpisodeRow]) -> float:
    """Robot time of the start: what was not of an experiment [s]."""
    return account.robot_seconds(row for row in rows if not row.round)[0]


def traces(line: ArmSummary, spent: Callable[[Costs], float]) -> list[Trace]:
    """The traces of a plot."""
    return [
        Trace(
            tuple(spent(used) for used, _ in result.curve),
            tuple(seen.rate for _, seen in result.curve),
            result.success.rate,
        )
        for result in line.results
    ]


USED: dict[str, tuple[str, Callable[[Costs], float]]] = {
    "hours": ("hours on the clock", lambda spent: spent.wall_s / HOUR),
    "robot-hours": ("robot-hours, sealed evaluations apart", lambda spent: spent.robot_s / HOUR),
    "tokens": ("tokens", lambda spent: float(spent.tokens)),
}
"""What success is shown against: what the axis says, and the number."""


def markdown(of: Sequence[ArmSummary]) -> str:
    """The table; the first line is what others are held against."""
    head = (
        "| arm | repeats | success on the common sealed seeds | difference to the first | over "
        "repeats | hours to target | robot-hours to target | tokens to target | experiments | kept "
        "| MRU | GPU | MTU | tokens | dollars |"
    )
    return "\n".join([head, "|---" * 15 + "|", *(_row(line, of[0]) for line in of)]) if of else ""


def _row(line: ArmSummary, first: ArmSummary) -> str:
    records = line.pairs(first)
    spread = over_repeats(records)
    same, tokens = line is first, line.mean(lambda r: r.accounts.total.tokens)
    cells = (
        f"`{line.arm}`",
        str(len(line.results)),
        str(line.sealed),
        "" if same else str(Effect(pooled(records))),
        "" if same or spread is None else f"{spread[0]:+.3f} ± {spread[1]:.3f}",
        line.until(USED["hours"][1]).text("{:.2f}".format),
        line.until(USED["robot-hours"][1]).text("{:.2f}".format),
        line.until(USED["tokens"][1]).text(millions) if tokens else "none",
        f"{line.mean(lambda r: r.experiments):.1f}",
        f"{line.mean(lambda r: r.kept):.1f}",
        f"{line.mean(lambda r: r.accounts.mru):.0%}",
        _gpu(line),
        f"{line.mean(lambda r: r.accounts.mtu):.0f}",
        millions(tokens),
        f"{line.mean(lambda r: r.accounts.total.dollars):.2f}",
    )
    return "| " + " | ".join(cells) + " |"


def _gpu(line: ArmSummary) -> str:
    seen = [r.accounts.gpu for r in line.results if r.accounts.gpu is not None]
    return f"{fmean(seen):.0%}" if seen else "none"


def as_json(of: Sequence[ArmSummary]) -> list[dict[str, Any]]:
    """The table as plain values, and all that it was made of."""
    return [_plain(line, of[0]) for line in of]


def _plain(line: ArmSummary, first: ArmSummary) -> dict[str, Any]:
    records = line.pairs(first)
    effect, spread = Effect(pooled(records)), over_repeats(records)
    return {
        "arm": line.arm,
        "sealed": account.as_json(line.sealed),
        "difference": {
            "value": effect.difference,
            "ci95": list(effect.interval),
            "pairs": effect.record.pairs,
        },
        "over_repeats": {"mean": spread[0], "half": spread[1]} if spread else None,
        "to_target": {name: asdict(line.until(spent)) for name, (_, spent) in USED.items()},
        "campaigns": [
            {
                "seed": result.seed,
                "policy": result.policy,
                "sealed": account.as_json(result.success),
                "experiments": result.experiments,
                "kept": result.kept,
                "ended": result.ended,
                "curve": [asdict(spent) | account.as_json(seen) for spent, seen in result.curve],
                **result.accounts.as_json(),
            }
            for result in line.results
        ],
    }
