"""What the process that trains does on its node: it keeps a copy of a run's episodes, and learns.

An actor is this class, in a process that Ray has started. It trains as a run's own machine does
(`SubprocessTrainer`), in a process of its own, on a run that holds what it was sent: there is no
shared disk.
"""

from __future__ import annotations

import hashlib
import shutil
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from enpire.errors import EnpireError
from enpire.improvement.training_process import (
    FOLDER,
    SubprocessTrainer,
    TrainingHandle,
    TrainingRequest,
    as_json,
    request_from,
)
from enpire.policies import metadata
from enpire.store import Run
from enpire.store.curves import lines_after, training_curve
from enpire.types import Episode
from enpire.version import __version__

LOOK_S = 1.0  # between two looks whether it was cancelled


@dataclass(frozen=True, slots=True)
class PolicyWeights:
    """A policy by name, as a run's file has it."""

    name: str
    tensors: dict[str, NDArray[Any]]
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class TrainingMessage:
    """A training, for another machine."""

    request: dict[str, Any]  # `as_json` of what is asked
    source: str = ""  # text of the recipe's file, if it is in one of its own


@dataclass(frozen=True, slots=True)
class RemoteCandidate:
    """A candidate: its weights and what its training showed."""

    weights: PolicyWeights
    numbers: dict[str, float]


class RayTrainerActor:
    """One trainer."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._folder = Path(tempfile.mkdtemp(prefix="enpire-"))
        self._run = Run.create(self._folder / "run", {})
        self._trainer = SubprocessTrainer()
        self._training: TrainingHandle | None = None
        self._cancelled = False

    def where(self) -> tuple[str, str, str]:
        """Its node's id, its machine's name, and the version of ours there."""
        import ray

        return ray.get_runtime_context().get_node_id(), socket.gethostname(), __version__

    def add_episodes(self, episodes: Sequence[Episode]) -> None:
        """Keep episodes, in the order of the run's recording."""
        self._run.add_episodes(episodes)

    def begin(self, message: TrainingMessage, parent: PolicyWeights | None) -> None:
        """Begin to learn from all that is known. parent: the policy to improve on."""
        if parent is not None and self._run.ledger.policy(parent.name) is None:
            self._run.save_policy(parent.name, parent.tensors, parent.metadata)
        request = dict(message.request)
        if message.source:
            request["recipe"] = str(self._recipe_file(Path(request["recipe"]).name, message.source))
        self._cancelled = False
        shutil.rmtree(self._run.folder / FOLDER, ignore_errors=True)
        training_curve(self._run.folder, request["number"]).unlink(missing_ok=True)
        self._training = self._trainer.begin(self._run, request_from(request))

    def candidate(self) -> RemoteCandidate | str | None:
        """What came of it: a candidate, or why there is none; None if it was cancelled."""
        training = self._training
        while training is not None and not self._cancelled:
            try:
                found = training.candidate(LOOK_S)
            except EnpireError as error:
                return str(error)
            if found is not None:
                policy = found.policy
                return RemoteCandidate(
                    PolicyWeights("", policy.tensors(), metadata(policy)), found.numbers
                )
        return None

    def curve(self, number: int, offset: int) -> bytes:
        """Whole lines of the curve of the training of round `number`, after `offset` bytes."""
        return lines_after(training_curve(self._run.folder, number), offset)

    def cancel(self) -> None:
        """End it; from another thread than that of `candidate`."""
        self._cancelled = True
        if self._training is not None:
            self._training.cancel()

    def close(self) -> None:
        """End everything, and leave nothing on the disk."""
        self.cancel()
        self._trainer.close()
        self._run.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _recipe_file(self, name: str, text: str) -> Path:
        """A file of a recipe, under its name, as the run's machine has it."""
        folder = self._folder / "recipes" / hashlib.sha256(text.encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name


def training_message(run: Run, asked: TrainingRequest) -> TrainingMessage:
    """Return what a trainer on another machine has to know of a training."""
    request = as_json(run.folder, asked)
    source = Path(request["recipe"])
    text = source.read_text(encoding="utf-8") if source.suffix == ".py" else ""
    return TrainingMessage(request, text)
