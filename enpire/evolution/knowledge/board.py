"""The board: what a campaign has found out, with its evidence, for all of its agents.

Findings are short. Some an agent has posted; others the harness distils, by contrasting experiments
that were kept with those that were dropped (after CORE, Nasvytis et al. 2026, arXiv 2605.28742).
Nobody rewrites one: it is added, counted for or against, and retired when it has told nothing,
small deltas each (after ACE, Zhang et al. 2025, arXiv 2510.04618). What decides is which of the
experiments that relied on it were kept, by the harness's own test; only decided experiments count
(as PREPING lets validated practice alone into memory, Choi et al. 2026, arXiv 2605.13880).

The file is append-only, a JSON object a line, with one writer. A line counts once it is whole: what
a loss of power left of the last one is cut off when the board is next opened for writing.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

from enpire.errors import CampaignError
from enpire.evolution.experiments.effect import Effect, pooled
from enpire.evolution.experiments.experiment import NAME, Experiment, ExperimentState
from enpire.evolution.knowledge.bm25 import Bm25Index
from enpire.evolution.knowledge.dedup import changed
from enpire.json_text import loads
from enpire.sandbox.sanitize import NOTE, cleaned, quoted
from enpire.store.durable import disk_errors, publish_file
from enpire.store.lock import WriterLock

FILE = "board.jsonl"
HARNESS = "harness"
LENGTH = 400  # characters of a finding
SUPPORT = 2  # decided experiments with a change, before anything is said of it
CONTRAST = 0.2  # that its share of kept ones differs from the others', to be worth a line
CAPACITY = 60  # findings that are not retired
OWN = 12  # of those, an agent's
ENOUGH = 6  # experiments after which one that tells nothing is retired
TELLING = 0.1  # that its share of kept ones must be off a half by then


@dataclass(frozen=True, slots=True)
class Finding:
    """What somebody found."""

    id: str
    agent: str
    text: str
    evidence: tuple[str, ...] = ()  # the experiments it was drawn from
    # helped, harmed: experiments, decided since, that relied on it (or that it is about, if the
    # harness distilled it), and were kept or were not
    helped: tuple[str, ...] = ()
    harmed: tuple[str, ...] = ()
    retired: str = ""  # why, or empty

    @property
    def support(self) -> int:
        """Experiments that count for or against it."""
        return len(self.helped) + len(self.harmed)

    @property
    def share(self) -> float:
        """The share of those that was kept: mean of the Beta posterior from a uniform prior."""
        return (len(self.helped) + 1) / (self.support + 2)

    @property
    def worth(self) -> float:
        """How much it tells: what always helps or never does, and has been tried often."""
        telling = abs(self.share - 0.5) if self.agent == HARNESS else self.share - 0.5
        return telling * math.sqrt(self.support + 1)


@dataclass(frozen=True, slots=True)
class BoardChange:
    """One line of the file: a finding is added, counted for or against, or retired.

    `add` needs `agent`, `text` and `evidence`; `help` and `harm` the `experiment`; `retire` `text`.
    """

    kind: Literal["add", "help", "harm", "retire"]
    finding: str
    agent: str = ""
    text: str = ""
    evidence: tuple[str, ...] = ()
    experiment: str = ""

    def as_json(self) -> str:
        """One line."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})


def applied(findings: Mapping[str, Finding], delta: BoardChange) -> dict[str, Finding]:
    """The findings after one more delta; one that counts an experiment again changes nothing.

    Raises:
        CampaignError: it adds what is there, or is about what is not.
    """
    found = dict(findings)
    if delta.kind == "add":
        if delta.finding in found:
            raise CampaignError(f"finding {delta.finding} is on the board already")
        found[delta.finding] = Finding(delta.finding, delta.agent, delta.text, delta.evidence)
        return found
    old = found.get(delta.finding)
    if old is None:
        raise CampaignError(f"the board has no finding {delta.finding}")
    if delta.kind == "retire":
        found[delta.finding] = replace(old, retired=delta.text)
    elif delta.experiment not in old.helped + old.harmed:
        side = "helped" if delta.kind == "help" else "harmed"
        counted = (*getattr(old, side), delta.experiment)
        found[delta.finding] = (
            replace(old, helped=counted) if side == "helped" else replace(old, harmed=counted)
        )
    return found


def counts(findings: Mapping[str, Finding], experiments: Iterable[Experiment]) -> list[BoardChange]:
    """What decided experiments add for or against the findings that they relied on."""
    return [
        _count(findings[name], e)
        for e in experiments
        if _tells(e)
        for name in dict.fromkeys(e.builds_on)
        if name in findings and e.id not in findings[name].helped + findings[name].harmed
    ]


def distilled(
    findings: Mapping[str, Finding], experiments: Iterable[Experiment]
) -> list[BoardChange]:
    """What kept and dropped experiments tell by what sets them apart: new findings, and counts.

    For every change, a recipe or a direction of a setting, the share kept of those experiments that
    have it is held against that of those that do not.
    """
    decided = [e for e in experiments if _tells(e)]
    having: dict[str, list[Experiment]] = {}
    for e in decided:
        for change in dict.fromkeys(changed(e)):
            having.setdefault(change, []).append(e)
    deltas: list[BoardChange] = []
    known = {f.text: f for f in findings.values() if f.agent == HARNESS}
    for change, those in having.items():
        others = [e for e in decided if e not in those]
        finding = known.get(change)
        if finding is None:
            telling = abs(_share_kept(those) - _share_kept(others)) >= CONTRAST
            if len(those) < SUPPORT or not others or not telling:
                continue
            name = f"h{len(known)}"
            finding = known[change] = Finding(name, HARNESS, change)
            deltas.append(BoardChange("add", name, HARNESS, change, tuple(e.id for e in those)))
        counted = finding.helped + finding.harmed
        deltas += [_count(finding, e) for e in those if e.id not in counted]
    return deltas


def pruned(findings: Mapping[str, Finding], capacity: int = CAPACITY) -> list[BoardChange]:
    """The findings to retire: what tells nothing though tried often, and the least telling."""
    standing = [f for f in findings.values() if not f.retired]
    idle = [f for f in standing if f.support >= ENOUGH and _idle(f)]
    left = sorted((f for f in standing if f not in idle), key=lambda f: -f.worth)
    return [
        *(BoardChange("retire", f.id, text=f"tells nothing after {f.support}") for f in idle),
        *(BoardChange("retire", f.id, text="others tell more") for f in left[capacity:]),
    ]


def _idle(finding: Finding) -> bool:
    """Whether it makes no difference, or, an agent's advice, has not helped."""
    off = finding.share - 0.5
    return abs(off) < TELLING or (finding.agent != HARNESS and off < 0)


def _tells(experiment: Experiment) -> bool:
    """Whether it was decided by trials, or failed: withdrawn ones say nothing."""
    return experiment.state is ExperimentState.FAILED or (
        experiment.decided and experiment.effect is not None
    )


def _share_kept(experiments: Sequence[Experiment]) -> float:
    return (sum(e.state is ExperimentState.KEPT for e in experiments) + 1) / (len(experiments) + 2)


def _count(finding: Finding, experiment: Experiment) -> BoardChange:
    kind: Literal["help", "harm"] = "help" if experiment.state is ExperimentState.KEPT else "harm"
    return BoardChange(kind, finding.id, experiment=experiment.id)


def board_text(
    findings: Iterable[Finding], experiments: Iterable[Experiment], query: str = "", most: int = 12
) -> str:
    """The standing findings as text for an agent, quoted: what tells most, or answers the query."""
    standing = sorted((f for f in findings if not f.retired), key=lambda f: -f.worth)
    if query.strip():
        index = Bm25Index([f.text for f in standing])
        chosen = [standing[k] for k in index.best(query, most)]
    else:
        chosen = standing[:most]
    if not chosen:
        return "The board has nothing on that." if query.strip() else "The board is empty."
    by_id = {e.id: e for e in experiments}
    lines = [f"{len(chosen)} of {len(standing)} findings. {NOTE}"]
    for f in chosen:
        lines += [_heading(f, by_id), quoted(f.text, LENGTH)]
    return "\n".join(lines)


def _heading(finding: Finding, experiments: Mapping[str, Experiment]) -> str:
    about = "of experiments with it" if finding.agent == HARNESS else "of those that relied on it"
    counted = finding.helped + finding.harmed if finding.agent == HARNESS else finding.evidence
    effects = [e.effect for name in counted if (e := experiments.get(name)) and e.effect]
    parts = [f"{len(finding.helped)} kept, {len(finding.harmed)} not, {about}"]
    if effects:
        parts.append(f"effect {Effect(pooled(effect.record for effect in effects))}")
    if finding.evidence:
        parts.append("evidence " + ", ".join(finding.evidence[:6]))
    return f"{finding.id} by {finding.agent}: {'; '.join(parts)}"


@dataclass(slots=True)
class FindingsBoard:
    """The board in a campaign's folder; `open` it to write, `read` it without."""

    path: Path
    findings: dict[str, Finding] = field(default_factory=dict)
    _lock: WriterLock | None = None

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open it for writing: there is one writer, the harness.

        Raises:
            StoreError: another process writes it, or the disk refuses.
            CampaignError: the file is not a board's.
        """
        path = folder / FILE
        lock = WriterLock(folder / f"{FILE}.lock")
        try:
            if not path.exists():
                publish_file(path, b"")
            with disk_errors(path):
                data = path.read_bytes()
                whole = data.rfind(b"\n") + 1
                if whole < len(data):
                    os.truncate(path, whole)
            return cls(path, _read(path), lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read it as it stands, for looking at; empty where there is none yet."""
        path = folder / FILE
        return cls(path, _read(path) if path.exists() else {})

    def post(
        self, agent: str, text: str, evidence: Sequence[str], known: Mapping[str, Experiment]
    ) -> Finding:
        """Put up what an agent says, cleaned and cut; its evidence must have been decided.

        What it has said already stays as it is, and nobody drives others' findings off the board.

        Raises:
            CampaignError: no text, no evidence, evidence that there is not, or too many of its own.
        """
        said = cleaned(text, LENGTH)
        if not said:
            raise CampaignError("a finding needs a text: one or two sentences, with numbers")
        if not NAME.fullmatch(agent) or agent == HARNESS:
            raise CampaignError(f"{agent[:80]!r} is no agent's name")
        if not evidence:
            raise CampaignError("a finding needs evidence: give ids of decided experiments")
        for name in evidence:
            if name not in known or not known[name].decided:
                raise CampaignError(f"{name[:80]!r} is no decided experiment: see read_results")
        own = [f for f in self.findings.values() if f.agent == agent and not f.retired]
        for finding in own:
            if finding.text == said:
                return finding
        if len(own) >= OWN:
            raise CampaignError(f"{agent} has {OWN} findings on the board: build on those")
        number = sum(f.agent != HARNESS for f in self.findings.values())
        chosen = tuple(dict.fromkeys(evidence))
        self.add([BoardChange("add", f"f{number}", agent, said, chosen)])
        return self.findings[f"f{number}"]

    def learn(self, experiments: Sequence[Experiment]) -> list[BoardChange]:
        """Count what was decided, distil it, prune; the deltas, which are none if all was known."""
        done: list[BoardChange] = []
        for step in (counts, distilled):
            deltas = step(self.findings, experiments)
            self.add(deltas)
            done += deltas
        retiring = pruned(self.findings)
        self.add(retiring)
        return done + retiring

    def add(self, deltas: Sequence[BoardChange]) -> None:
        """Append, durably, all of them or, where the disk refuses, none.

        Raises:
            StoreError: the disk is full or refuses.
            CampaignError: a delta does not fit, or the board is open for reading only.
        """
        if self._lock is None:
            raise CampaignError(f"{self.path} is open for reading only")
        after = self.findings
        for delta in deltas:
            after = applied(after, delta)
        if not deltas:
            return
        data = "".join(f"{delta.as_json()}\n" for delta in deltas).encode()
        with disk_errors(self.path):
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            length = os.fstat(handle).st_size
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(handle, rest) :]
                os.fsync(handle)
            except OSError:
                os.ftruncate(handle, length)
                raise
            finally:
                os.close(handle)
        self.findings = after

    def close(self) -> None:
        """Let another writer in; safe to call twice."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _read(path: Path) -> dict[str, Finding]:
    """The findings of all whole lines."""
    with disk_errors(path):
        data = path.read_bytes()
    findings: dict[str, Finding] = {}
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            values = loads(line)
            findings = applied(
                findings, BoardChange(**(values | {"evidence": tuple(values["evidence"])}))
            )
        except (ValueError, TypeError, KeyError, CampaignError) as error:
            raise CampaignError(
                f"{path}:{number} is no line of a board ({error}): restore it from a copy"
            ) from error
    return findings
