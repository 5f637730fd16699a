"""What stations that execute do: as planned before, or as their controllers say now."""

from __future__ import annotations

import math

import numpy as np

from enpire.environment.control.sensing import Readings
from enpire.environment.core.answers import numbers_of, observed, unusable
from enpire.environment.core.task import Task
from enpire.environment.stations.episode_state import EpisodeState
from enpire.errors import PolicyError, PolicyFault, ServerFault
from enpire.twin.twin import Rows
from enpire.types import SERVER, Float32Array, Outcome, Verdict


class ActionSelector:
    """Asks the controllers of one task's stations."""

    def __init__(self, task: Task) -> None:
        """Actions are those of `task`."""
        self.task, self.size = task, task.policy_actions.size
        joints = task.joint_actions
        self._fixed = (
            task.fixed_action_dims if joints is None else joints.fixed_dims(task.fixed_action_dims)
        )

    def choose(self, rows: Rows, states: list[EpisodeState], readings: Readings) -> Float32Array:
        """What the stations' controllers do, (m, act); recorded as it is carried out."""
        actions = np.empty((len(rows), self.size), dtype=np.float32)
        asked: list[int] = []
        for i, state in enumerate(states):
            if len(state.plan):
                (actions[i],) = state.follow(readings.row(i))
            else:
                asked.append(i)
        if len(asked) == len(rows):
            actions[:] = self._ask(rows, states, readings)
        elif asked:
            chosen = [states[i] for i in asked]
            actions[asked] = self._ask(rows[asked], chosen, readings.at(asked))
        for i in asked:
            states[i].actions.append(actions[i])
            states[i].execute += 1
        return actions

    def _ask(self, rows: Rows, states: list[EpisodeState], readings: Readings) -> Float32Array:
        """Show the controllers what they have not seen, and have them act, (m, act)."""
        unseen = [one for state in states for one in state.unseen]
        seen = observed(self.task, Readings.joined([readings, *unseen]) if unseen else readings)
        if unusable(self.task, seen):
            seen = self._without(seen, states)
        observations, before = seen[: len(rows)], seen[len(rows) :]
        for row, state in zip(rows.tolist(), states, strict=True):
            if state.planner and state.unseen:
                count = sum(len(one.joints) for one in state.unseen)
                missed, before = before[:count], before[count:]
                state.record(missed)
                state.planner.saw(row, missed)
        controllers = {id(state.job.controller): state.job.controller for state in states}
        actions = np.zeros((len(rows), self.size), dtype=np.float32)
        for key, controller in controllers.items():
            try:
                if len(controllers) == 1:  # as nearly always
                    chosen = controller.act(rows, observations, readings)
                    actions[:] = checked(chosen, len(rows), self.size)
                else:
                    mine = [i for i, state in enumerate(states) if id(state.job.controller) == key]
                    chosen = controller.act(rows[mine], observations[mine], readings.at(mine))
                    actions[mine] = checked(chosen, len(mine), self.size)
            except PolicyFault as fault:
                for state in states:
                    if id(state.job.controller) == key and state.verdict is None:
                        state.verdict = at_fault(fault)
        for row, state in zip(rows.tolist(), states, strict=True):
            if state.planner and state.verdict is None:
                try:
                    plan = state.planner.plan(row)
                except PolicyFault as fault:
                    state.verdict = at_fault(fault)
                else:
                    state.plan = self._keep(checked(plan, len(plan), self.size))
        for state, observation in zip(states, observations, strict=True):
            state.observations.append(observation)
        return self._keep(actions)

    def _without(self, seen: Float32Array, states: list[EpisodeState]) -> Float32Array:
        """Observations with 0 for what is no number; the episodes that showed it are invalid."""
        counts = [sum(len(one.joints) for one in state.unseen) for state in states]
        ends = len(states) + np.cumsum(counts)
        for i, (state, count, end) in enumerate(zip(states, counts, ends, strict=True)):
            if fault := unusable(self.task, seen[[i, *range(end - count, end)]]):
                state.verdict = fault
        return numbers_of(seen)

    def _keep(self, actions: Float32Array) -> Float32Array:
        """Actions (m, act) with what the task keeps written into them."""
        if not self._fixed:
            return actions
        actions = actions.copy()
        for entry, value in self._fixed.items():
            actions[:, entry] = value
        return actions


def checked(actions: Float32Array, *shape: int) -> Float32Array:
    """What a controller returned; raises PolicyError unless it is finite, of this shape."""
    if actions.shape != shape:
        raise PolicyError(f"actions of shape {actions.shape}, expected {shape}")
    if not all(map(math.isfinite, actions.ravel().tolist())):
        raise PolicyError("the policy returned actions that are not finite numbers")
    return actions


def at_fault(fault: PolicyFault) -> Verdict:
    """What the program of a policy that failed ends an episode with: it is never void.

    A server that stands between the policy and us is no part of it: what it spoils is invalid.
    """
    if isinstance(fault, ServerFault):
        return Verdict(Outcome.INVALID, stage=SERVER, reason=str(fault))
    return Verdict(Outcome.FAILURE, stage="stopped", reason=str(fault))
