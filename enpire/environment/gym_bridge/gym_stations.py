"""Gymnasium environments as stations: `--task gym:ENV_ID`.

Each station has an environment of its own in a process of its own, or its place in a vector
environment, and runs one job at a time in it: reset, then a step a period, until the environment
ends the episode. Whether it was a success, the environment says, or a rule that was stated.

An environment is somebody else's program. Where it raises, or shows what makes no sense, the
episode is invalid; where its process dies or hangs, the station is lost under it. Either way a
fleet hands the job out again, and the station tries again, in a new process if need be. It is set
aside after three times in a row.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from enpire.child_environment import child_environment
from enpire.environment.control.sensing import Readings
from enpire.environment.core.clipping import ClippedActions
from enpire.environment.core.controller import Controller, RandomActions, intervened, rewound
from enpire.environment.core.jobs import Job
from enpire.environment.core.policy_cameras import PolicyCameras
from enpire.environment.core.task import Parameter
from enpire.environment.gym_bridge import gym_worker
from enpire.environment.stations.action_selector import at_fault, checked
from enpire.errors import EnpireError, EnvironmentFault, PolicyFault, UsageError
from enpire.packs.finder import GYM
from enpire.twin.twin import Rows
from enpire.types import (
    FAULT,
    LOST,
    Episode,
    Float32Array,
    FloatArray,
    Outcome,
    Predicate,
    Times,
    Verdict,
)

SEEDS = 2**31  # a job's seed modulo this: environments hand theirs to generators of 32 bits
# That a worker may take to start, or for a reset; to answer else; to end.
START_S, ANSWER_S, END_S = 300.0, 60.0, 5.0
LEAVE_S = 30.0  # for one that has hung up, until its exit code is there
WORKER = Path(gym_worker.__file__)
TRIES = 3  # faults in a row that set a station aside

Came = gym_worker.Came


class LostEnvironment(EnvironmentFault):
    """The process of an environment died, or hangs: the same job may do well on another."""


class Connection(Protocol):
    """An environment or a vector of them, wherever it is: `ask` begins what `answer` waits for.

    Its stations are called by their place in it, from 0.
    """

    about: dict[str, Any]

    def started(self) -> None:
        """Wait until it has said what is `about` it."""
        ...

    def ask(
        self, seeds: dict[int, int], actions: dict[int, FloatArray], scripted: list[int]
    ) -> None:
        """Reset some of its stations, each with a seed, and have others step an action.

        scripted: of these, for which it also says what its script would do next.
        """
        ...

    def answer(self) -> dict[int, Came]:
        """What came of each step, nothing of a reset; and the observation."""
        ...

    def close(self) -> None:
        """End it."""
        ...


@dataclass(slots=True)
class _GymEpisode:
    """One station's episode under way."""

    job: Job
    observation: Float32Array | None = None  # None before the reset
    observations: list[Float32Array] = field(default_factory=list)
    actions: list[Float32Array] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)
    fault: Verdict | None = None  # what it ends with where policy or environment failed
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
        return bool(self.last.get("terminated") or self.last.get("truncated"))


class ScriptedActions:
    """What the script of an environment does, which runs where the environment is."""

    def __init__(self) -> None:
        """Nothing is suggested yet."""
        self.beyond = ClippedActions("the demonstrator")
        self.suggested: dict[int, Float32Array] = {}  # by its stations, for each one's next action

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """The script begins with the environment's episode, by itself."""

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """What was suggested."""
        actions = np.stack([self.suggested[row] for row in rows.tolist()])
        self.beyond.count(actions)
        return actions


class GymStations:
    """n stations of one Gymnasium environment; see `StationBackend`.

    Robot time is the environment's: a period is one step at its `render_fps` (25 Hz if it has
    none), and a reset takes one.
    """

    def __init__(
        self,
        name: str,
        stations: int,
        python: str = "",
        success: str = "",
        demonstrator: str = "",
    ) -> None:
        """Stations of `gym:ENV_ID`, in workers of this interpreter or of `python`.

        success: see `SuccessRule.read`. demonstrator: a file that shows how it is done, see
        `gym_worker.script_of`; it runs in the workers.

        Raises:
            UsageError: no such environment or rule, or one that cannot be a station.
            EnvironmentFault: an environment or a worker does not start.
        """
        self.name = name
        self._rule = SuccessRule.read(success, name)
        env_id, key = name.removeprefix(GYM), self._rule.key

        def connected() -> Connection:
            return Worker(env_id, stations, python or sys.executable, key, demonstrator)

        self._connected: Callable[[], Connection] = connected
        self._environments = [connected()]
        try:
            self._environments[0].started()  # which says how many stations it is
            about = self._environments[0].about
            if about["stations"] == 1:
                for _ in range(stations - 1):
                    self._environments.append(connected())
                for connection in self._environments[1:]:
                    connection.started()
        except BaseException:
            self.close()
            raise
        if about["stations"] not in (1, stations):
            self.close()
            raise UsageError(f"{name} is {about['stations']} stations: give --robots so many")
        self._about = about
        self._seats = [
            (index, place)
            for index, connection in enumerate(self._environments)
            for place in range(connection.about["stations"])
        ]
        self.verified_by = self._rule.told
        self.repeatable = False  # nobody says that it is
        self.live = False
        self.policy_cameras: PolicyCameras | None = None  # a policy sees what the environment shows
        self.parameters: tuple[Parameter, ...] = ()
        self.observation_size: int = about["observation"]
        self.action_size: int = about["action"]
        self.period = 1.0 / about["hz"]
        self.packs = {name: about["version"]}
        self.steps_done = 0
        self.aside: dict[int, str] = {}  # on request: an environment that does not reset raises
        self._script = ScriptedActions() if demonstrator else None
        self._running: dict[int, _GymEpisode] = {}
        self._down: set[int] = set()  # connections that are made anew before they are asked
        self._faults = dict.fromkeys(range(len(self._seats)), 0)  # in a row, of each station

    def __len__(self) -> int:
        return len(self._seats)

    @property
    def idle(self) -> list[int]:
        """Stations without an episode that can take one."""
        taken = self._running.keys() | self.aside.keys()
        return [row for row in range(len(self)) if row not in taken]

    @property
    def busy(self) -> bool:
        """Whether any episode is under way."""
        return bool(self._running)

    @property
    def starter(self) -> tuple[str, Controller]:
        """Who shows how it is done; where nobody does, random actions."""
        if self._script is not None:
            return "demonstrator", self._script
        return "random", RandomActions(self.action_size)

    def begin(self, row: int, job: Job) -> None:
        """Start an episode on an idle station; its reset begins with the next tick."""
        self._running[row] = _GymEpisode(job)
        job.controller.begin(row, job.streams().exploration, job.exploration)

    def recover(self, row: int) -> None:
        """Take a station back that was lost."""
        self.aside.pop(row, None)
        self._faults[row] = 0

    def lose(self, row: int, reason: str) -> Episode:
        """A station is lost in the middle of its episode: that ends, and the station is aside."""
        self.aside[row] = reason
        return self._finish(row, Verdict(Outcome.INVALID, stage=LOST, reason=reason))

    def abort(self, reason: str) -> list[Episode]:
        """End every episode under way, labelled aborted; returns them."""
        verdict = Verdict(Outcome.ABORTED, reason=reason)
        return [self._finish(row, verdict) for row in sorted(self._running)]

    def tick(self, ahead: int = 0) -> list[Episode]:
        """A step, or the reset, of every busy station; returns the episodes that ended.

        Nothing runs `ahead` here.

        Raises:
            PolicyError: a controller returned a wrong shape or a value that is not a number.
            UsageError: nothing says whether an episode was a success.
        """
        resetting = [row for row, running in self._running.items() if running.observation is None]
        stepping = [row for row in self._running if row not in resetting]
        chosen = self._choose(stepping)
        seeds = {row: self._running[row].job.seed % SEEDS for row in resetting}
        for row, (told, observation) in self._asked(seeds, chosen).items():
            running = self._running[row]
            if wrong := told.get("wrong"):
                running.fault = _invalid(f"{self.name}: {wrong}")
                continue
            if row in chosen and running.observation is not None:
                running.observations.append(running.observation)
                running.actions.append(chosen[row])
                running.hears(told)
            if self._script is not None and "suggested" in told:
                self._script.suggested[row] = np.array(told["suggested"], dtype=np.float32)
            running.observation = observation.astype(np.float32)
        self.steps_done += len(chosen)
        verdicts: dict[int, Verdict] = {}
        for row, running in self._running.items():
            if running.fault is not None:
                verdicts[row] = running.fault
            elif row in chosen and (running.over or self._rule.settled(running)):
                verdicts[row] = self._rule.judge(running)
        for row, verdict in verdicts.items():
            self._count_faults(row, verdict)
        return [self._finish(row, verdict) for row, verdict in verdicts.items()]

    def close(self) -> None:
        """End the workers."""
        for connection in self._environments:
            connection.close()

    def _asked(self, seeds: dict[int, int], actions: dict[int, Float32Array]) -> dict[int, Came]:
        """Have stations reset or step, all at the same time; what came of it."""
        asked: dict[int, tuple[dict[int, int], dict[int, FloatArray]]] = {}
        at: dict[tuple[int, int], int] = {}
        scripted: dict[int, list[int]] = {index: [] for index in range(len(self._environments))}
        for row in (*seeds, *actions):
            index, place = self._seats[row]
            at[index, place] = row
            if isinstance(self._running[row].job.controller, ScriptedActions):
                scripted[index].append(place)
            resets, steps = asked.setdefault(index, ({}, {}))
            if row in seeds:
                resets[place] = seeds[row]
            else:
                steps[place] = actions[row].astype(np.float64)
        failed: dict[int, EnpireError] = {}
        for index, (resets, steps) in asked.items():
            try:
                self._up(index).ask(resets, steps, scripted[index])
            except (EnvironmentFault, UsageError) as fault:
                failed[index] = fault
        came: dict[int, Came] = {}
        for index in asked.keys() - failed.keys():
            try:
                answers = self._environments[index].answer()
            except (EnvironmentFault, UsageError) as fault:
                failed[index] = fault
            else:
                came |= {at[index, place]: each for place, each in answers.items()}
        self._down |= failed.keys()
        for (index, _), row in at.items():
            if why := failed.get(index):
                stage = LOST if isinstance(why, LostEnvironment) else FAULT
                self._running[row].fault = _invalid(str(why), stage)
        return dict(sorted(came.items()))

    def _up(self, index: int) -> Connection:
        """The connection of this number, made anew if it failed before.

        Raises:
            EnvironmentFault: it does not start, or is of another environment than it was.
        """
        before = self._environments[index]
        if index in self._down:
            before.close()
            self._environments[index] = made = self._connected()
            made.started()
            if made.about != self._about:
                raise EnvironmentFault(f"{self.name} is another one than before: {made.about}")
            self._down.discard(index)
        return self._environments[index]

    def _count_faults(self, row: int, verdict: Verdict) -> None:
        """Set a station aside that has failed time and again."""
        fault = verdict.outcome is Outcome.INVALID and verdict.stage in (FAULT, LOST)
        self._faults[row] = self._faults[row] + 1 if fault else 0
        if self._faults[row] >= TRIES:
            self.aside[row] = f"{TRIES} faults in a row, the last: {verdict.reason}"

    def _choose(self, rows: list[int]) -> dict[int, Float32Array]:
        """Each row's action, from its controller, as it is carried out; of one at fault, none."""
        actions: dict[int, Float32Array] = {}
        controllers = {id(self._running[r].job.controller): self._running[r].job for r in rows}
        for key, job in controllers.items():
            mine = [r for r in rows if id(self._running[r].job.controller) == key]
            seen = np.array([self._running[r].observation for r in mine], dtype=np.float32)
            try:
                chosen = job.controller.act(np.array(mine), seen, _no_sensors(len(mine)))
            except PolicyFault as fault:
                for row in mine:
                    self._running[row].fault = at_fault(fault)
                continue
            chosen = checked(chosen, len(mine), self.action_size).clip(-1.0, 1.0)
            actions |= dict(zip(mine, chosen.astype(np.float32), strict=True))
        return actions

    def _finish(self, row: int, verdict: Verdict) -> Episode:
        running = self._running.pop(row)
        job, length = running.job, len(running.actions)
        reset = self.period if running.observation is not None else 0.0
        return Episode(
            **job.labels,
            task=self.name,
            station=row,
            verdict=verdict,
            times=Times(reset, length * self.period),
            observations=_vectors(running.observations, self.observation_size),
            actions=_vectors(running.actions, self.action_size),
            stamps=self.period * np.arange(length, dtype=np.float64),
            rewards=verdict.rewards(length),
            packs=self.packs,
            intervened=intervened(job.controller, row, length),
            rewound=rewound(job.controller, row, length),
        )


class Worker:
    """An environment in a process with an interpreter of its own, `gym_worker.py` at its end."""

    def __init__(
        self, env_id: str, stations: int, python: str, key: str = "", script: str = ""
    ) -> None:
        """Start it; its first message is `about`. key, script: as `gym_worker.make` takes them."""
        self.about: dict[str, Any] = {}
        self._env_id = env_id
        self._asked: list[int] = []
        self._limit_s = ANSWER_S  # for what was asked
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  its stderr: a pipe that nobody empties blocks
        try:
            self._process = subprocess.Popen(
                [python, str(WORKER), env_id, str(stations), key, script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=child_environment(),
            )
        except OSError as error:
            raise UsageError(
                f"--python {python} does not start ({error.strerror}): give the interpreter of an "
                "environment with gymnasium and numpy, as VENV/bin/python"
            ) from error
        self._out = self._process.stdout.fileno() if self._process.stdout else -1

    def started(self) -> None:
        """Wait for its first message."""
        self.about, _ = self._receive(START_S)

    def ask(
        self, seeds: dict[int, int], actions: dict[int, FloatArray], scripted: list[int]
    ) -> None:
        """Send it what to do."""
        self._asked, self._limit_s = [*seeds, *actions], START_S if seeds else ANSWER_S
        told = {"seeds": list(seeds.items()), "rows": list(actions), "scripted": scripted}
        array = np.array(list(actions.values()))
        try:
            gym_worker.send(self._process.stdin, told, array)  # type: ignore[arg-type]
        except BrokenPipeError:
            raise self._dead() from None

    def answer(self) -> dict[int, Came]:
        """Wait for what came of it."""
        message, array = self._receive(self._limit_s)
        seen = array.reshape(len(self._asked), self.about["observation"])
        return dict(zip(self._asked, zip(message["told"], seen, strict=True), strict=True))

    def close(self) -> None:
        """End it: it ends by itself when nobody can ask any more, unless it hangs."""
        if self._process.stdin is not None and self._process.poll() is None:
            with suppress(OSError):  # it has died with something unread
                self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._said.close()

    def _receive(self, limit: float) -> tuple[dict[str, Any], FloatArray]:
        """Its next message, within `limit` seconds."""
        end = time.monotonic() + limit
        text, data = gym_worker.LENGTHS.unpack(self._read(gym_worker.LENGTHS.size, end))
        body = self._read(text + data, end)
        told, array = json.loads(body[:text]), np.frombuffer(body[text:], dtype="<f8")
        if "raised" in told or "unsuitable" in told:
            raise _fault(self._env_id, told)
        return told, array

    def _read(self, size: int, end: float) -> bytes:
        """Exactly `size` bytes, before `end` on the monotonic clock."""
        data = b""
        while len(data) < size:
            if not select.select([self._out], [], [], max(end - time.monotonic(), 0.0))[0]:
                self._process.kill()
                self._process.wait()
                raise LostEnvironment(
                    f"the worker of {GYM}{self._env_id} hangs: no answer in the time it has; "
                    f"it was ended{self._last_words()}"
                )
            part = os.read(self._out, size - len(data))
            if not part:
                raise self._dead()
            data += part
        return data

    def _dead(self) -> LostEnvironment:
        try:
            code = self._process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return LostEnvironment(
            f"the worker of {GYM}{self._env_id} died (exit code {code}){self._last_words()}"
        )

    def _last_words(self) -> str:
        """The last line that it wrote to stderr, if any."""
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return f"; its last words: {gym_worker.printable(lines[-1])}" if lines else ""


@dataclass(frozen=True, slots=True)
class SuccessRule:
    """What makes an episode a success.

    kind: `last`, what the environment says at the last step; `any`, at any, which then is the last;
    `terminated`, it ended before time ran out; `return`, its rewards sum to `least` or more. key:
    of its info, where it says so; by default `is_success`, `success` or `succeed`. name: of the
    environment.
    """

    name: str
    kind: str = "last"
    key: str = ""
    least: float = 0.0

    @classmethod
    def read(cls, text: str, name: str) -> SuccessRule:
        """From the words of `--success`: a kind, `info:KEY`, `any:KEY`, or `return>=X`.

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

    def settled(self, running: _GymEpisode) -> bool:
        """Whether an episode that is not over is a success already."""
        return self.kind == "any" and running.passed is not None

    def judge(self, running: _GymEpisode) -> Verdict:
        """The verdict on an episode; raises UsageError where its environment does not say."""
        if self.kind == "terminated":
            return _held(Predicate("terminated", running.last["terminated"], 1, ""))
        if self.kind == "return":
            return _held(Predicate("return", sum(running.rewards), self.least, ""))
        if self.kind == "any" and running.passed is not None:
            return _held(Predicate("success", 1, 1, ""))
        unclear = running.last.get("unclear", "") or (running.unclear if self.kind == "any" else "")
        if unclear:
            return _invalid(f"{self.name}: {unclear}")
        said = running.last["success"]
        if said is None:
            raise UsageError(self._silent(running))
        return _held(Predicate("success", said, 1, ""), self._earlier(running))

    def _silent(self, running: _GymEpisode) -> str:
        keys = self.key or ", ".join(gym_worker.SAYS)
        if running.passed is not None:
            return (
                f"{self.name} says success at step {running.passed + 1} and nothing at its last: "
                "give --success any"
            )
        return (
            f"{self.name} does not say whether an episode was a success (no {keys} in its info): "
            "give --success info:KEY, --success 'return>=X' or --success terminated"
        )

    def _earlier(self, running: _GymEpisode) -> str:
        if self.kind != "last":
            return ""
        if running.passed is None and len(running.rewards) >= gym_worker.LONGEST:
            return (
                f" at step {gym_worker.LONGEST}, where it was cut off (its environment does not "
                "end: a TimeLimit does)"
            )
        if running.passed is None:
            return " at its last step"
        return f" at its last step (it was 1 at step {running.passed + 1}: --success any counts it)"


def _held(predicate: Predicate, when: str = "") -> Verdict:
    if predicate.holds:
        return Verdict(Outcome.SUCCESS, (predicate,), score=1.0)
    reason = f"{predicate.name} {predicate.value_text}{when}, needed {predicate.threshold:g}"
    return Verdict(Outcome.FAILURE, (predicate,), reason=reason)


def _invalid(reason: str, stage: str = FAULT) -> Verdict:
    return Verdict(Outcome.INVALID, stage=stage, reason=reason)


def _fault(env_id: str, told: dict[str, Any]) -> EnpireError:
    if "unsuitable" in told:
        return UsageError(f"{GYM}{env_id} cannot be a station: {told['unsuitable']}")
    return EnvironmentFault(f"{GYM}{env_id}: {told['raised']}")


def _no_sensors(rows: int) -> Readings:
    """What an arm's sensors say where there is no arm."""
    return Readings(*(np.zeros((rows, 0)) for _ in range(len(Readings.__slots__))))


def _vectors(found: list[Float32Array], size: int) -> Float32Array:
    return np.array(found, dtype=np.float32).reshape(-1, size)
