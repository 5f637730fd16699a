"""What a campaign takes over from another run, of another task maybe: what was found out, as text,
and the recipes that were kept, as settings and code.

No policy comes with it, no episode, no seed and no count: what helped there is to show here that it
helps. All of it is kept in the campaign's own folder, so it goes on without the other run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from enpire.environment import StationBackend
from enpire.errors import CampaignError, UsageError
from enpire.evolution.experiments.events import replay_events
from enpire.evolution.experiments.experiment import ExperimentState
from enpire.evolution.knowledge.board import HARNESS, LENGTH, BoardChange, Finding, FindingsBoard
from enpire.improvement import recipe_finding as recipes
from enpire.json_text import parsed
from enpire.sandbox.sanitize import cleaned, one_line
from enpire.store import Run
from enpire.store.durable import disk_errors, publish_file

FILE = "carried.json"  # in the campaign's folder
FOLDER = "carried"  # of code, in the workspace of an agent that is a program
AGENT = "carried"  # whose findings they are on the board
MOST = 20  # findings


@dataclass(frozen=True, slots=True)
class TransferredRecipe:
    """A recipe that was kept elsewhere. origin: the experiment's or policy's name there."""

    origin: str
    recipe: str
    settings: tuple[tuple[str, str], ...] = ()
    source: str = ""

    @property
    def what(self) -> tuple[object, ...]:
        """What is tried, as an experiment says it too."""
        return self.recipe, self.source, self.settings

    @property
    def file(self) -> str:
        """The file where an agent finds its code in its workspace."""
        return f"{FOLDER}/{self.origin}.py"

    def __str__(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in self.settings)
        code = f", its code is {self.file}" if self.source else ""
        return f"recipe {self.recipe} with {settings or 'its usual settings'}{code}"


@dataclass(frozen=True, slots=True)
class TransferredKnowledge:
    """What comes from one run. task, run: its own; sha256: of what had happened in it by then."""

    task: str
    run: str
    sha256: str
    findings: tuple[str, ...] = ()
    ideas: tuple[TransferredRecipe, ...] = ()

    @property
    def origin(self) -> dict[str, str]:
        """What the campaign's config says of it."""
        return {"task": self.task, "run": self.run, "sha256": self.sha256}

    @property
    def files(self) -> dict[str, str]:
        """Code for an agent's workspace, by name."""
        return {idea.file: idea.source for idea in self.ideas if idea.source}

    def fitting(self, stations: StationBackend) -> TransferredKnowledge:
        """Without recipes of the harness that are not there, or that these stations cannot run."""
        return replace(self, ideas=tuple(idea for idea in self.ideas if _fits(idea, stations)))

    def write(self, folder: Path) -> None:
        """Keep it in a campaign's folder.

        Raises:
            StoreError: the disk does not take it.
        """
        publish_file(folder / FILE, json.dumps(asdict(self), indent=1).encode())

    def post(self, board: FindingsBoard) -> None:
        """Put it up, once."""
        texts = [*self.findings, *(f"On {self.task} this was kept: {i}" for i in self.ideas)]
        deltas = [
            BoardChange("add", f"c{number}", AGENT, cleaned(text, LENGTH))
            for number, text in enumerate(texts)
        ]
        board.add([delta for delta in deltas if delta.finding not in board.findings])


def read(folder: Path) -> TransferredKnowledge | None:
    """What a campaign took over; None for nothing.

    Raises:
        CampaignError: its file is damaged.
    """
    path = folder / FILE
    if not path.exists():
        return None
    with disk_errors(path):
        text = path.read_text(encoding="utf-8")
    try:
        said = parsed(text)
        ideas = [_idea(**each) for each in said["ideas"]]
        return TransferredKnowledge(
            **{**said, "findings": tuple(said["findings"]), "ideas": tuple(ideas)}
        )
    except (ValueError, TypeError, KeyError) as error:
        raise CampaignError(f"{path} is damaged ({error!r}): restore it from a copy") from error


def read_transfer(run: Run) -> TransferredKnowledge:
    """What there is to take over from a campaign or a loop."""
    task = one_line(str(run.config.get("loop", {}).get("task", "another task")), LENGTH)
    said = hashlib.sha256()
    for row in (*run.ledger.events(), *run.ledger.decisions()):
        said.update(f"{row!r}\n".encode())
    standing = (f for f in FindingsBoard.read(run.folder).findings.values() if not f.retired)
    told = sorted(standing, key=lambda f: -f.worth)[:MOST]
    kept = _of_campaign(run) if "campaign" in run.config else _of_loop(run)
    ideas = {idea.what: idea for idea in reversed(list(kept))}  # the latest first, each once
    return TransferredKnowledge(
        task,
        str(run.folder.resolve()),
        said.hexdigest(),
        tuple(_text(finding, task) for finding in told),
        tuple(ideas.values()),
    )


def _text(finding: Finding, task: str) -> str:
    """A finding in words, without its counts."""
    if finding.agent == AGENT:
        return finding.text
    if finding.agent != HARNESS:
        return f"On {task}: {finding.text}"
    most = "most" if finding.share > 0.5 else "few"
    return f"On {task} {most} experiments with this were kept: {finding.text}"


def _of_campaign(run: Run) -> Iterator[TransferredRecipe]:
    for e in replay_events(run.ledger.events()).experiments:
        if e.state is ExperimentState.KEPT and not e.program:  # which knows one task's observations
            yield TransferredRecipe(e.id, e.recipe, e.settings, e.source)


def _of_loop(run: Run) -> Iterator[TransferredRecipe]:
    """Recipes of a loop that made a policy which was promoted."""
    loop: Mapping[str, Any] = run.config.get("loop", {})
    rows = run.ledger.policies()
    promoted = {row.recipe: row.name for row in rows if row.round and row.state == "incumbent"}
    with suppress(UsageError):  # a file that is no longer there, say
        for named in recipes.schedule(loop.get("recipe", ""), loop.get("recipe_settings", {})):
            if named.name not in promoted:
                continue
            own = named.source != named.name
            source = Path(named.source).read_text(encoding="utf-8") if own else ""
            name = Path(named.source).stem if own else named.name
            yield TransferredRecipe(promoted[named.name], name, named.settings, source)


def _idea(settings: Iterable[Iterable[str]], **said: str) -> TransferredRecipe:
    return TransferredRecipe(
        settings=tuple((str(name), str(value)) for name, value in settings), **said
    )


def _fits(idea: TransferredRecipe, stations: StationBackend) -> bool:
    if idea.source:  # which only its sandbox finds out
        return True
    try:
        (named,) = recipes.schedule(idea.recipe, dict(idea.settings))
        named.require(stations)
    except (UsageError, ValueError):
        return False
    return True
