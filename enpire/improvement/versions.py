"""Versions of a policy that learns online, as files between its learner and its stations."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from enpire.improvement.recipe import Candidate
from enpire.policies import Policy, load, metadata
from enpire.store.durable import publish_file
from enpire.store.fault_points import fault_point
from enpire.store.weights import read, to_bytes

KEPT = 8  # newest versions: more than episodes that are under way may need
CANDIDATE = "candidate.safetensors"
_VERSION = re.compile(r"version-(\d+)\.safetensors")


def publish(folder: Path, version: int, policy: Policy) -> dict[str, Any]:
    """Write a version's file and remove old ones; returns what its reader needs."""
    fault_point("version")
    said = {"sha256": _write(_version_file(folder, version), policy)}
    fault_point("version_there")
    for path in folder.iterdir():
        found = _VERSION.fullmatch(path.name)
        if found and int(found[1]) <= version - KEPT:
            path.unlink()
    return said


def publish_candidate(folder: Path, candidate: Candidate) -> dict[str, Any]:
    """Write a candidate's file; returns what its reader needs."""
    numbers = {name: float(value) for name, value in candidate.numbers.items()}
    return {"candidate": numbers, "sha256": _write(folder / CANDIDATE, candidate.policy)}


def read_version(folder: Path, version: int, sha256: str) -> Policy:
    """Return a version; raises StoreError if its file is not what was published."""
    return _read(_version_file(folder, version), sha256)


def read_candidate(folder: Path, said: dict[str, Any]) -> Candidate:
    """Return the candidate that `publish_candidate` wrote; raises as `read_version`."""
    return Candidate(_read(folder / CANDIDATE, said["sha256"]), said["candidate"])


def earlier(folder: Path) -> dict[int, str]:
    """Return the versions whose files are there, each with its sha256."""
    found = {path: _VERSION.fullmatch(path.name) for path in folder.glob("version-*.safetensors")}
    return {
        int(match[1]): hashlib.sha256(path.read_bytes()).hexdigest()
        for path, match in found.items()
        if match
    }


def _version_file(folder: Path, version: int) -> Path:
    return folder / f"version-{version}.safetensors"


def _write(path: Path, policy: Policy) -> str:
    data = to_bytes(policy.tensors(), metadata(policy))
    publish_file(path, data)
    return hashlib.sha256(data).hexdigest()


def _read(path: Path, sha256: str) -> Policy:
    tensors, said = read(path, sha256)
    return load(said, tensors)
