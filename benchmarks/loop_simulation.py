"""The loop's decisions, simulated: how often it says that the target is reached.

`Loop` itself runs, with its comparisons, its looks and its sealed evaluations, its notes and its
rounds. Only stations and training are not there: an episode is a draw with its policy's true
success rate, and a candidate is a name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from enpire.environment import Job
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.episode_runner import EpisodeRunner
from enpire.rollout.loop.loop import Loop
from enpire.rollout.loop.round_decisions import POLICY
from enpire.rollout.loop.settings import LoopSettings
from enpire.rollout.loop.state import LoopState
from enpire.store import LogEntry, PolicyRow, RoundRow, SealedRow
from enpire.types import Episode, Float32Array, FloatArray, Outcome, Purpose, Times, Verdict

ROUNDS = 6
NO_ROWS: Float32Array = np.zeros((0, 0), np.float32)
NO_STAMPS: FloatArray = np.zeros(0)
TIMES = Times(execute=1.0)
SUCCESS, FAILURE = Verdict(Outcome.SUCCESS), Verdict(Outcome.FAILURE)


@dataclass(frozen=True, slots=True)
class SimulatedEnd:
    """How one simulated loop ended. attempts: sealed evaluations; sealed, others: episodes."""

    reached: bool
    attempts: int
    sealed: int
    others: int


@dataclass(frozen=True, slots=True)
class LoopChance:
    """What loops came to whose policies all truly succeed at `rate`.

    Attributes:
        rate: true success.
        runs: simulated loops.
        reached: those that said that the target is reached.
        attempts: sealed evaluations of a loop, on average.
        sealed: episodes of a loop's sealed evaluations, on average.
        others: its other evaluation episodes, on average.
    """

    rate: float
    runs: int
    reached: int
    attempts: float
    sealed: float
    others: float


def loop_chance(settings: LoopSettings, rate: float, runs: int, seed: int) -> LoopChance:
    """Simulate loops of `ROUNDS` rounds, all of whose policies succeed at `rate`."""
    rng = np.random.default_rng(seed)
    ends = [simulate(settings, rate, rng) for _ in range(runs)]
    return LoopChance(
        rate,
        runs,
        sum(end.reached for end in ends),
        float(np.mean([end.attempts for end in ends])),
        float(np.mean([end.sealed for end in ends])),
        float(np.mean([end.others for end in ends])),
    )


def simulate(
    settings: LoopSettings, rate: float, rng: np.random.Generator, rounds: int = ROUNDS
) -> SimulatedEnd:
    """Run one loop of policies that succeed at `rate`."""
    seeded = settings.but(seed=int(rng.integers(2**31)))
    loop = SimulatedLoop(seeded, rate, rounds, rng)
    state = loop.run()
    sealed = sum(e.purpose is Purpose.SEALED for e in loop.episodes)
    return SimulatedEnd(state.reached, state.sealed_attempts, sealed, len(loop.episodes) - sealed)


class SimulatedLoop(Loop):
    """A loop without stations and training."""

    def __init__(
        self, settings: LoopSettings, rate: float, rounds: int, rng: np.random.Generator
    ) -> None:
        """rate: true success of every policy."""
        stations: Any = SimpleNamespace(
            policy_cameras=None, observation_size=1, action_size=1, live=False
        )
        fleet: Any = SimpleNamespace(stations=stations, robot_s=0.0, stop=lambda reason: None)
        run: Any = SimpleNamespace(ledger=MemoryLedger())
        writer: Any = SimpleNamespace(flush=lambda: None)
        absent: Any = None
        recipe = ConfiguredRecipe("simulated", absent)
        budget, state = Budget(rounds=rounds), LoopState()
        runner = _DrawnEpisodes(fleet, _NamesKnown(run, stations), state, rate, rng)
        super().__init__(
            *(settings, run, writer, fleet, recipe, [recipe], absent, budget, state),
            runner=runner,
        )

    @property
    def episodes(self) -> list[Episode]:
        """All episodes so far."""
        return list(self._known.episodes.values())

    def begin(self) -> str:
        """Make and evaluate the first policy."""
        name = self._train(self.first, 0, "")
        self._evaluate_start(name)
        return name

    def _collect(self, number: int) -> None:
        """Nothing: what is collected decides nothing."""

    def _train(self, recipe: ConfiguredRecipe, number: int, parent: str) -> str:
        name = f"{POLICY}-{number}"
        self.run_store.ledger.add_policy(PolicyRow(name, "", "", parent, recipe.name, number))
        return name


class _DrawnEpisodes(EpisodeRunner):
    """Episodes whose success is drawn."""

    def __init__(
        self,
        fleet: Fleet,
        known: EpisodeCache,
        state: LoopState,
        rate: float,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(fleet, known, state)
        self._rate, self._rng = rate, rng

    def stream(self, jobs: Iterator[Job | None]) -> Iterator[Episode]:
        for job in jobs:
            if job is None:
                raise RuntimeError("a job is waited for, though none is under way")
            verdict = SUCCESS if self._rng.random() < self._rate else FAILURE
            episode = _episode(job, verdict)
            self.known.add(episode)
            yield episode


class _NamesKnown(EpisodeCache):
    """Episodes of policies that are names only."""

    def policy(self, name: str) -> Any:
        return None

    def controller(self, name: str) -> Any:
        return None


def _episode(job: Job, verdict: Verdict) -> Episode:
    return Episode(
        id=job.id,
        task="",
        seed=job.seed,
        purpose=job.purpose,
        policy=job.policy,
        round=job.round,
        station=0,
        verdict=verdict,
        times=TIMES,
        observations=NO_ROWS,
        actions=NO_ROWS,
        stamps=NO_STAMPS,
        rewards=NO_ROWS,
    )


class MemoryLedger:
    """What a loop writes down and reads again, in memory."""

    def __init__(self) -> None:
        """Empty."""
        self._policies: dict[str, PolicyRow] = {}
        self._rounds: dict[int, RoundRow] = {}
        self._decisions: list[LogEntry] = []
        self._sealed: list[SealedRow] = []

    def policy(self, name: str) -> PolicyRow | None:
        """As `Ledger`."""
        return self._policies.get(name)

    def add_policy(self, row: PolicyRow) -> None:
        """As `Ledger`."""
        self._policies[row.name] = row

    def set_policy_state(self, name: str, state: str) -> None:
        """As `Ledger`."""
        self._policies[name] = replace(self._policies[name], state=state)

    def rounds(self) -> list[RoundRow]:
        """As `Ledger`."""
        return list(self._rounds.values())

    def put_round(self, row: RoundRow) -> None:
        """As `Ledger`."""
        self._rounds[row.number] = row

    def decisions(self) -> list[LogEntry]:
        """As `Ledger`."""
        return self._decisions

    def add_decision(self, decision: LogEntry) -> None:
        """As `Ledger`."""
        self._decisions.append(decision)

    def sealed(self) -> list[SealedRow]:
        """As `Ledger`."""
        return self._sealed

    def add_sealed(self, row: SealedRow) -> None:
        """As `Ledger`."""
        self._sealed.append(row)
