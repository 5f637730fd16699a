"""Gymnasium environments as stations: `--task gym:ENV_ID`.

Each station has an environment of its own, in this process or in a worker with another interpreter,
or its place in a vector environment, and runs one job at a time in it: reset, then a step a period,
until the environment ends the episode. Whether it was a success, the environment says, or a rule
that was stated.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from enpire.child_environment import child_environment
from enpire.environment import gym_worker
from enpire.environment.acting import at_fault, checked
from enpire.environment.controller import Controller, RandomActions, intervened, rewound
from enpire.environment.jobs import Job
from enpire.environment.sensing import Readings
from enpire.environment.sight import Sight
from enpire.environment.task import Parameter
from enpire.errors import EnpireError, EnvironmentFault, PolicyFault, UsageError
from enpire.packs.finder import GYM
from enpire.types import LOST, Episode, Float32Array, FloatArray, Outcome, Predicate, Times, Verdict

SEEDS = 2**31  # a job's seed modulo this: environments hand theirs to generators of 32 bits
START_S, ANSWER_S, END_S = 300.0, 60.0, 5.0  # a worker may take to start, to answer, to end
WORKER = Path(gym_worker.__file__)

Came = gym_worker.Came
Rule = Callable[["_Running"], Verdict]


class Connection(Protocol):
    """An environment or a vector of them, wherever it is: `ask` begins what `answer` waits for.

    Its stations are called by their place in it, from 0.
    """

    about: dict[str, Any]

    def started(self) -> None:
        """Wait until it has said what is `about` it."""
        ...

    def ask(self, seeds: dict[int, int], actions: dict[int, FloatArray]) -> None:
        """Reset some of its stations, each with a seed, and have others step an action."""
        ...

    def answer(self) -> dict[int, Came]:
        """What came of each step, nothing of a reset; and the observation."""
        ...

    def close(self) -> None:
        """End it."""
        ...


@dataclass(slots=True)
class _Running:
    """One station's episode under way."""

    job: Job
    observation: Float32Array | None = None  # None before the reset
    observations: list[Float32Array] = field(default_factory=list)
    actions: list[Float32Array] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)
    fault: Verdict | None = None  # what it ends with where its policy's program failed

    @property
    def over(self) -> bool:
        return bool(self.last.get("terminated") or self.last.get("truncated"))


class GymStations:
    """n stations of one Gymnasium environment; see `Workcells`.

    Robot time is the environment's: a period is one step at its `render_fps` (25 Hz if it has
    none), and a reset takes one.
    """

    def __init__(self, name: str, stations: int, python: str = "", success: str = "") -> None:
        """Stations of `gym:ENV_ID`, in this interpreter or in workers of `python`.

        success: the rule of `rule`.

        Raises:
            UsageError: no such environment or rule, or one that cannot be a station.
            EnvironmentFault: an environment or a worker does not start.
        """
        self.name = name
        self._judge = rule(success, name)
        env_id = name.removeprefix(GYM)

        def connected() -> Connection:
            return Worker(env_id, stations, python) if python else Local(env_id, stations)

        self._environments = [connected()]
        self._environments[0].started()  # which says how many stations it is
        about = self._environments[0].about
        if about["stations"] == 1:
            self._environments += [connected() for _ in range(stations - 1)]
            for connection in self._environments[1:]:
                connection.started()
        elif about["stations"] != stations:
            self.close()
            raise UsageError(f"{name} is {about['stations']} stations: give --robots so many")
        self._seats = [
            (index, place)
            for index, connection in enumerate(self._environments)
            for place in range(connection.about["stations"])
        ]
        self.verified_by = "its environment"
        self.repeatable = False  # nobody says that it is
        self.live = False
        self.sight: Sight | None = None  # a policy sees what the environment shows
        self.parameters: tuple[Parameter, ...] = ()
        self.observation_size: int = about["observation"]
        self.action_size: int = about["action"]
        self.period = 1.0 / about["hz"]
        self.packs = {name: about["version"]}
        self.steps_done = 0
        self.aside: dict[int, str] = {}  # on request: an environment that does not reset raises
        self._running: dict[int, _Running] = {}

    def __len__(self) -> int:
        return len(self._seats)

    @property
    def idle(self) -> list[int]:
        """Stations without an episode."""
        return [row for row in range(len(self)) if row not in self._running]

    @property
    def busy(self) -> bool:
        """Whether any episode is under way."""
        return bool(self._running)

    @property
    def starter(self) -> tuple[str, Controller]:
        """Nobody shows how it is done: random actions."""
        return "random", RandomActions(self.action_size)

    def begin(self, row: int, job: Job) -> None:
        """Start an episode on an idle station; its reset begins with the next tick."""
        self._running[row] = _Running(job)
        job.controller.begin(row, job.streams().exploration, job.exploration)

    def recover(self, row: int) -> None:
        """Take a station back that was lost."""
        self.aside.pop(row, None)

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
            EnvironmentFault: an environment raised, or its worker died or hangs.
            UsageError: nothing says whether an episode was a success.
        """
        resetting = [row for row, running in self._running.items() if running.observation is None]
        stepping = [row for row in self._running if row not in resetting]
        chosen = self._choose(stepping)
        seeds = {row: self._running[row].job.seed % SEEDS for row in resetting}
        for row, (told, observation) in self._asked(seeds, chosen).items():
            running = self._running[row]
            if row in chosen and running.observation is not None:
                running.observations.append(running.observation)
                running.actions.append(chosen[row])
                running.rewards.append(told["reward"])
                running.last = told
            running.observation = observation.astype(np.float32)
        self.steps_done += len(chosen)
        verdicts: dict[int, Verdict] = {}
        for row in stepping:
            running = self._running[row]
            if running.fault is not None:
                verdicts[row] = running.fault
            elif running.over:
                verdicts[row] = self._judge(running)
        return [self._finish(row, verdict) for row, verdict in verdicts.items()]

    def close(self) -> None:
        """End the workers."""
        for connection in self._environments:
            connection.close()

    def _asked(self, seeds: dict[int, int], actions: dict[int, Float32Array]) -> dict[int, Came]:
        """Have stations reset or step, all at the same time; what came of it."""
        asked: dict[int, tuple[dict[int, int], dict[int, FloatArray]]] = {}
        at: dict[tuple[int, int], int] = {}
        for row in (*seeds, *actions):
            index, place = self._seats[row]
            at[index, place] = row
            resets, steps = asked.setdefault(index, ({}, {}))
            if row in seeds:
                resets[place] = seeds[row]
            else:
                steps[place] = actions[row].astype(np.float64)
        for index, (resets, steps) in asked.items():
            self._environments[index].ask(resets, steps)
        return {
            at[index, place]: came
            for index in asked
            for place, came in self._environments[index].answer().items()
        }

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
        rewards = np.zeros(length, dtype=np.float32)
        if verdict.outcome is Outcome.SUCCESS:
            rewards[-1] = 1.0
        reset = self.period if running.observation is not None else 0.0
        return Episode(
            id=job.id,
            task=self.name,
            seed=job.seed,
            purpose=job.purpose,
            policy=job.policy,
            round=job.round,
            station=row,
            verdict=verdict,
            times=Times(reset, length * self.period),
            observations=_vectors(running.observations, self.observation_size),
            actions=_vectors(running.actions, self.action_size),
            stamps=self.period * np.arange(length, dtype=np.float64),
            rewards=rewards,
            exploration=job.exploration,
            packs=self.packs,
            variant=job.variant,
            forked=job.forked,
            intervened=intervened(job.controller, row, length),
            rewound=rewound(job.controller, row, length),
        )


class Local:
    """An environment in this process."""

    def __init__(self, env_id: str, stations: int) -> None:
        self._env_id = env_id
        try:
            self._environment = gym_worker.make(env_id, stations)
        except Exception as error:
            raise _fault(env_id, gym_worker.failed(error)) from error
        self.about = self._environment.about
        self._came: dict[int, Came] = {}

    def started(self) -> None:
        """It has."""

    def ask(self, seeds: dict[int, int], actions: dict[int, FloatArray]) -> None:
        """Reset and step at once."""
        try:
            self._came = self._environment.tick(seeds, actions)
        except Exception as error:
            raise _fault(self._env_id, gym_worker.failed(error)) from error

    def answer(self) -> dict[int, Came]:
        """What came of it."""
        return self._came

    def close(self) -> None:
        """Let go of the environment."""
        self._environment.close()


class Worker:
    """An environment in a process with an interpreter of its own, `gym_worker.py` at its end."""

    def __init__(self, env_id: str, stations: int, python: str) -> None:
        """Start it; its first message is `about`."""
        self.about: dict[str, Any] = {}
        self._env_id = env_id
        self._asked: list[int] = []
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  its stderr: a pipe that nobody empties blocks
        try:
            self._process = subprocess.Popen(
                [python, str(WORKER), env_id, str(stations)],
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

    def ask(self, seeds: dict[int, int], actions: dict[int, FloatArray]) -> None:
        """Send it what to do."""
        self._asked = [*seeds, *actions]
        told = {"seeds": list(seeds.items()), "rows": list(actions)}
        array = np.array(list(actions.values()))
        try:
            gym_worker.send(self._process.stdin, told, array)  # type: ignore[arg-type]
        except BrokenPipeError:
            raise self._dead() from None

    def answer(self) -> dict[int, Came]:
        """Wait for what came of it."""
        message, array = self._receive(ANSWER_S)
        seen = array.reshape(len(self._asked), self.about["observation"])
        return dict(zip(self._asked, zip(message["told"], seen, strict=True), strict=True))

    def close(self) -> None:
        """End it: it ends by itself when nobody can ask any more, unless it hangs."""
        if self._process.stdin is not None and self._process.poll() is None:
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
                raise EnvironmentFault(
                    f"the worker of {GYM}{self._env_id} hangs: no answer in the time it has; "
                    f"it was ended{self._last_words()}"
                )
            part = os.read(self._out, size - len(data))
            if not part:
                raise self._dead()
            data += part
        return data

    def _dead(self) -> EnvironmentFault:
        try:
            code = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return EnvironmentFault(
            f"the worker of {GYM}{self._env_id} died (exit code {code}){self._last_words()}"
        )

    def _last_words(self) -> str:
        """The last line that it wrote to stderr, if any."""
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return f"; its last words: {lines[-1]}" if lines else ""


def rule(text: str, name: str) -> Rule:
    """What makes an episode of `name` a success, from the words of `--success`.

    `return>=X`: its rewards sum to X or more. `terminated`: it ended before time ran out. Empty:
    the environment says so itself, at the last step, by `is_success` or `success` in its info.
    """
    if not text:
        return lambda running: _as_told(running, name)
    if text == "terminated":
        return lambda running: _held(Predicate("terminated", running.last["terminated"], 1, ""))
    found = re.fullmatch(r"return>=([-+0-9.eE]+)", text.replace(" ", ""))
    try:
        least = float(found[1]) if found else float("nan")
    except ValueError:
        least = float("nan")
    if not np.isfinite(least):
        raise UsageError(f"--success {text!r} is no rule: write 'return>=X' or 'terminated'")
    return lambda running: _held(Predicate("return", sum(running.rewards), least, ""))


def _as_told(running: _Running, name: str) -> Verdict:
    success = running.last["success"]
    if success is None:
        raise UsageError(
            f"{name} does not say whether an episode was a success (no is_success, no success in "
            "its info): give --success 'return>=X' or --success terminated"
        )
    return _held(Predicate("success", success, 1, ""))


def _held(predicate: Predicate) -> Verdict:
    if predicate.holds:
        return Verdict(Outcome.SUCCESS, (predicate,), score=1.0)
    reason = f"{predicate.name} {predicate.value:g}, needed {predicate.threshold:g}"
    return Verdict(Outcome.FAILURE, (predicate,), reason=reason)


def _fault(env_id: str, told: dict[str, Any]) -> EnpireError:
    if "unsuitable" in told:
        return UsageError(f"{GYM}{env_id} cannot be a station: {told['unsuitable']}")
    return EnvironmentFault(f"{GYM}{env_id} raised {told['raised']}")


def _no_sensors(rows: int) -> Readings:
    """What an arm's sensors say where there is no arm."""
    return Readings(*(np.zeros((rows, 0)) for _ in range(len(Readings.__slots__))))


def _vectors(found: list[Float32Array], size: int) -> Float32Array:
    return np.array(found, dtype=np.float32).reshape(-1, size)
