"""A campaign's history as a bare git repository: a commit an experiment, a branch an agent.

    main            the first policy, then whoever was kept: cherry-picked from its agent's branch
    agents/NAME     what an agent has tried, in the order of decisions

All of it follows from the ledger: dates are those of its rows, so the same ledger gives the same
hashes, and what a process that died has left out is written when it is looked at again. Objects are
written in git's own format, without git: no hook, no configuration and no attribute can have a say.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from enpire.evolution.experiments.events import FIRST, ExperimentEntry, replay_events
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.json_text import loads
from enpire.sandbox.sanitize import one_line
from enpire.store import PolicyRow, Run
from enpire.store.durable import TEMPORARY_PREFIX, disk_errors, publish_file

FOLDER = "history.git"  # in a run's
MAIN = "refs/heads/main"
AGENTS = "refs/heads/agents"
HARNESS = "enpire <enpire@localhost>"
SUBJECT = 100  # characters of a commit's first line
FILES = {
    "HEAD": f"ref: {MAIN}\n",
    "config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
}
"""Of a bare repository, beside its objects and refs."""


@dataclass(slots=True)
class History:
    """Objects, as git keeps them before it packs them, and refs: all by name."""

    objects: dict[str, bytes] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, content: bytes) -> str:
        """Take in an object; returns its name."""
        data = b"%s %d\0%s" % (kind.encode(), len(content), content)
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        self.objects[name] = data
        return name

    def commit(
        self, files: Mapping[str, bytes], parents: list[str], author: str, at: float, text: str
    ) -> str:
        """Take in a commit of a flat folder of files; at: Unix time [s]."""
        tree = b"".join(
            b"100644 %s\0%s" % (name.encode(), bytes.fromhex(self.add("blob", data)))
            for name, data in sorted(files.items())
        )
        head = [f"tree {self.add('tree', tree)}", *(f"parent {name}" for name in parents)]
        head += [f"author {author} {int(at)} +0000", f"committer {HARNESS} {int(at)} +0000"]
        return self.add("commit", "\n".join([*head, "", text]).encode("utf-8", "replace"))


def history(run: Run) -> History:
    """What a run's ledger comes to; empty before there is a first policy.

    Raises:
        CampaignError: its events cannot follow on each other.
    """
    made, policies = History(), {row.name: row for row in run.ledger.policies()}
    rows = run.ledger.episodes()
    if FIRST not in policies or not rows:
        return made
    record = replay_events(run.ledger.events())
    settings = json.dumps(run.config["loop"], indent=2, sort_keys=True) + "\n"
    always = {"campaign.json": settings.encode()}
    text = _first_message(policies[FIRST])
    at = min(row.committed_at for row in rows)
    main = made.refs[MAIN] = made.commit(always, [], HARNESS, at, text)
    kept = {
        FIRST: main
    }  # commits of main, by policy: a branch begins at what its first improves on
    commits: dict[str, str] = {}  # of experiments, by id
    for number, _ in record.decided:
        entry = record.entries[number]
        e = entry.experiment
        branch = f"{AGENTS}/{e.agent}"
        merged = [commits[id] for id in e.merges if id in commits]
        parents = list(dict.fromkeys([made.refs.get(branch, kept.get(e.base, main)), *merged]))
        files = always | _files(entry, policies.get(entry.policy), run.config["loop"]["seed"])
        author = f"{e.agent} <{e.agent}@localhost>"
        text = _message(entry, policies.get(entry.policy))
        commit = made.commit(files, parents, author, entry.ended, text)
        made.refs[branch] = commits[e.id] = commit
        if e.state is ExperimentState.KEPT:
            text += f"(cherry picked from commit {commit})\n"
            main = made.commit(files, [main], author, entry.ended, text)
            made.refs[MAIN] = kept[e.id] = main
    return made


def write(run: Run) -> None:
    """Bring the repository in a run's folder up to its ledger; nothing that is there is changed."""
    folder, made = run.folder / FOLDER, history(run)
    if not made.refs:
        return
    with disk_errors(folder):
        (folder / "refs").mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        if not (folder / name).is_file():
            publish_file(folder / name, text.encode())
    for name, data in made.objects.items():
        path = _object(folder, name)
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            publish_file(path, zlib.compress(data))
    for name, commit in made.refs.items():
        if _read(folder / name) != f"{commit}\n".encode():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            publish_file(folder / name, f"{commit}\n".encode())


def differences(run: Run) -> Iterator[str]:
    """Tell where the repository in a run's folder is not what its ledger comes to."""
    folder, made = run.folder / FOLDER, history(run)
    if made.refs and not folder.is_dir():
        yield f"there is no {FOLDER}"
        return
    for name, text in FILES.items():
        if made.refs and _read(folder / name) != text.encode():
            yield f"{FOLDER}/{name} is not as it was made"
    for name, commit in made.refs.items():
        found = (_read(folder / name) or b"nothing").decode(errors="replace").strip()
        if found != commit:
            yield f"{name} is at {found[:12]}, by the ledger it is at {commit[:12]}"
    for name, data in made.objects.items():
        if _inflated(_object(folder, name)) != data:
            yield f"object {name[:12]} is missing or damaged"
    known = {*FILES, *made.refs, *(str(_object(Path(), name)) for name in made.objects)}
    for path in sorted(folder.rglob("*")):
        named = path.relative_to(folder).as_posix()
        if path.is_file() and named not in known and not path.name.startswith(TEMPORARY_PREFIX):
            yield f"{FOLDER}/{named} is not of the ledger"


def _first_message(policy: PolicyRow) -> str:
    about = f"{FIRST}, made by {one_line(policy.recipe, SUBJECT)}"
    return f"{about}\n\nPolicy: {policy.sha256}\n"


def _files(entry: ExperimentEntry, policy: PolicyRow | None, seed: int) -> dict[str, bytes]:
    """What a commit holds: the experiment and what came of it, and the code that it brought."""
    e = entry.experiment
    said = loads(e.as_json()) | {
        "number": entry.number,
        "policy": {"name": policy.name, "sha256": policy.sha256} if policy else None,
        "seeds": {"campaign": seed, "round": entry.number},
        "effect": _effect(e),
    }
    code = {"recipe.py": str(said.pop("source")), "policy.py": str(said.pop("program", ""))}
    files = {"experiment.json": (json.dumps(said, indent=2, sort_keys=True) + "\n").encode()}
    return files | {name: text.encode("utf-8", "replace") for name, text in code.items() if text}


def _effect(experiment: Experiment) -> dict[str, object] | None:
    if experiment.effect is None:
        return None
    record = experiment.effect.record
    return {"wins": record.wins, "losses": record.losses, "ties": record.ties} | {
        "said": str(experiment.effect)
    }


def _message(entry: ExperimentEntry, policy: PolicyRow | None) -> str:
    e = entry.experiment
    lines = [one_line(f"{e.id} {e.state}: {e.hypothesis}", SUBJECT), ""]
    lines += [e.reason, ""] if e.reason else []
    lines += [f"Experiment: {e.id}", f"State: {e.state}", f"Base: {e.base}"]
    lines += [f"Policy: {policy.sha256}"] if policy else []
    lines += [f"Merges: {', '.join(e.merges)}"] if e.merges else []
    return "\n".join(lines) + "\n"


def _object(folder: Path, name: str) -> Path:
    return folder / "objects" / name[:2] / name[2:]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _inflated(path: Path) -> bytes | None:
    try:
        return zlib.decompress(path.read_bytes())
    except (OSError, zlib.error):
        return None
