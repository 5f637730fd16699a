"""The last phase of an episode: what the task does to find out, what is seen, and the verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enpire.environment.cameras.camera import CameraView, VerifierCameras
from enpire.environment.control.cartesian_control import CartesianControl
from enpire.environment.control.sensing import Readings
from enpire.environment.control.step_scheduler import StepScheduler
from enpire.environment.core.answers import probed, require_verdict
from enpire.environment.core.faults import TOO_LONG, WatchedCall, call_within, expire
from enpire.environment.core.task import Evidence, Task, Watched
from enpire.environment.stations.episode_state import EpisodeState
from enpire.environment.stations.verdict_watch import VerdictWatch
from enpire.errors import printable
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray, Outcome, Predicate, Verdict

LOOKS = 3  # at most, while the verifier is unsure


class Verifier:
    """Probes, looks and judges on one twin's stations.

    verifier_cameras: by which a task that looks is verified; None: by sensors.
    """

    def __init__(
        self, task: Task, control: CartesianControl, period: float, scheduler: StepScheduler
    ) -> None:
        """period: of control [s]. scheduler: holds a station that is looked at."""
        self.task, self.control, self.period = task, control, period
        self.verifier_cameras: VerifierCameras | None = None
        self._scheduler = scheduler
        self._watch_verdicts = VerdictWatch(task)

    def period_over(
        self,
        rows: Rows,
        states: list[EpisodeState],
        verifying: list[int],
        readings: Readings,
        jacobian: FloatArray,
    ) -> None:
        """One control period of the `verifying` ones of these stations."""
        actions = np.zeros((len(rows), self.task.actions.size), dtype=np.float32)
        for i in verifying:
            with states[i].blamed(self.task.folder):
                self._verify(int(rows[i]), states[i], readings.row(i), actions[i])
        moving = [i for i in verifying if states[i].verdict is None and not states[i].looks]
        if moving:
            no_force = np.zeros_like(readings.wrist_force[moving])  # a probe minds its own pull
            self.control.apply(rows[moving], actions[moving], jacobian[moving], no_force)

    def _verify(
        self, row: int, state: EpisodeState, readings: Readings, action: Float32Array
    ) -> None:
        state.verify += 1  # the verdict takes a period of its own
        self._watch_verdicts.begins()
        state.evidence.append(readings)
        if state.look is not None:
            verdict = state.look.result()
            if state.looks < LOOKS and verdict.undecided:
                self._look_at(row, state)
            else:
                self._judged(state, verdict)
            return
        evidence = Evidence(state.evidence, self.period)
        probe = (
            self.task.verification_action(evidence)
            if evidence.elapsed < self.task.probe_limit
            else None
        )
        looks = self.verifier_cameras is not None and self.task.verifies_views
        if probe is not None:
            action[:] = probed(self.task, probe)
            if looks and self.task.watch(evidence):
                self._watch(row, state, evidence)
        elif looks:
            self._look_at(row, state)
        else:
            task = self.task
            verdict = call_within(TOO_LONG, lambda: task.verify(evidence), task.folder)
            self._judged(state, verdict)
            self._watch_verdicts.judged(Evidence(tuple(state.evidence), self.period), verdict)

    def _judged(self, state: EpisodeState, verdict: Verdict) -> None:
        """The end of an episode, or of an attempt; a verdict that makes no sense raises."""
        require_verdict(verdict)
        self._watch_verdicts.executed(state.execute, verdict)
        verdict = replace(verdict, reason=printable(" ".join(verdict.reason.split())))
        if verdict.outcome is Outcome.FAILURE and state.attempt < state.job.attempts:
            state.again = True
        else:
            state.verdict = verdict

    def _watch(self, row: int, state: EpisodeState, evidence: Evidence) -> None:
        """Have pictures taken of this period, for later; the probe goes on."""
        if self.verifier_cameras is None:
            return
        at = len(evidence.readings) - 1
        taken = self.verifier_cameras.look(
            row, evidence.elapsed, lambda views: Watched(at, tuple(views))
        )
        state.watched.append(taken)

    def _look_at(self, row: int, state: EpisodeState) -> None:
        """Have the cameras' thread judge; the station stands still meanwhile, others go on."""
        if self.verifier_cameras is None:
            return
        task, period, readings = self.task, self.period, tuple(state.evidence)
        watched, call = tuple(state.watched), WatchedCall()

        def judge(views: list[CameraView]) -> Verdict:
            before = [taken.result() for taken in watched]
            call.begin()
            untracked = [one.untracked() for one in readings]
            return task.verify_views(Evidence(untracked, period, views, before))

        self._scheduler.hold(row)
        state.looks += 1
        state.look = self.verifier_cameras.look(row, Evidence(readings, period).elapsed, judge)
        expire(state.look, TOO_LONG, call, f"{task.folder / 'task.py'}: verify_views")
        state.look.add_done_callback(lambda _: self._scheduler.release(row))


def too_hard(force: float, most: float) -> Verdict:
    """What a wrist that has felt more than `most` [N] ends an episode with."""
    limit = Predicate("force", force, most, "N", at_least=False)
    reason = f"wrist force {force:.0f} N above the limit of {limit.threshold:.0f} N"
    return Verdict(Outcome.FAILURE, (limit,), stage="stopped", reason=reason)
