"""Gymnasium environments as stations: `--task gym:ENV_ID`.

Each station has an environment of its own in a process of its own, which starts with its first job,
or its place in a vector environment. It runs one job at a time in it: reset, then a step a period,
until the environment ends the episode. Whether it was a success, the environment says, or a rule
that was stated.

An environment is somebody else's program. Where it raises, or shows what makes no sense, the
episode is invalid; where its process dies or hangs, the station is lost under it. Either way a
fleet hands the job out again, and the station tries again, in a new process if need be. It is set
aside after three times in a row.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence

import numpy as np

from enpire.environment.control.sensing import Readings
from enpire.environment.core.controller import (
    DEMONSTRATOR,
    Controller,
    RandomActions,
    intervened,
    rewound,
)
from enpire.environment.core.jobs import Job
from enpire.environment.core.policy_cameras import PolicyCameras
from enpire.environment.core.policy_watch import PolicyWatch
from enpire.environment.core.task import Parameter
from enpire.environment.gym_bridge.episode_signs import EpisodeSigns
from enpire.environment.gym_bridge.gym_process import (
    Came,
    Connection,
    GymWorker,
    LostEnvironment,
)
from enpire.environment.gym_bridge.pushes import Pushes
from enpire.environment.gym_bridge.script_watch import MEANS
from enpire.environment.gym_bridge.success_rule import GymEpisode, SuccessRule, invalid
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
    Times,
    Verdict,
)

LOG = logging.getLogger(__name__)
SEEDS = 2**31  # a job's seed modulo this: environments hand theirs to generators of 32 bits
TRIES = 3  # faults in a row that set a station aside


class ScriptedActions:
    """What the script of an environment does, which runs where the environment is.

    To explore is to be pushed off its course, see `Pushes`. Then it is `Assisted`: by the script,
    in all periods without a push.
    """

    def __init__(self) -> None:
        """Nothing is suggested yet."""
        self.watch = PolicyWatch("the demonstrator")
        self.suggested: dict[int, Float32Array] = {}  # by its stations, for each one's next action
        self._pushes: dict[int, Pushes] = {}

    def hears(self, signs: Sequence[str]) -> None:
        """A worker has seen these signs of its script."""
        for sign in signs:
            self.watch.tell(MEANS[sign])

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """The script begins with the environment's episode, by itself.

        exploration: share of periods that are under a push.
        """
        self._pushes[row] = Pushes(rng, exploration)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """What was suggested, unless there is a push."""
        actions = np.stack([self.suggested[row] for row in rows.tolist()])
        self.watch.count(actions)
        pushed = zip(rows.tolist(), actions, strict=True)
        return np.stack([self._pushes[row].changed(action) for row, action in pushed])

    def intervened(self, row: int) -> list[bool]:
        """See `Assisted`; none of an episode without a push."""
        free = self._pushes[row].free
        return [] if all(free) else free

    def rewound(self, row: int) -> list[bool]:
        """See `Assisted`; a script does not go back."""
        return [False] * len(self.intervened(row))


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
        `making.script_of`; it runs in the workers.

        Raises:
            UsageError: no such environment or rule, or one that cannot be a station.
            EnvironmentFault: an environment or a worker does not start.
        """
        self.name = name
        self._rule = SuccessRule.read(success, name)
        env_id, key = name.removeprefix(GYM), self._rule.key

        def connected() -> Connection:
            return GymWorker(env_id, stations, python or sys.executable, key, demonstrator)

        self._connected: Callable[[], Connection] = connected
        self._environments = {0: connected()}
        try:
            self._environments[0].started()  # which says how many stations it is
        except BaseException:
            self.close()
            raise
        about = self._environments[0].about
        if about["stations"] not in (1, stations):
            self.close()
            raise UsageError(f"{name} is {about['stations']} stations: give --robots so many")
        self._about = about
        alone = about["stations"] == 1  # and each other one has an environment of its own
        self._seats = [(row, 0) if alone else (0, row) for row in range(stations)]
        self.verified_by = self._rule.told
        self.repeatable = False  # nobody says that it is
        self.live = False
        self.policy_cameras: PolicyCameras | None = None  # a policy sees what the environment shows
        self.parameters: tuple[Parameter, ...] = ()
        self.observation_size: int = about["observation"]
        self.observation_keys = tuple(about["keys"])
        self.action_low, self.action_high = tuple(about["low"]), tuple(about["high"])
        self.action_size: int = about["action"]
        self.period = 1.0 / about["hz"]
        if not about["paced"]:
            LOG.warning("%s: no render_fps in its metadata: %g steps a second", name, about["hz"])
        asked = env_id.partition("?")[0].rpartition(":")[2]
        if about["id"].startswith(f"{asked}-v"):
            LOG.warning(
                "%s is %s here, and may be another elsewhere: write that", name, about["id"]
            )
        self.packs = {name: about["version"]}
        self.steps_done = 0
        self.aside: dict[int, str] = {}  # on request: an environment that does not reset raises
        self._script = ScriptedActions() if demonstrator else None
        self._signs = EpisodeSigns(name, np.array(about["bounds"], np.float64))
        self._signs.fixes(about["fixed"])
        self._signs.unrolls(about["unrolled"])
        self._running: dict[int, GymEpisode] = {}
        # Connections that are made, or made anew, before they are asked: one that has no job has
        # no process.
        self._down = {index for index, _ in self._seats if index}
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
            return DEMONSTRATOR, self._script
        return "random", RandomActions(self.action_size)

    def begin(self, row: int, job: Job) -> None:
        """Start an episode on an idle station; its reset begins with the next tick."""
        self._running[row] = GymEpisode(job)
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
                running.fault = invalid(f"{self.name}: {wrong}")
                continue
            if row in chosen and running.observation is not None:
                running.observations.append(running.observation)
                running.actions.append(chosen[row])
                running.hears(told)
            if row in seeds:
                running.achieved = bool(told.get("success"))
                if "again" in told:
                    seed, seen = told["again"]
                    self._signs.repeats(seed, np.array(seen, np.float32))
                self._signs.begins(seeds[row], observation.astype(np.float32))
                self._signs.leaves_out(told.get("undeclared", ()))
                self._signs.rounds(bool(told.get("whole")))
            if self._script is not None and "suggested" in told:
                self._script.suggested[row] = np.array(told["suggested"], dtype=np.float32)
                self._script.hears(told.get("script", ()))
            running.observation = observation.astype(np.float32)
        self.steps_done += len(chosen)
        verdicts: dict[int, Verdict] = {}
        for row, running in self._running.items():
            if running.fault is not None:
                verdicts[row] = running.fault
            elif row in chosen and (running.over or self._rule.settled(running)):
                verdicts[row] = verdict = self._rule.judge(running)
                self._signs.ends(running, verdict, own=self._rule.kind in ("last", "any"))
        for row, verdict in verdicts.items():
            self._count_faults(row, verdict)
        return [self._finish(row, verdict) for row, verdict in verdicts.items()]

    def close(self) -> None:
        """End the workers."""
        for connection in self._environments.values():
            connection.close()

    def _asked(self, seeds: dict[int, int], actions: dict[int, Float32Array]) -> dict[int, Came]:
        """Have stations reset or step, all at the same time; what came of it."""
        asked: dict[int, tuple[dict[int, int], dict[int, FloatArray]]] = {}
        at: dict[tuple[int, int], int] = {}
        scripted: dict[int, list[int]] = {index: [] for index, _ in self._seats}
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
        failed = self._made_anew(self._down & asked.keys())
        for index, (resets, steps) in asked.items():
            if index in failed:
                continue
            try:
                self._environments[index].ask(resets, steps, scripted[index])
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
                self._running[row].fault = invalid(str(why), stage)
        return dict(sorted(came.items()))

    def _made_anew(self, down: set[int]) -> dict[int, EnpireError]:
        """Make connections of these numbers, all at the same time; returns why one does not start.

        They failed before, or nobody has asked them yet.
        """
        failed: dict[int, EnpireError] = {}
        for index in sorted(down):
            if before := self._environments.pop(index, None):
                before.close()
            try:
                self._environments[index] = self._connected()
            except (EnvironmentFault, UsageError) as fault:
                failed[index] = fault
        for index in sorted(down - failed.keys()):
            made = self._environments[index]
            try:
                made.started()
                if made.about != self._about:
                    raise EnvironmentFault(f"{self.name} is another one than before: {made.about}")
            except (EnvironmentFault, UsageError) as fault:
                failed[index] = fault
        self._down -= down - failed.keys()
        return failed

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


def _no_sensors(rows: int) -> Readings:
    """What an arm's sensors say where there is no arm."""
    return Readings(*(np.zeros((rows, 0)) for _ in range(len(Readings.__slots__))))


def _vectors(found: list[Float32Array], size: int) -> Float32Array:
    return np.array(found, dtype=np.float32).reshape(-1, size)
