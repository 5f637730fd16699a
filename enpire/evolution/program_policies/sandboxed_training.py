"""Training by code that an agent wrote: in a sandbox, on copies, and only a file comes back.

The sandbox is shown the episodes that the training may learn from and its incumbent, copied into a
run of their own, and the recipe's file. It runs the same process that trains for a loop. What it
leaves is a safetensors file, of whose description each number is held against a bound before a
network is made of it, and whatever else it says is data. A policy that is a program stays one: it
is never more than bytes here, and acts in a sandbox of its own (`policy_host.py`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import safetensors
from safetensors.numpy import load as loaded

from enpire.errors import EnpireError, RecipeError
from enpire.evolution.program_policies.policy_host import (
    Rehearsal,
    WrittenRecipe,
    first_seen,
    require_acts,
)
from enpire.improvement.configured_recipe import ConfiguredRecipe, require_sound
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.training_process import (
    CANDIDATE,
    FOLDER,
    WORKER,
    Trainer,
    TrainingHandle,
    TrainingRequest,
    as_json,
    learned_from,
)
from enpire.json_text import loads
from enpire.policies import ChunkSpec, Policy, ProgramPolicy
from enpire.policies import load as policy_of
from enpire.sandbox.bubblewrap import hand_over, harness, python
from enpire.sandbox.limits import GIB, SandboxLimits
from enpire.sandbox.safe_read import read_inside
from enpire.sandbox.sandbox import Confinement, Sandbox, SandboxProcess
from enpire.sandbox.sanitize import one_line
from enpire.store import Run

RECIPE = "recipe.py"
ANSWER = 1 << 16  # bytes
SAID = 300  # characters of what it says went wrong
KINDS = ("chunk", "flow", "program")
MOST = {"history": 64, "stride": 64, "chunk": 256, "execute": 256, "steps": 64}
LAYERS, WIDTH = 8, 1024  # of a network


@dataclass(frozen=True, slots=True)
class SandboxedRecipe:
    """A recipe that the harness does not run: a text in place of `ConfiguredRecipe.recipe`."""

    text: str

    def improve(self, given: RecipeInputs) -> Candidate:
        """Nobody may."""
        raise RecipeError("code of an agent is trained on in a sandbox only")


def foreign(name: str, text: str, settings: tuple[tuple[str, str], ...]) -> ConfiguredRecipe:
    """An agent's own recipe, of which nothing is looked at but its text."""
    return ConfiguredRecipe(name, SandboxedRecipe(text), name, settings)


@dataclass(slots=True)
class RoutingTrainer:
    """Trains what is the harness's beside the fleet, and what is an agent's own in a sandbox."""

    beside: Trainer
    confinement: Confinement = Confinement.BUBBLEWRAP
    limits: SandboxLimits = field(
        default_factory=lambda: SandboxLimits(memory=6 * GIB, wall_s=1800.0, cpu_s=3600.0)
    )

    def begin(self, run: Run, request: TrainingRequest) -> TrainingHandle:
        """See `Trainer`."""
        recipe = request.recipe.recipe
        if isinstance(recipe, WrittenRecipe):
            return Rehearsal(run, request, recipe, self.confinement)
        if isinstance(recipe, SandboxedRecipe):
            return SandboxedTraining(run, request, recipe.text, self.limits, self.confinement)
        return self.beside.begin(run, request)


class SandboxedTraining:
    """A training in a sandbox."""

    def __init__(
        self,
        run: Run,
        request: TrainingRequest,
        text: str,
        limits: SandboxLimits,
        confinement: Confinement,
    ) -> None:
        """Copy what it may see, and begin."""
        self._folder = (run.folder / FOLDER / "confined").resolve()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._request, self._confinement = request, confinement
        self._seen = first_seen(run, request)
        self._answer: Future[Candidate] = Future()
        self._process: SandboxProcess | None = None
        copied = _copied(run, request, self._folder)
        (self._folder / RECIPE).write_text(text, encoding="utf-8")
        hand_over(self._folder)
        sandbox = Sandbox(
            limits=limits,
            readable=harness(),
            writable=(self._folder,),
            environment={"PYTHONPATH": str(Path(__file__).resolve().parents[3])},
            confinement=confinement,
        )
        named = replace(request.recipe, source=str(self._folder / RECIPE))
        said = as_json(copied, replace(request, recipe=named))
        threading.Thread(target=self._train, args=(sandbox, said), daemon=True).start()

    def candidate(self, within: float) -> Candidate | None:
        """See `TrainingHandle`."""
        try:
            return self._answer.result(within)
        except TimeoutError:
            return None

    def cancel(self) -> None:
        """See `TrainingHandle`."""
        if self._process is not None:
            self._process.end()

    def _train(self, sandbox: Sandbox, said: dict[str, Any]) -> None:
        try:
            with sandbox.start([python(), "-m", "enpire.quick_start", WORKER]) as self._process:
                self._process.stdin.write(json.dumps(said).encode() + b"\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline(ANSWER)
            breach, last = self._process.breach, self._process.last_words()
            if not line:
                raise RecipeError(f"training ended ({breach or last or 'it said nothing'})")
            self._answer.set_result(self._read(line))
        except EnpireError as error:
            self._answer.set_exception(RecipeError(one_line(str(error), SAID)))
        except Exception as error:  # whatever it has left cannot be read
            self._answer.set_exception(RecipeError(one_line(f"what it left: {error}", SAID)))

    def _read(self, line: bytes) -> Candidate:
        """What an answer and the file beside it say; all of it is foreign."""
        said = loads(line)
        if not isinstance(said, dict) or "error" in said:
            raise RecipeError(str(said.get("error")) if isinstance(said, dict) else "no answer")
        data = read_inside(self._folder, f"run/{FOLDER}/{CANDIDATE}")
        if hashlib.sha256(data).hexdigest() != said.get("sha256"):
            raise RecipeError("its candidate was written over after it was trained")
        policy = modest(data, self._request.spec)
        require_sound(policy, self._request.spec)
        require_acts(policy, self._seen, self._confinement)
        numbers = said.get("numbers")
        known = numbers.items() if isinstance(numbers, dict) else ()
        return Candidate(
            policy,
            {
                one_line(str(name), 40): float(value)
                for name, value in list(known)[:16]
                if isinstance(value, int | float)
            },
        )


def modest(data: bytes, spec: ChunkSpec) -> Policy:
    """The policy in a safetensors file that somebody else wrote.

    Raises:
        RecipeError: it is none, is for another task, or is larger than it may be.
        PolicyError: its tensors do not fit what it says of itself.
    """
    try:
        tensors = loaded(data)
        length = int.from_bytes(data[:8], "little")
        said: Mapping[str, str] = loads(data[8 : 8 + length]).get("__metadata__", {})
        shape = loads(said["spec"])
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise RecipeError(f"no policy: {error}") from error
    if said.get("kind", "chunk") not in KINDS:
        raise RecipeError(f"a policy of an agent is one of {', '.join(KINDS)}")
    if not isinstance(shape, dict) or (shape.get("observation"), shape.get("action")) != (
        spec.observation,
        spec.action,
    ):
        raise RecipeError("the policy is for another task")
    if said.get("kind") == ProgramPolicy.kind:
        return policy_of(said, tensors)  # it bounds itself
    for name, most in MOST.items():
        value = shape.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise RecipeError(f"the policy's {name} is {str(value)[:20]}: give 1 to {most}")
    for name in ("hidden", "steering"):
        widths = shape.get(name, [])
        good = isinstance(widths, list) and len(widths) <= LAYERS
        if not good or not all(type(w) is int and 1 <= w <= WIDTH for w in widths):
            raise RecipeError(f"the policy's {name} layers: {LAYERS} of {WIDTH} at most")
    return policy_of(said, tensors)


def _copied(run: Run, request: TrainingRequest, folder: Path) -> Path:
    """A run with what the training may learn from, and nothing else; never a sealed episode."""
    with Run.create(folder / "run", {}) as copy:
        episodes = learned_from(run.episodes(), request.number)
        if episodes:
            copy.add_episodes(episodes)
        if request.parent:
            tensors, said = run.load_policy(request.parent)
            copy.save_policy(request.parent, tensors, said)
    return folder / "run"
