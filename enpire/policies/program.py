"""A policy that is a program: text of code, and data beside it, which only a sandbox reads or runs.

Code as policies after Liang et al. 2022, arXiv 2209.07753. What acts is
`enpire.evolution.program_policies.policy_host`; here are the files, as others' policies are
numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from enpire.environment import StationBackend
from enpire.errors import PolicyError
from enpire.policies.description import JsonSpec, described
from enpire.sandbox.limits import MIB, MOST_BYTES, MOST_FILES

MOST_TEXT = 200  # characters of what a description says in words
RESERVED = "__metadata__"  # of a safetensors file


@dataclass(frozen=True, slots=True)
class ProgramSpec(JsonSpec):
    """The shape of a program's observations and actions, its files' digest."""

    task: str
    observation: int
    action: int
    digest: str
    commit: str = ""  # that it is of, empty for none

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; raises PolicyError for anything else."""
        spec = described(cls, text, "a program")
        words = (spec.task, spec.digest, spec.commit)
        if not all(isinstance(word, str) and len(word) <= MOST_TEXT for word in words):
            raise PolicyError("not a program's description: its words are none, or too long")
        if not all(type(size) is int for size in (spec.observation, spec.action)):
            raise PolicyError("not a program's description: its sizes are no numbers")
        return spec


@dataclass(frozen=True, slots=True)
class ProgramPolicy:
    """Files by their paths, `policy.py` among them, as `policy_worker.py` describes it.

    They are kept as bytes, as other policies keep numbers: nothing that changes in a workspace once
    they were taken changes them, and nothing here reads or runs them but a sandbox.
    """

    kind: ClassVar[str] = "program"
    spec: ProgramSpec
    files: Mapping[str, bytes]

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
        cls, files: Mapping[str, bytes], task: str, observation: int, action: int, commit: str = ""
    ) -> Self:
        """Freeze these files as a policy; raises PolicyError for files that cannot be one."""
        checked(files)
        return cls(ProgramSpec(task, observation, action, digest(files), commit), dict(files))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Each file, uint8."""
        return {name: np.frombuffer(data, np.uint8) for name, data in self.files.items()}

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        files = {name: np.asarray(tensor, np.uint8).tobytes() for name, tensor in tensors.items()}
        checked(files)
        return cls(ProgramSpec.from_json(spec), files)

    def controller(self, stations: StationBackend) -> NoReturn:
        """It never acts in this process.

        Raises:
            PolicyError: always: who may start it says where (`policy_host.py`).
        """
        raise PolicyError(
            "a policy that is a program acts in a sandbox of its own only, which there is in a "
            "campaign, enpire eval and enpire rank"
        )


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
