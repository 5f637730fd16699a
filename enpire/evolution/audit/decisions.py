"""Whether what was decided follows from what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from enpire.errors import CampaignError
from enpire.evolution.audit.check import Check, RecordedCampaign
from enpire.evolution.campaign.team import team
from enpire.evolution.experiments.events import MATCH, CampaignState, ExperimentEntry, MatchOutcome
from enpire.evolution.experiments.experiment import FINAL, ExperimentState
from enpire.evolution.experiments.selection import level
from enpire.rollout.evaluation.comparison import EXTENSION, Decision, PairedRecord, decide
from enpire.rollout.evaluation.seeds import stream
from enpire.store import EpisodeRow
from enpire.types import JUDGED, LOST, Outcome


def events(of: RecordedCampaign) -> Check:
    """Every step of an experiment is one that may follow, and nothing is kept that did not win."""
    wrong: list[str] = []
    record, rows = CampaignState(), of.run.ledger.events()
    for number, row in enumerate(rows, 1):
        incumbent = record.incumbent
        try:
            record.take(row)
        except (CampaignError, KeyError, ValueError, TypeError) as error:
            return Check("events", f"{len(rows)}", (f"event {number} cannot follow: {error!r}",))
        entry = record.entries.get(row.experiment)
        if entry is None:
            continue
        if row.kind == MATCH:
            wrong += _opponent(entry, incumbent)
        elif entry.experiment.decided and row.kind == "experiment":
            wrong += _decision(entry, incumbent)
    return Check("events", f"{len(rows)} of {len(record.entries)} experiments", tuple(wrong))


def _opponent(entry: ExperimentEntry, incumbent: str) -> Iterator[str]:
    opponent = entry.matches[-1].opponent
    if len(entry.matches) == 1 and opponent != entry.experiment.base:
        yield f"{entry.policy} met {opponent} first, not its base {entry.experiment.base}"
    if entry.experiment.state is not ExperimentState.TRIALS:
        yield f"{entry.policy} was compared while it was {entry.experiment.state}"


def _decision(entry: ExperimentEntry, incumbent: str) -> Iterator[str]:
    """incumbent: until then."""
    e, name = entry.experiment, entry.policy
    if not entry.matches:
        if e.effect is not None:
            yield f"{name} has an effect, and no comparison"
        return
    last = entry.matches[-1]
    if e.state is ExperimentState.KEPT and not (last.won and last.opponent == incumbent):
        yield f"{name} was kept, though it did not win against the incumbent {incumbent}"
    if e.state is ExperimentState.DROPPED and last.won and last.opponent == incumbent:
        yield f"{name} won against the incumbent and was dropped"
    first = entry.matches[0].record
    if e.state is not ExperimentState.FAILED and (e.effect is None or e.effect.record != first):
        yield f"{name}: its effect is not what its first comparison came to"


def comparisons(of: RecordedCampaign) -> Check:
    """Each comparison, pair by pair, from the episodes."""
    agents = len(team(of.run.config["campaign"]["agents"]))
    alpha = level(of.settings["alpha"], agents)
    wrong, pairs = [], 0
    for entry in of.record.entries.values():
        for at, match in enumerate(entry.matches):
            record, decision = _replayed_test(of, entry, at, match.opponent, alpha)
            pairs += record.pairs
            again = MatchOutcome(match.opponent, record, decision is Decision.PROMOTE)
            if again != match:
                wrong.append(
                    f"{entry.policy} against {match.opponent}: recorded is {_tally_text(match)}; "
                    f"by its episodes it is {_tally_text(again)}"
                )
    return Check("effects", f"{pairs} pairs, of {alpha:.4g} each test", tuple(wrong))


def _replayed_test(
    of: RecordedCampaign, entry: ExperimentEntry, at: int, opponent: str, alpha: float
) -> tuple[PairedRecord, Decision]:
    """What the test comes to, by the leading pairs that are there, as far as one decides."""
    most: int = of.settings["max_pairs"]
    total, decision = PairedRecord(), Decision.CONTINUE
    for seed in islice(seeds(of, entry, at, opponent), 2 * EXTENSION * most):
        ours, theirs = (
            of.evaluations.get((entry.number, n, seed)) for n in (entry.policy, opponent)
        )
        if ours is None or theirs is None or decision is not Decision.CONTINUE:
            break
        if theirs.outcome in JUDGED and (ours.outcome in JUDGED or _voided(ours)):
            won, lost = (row.outcome is Outcome.SUCCESS for row in (ours, theirs))
            total = total.add(candidate=won, incumbent=lost)
            decision = decide(total, alpha, most)
    return total, decision


def _voided(row: EpisodeRow) -> bool:
    """Whether it came to nothing while its policy acted: a candidate has failed in it then."""
    return row.outcome is Outcome.INVALID and row.execute_s > 0.0 and row.stage != LOST


def seeds(of: RecordedCampaign, entry: ExperimentEntry, at: int, opponent: str) -> Iterator[int]:
    """The seeds of an experiment's comparison number `at`."""
    name = f"compare with {opponent}" if at else "compare"
    return stream(of.settings["seed"], name, entry.number)


def _tally_text(match: MatchOutcome) -> str:
    r = match.record
    return f"{r.wins} won, {r.losses} lost, {r.ties} alike, {'won' if match.won else 'not won'}"


def check_notes(of: RecordedCampaign) -> Check:
    """People were told of each decision once, and rounds name the incumbents of then."""
    notes = [n for n in of.run.ledger.decisions() if n.kind in FINAL]
    wrong = []
    for number, _ in of.record.decided:
        entry = of.record.entries[number]
        kinds = [note.kind for note in notes if note.round == number]
        late = not of.closed and not kinds
        if kinds != [entry.experiment.state] and not late:
            said = ", ".join(kinds) or "nothing"
            wrong.append(f"{entry.policy} is {entry.experiment.state}; people were told {said}")
    rounds = [(row.number, row.policy) for row in of.run.ledger.rounds()]
    expected = list(enumerate((incumbent for _, incumbent in of.record.decided), 1))
    late = not of.closed and rounds == expected[: len(rounds)]
    if rounds != expected and not late:
        wrong.append(f"rounds name {rounds}, by its events they are {expected}")
    return Check("decisions", f"{len(notes)}, and {len(rounds)} rounds", tuple(wrong))
