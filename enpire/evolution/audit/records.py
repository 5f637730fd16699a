"""Whether what was recorded is still there, as it was: rows, episodes, policies, packs."""

from __future__ import annotations

from collections.abc import Iterator

from enpire.environment.core.jobs import episode_id
from enpire.errors import EnpireError, StoreError
from enpire.evolution.audit.check import Check, RecordedCampaign, repeated, whole
from enpire.evolution.experiments.events import FIRST
from enpire.packs import find
from enpire.packs.finder import KINDS
from enpire.store import EpisodeRow, Phase
from enpire.store.agreement import differences
from enpire.store.chain import WRITTEN
from enpire.store.episodes import episodes_of, read_files
from enpire.store.weights import sha256_of
from enpire.types import JUDGED

WORK = {Phase.RESET, Phase.EXECUTE, Phase.VERIFY}


def rows(of: RecordedCampaign) -> Check:
    """Rows are numbered in their order, so one that was taken out leaves a gap."""
    wrong, total = list(of.run.ledger.file.damage), 0
    for table in WRITTEN:
        numbers = [int(row[0]) for row in of.run.ledger.file.written(table)]
        total += len(numbers)
        gone = sorted(set(range(1, max(numbers, default=0) + 1)) - set(numbers))
        if gone:
            wrong.append(f"{table} lacks row {', '.join(map(str, gone[:8]))}")
    return Check("ledger", f"{total} rows, none taken out", tuple(wrong))


def episodes(of: RecordedCampaign) -> tuple[Check, Check]:
    """Files against their hashes, rows against files; then the packs that episodes name."""
    wrong: list[str] = []
    packs = of.run.ledger.packs()
    others: list[str] = []
    batches: dict[str, list[EpisodeRow]] = {}
    for row in of.rows:
        batches.setdefault(row.path, []).append(row)
    for path, inside in batches.items():
        try:
            files = read_files(of.run.folder / path)
            found = episodes_of(of.run.folder / path, files, inside[0].sha256)
        except StoreError as error:
            wrong.append(str(error))
            continue
        size = sum(map(len, files.values()))
        if size != inside[0].bytes:
            wrong.append(f"{path} has {size} bytes, recorded are {inside[0].bytes}")
        if [row.index for row in inside] != list(range(len(found))):
            wrong.append(f"{path} holds {len(found)} episodes, the ledger has {len(inside)} of it")
        for row in inside:
            if row.index < len(found):
                wrong += differences(of.run.ledger, row, found[row.index])
                if packs and found[row.index].packs != packs:
                    others.append(f"{row.id} was run on other packs than the campaign's")
    return (
        Check("episodes", f"{len(of.rows)} in {len(batches)} batches", tuple(wrong)),
        Check("packs", f"{len(packs)}, in every episode and as found now", (*others, *_now(packs))),
    )


def _now(packs: dict[str, str]) -> Iterator[str]:
    """Packs that are not to be found as they were."""
    for name, hash_ in packs.items():
        kind, _, called = name.partition("/")
        try:
            found = next(find(k, called).sha256 for k in KINDS if k == kind)
        except (EnpireError, StopIteration) as error:
            yield f"{name} cannot be found now: {error}"
        else:
            if found != hash_:
                yield f"{name} is {found[:12]} now, was {hash_[:12]}"


def policies(of: RecordedCampaign) -> Check:
    """Each file by its hash; each policy made by the experiment that it is called after."""
    wrong = []
    for row in of.policies.values():
        try:
            found = sha256_of(of.run.folder / row.path)
        except OSError as error:
            wrong.append(f"{row.path}: {error.strerror}")
            continue
        if found != row.sha256:
            wrong.append(f"{row.path} is not what was frozen: its sha256 differs")
    for entry in of.record.entries.values():
        row_ = of.policies.get(entry.policy)
        made = (row_.round, row_.parent) if row_ else None
        if made and made != (entry.number, entry.experiment.base):
            wrong.append(f"{entry.policy} is of round {made[0]} and {made[1]}, not its experiment")
        if row_ is None and entry.matches:
            wrong.append(f"{entry.policy} has had trials and is no policy")
    known = {FIRST, *(entry.policy for entry in of.record.entries.values())}
    wrong += [f"{name} is of no experiment" for name in of.policies.keys() - known]
    return Check("policies", f"{len(of.policies)}, by their hashes", tuple(wrong))


def time(of: RecordedCampaign) -> Check:
    """Each episode has its robot time, each robot time its episode; those cut short are there too.

    Episodes and robot time are two accounts of the same: one cannot be changed without the other.
    """
    spent: dict[str, set[Phase]] = {}
    for interval in of.run.ledger.intervals():
        if interval.episode:
            spent.setdefault(interval.episode, set()).add(interval.phase)
    ids = {row.id for row in of.rows}
    wrong = [f"{id} has robot time and no record" for id in sorted(spent.keys() - ids)]
    wrong += [f"{id} has no robot time" for id in sorted(ids - spent.keys())]
    wrong += [f"{id} lacks a phase" for id, phases in spent.items() if phases != WORK]
    cut = [row for row in of.rows if not whole(row)]
    for row in cut:
        name = episode_id(row.purpose, row.round, row.policy, row.seed)
        marked = row.id.startswith((f"{name}-aborted-", f"{name}-lost-")) or "-" in row.id
        if row.outcome in JUDGED or not marked:
            wrong.append(f"{row.id} was cut short, and yet judged")
    wrong += [f"{id} is recorded twice" for id in repeated([row.id for row in of.rows])]
    said = f"of {len(of.rows)} episodes, {len(cut)} of them cut short"
    return Check("robot time", said, tuple(wrong))
