"""Whether sealed evaluations were what they have to be: of frozen policies, on seeds of their own,
whole, and each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from enpire.evolution.audit.check import Check, RecordedCampaign, repeated, whole
from enpire.rollout.evaluation.sealed import SEALING, PointRule, counted, noted_rule
from enpire.rollout.evaluation.sealed_rule import POINT, SealedRule, SealedVerdict
from enpire.rollout.evaluation.seeds import stream
from enpire.store import EpisodeRow, LogEntry, SealedRow
from enpire.types import Outcome, Purpose


def sealed(of: RecordedCampaign) -> Check:
    """Notes that seeds were drawn, examinations, and episodes, against each other."""
    notes = {int(n.numbers["attempt"]): n for n in _drawn(of)}
    done = {row.attempt: row for row in of.run.ledger.sealed()}
    inside = [row for row in of.rows if row.purpose is Purpose.SEALED]
    wrong = list(_order(notes, done, [n.incumbent for n in _drawn(of)]))
    wrong += [f"{r.id} is of no examination" for r in inside if r.round not in notes]
    elsewhere = {row.seed: row for row in of.rows if row.purpose is not Purpose.SEALED}
    for attempt, note in notes.items():
        own = [row for row in inside if row.round == attempt]
        wrong += _frozen(of, note)
        drawn = stream(int(note.numbers["entropy"]), "sealed", attempt)
        rule = _rule(of, note)
        seeds = list(islice(drawn, rule.most))
        wrong += _ruled(of, note)
        wrong += [f"{elsewhere[s].id} was run on a sealed seed" for s in seeds if s in elsewhere]
        wrong += _episodes(note, seeds, own)
        if attempt in done:
            wrong += _result(of, note, done[attempt], own)
    said = f"{len(done)} evaluations, {len(inside)} episodes on seeds of their own"
    return Check("sealed", said, tuple(wrong))


def _drawn(of: RecordedCampaign) -> list[LogEntry]:
    return [note for note in of.run.ledger.decisions() if note.kind == SEALING]


def _order(
    notes: Mapping[int, LogEntry], done: Mapping[int, SealedRow], names: list[str]
) -> Iterator[str]:
    for attempt in range(1, max([*notes, *done, 0]) + 1):
        if attempt not in notes:
            yield f"attempt {attempt}: nothing says that its seeds were drawn"
        elif attempt not in done and attempt != max(notes):
            yield f"attempt {attempt}, of {notes[attempt].incumbent}, is missing"
    if len(notes) != len(names):
        yield "seeds were drawn twice for an attempt"
    yield from (f"{name} was examined more than once" for name in repeated(names))


def _frozen(of: RecordedCampaign, note: LogEntry) -> Iterator[str]:
    """Check that its policy was there before, as it is now: by the note's words, and its trials."""
    policy = of.policies.get(note.incumbent)
    if policy is None:
        yield f"{note.incumbent} was examined and is no policy"
        return
    if "sha256" in note.text and policy.sha256 not in note.text:  # earlier ones do not say
        yield f"{policy.name} is not the policy whose sealed seeds were drawn: its sha256 differs"
    at = {purpose: [] for purpose in Purpose}  # type: dict[Purpose, list[int]]
    for place, row in enumerate(of.rows):
        if row.policy == policy.name:
            at[row.purpose].append(place)
    first = min(at[Purpose.SEALED], default=len(of.rows))
    if min(at[Purpose.EVALUATION], default=first) >= first:
        yield f"{policy.name} was examined before it was evaluated"


def _episodes(note: LogEntry, seeds: list[int], own: list[EpisodeRow]) -> Iterator[str]:
    """Check one attempt: all under seeds that were drawn, from the first on, none left out."""
    judged = [row.seed for row in own if whole(row)]
    for row in own:
        if row.seed not in seeds or row.policy != note.incumbent:
            yield f"{row.id} is not of the seeds that were drawn for {note.incumbent}"
    yield from (
        f"sealed seed {seed} of {note.incumbent} was run twice" for seed in repeated(judged)
    )


def _rule(of: RecordedCampaign, note: LogEntry) -> SealedRule | PointRule:
    return noted_rule(note, of.settings["target"], of.settings["sealed_episodes"])


def _ruled(of: RecordedCampaign, note: LogEntry) -> Iterator[str]:
    """Check that its rule is the one of its attempt; older runs have none in their notes."""
    rule, settings = _rule(of, note), of.settings
    if isinstance(rule, PointRule):
        if "target_bound" in settings:
            yield f"attempt {note.numbers['attempt']:g}: no rule was noted"
        return
    bound = settings.get("target_bound", POINT)
    attempt = int(note.numbers["attempt"])
    if rule != SealedRule.of(settings["target"], settings["sealed_episodes"], attempt, bound):
        yield f"attempt {attempt}: its rule is not that of its settings"


def _result(
    of: RecordedCampaign, note: LogEntry, row: SealedRow, own: list[EpisodeRow]
) -> Iterator[str]:
    """An examination that is over, against its episodes."""
    entropy, rule = int(note.numbers["entropy"]), _rule(of, note)
    seeds = list(islice(stream(entropy, "sealed", row.attempt), rule.most))
    judged = {r.seed: r.outcome is Outcome.SUCCESS for r in own if whole(r)}
    results = counted(rule, [judged.get(seed) for seed in seeds])
    failures = results.count(False)
    seen = rule.interval(failures, len(results))
    if (row.policy, row.entropy) != (note.incumbent, entropy):
        yield f"attempt {row.attempt} is of {row.policy}, its seeds were drawn for {note.incumbent}"
    if (row.successes, row.trials) != (seen.successes, seen.trials):
        yield (
            f"attempt {row.attempt}: recorded are {row.successes} of {row.trials}, by its episodes "
            f"it is {seen.successes} of {seen.trials}"
        )
    if (row.low, row.high) != (seen.low, seen.high):
        yield f"attempt {row.attempt}: its interval is not that of its counts"
    if None in [judged.get(seed) for seed in seeds[: row.trials]]:
        yield f"attempt {row.attempt}: episodes are missing from its middle"
    if rule.verdict(failures, len(results)) is SealedVerdict.OPEN:
        yield f"attempt {row.attempt} ended after {len(results)}, while its verdict was open"
