"""A policy that is a program: the files of a frozen commit, run in a sandbox of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from enpire.environment import Workcells
from enpire.errors import PolicyError
from enpire.evolution.limits import MIB
from enpire.evolution.policy_process import PolicyLimits, PolicyProcess
from enpire.evolution.sandbox import Confinement

MOST_BYTES, MOST_FILES = 256 * MIB, 4096
RESERVED = "__metadata__"  # of a safetensors file


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """The shape of a program's observations and actions, the commit it is of, its files' digest."""

    task: str
    observation: int
    action: int
    commit: str
    digest: str

    def to_json(self) -> str:
        """For a safetensors file's metadata."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; raises PolicyError for anything else."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise PolicyError(f"not a program's description: {error}") from error


@dataclass(frozen=True, slots=True)
class ProgramPolicy:
    """Files by their paths, `policy.py` among them (`policy_worker.py` says what is in it).

    They are kept as bytes, as other policies keep numbers: nothing that changes in a workspace once
    they were taken changes them, and nothing here reads or runs them but a sandbox.
    """

    kind: ClassVar[str] = "program"
    spec: ProgramSpec
    files: Mapping[str, bytes]
    limits: PolicyLimits = field(default_factory=PolicyLimits)
    confinement: Confinement = Confinement.BUBBLEWRAP

    def __post_init__(self) -> None:
        """Raise PolicyError unless these are the files of the spec."""
        found = digest(self.files)
        if found != self.spec.digest:
            raise PolicyError(
                f"the program's files are not those of its description (their digest is {found}, "
                f"not {self.spec.digest}): they were changed after the policy was frozen"
            )

    @classmethod
    def of(
        cls, files: Mapping[str, bytes], task: str, observation: int, action: int, commit: str
    ) -> Self:
        """Freeze these files as a policy; raises PolicyError for files that cannot be one."""
        checked(files)
        return cls(ProgramSpec(task, observation, action, commit, digest(files)), dict(files))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Each file, uint8."""
        return {name: np.frombuffer(data, np.uint8) for name, data in self.files.items()}

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        files = {name: np.asarray(tensor, np.uint8).tobytes() for name, tensor in tensors.items()}
        checked(files)
        return cls(ProgramSpec.from_json(spec), files)

    def controller(self, stations: Workcells) -> PolicyProcess:
        """A process of its own, which knows nothing of any other.

        Raises:
            PolicyError: the program is for other observations or actions.
            SandboxError: there is no sandbox here.
        """
        spec = self.spec
        found = stations.observation_size, stations.action_size
        if found != (spec.observation, spec.action):
            raise PolicyError(
                f"the program takes {spec.observation} entries of an observation to {spec.action} "
                f"of an action; {stations.name} has {found[0]} and {found[1]}"
            )
        return PolicyProcess(self.files, *found, self.limits, self.confinement)


def checked(files: Mapping[str, bytes]) -> None:
    """Raise PolicyError for names that lead elsewhere, for too much, or without `policy.py`."""
    if "policy.py" not in files:
        raise PolicyError("a program needs a policy.py at its top")
    if len(files) > MOST_FILES or sum(map(len, files.values())) > MOST_BYTES:
        raise PolicyError(f"a program is {MOST_FILES} files of {MOST_BYTES // MIB} MiB at most")
    for name in files:
        path = PurePosixPath(name)
        odd = {".", "..", ".git", ""} & set(name.split("/")) or "\0" in name or path.is_absolute()
        if odd or name == RESERVED or str(path) != name:
            raise PolicyError(f"a program's file cannot be called {name!r}")


def digest(files: Mapping[str, bytes]) -> str:
    """SHA-256 over names and bytes of files."""
    found = hashlib.sha256()
    for name in sorted(files):
        data = name.encode()
        found.update(len(data).to_bytes(8, "big") + data)
        found.update(len(files[name]).to_bytes(8, "big") + files[name])
    return found.hexdigest()
