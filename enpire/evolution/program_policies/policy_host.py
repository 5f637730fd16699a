"""Where a policy acts: here, if it is numbers; if it is a program, in a sandbox of its own.

No sandbox lives longer than what it was asked for: each comparison, each measurement, each
collection and each sealed evaluation has a process of its own, which has never seen another.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import numpy as np

from enpire.environment import Controller, Job, Readings, StationBackend
from enpire.errors import EnpireError, PolicyError, PolicyFault, RecipeError
from enpire.evolution.program_policies.policy_process import PolicyProcess
from enpire.improvement.collection import Collection
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.training_process import TrainingRequest
from enpire.policies import ChunkSpec, Policy, ProgramPolicy
from enpire.policies.asynchronous import live_controller
from enpire.sandbox.sandbox import Confinement
from enpire.sandbox.sanitize import one_line
from enpire.store import Run
from enpire.types import Float32Array, Purpose

SAID = 300  # characters of what a program says at its end
ASKED = 4  # stations that it is asked for before robots are
SENSED = Readings(*(np.zeros((1, 0)) for _ in range(len(Readings.__slots__))))  # it is told none


def controller(
    policy: Policy,
    stations: StationBackend,
    confinement: Confinement = Confinement.BUBBLEWRAP,
) -> Controller:
    """What has a policy of any kind act on these stations.

    Raises:
        PolicyError: it cannot act there.
        SandboxError: it is a program, and there is no sandbox here.
    """
    if not isinstance(policy, ProgramPolicy):
        return live_controller(policy, stations)
    spec, found = policy.spec, (stations.observation_size, stations.action_size)
    if found != (spec.observation, spec.action):
        raise PolicyError(
            f"the program takes {spec.observation} entries of an observation to {spec.action} "
            f"of an action; {stations.name} has {found[0]} and {found[1]}"
        )
    return PolicyProcess(policy.files, *found, confinement=confinement)


def require_acts(policy: Policy, seen: Float32Array, confinement: Confinement) -> None:
    """Ask a program once, before robots are spent on it, what it does about `seen` (m, obs).

    Raises:
        RecipeError: it does not start, or it answers with what are no actions; in its own words.
    """
    if not isinstance(policy, ProgramPolicy):
        return
    spec = policy.spec
    process = PolicyProcess(policy.files, spec.observation, spec.action, confinement=confinement)
    rows = np.arange(len(seen))
    try:
        for row in rows.tolist():
            process.begin(row, np.random.default_rng(0), 0.0)
        process.act(rows, seen, SENSED)
    except PolicyFault as fault:
        raise RecipeError(one_line(str(fault), SAID)) from fault
    finally:
        process.close()


class WrittenRecipe:
    """A recipe that nothing is collected or trained for: the policy is a text of code."""

    def __init__(self, text: str) -> None:
        """text: of `policy.py`; it is not looked at here."""
        self.text = text

    def require(self, stations: StationBackend) -> None:
        """Any stations will do."""

    def collect(self, asked: Collection) -> Iterator[Job]:
        """Nothing."""
        return iter(())

    def improve(self, given: RecipeInputs) -> Candidate:
        """The program of the text."""
        return Candidate(self.policy(given.spec), {})

    def policy(self, spec: ChunkSpec) -> ProgramPolicy:
        """The policy for the observations and actions of `spec`."""
        files = {"policy.py": self.text.encode()}
        return ProgramPolicy.of(files, spec.task, spec.observation, spec.action)


class Rehearsal:
    """What stands for the training of a policy that is written: it is asked once, in a thread."""

    def __init__(
        self, run: Run, request: TrainingRequest, recipe: WrittenRecipe, confinement: Confinement
    ) -> None:
        """Begin."""
        self._answer: Future[Candidate] = Future()
        given = recipe.policy(request.spec), first_seen(run, request), confinement
        threading.Thread(target=self._ask, args=given, daemon=True).start()

    def candidate(self, within: float) -> Candidate | None:
        """See `TrainingHandle`."""
        try:
            return self._answer.result(within)
        except TimeoutError:
            return None

    def cancel(self) -> None:
        """See `TrainingHandle`; it ends by itself, within the limits of a program."""

    def _ask(self, policy: ProgramPolicy, seen: Float32Array, confinement: Confinement) -> None:
        try:
            require_acts(policy, seen, confinement)
            self._answer.set_result(Candidate(policy, {}))
        except EnpireError as error:
            self._answer.set_exception(RecipeError(str(error)))
        except BaseException as error:
            self._answer.set_exception(error)
            raise


def first_seen(run: Run, request: TrainingRequest) -> Float32Array:
    """What stations saw first in some episodes that a training may learn from, (m, observation)."""
    kinds = (Purpose.DEMONSTRATION, Purpose.COLLECTION)
    earlier = (e for e in run.episodes(kinds) if e.round <= request.number and len(e))
    some = [e.observations[0] for e, _ in zip(earlier, range(ASKED), strict=False)]
    return np.array(some or [np.zeros(request.spec.observation)], np.float32)
