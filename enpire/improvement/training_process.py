"""One training: what it is asked for, and how it is done, here or in a process beside the fleet."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Any, Protocol, Self

from enpire.child_environment import child_environment
from enpire.child_process import before_log, end_child, why_ended
from enpire.closing import Closing
from enpire.environment import (
    Parameter,
    RelativeTarget,
    StationBackend,
    Symmetry,
    grippers,
    instruction,
    relative_targets,
    symmetry_of,
)
from enpire.errors import RecipeError, TrainerKilledError
from enpire.improvement.checkpoint import NOWHERE, Checkpoint, digest
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.recipe_finding import remade
from enpire.json_text import loads
from enpire.policies import ChunkSpec, load, metadata, shape_of
from enpire.store import Run
from enpire.store.curves import CurveWriter, training_curve
from enpire.store.durable import publish_file
from enpire.store.weights import read, to_bytes
from enpire.types import Episode, Purpose

FOLDER = "training"  # of a run: what is under way
CANDIDATE = "candidate.safetensors"
LOG = "log.txt"  # what recipes print
WORKER = "enpire.improvement.worker"


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A training."""

    recipe: ConfiguredRecipe
    spec: ChunkSpec
    number: int  # of its round
    parent: str  # the policy to improve on, by name, or empty
    seed: int
    parameters: tuple[Parameter, ...] = ()  # of the task's skill script
    instruction: str = ""  # the task in words
    grippers: tuple[int, ...] = ()  # entries of an action that open and close hands
    symmetry: Symmetry | None = None  # how the task's scene may be moved
    # Entries of an action that may be learned as ways from where things are.
    relative: tuple[RelativeTarget, ...] = ()

    @classmethod
    def on(
        cls,
        stations: StationBackend,
        recipe: ConfiguredRecipe,
        spec: ChunkSpec,
        number: int,
        parent: str,
        seed: int,
    ) -> Self:
        """A training for some stations, which say the rest."""
        return cls(
            *(recipe, spec, number, parent, seed),
            stations.parameters,
            instruction(stations),
            grippers(stations),
            symmetry_of(stations),
            relative_targets(stations),
        )


def train(run: Run, request: TrainingRequest) -> Candidate:
    """Learn from what the run holds.

    Raises:
        RecipeError: no candidate came of it; the incumbent stays.
    """
    episodes = learned_from(run.episodes(), request.number)
    made_of = digest(request, *(episode.id for episode in episodes))
    curve = CurveWriter(training_curve(run.folder, request.number))
    checkpoint = Checkpoint(run.folder / FOLDER, made_of, curve=curve)
    return request.recipe.improve(recipe_inputs(run, request, episodes, checkpoint))


def recipe_inputs(
    run: Run,
    request: TrainingRequest,
    episodes: Sequence[Episode],
    checkpoint: Checkpoint = NOWHERE,
) -> RecipeInputs:
    """Return what a recipe learns from: these episodes, and the policy that is to be improved."""
    incumbent = None
    if request.parent:
        tensors, said = run.load_policy(request.parent)
        incumbent = load(said, tensors)
    return RecipeInputs(
        request.spec,
        episodes,
        incumbent,
        request.seed,
        checkpoint,
        request.parameters,
        request.instruction,
        request.parent,
        request.grippers,
        request.symmetry,
        request.relative,
    )


def learned_from(episodes: Iterable[Episode], number: int) -> list[Episode]:
    """All before round `number`, and what was collected for it.

    Its evaluations are left out, and what is collected ahead of later rounds: how many there are by
    now is a matter of time, and a training that begins again must learn from the same. So are
    episodes that tell nothing: of a station that broke, or that a stop of the run has cut short.
    """
    return [
        e
        for e in episodes
        if e.tells
        and (e.round < number or (e.round == number and e.purpose is not Purpose.EVALUATION))
    ]


def keep(
    run: Run, candidate: Candidate, name: str, request: TrainingRequest, state: str = "candidate"
) -> str:
    """Save what came of a training as a policy of the run; returns a line on it.

    What the training kept to go on from is deleted.
    """
    run.save_policy(
        name,
        candidate.policy.tensors(),
        metadata(candidate.policy),
        parent=request.parent,
        recipe=request.recipe.name,
        round=request.number,
        state=state,
    )
    shutil.rmtree(run.folder / FOLDER, ignore_errors=True)
    numbers = ", ".join(f"{key} {value:.4g}" for key, value in candidate.numbers.items())
    return f"{name}: {numbers}"


class TrainingHandle(Protocol):
    """A training under way."""

    def candidate(self, within: float) -> Candidate | None:
        """What came of it; None if it has not ended `within` so many seconds.

        Raises:
            TrainerKilledError: its process was killed.
            RecipeError: it failed.
        """

    def cancel(self) -> None:
        """End it; what it has kept lets it go on from there."""


class Trainer(Protocol):
    """Begins trainings, one at a time."""

    def begin(self, run: Run, request: TrainingRequest) -> TrainingHandle:
        """Begin to learn from what `run` holds now."""


class SubprocessTrainer(Closing):
    """Trains in a process of its own, which blocks no station and can bring none down."""

    def __init__(self) -> None:
        """Start the process, so that it has all it needs when it is first asked."""
        self._process = _Worker()

    def begin(self, run: Run, request: TrainingRequest) -> TrainingHandle:
        """See `Trainer`."""
        if not self._process.usable:
            self._process.cancel()
            self._process = _Worker()
        return self._process.begin(run.folder, request)

    def close(self) -> None:
        """End the process."""
        self._process.cancel()


class _Worker:
    """One process, and the training that it is asked for."""

    def __init__(self) -> None:
        self._unlogged = before_log()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "enpire.quick_start", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._unlogged,
            text=True,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C is for the loop, which ends it in order
        )
        self._answer: Future[dict[str, Any]] | None = None
        self._listener: Thread | None = None
        self._folder = Path()

    @property
    def usable(self) -> bool:
        """Whether it can be asked for another training."""
        return self._process.poll() is None and (self._answer is None or self._answer.done())

    def begin(self, run: Path, request: TrainingRequest) -> TrainingHandle:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RecipeError("the training process has no pipes")
        self._folder, self._answer = run / FOLDER, Future()
        try:
            stdin.write(json.dumps(as_json(run, request)) + "\n")
            stdin.flush()
        except BrokenPipeError:
            pass  # it is gone, which its answer will say
        self._listener = Thread(target=self._listen, args=(stdout, self._answer), daemon=True)
        self._listener.start()
        return self

    def _listen(self, stdout: IO[str], answer: Future[dict[str, Any]]) -> None:
        line = stdout.readline()
        if line:
            answer.set_result(loads(line))
            return
        code = self._process.wait()
        why = why_ended(code, self._unlogged, self._folder / LOG)
        error = f"training ended with {why}"
        answer.set_result({"error": error, "killed": code < 0})

    def candidate(self, within: float) -> Candidate | None:
        if self._answer is None:
            return None
        try:
            said = self._answer.result(within)
        except TimeoutError:
            return None
        if "error" in said:
            raise (TrainerKilledError if said.get("killed") else RecipeError)(said["error"])
        tensors, about = read(self._folder / CANDIDATE, said["sha256"])
        return Candidate(load(about, tensors), said["numbers"])

    def cancel(self) -> None:
        end_child(self._process, self._listener, self._unlogged)


def as_json(run: Path, request: TrainingRequest) -> dict[str, Any]:
    """What another process needs to know to do the same."""
    return {
        "run": str(run),
        "recipe": request.recipe.source,
        "settings": dict(request.recipe.settings),
        "spec": request.spec.to_json(),
        "number": request.number,
        "parent": request.parent,
        "seed": request.seed,
        "parameters": [asdict(parameter) for parameter in request.parameters],
        "instruction": request.instruction,
        "grippers": request.grippers,
        "symmetry": request.symmetry.to_json() if request.symmetry else "",
        "relative": [asdict(target) for target in request.relative],
    }


def request_from(said: dict[str, Any]) -> TrainingRequest:
    """The inverse of `as_json`, but for the run."""
    recipe = remade(said["recipe"], said["settings"])
    spec = shape_of(said["spec"])
    parameters = tuple(Parameter(**each) for each in said["parameters"])
    return TrainingRequest(
        recipe,
        spec,
        said["number"],
        said["parent"],
        said["seed"],
        parameters,
        said["instruction"],
        tuple(said["grippers"]),
        Symmetry.from_json(said["symmetry"]) if said["symmetry"] else None,
        tuple(RelativeTarget(**each) for each in said["relative"]),
    )


def carry_out(said: dict[str, Any]) -> dict[str, Any]:
    """Do what `as_json` says: the candidate's file in the run, and its numbers; or the error."""
    folder = Path(said["run"]) / FOLDER
    asked = request_from(said)
    with Run.open(Path(said["run"])) as run:
        candidate = train(run, asked)
    data = to_bytes(candidate.policy.tensors(), metadata(candidate.policy))
    folder.mkdir(exist_ok=True)
    publish_file(folder / CANDIDATE, data)
    numbers = {name: float(value) for name, value in candidate.numbers.items()}
    return {"numbers": numbers, "sha256": hashlib.sha256(data).hexdigest()}
