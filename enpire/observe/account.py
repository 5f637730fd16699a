"""What a run amounts to, from its ledger alone: success, robot time, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enpire.observe.gpu import BUSY, SAMPLES
from enpire.observe.throughput import Throughput, throughput
from enpire.rollout.evaluation.statistics import (
    Mean,
    Stratum,
    chance_alike,
    estimate,
    mru,
    unlikely,
)
from enpire.store import EpisodeRow, Phase, SealedRow
from enpire.store.ledger import Ledger
from enpire.types import JUDGED, Estimate, Outcome, Purpose, with_interval

FIRST = "policy-0"
APART = 0.01  # chance to say of any station that it is not like the others, where all are


def success(rows: Iterable[EpisodeRow]) -> Estimate:
    """Success rate over the judged ones of `rows`, with its 95% interval."""
    judged = [row.outcome is Outcome.SUCCESS for row in rows if row.outcome in JUDGED]
    return estimate(sum(judged), len(judged))


def _rate(outcomes: Counter[Outcome]) -> Estimate:
    return estimate(outcomes[Outcome.SUCCESS], sum(outcomes[each] for each in JUDGED))


def verified_by(ledger: Ledger) -> str:
    """What the verdicts of a run were come by with; runs of before cameras do not say."""
    return ledger.facts().get("verified_by", "sensors only")


def start(ledger: Ledger) -> Estimate:
    """Success rate of the first policy, before any round."""
    return _rate(ledger.outcomes(Purpose.EVALUATION, FIRST, 0))


def incumbent(ledger: Ledger) -> str:
    """Name of the best policy at the end of the last whole round; empty before the first policy."""
    rounds = ledger.rounds()
    if rounds:
        return rounds[-1].policy
    return FIRST if ledger.policy(FIRST) else ""


def evaluations(ledger: Ledger, policy: str) -> Estimate:
    """Success rate of a policy over all its evaluations, sealed ones apart."""
    return _rate(ledger.outcomes(Purpose.EVALUATION, policy))


def measured_rows(
    ledger: Ledger, passing: Sequence[SealedRow], rows: Iterable[EpisodeRow]
) -> list[EpisodeRow]:
    """Return those of all `rows` of a run that its final success is of.

    They are those of the last of the sealed evaluations that are `passing`; without one, all other
    evaluations of the incumbent.
    """
    if not passing:
        best = incumbent(ledger)
        return [row for row in rows if row.policy == best and row.purpose is Purpose.EVALUATION]
    wanted = Purpose.SEALED, passing[-1].policy, passing[-1].attempt
    return [row for row in rows if (row.purpose, row.policy, row.round) == wanted]


def speed(rows: Iterable[EpisodeRow]) -> Throughput:
    """Return how fast the judged ones of `rows` succeed."""
    judged = [row for row in rows if row.outcome in JUDGED]
    times = [row.robot_s for row in judged]
    return throughput(times, [row.outcome is Outcome.SUCCESS for row in judged])


def robot_seconds(rows: Iterable[EpisodeRow]) -> tuple[float, float]:
    """Robot time from reset to verdict [s]: of all but sealed episodes, and of sealed ones."""
    open_s = sealed_s = 0.0
    for row in rows:
        if row.purpose is Purpose.SEALED:
            sealed_s += row.robot_s
        else:
            open_s += row.robot_s
    return open_s, sealed_s


def seconds_by_round(rows: Iterable[EpisodeRow]) -> dict[int, float]:
    """Robot time from reset to verdict by round [s], sealed episodes apart."""
    found: dict[int, float] = {}
    for row in rows:
        if row.purpose is not Purpose.SEALED:
            found[row.round] = found.get(row.round, 0.0) + row.robot_s
    return found


def ledger_mru(ledger: Ledger) -> float:
    """Share of the stations' time spent executing; not a number before there is any."""
    return executing(ledger.robot_seconds())


def executing(seconds: Mapping[Phase, float]) -> float:
    """Share of robot time spent executing, by its seconds in each phase; see `ledger_mru`."""
    return mru(seconds[Phase.EXECUTE], sum(seconds.values()))


def at_work(seconds: Mapping[Phase, float]) -> float:
    """Share of the time neither resetting nor aside in which stations executed or verified.

    The rest is idleness. seconds: of robot time by phase. Not a number before there is any.
    """
    working = seconds[Phase.EXECUTE] + seconds[Phase.VERIFY]
    return mru(working, working + seconds[Phase.IDLE])


def robot_time(ledger: Ledger, rows: Iterable[EpisodeRow]) -> dict[str, Any]:
    """Where a run's robot time went, as plain values; rows: all its episodes."""
    open_s, sealed_s = robot_seconds(rows)
    by_phase = ledger.robot_seconds()
    return {
        "robot_hours": open_s / 3600,
        "robot_hours_sealed": sealed_s / 3600,
        "mru": executing(by_phase),
        "at_work": at_work(by_phase),
        "gpu_use": gpu_use(ledger),
        "robot_s_by_phase": {str(phase): seconds for phase, seconds in by_phase.items()},
    }


def gpu_use(ledger: Ledger) -> float | None:
    """Share of the time that a GPU of the machine was busy, in [0, 1]; None where none was seen."""
    facts = ledger.facts()
    samples = int(facts.get(SAMPLES, 0))
    return float(facts[BUSY]) / samples if samples else None


def gpu_text(use: float | None) -> str:
    """The same for a person."""
    return "no GPU" if use is None else f"GPU {use:.0%}"


def failures(ledger: Ledger, rows: Iterable[EpisodeRow]) -> tuple[Counter[str], Counter[str]]:
    """Judged failures of `rows` by predicate that did not hold, and by last stage reached."""
    failed = [row for row in rows if row.outcome is Outcome.FAILURE]
    unmet = ledger.unmet()
    predicates = Counter(p.name for row in failed for p in unmet.get(row.id, ()))
    return predicates, Counter(row.stage or "none" for row in failed)


@dataclass(frozen=True, slots=True)
class Station:
    """A station's judged episodes beside what the others would have had in its place."""

    success: Estimate
    expected: float  # successes, by the rates of all stations at what it ran
    chance: float
    apart: bool  # it is not like them


def stations(rows: Iterable[EpisodeRow]) -> dict[int, Station]:
    """Every station by number. Like is compared with like: policy, purpose and round."""
    judged = [row for row in rows if row.outcome in JUDGED]
    kinds = [(row.policy, row.purpose, row.round) for row in judged]
    own = Counter(zip(kinds, (row.station for row in judged), strict=True))
    won = Counter(
        (kind, row.station)
        for kind, row in zip(kinds, judged, strict=True)
        if row.outcome is Outcome.SUCCESS
    )
    every, all_won = Counter(kinds), Counter[tuple[str, str, int]]()
    for (kind, _), count in won.items():
        all_won[kind] += count
    strata: dict[int, list[Stratum]] = {}
    for (kind, station), count in own.items():
        stratum = Stratum(won[kind, station], count, all_won[kind], every[kind])
        strata.setdefault(station, []).append(stratum)
    chances = {number: chance_alike(of) for number, of in strata.items()}
    found = unlikely(chances, APART)
    return {
        number: Station(
            estimate(sum(s.successes for s in of), sum(s.trials for s in of)),
            sum(s.expected for s in of),
            chances[number],
            number in found,
        )
        for number, of in sorted(strata.items())
    }


def as_json(measured: Estimate | Mean) -> dict[str, Any]:
    """`{success, n, ci95}`; success is None when nothing was measured."""
    rate = measured.rate if measured.trials else None
    return {"success": rate, "n": measured.trials, "ci95": [measured.low, measured.high]}


def text(measured: Mapping[str, Any]) -> str:
    """An estimate as `as_json` gives it, for a person."""
    if not measured["n"]:
        return "nothing measured"
    low, high = measured["ci95"]
    return with_interval(measured["success"], low, high, measured["n"])
