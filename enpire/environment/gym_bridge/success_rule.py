"""What makes an episode of a Gymnasium environment a success: what it says itself, or a rule."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from enpire.environment.core.jobs import Job
from enpire.environment.gym_bridge.gym_worker import environments
from enpire.environment.gym_bridge.gym_worker.success import SAYS
from enpire.errors import UsageError
from enpire.types import FAULT, Float32Array, Outcome, Predicate, Verdict


@dataclass(slots=True)
class GymEpisode:
    """One station's episode under way."""

    job: Job
    observation: Float32Array | None = None  # None before the reset
    observations: list[Float32Array] = field(default_factory=list)
    actions: list[Float32Array] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)
    fault: Verdict | None = None  # what it ends with where policy or environment failed
    achieved: bool = False  # whether its environment said success in its reset
    passed: int | None = None  # the first step at which its environment said success
    unclear: str = ""  # what its environment said of success that is neither true nor false

    def hears(self, told: dict[str, Any]) -> None:
        """What came of a step that makes sense."""
        self.rewards.append(told["reward"])
        self.last = told
        if told["success"] and self.passed is None:
            self.passed = len(self.rewards) - 1
        self.unclear = self.unclear or told.get("unclear", "")

    @property
    def over(self) -> bool:
        """Whether its environment has ended it."""
        return bool(self.last.get("terminated") or self.last.get("truncated"))


@dataclass(slots=True)
class SuccessRule:
    """What makes an episode a success."""

    name: str  # of the environment
    # `last`, what the environment says at the last step; `any`, at any, which then is the last;
    # `terminated`, it ended before time ran out; `return`, its rewards sum to `least` or more.
    kind: str = "last"
    key: str = ""  # of its info, where it says so; by default `is_success`, `success` or `succeed`
    least: float = 0.0
    _heard: bool = False  # whether any episode said

    @classmethod
    def read(cls, text: str, name: str) -> SuccessRule:
        """Read the words of `--success`: a kind, `info:KEY`, `any:KEY`, or `return>=X`.

        Raises:
            UsageError: it is none.
        """
        kind, _, key = text.partition(":")
        if text in ("", "any", "last", "terminated"):
            return cls(name, text or "last")
        if kind in ("info", "any") and key:
            return cls(name, "any" if kind == "any" else "last", key)
        found = re.fullmatch(r"return>=([-+0-9.eE]+)", text.replace(" ", ""))
        try:
            least = float(found[1]) if found else float("nan")
        except ValueError:
            least = float("nan")
        if not np.isfinite(least):
            raise UsageError(
                f"--success {text!r} is no rule: write any, info:KEY, any:KEY, 'return>=X' or "
                "terminated"
            )
        return cls(name, "return", least=least)

    @property
    def told(self) -> str:
        """Who judges, for a person: by default the environment, at the last step."""
        said = {"any": "success at any step", "return": f"return of {self.least:g} or more"}
        how = [said.get(self.kind, self.kind)] if self.kind != "last" else []
        return ", ".join(["its environment", *how, *([f"info {self.key}"] if self.key else [])])

    def settled(self, running: GymEpisode) -> bool:
        """Whether an episode that is not over is a success already."""
        return self.kind == "any" and running.passed is not None

    def judge(self, running: GymEpisode) -> Verdict:
        """The verdict on an episode; raises UsageError where its environment does not say."""
        if self.kind == "terminated":
            return _verdict_on(Predicate("terminated", running.last["terminated"], 1, ""))
        if self.kind == "return":
            return _verdict_on(Predicate("return", sum(running.rewards), self.least, ""))
        if self.kind == "any" and running.passed is not None:
            return _verdict_on(Predicate("success", 1, 1, ""))
        unclear = running.last.get("unclear", "") or (running.unclear if self.kind == "any" else "")
        if unclear:
            return invalid(f"{self.name}: {unclear}")
        said = running.last["success"]
        if said is None and self._heard:
            return invalid(
                f"{self.name}: nothing is said of success at its last step, and it was in earlier "
                "episodes"
            )
        if said is None:
            raise UsageError(self._silent(running))
        self._heard = True
        return _verdict_on(Predicate("success", said, 1, ""), self._earlier(running))

    def _silent(self, running: GymEpisode) -> str:
        keys = self.key or ", ".join(SAYS)
        if running.passed is not None:
            return (
                f"{self.name} says success at step {running.passed + 1} and nothing at its last: "
                "give --success any"
            )
        there = ", ".join(running.last.get("keys", ()))
        has = f", which has {there}" if there else ""
        return (
            f"{self.name} does not say whether an episode was a success (no {keys} in its info"
            f"{has}): give --success info:KEY, --success 'return>=X' or --success terminated"
        )

    def _earlier(self, running: GymEpisode) -> str:
        if self.kind != "last":
            return ""
        if running.passed is None and len(running.rewards) >= environments.LONGEST:
            return (
                f" at step {environments.LONGEST}, where it was cut off (its environment does not "
                "end: a TimeLimit does)"
            )
        if running.passed is None:
            return " at its last step"
        return f" at its last step (it was 1 at step {running.passed + 1}: --success any counts it)"


def _verdict_on(predicate: Predicate, when: str = "") -> Verdict:
    if predicate.holds:
        return Verdict(Outcome.SUCCESS, (predicate,), score=1.0)
    reason = f"{predicate.name} {predicate.value_text}{when}, needed {predicate.threshold:g}"
    return Verdict(Outcome.FAILURE, (predicate,), reason=reason)


def invalid(reason: str, stage: str = FAULT) -> Verdict:
    """Return a verdict that says nothing of the policy."""
    return Verdict(Outcome.INVALID, stage=stage, reason=reason)
