"""Everything a run stores held against everything else; nothing is changed.

What needs to know how a loop decides, promotions and sealed evaluations, is held against the
episodes a layer above (`enpire.evolution.audit.conclusions`).
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from enpire.errors import StoreError
from enpire.json_text import loads
from enpire.store import orphans, weights, zarr3
from enpire.store.agreement import differences
from enpire.store.episodes import GROUP, episodes_of, read_files, read_journal
from enpire.store.evidence import frames_of_batch
from enpire.store.layout import (
    CONFIG,
    CONFIG_HASH,
    EPISODES,
    EVIDENCE,
    LEDGER,
    LOCK,
    LOST,
    NO_RESULT,
    RESULT,
    RESULT_HASH,
    SEAL,
)
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.lock import is_held
from enpire.store.rows import EpisodeRow, PolicyRow
from enpire.store.run_folder import is_run
from enpire.store.schema import CHAINED, UNCHAINED
from enpire.store.seal import broken
from enpire.store.stress import STRESS, lost_stress, read_stress

COPY = "copy it from a copy of the run"
REPAIR = "enpire fsck RUN --repair"


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not as it was recorded."""

    file: str  # relative to the run folder
    what: str  # is wrong with it
    remedy: str  # what to do

    def __str__(self) -> str:
        return f"{self.file}: {self.what}; {self.remedy}"


@dataclass(slots=True)
class Findings:
    """What a check found."""

    damage: list[Damage] = field(default_factory=list)  # what is wrong
    notes: list[str] = field(default_factory=list)  # what is not wrong, and good to know
    # episodes, policies: how many are intact, row and file
    episodes: int = 0
    policies: int = 0


def check(folder: Path) -> Findings:
    """Hold all files of a run against each other.

    Raises:
        StoreError: there is no run.
    """
    if not is_run(folder):
        raise StoreError(f"there is no run at {folder}: check the path")
    findings = Findings()
    live = is_held(folder / LOCK)
    if live:
        findings.notes.append("a process writes it: what it is about to record may be named below")
    try:
        file = LedgerFile(folder / LEDGER, writable=False, damaged=True, live=live, following=False)
    except StoreError as error:
        remedy = f"{REPAIR} makes a new one from the batches"
        findings.damage.append(Damage(LEDGER, _plain(error, folder / LEDGER), remedy))
        findings.damage += _without_ledger(folder, findings)
        return findings
    with Ledger(file) as ledger:
        findings.damage += _ledger(folder, ledger, live)
        findings.damage += _settings(folder, ledger, findings)
        try:
            findings.damage += _batches(folder, ledger, findings)
            findings.damage += _policies(folder, ledger, findings)
            findings.damage += _orphans(folder, ledger)
        except StoreError as error:
            remedy = f"{REPAIR} makes its rows again"
            findings.damage.append(Damage(LEDGER, _plain(error, folder / LEDGER), remedy))
    findings.damage += _stress(folder)
    if (lost := folder / LOST).is_dir():
        count = sum(path.is_file() for path in lost.rglob("*"))
        findings.notes.append(f"{LOST}/ holds {count} files that an opening could not explain")
    return findings


def _plain(error: StoreError, path: Path) -> str:
    """A message without the path that stands before it, and without its advice."""
    said = str(error).removeprefix("batch ").removeprefix(str(path))
    return said.strip(" :").split(": enpire fsck")[0]


def _ledger(folder: Path, ledger: Ledger, live: bool) -> Iterator[Damage]:
    remedy = f"{REPAIR} makes its rows again from the batches, as far as they have kept them"
    for line in ledger.file.damage:
        yield Damage(LEDGER, line, remedy)
    for line in ledger.file.integrity():
        yield Damage(LEDGER, line, remedy)
    if live:
        return
    if wrong := broken(folder):
        again = f"if nothing else of it is named, its rows are intact: {REPAIR} writes {SEAL} anew"
        yield Damage(LEDGER, wrong, again)


def _settings(folder: Path, ledger: Ledger, findings: Findings) -> Iterator[Damage]:
    """`config.toml` and `result.json` against the hashes that the ledger has of them."""
    if not ledger.file.chained:
        findings.notes.append(
            f"no chain: its ledger was written before there were any (schema {CHAINED}); changes "
            "of its rows show only where a batch says otherwise"
        )
    facts = ledger.facts()
    if UNCHAINED in facts:
        findings.notes.append(facts[UNCHAINED])
    if not (folder / SEAL).exists() and ledger.file.chained and not is_held(folder / LOCK):
        findings.notes.append(f"no {SEAL}: its last writer was killed, or it is under way")
    for name, key in ((CONFIG, CONFIG_HASH), (RESULT, RESULT_HASH)):
        path, said = folder / name, facts.get(key, "").split()
        remedy = COPY if name == CONFIG else "run enpire loop --resume, which writes it again"
        if not path.is_file():
            if name == CONFIG or (said and NO_RESULT not in said):
                yield Damage(name, "is missing", remedy)
            continue
        if said and weights.sha256_of(path) not in said:
            yield Damage(name, "is not what was written (its sha256 differs)", remedy)
        yield from _unparsed(path, remedy)
    group = folder / EPISODES / GROUP
    folders = any((folder / path).is_dir() for path in orphans.batches_on_disk(folder))
    if (folders or group.exists()) and (
        not group.is_file() or group.read_bytes() != zarr3.group_file({})
    ):
        yield Damage(f"{EPISODES}/{GROUP}", "is not the head of a zarr group", COPY)


def _unparsed(path: Path, remedy: str) -> Iterator[Damage]:
    try:
        text = path.read_text(encoding="utf-8")
        _ = tomllib.loads(text) if path.name == CONFIG else loads(text)
    except ValueError as error:
        yield Damage(path.name, f"does not parse ({error})", remedy)


def _batches(folder: Path, ledger: Ledger, findings: Findings) -> Iterator[Damage]:
    rows: dict[str, list[EpisodeRow]] = {path: [] for path in sorted(ledger.batches())}
    for row in ledger.episodes():
        rows[row.path].append(row)
    packs = ledger.packs()
    for path, inside in rows.items():
        if not inside:
            yield Damage(path, "has a row and no episodes", f"{REPAIR} makes them again")
            continue
        try:
            files = read_files(folder / path)
            episodes = episodes_of(folder / path, files, inside[0].sha256)
        except StoreError as error:
            yield Damage(path, _plain(error, folder / path).split(":")[0], COPY)
            findings.notes += _unchecked(folder, path)
            continue
        yield from _journal(folder, path, files)
        if [row.index for row in inside] != list(range(len(episodes))):
            what = f"holds {len(episodes)} episodes, the ledger has {len(inside)} of it"
            yield Damage(path, what, f"{REPAIR} makes its rows again")
            continue
        for row, episode in zip(inside, episodes, strict=True):
            wrong = list(differences(ledger, row, episode))
            # Demonstrations that came from elsewhere may name fewer packs.
            others = [name for name, sha in episode.packs.items() if packs.get(name, sha) != sha]
            wrong += [f"{row.id} was run on another {name} than the run's" for name in others]
            yield from (Damage(LEDGER, line, f"{REPAIR} makes its rows again") for line in wrong)
            findings.episodes += not wrong


def _journal(folder: Path, path: str, files: zarr3.Files) -> Iterator[Damage]:
    """What a batch has kept, and the pictures that belong to it."""
    try:
        journal = read_journal(files)
    except StoreError as error:
        yield Damage(path, f"its journal cannot be read: {error}", COPY)
        return
    for name, sha256 in (journal or {}).get("frames", {}).items():
        picture = folder / EVIDENCE / name
        if not picture.is_file():
            yield Damage(f"{EVIDENCE}/{name}", "is missing", COPY)
        elif hashlib.sha256(picture.read_bytes()).hexdigest() != sha256:
            yield Damage(f"{EVIDENCE}/{name}", "is not what was recorded", COPY)


def _unchecked(folder: Path, path: str) -> Iterator[str]:
    """Tell of each picture whose sha256 lies in a batch that cannot be read."""
    for picture in frames_of_batch(folder, path):
        name = picture.relative_to(folder)
        yield f"{name}: is not checked, its sha256 lies in {path}; check again once that is whole"


def _without_ledger(folder: Path, findings: Findings) -> Iterator[Damage]:
    """Check the files beside a ledger that cannot be read, by what they say of themselves."""
    for name in (CONFIG, RESULT):
        if (folder / name).is_file():
            yield from _unparsed(folder / name, COPY)
    for path in sorted(orphans.batches_on_disk(folder)):
        try:
            files = read_files(folder / path)
            episodes_of(folder / path, files)
        except StoreError as error:
            yield Damage(path, str(error), COPY)
            findings.notes += _unchecked(folder, path)
            continue
        yield from _journal(folder, path, files)
    for path in sorted(orphans.policies_on_disk(folder)):
        try:
            weights.read(folder / path, weights.sha256_of(folder / path))
        except StoreError as error:
            yield Damage(path, str(error), COPY)


def _policies(folder: Path, ledger: Ledger, findings: Findings) -> Iterator[Damage]:
    for row in ledger.policies():
        wrong = _policy(folder, row)
        findings.policies += not wrong
        if wrong:
            yield Damage(row.path, wrong, COPY)


def _policy(folder: Path, row: PolicyRow) -> str:
    path = folder / row.path
    if not path.is_file():
        return "is recorded and missing"
    if weights.sha256_of(path) != row.sha256:
        return "is not what was frozen (its sha256 differs)"
    return ""


def _orphans(folder: Path, ledger: Ledger) -> Iterator[Damage]:
    found = orphans.find(folder, ledger)
    for path in found.batches:
        yield Damage(path, "is whole and has no row", f"{REPAIR} makes it again")
    for path in found.rest:
        yield Damage(path, "has no row", f"{REPAIR} moves it to {LOST}/")


def _stress(folder: Path) -> Iterator[Damage]:
    for path in sorted((folder / STRESS).glob("[!.]*.json")):
        try:
            read_stress(folder, path.stem)
        except StoreError as error:
            yield Damage(f"{STRESS}/{path.name}", str(error).removeprefix(f"{path} "), "")
    for name in lost_stress(folder):
        what = f"is missing, and {RESULT} tells of it"
        yield Damage(name, what, "measure again with enpire stress")
