"""A trainer somewhere in a cluster: `Trainer` over Ray."""

from __future__ import annotations

import time
from typing import Any

from enpire.closing import Closing
from enpire.cluster.connection import GPU, Cluster, first_line
from enpire.cluster.survey import require_version
from enpire.cluster.trainer_actor import (
    PolicyWeights,
    RayTrainerActor,
    RemoteCandidate,
    TrainingMessage,
    training_message,
)
from enpire.errors import EnvironmentFault, RecipeError, UsageError
from enpire.improvement.recipe import Candidate
from enpire.improvement.training_process import TrainingHandle, TrainingRequest
from enpire.policies import load
from enpire.store import Run
from enpire.store.curves import CurveWriter, training_curve
from enpire.version import __version__

START_S = 300.0  # until there is a process to train in
CLOSE_S = 10.0  # that it may take to put its things away
AT_ONCE = 64  # episodes in one message
CURVE_S = 5.0  # between two looks at a training's curve
TIMES = 3  # that a training is begun, each time on another process, before it counts as failed


class RayTrainer(Closing):
    """Trains on a node with a GPU, or on any where the cluster has none.

    An episode is sent once, and kept there for later rounds.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Have the cluster start a process to train in.

        Raises:
            UsageError: no node has room for it, or it has another version of ours.
        """
        self._cluster, self._ray = cluster, cluster.ray
        self._sent: set[str] = set()
        self._actor, self.node = self._start()

    def begin(self, run: Run, request: TrainingRequest) -> TrainingHandle:
        """See `Trainer`."""
        return _RayTraining(self, run, request)

    def close(self) -> None:
        """End its process."""
        done = self._actor.close.remote()
        self._ray.wait([done], timeout=CLOSE_S)
        self._ray.kill(self._actor)

    def learn(self, run: Run, request: TrainingRequest) -> Any:
        """Send what it lacks and have it begin; returns the reference of what will come of it."""
        lacking = [episode for episode in run.episodes() if episode.id not in self._sent]
        for begin in range(0, len(lacking), AT_ONCE):
            some = lacking[begin : begin + AT_ONCE]
            self._ray.get(self._actor.add_episodes.remote(some))
            self._sent |= {episode.id for episode in some}
        parent = (
            PolicyWeights(request.parent, *run.load_policy(request.parent))
            if request.parent
            else None
        )
        message: TrainingMessage = training_message(run, request)
        self._ray.get(self._actor.begin.remote(message, parent))
        return self._actor.candidate.remote()

    def curve(self, number: int, offset: int) -> bytes:
        """Return what its curve has gained there after `offset` bytes; nothing if it is lost."""
        try:
            lines: bytes = self._ray.get(self._actor.curve.remote(number, offset), timeout=1.0)
        except self._ray.exceptions.RayError:
            return b""
        return lines

    def cancel(self) -> None:
        """End what is under way."""
        self._actor.cancel.remote()

    def renew(self) -> None:
        """Have another process, which knows nothing yet, in place of one that is lost."""
        self._ray.kill(self._actor)
        self._sent.clear()
        self._actor, self.node = self._start()

    def _start(self) -> tuple[Any, str]:
        needs = {"num_gpus": 1} if self._cluster.room(GPU) else {"num_cpus": 1}
        actor = self._ray.remote(RayTrainerActor).options(**needs, max_concurrency=3).remote()
        try:
            node, _, version = self._ray.get(actor.where.remote(), timeout=START_S)
        except self._ray.exceptions.RayError as error:
            self._ray.kill(actor)
            wanted = "GPU" if "num_gpus" in needs else "CPU"
            raise EnvironmentFault(
                f"the cluster at {self._cluster.address} started no process to train in, which "
                f"needs a free {wanted} ({first_line(error)}): see ray status"
            ) from error
        name = self._cluster.name_of(node)
        try:
            require_version(name, version, __version__)
        except UsageError:
            self._ray.kill(actor)
            raise
        return actor, name


class _RayTraining:
    """A training under way on a node; one whose node is lost begins anew on another."""

    def __init__(self, trainer: RayTrainer, run: Run, request: TrainingRequest) -> None:
        self._trainer, self._run, self._request = trainer, run, request
        self._ray = trainer._ray
        self._lost = 0
        self._coming: Any = None
        self._curve = CurveWriter(training_curve(run.folder, request.number))
        self._copied, self._looked = 0, 0.0  # bytes of the curve; when it was looked at
        self._begin()

    def candidate(self, within: float) -> Candidate | None:
        """See `TrainingHandle`."""
        ready, _ = self._ray.wait([self._coming], timeout=within)
        if ready or time.monotonic() - self._looked > CURVE_S:
            self._copy_curve()
        if not ready:
            return None
        try:
            found: RemoteCandidate | str | None = self._ray.get(self._coming)
        except self._ray.exceptions.RayTaskError:
            raise  # a fault of ours
        except self._ray.exceptions.RayError as error:
            self._begin_again(error)
            return None
        if isinstance(found, RemoteCandidate):
            return Candidate(load(found.weights.metadata, found.weights.tensors), found.numbers)
        raise RecipeError(f"on node {self._trainer.node}: {found or 'training was cancelled'}")

    def cancel(self) -> None:
        """See `TrainingHandle`."""
        self._trainer.cancel()

    def _copy_curve(self) -> None:
        lines = self._trainer.curve(self._request.number, self._copied)
        self._curve.append(lines)
        self._looked = time.monotonic()
        self._copied += len(lines)

    def _begin(self) -> None:
        self._copied = 0
        while True:
            try:
                self._coming = self._trainer.learn(self._run, self._request)
                return
            except self._ray.exceptions.RayTaskError:
                raise
            except self._ray.exceptions.RayError as error:
                self._renew(error)

    def _begin_again(self, error: BaseException) -> None:
        self._renew(error)
        self._begin()

    def _renew(self, error: BaseException) -> None:
        """Go on with another process.

        Raises:
            RecipeError: too many were lost.
        """
        self._lost += 1
        if self._lost >= TIMES:
            raise RecipeError(
                f"node {self._trainer.node} was lost in the middle of training, as {TIMES - 1} "
                f"before it were ({first_line(error)})"
            ) from error
        self._trainer.renew()
