"""A campaign: agents propose experiments, the harness trains, tries and decides.

    proposed → training → trials → kept, dropped or failed

An experiment collects under the policy it improves on, is trained in a process beside the fleet,
and meets that policy on fresh seeds, pair by pair, until the sequential test decides. Where the
incumbent has changed meanwhile, whoever won meets it as well. Whoever is kept is the incumbent; it
is measured again on seeds that nobody was chosen by, and examined on sealed seeds once it looks
good enough. Experiments run side by side, a queue of the fleet's each, with equal shares of robot
time: none of them starves.

Nothing is saved but events, episodes and policies, each once and for all. A process that is killed
and begun again finds how far each experiment was and takes it up there; its writer's lock on the
run is the lease, so nobody else can do so at the same time. Events say how often that was.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from enpire.environment import Controller, StationBackend
from enpire.errors import CampaignError, RecipeError, UsageError
from enpire.evolution.campaign.admission import Admission
from enpire.evolution.campaign.event_log import EventLog
from enpire.evolution.campaign.examiner import Examiner, Life
from enpire.evolution.campaign.experiment_runner import ExperimentRunner
from enpire.evolution.campaign.report import write
from enpire.evolution.experiments.budget import Ceilings
from enpire.evolution.experiments.events import (
    EXPERIMENT,
    HELD,
    RELEASED,
    RETIRED,
    USED,
    CampaignState,
    ExperimentEntry,
    ModelUse,
    retirement,
)
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.evolution.knowledge.board import FindingsBoard
from enpire.evolution.program_policies import policy_host, policy_process
from enpire.evolution.program_policies.action_guard import guard_actions
from enpire.evolution.program_policies.sandboxed_training import RoutingTrainer
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.training_process import Trainer
from enpire.policies import Policy
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.loop import Loop
from enpire.rollout.loop.settings import LoopSettings
from enpire.rollout.loop.state import LoopState
from enpire.sandbox.sandbox import Confinement, SandboxError
from enpire.sandbox.sanitize import one_line
from enpire.store import EpisodeWriter, Run
from enpire.types import Estimate

LOOK_S = 0.05  # between looks at what is under way while no episode ends
REPORT_S = 20.0  # between two reports, unless something was decided
WORDS = 300  # characters of what an agent says, in a decision
REFUSALS = 3  # in a row, after which an agent is retired


@dataclass(frozen=True, slots=True)
class AgentSession:
    """What an agent finds at the harness. It has no way to a decision, a verdict or a seed."""

    campaign: Campaign
    agent: str

    def experiments(self) -> list[Experiment]:
        """All experiments so far, of whatever state and agent, in the order of proposals."""
        with self.campaign.lock:
            return self.campaign.record.experiments

    @property
    def base(self) -> str:
        """The incumbent, by name: what a new experiment improves on."""
        return self.campaign.record.incumbent

    @property
    def free(self) -> bool:
        """Whether the agent may propose now: none of its own is under way, nothing is used up."""
        return not (self.campaign.closed or self.campaign.record.of(self.agent))

    def leave(self, reason: str) -> None:
        """Take part no longer."""
        self.campaign.retire(self.agent, reason)

    def propose(self, experiment: Experiment) -> None:
        """Ask for an experiment, in the agent's own name: training, then trials.

        Raises:
            CampaignError: it is refused; the message says why, and what to do.
        """
        if experiment.agent != self.agent:
            raise CampaignError(f"{self.agent} cannot propose for {experiment.agent}")
        self.campaign.propose(experiment)


class Agent(Protocol):
    """Has turns, many a second, each of them short; `name` is its own."""

    @property
    def name(self) -> str: ...

    def turn(self, desk: AgentSession) -> None:
        """Propose an experiment, or do not.

        Raises:
            CampaignError: it was refused; after a few times in a row it takes part no longer.
        """

    def close(self) -> None:
        """The campaign has ended, or stopped; safe to call twice."""


@dataclass(frozen=True, slots=True)
class AgentPool:
    """Who proposes."""

    agents: Sequence[Agent]
    # Texts of recipes that may be run unconfined, with their files.
    sources: Mapping[str, Path] = field(default_factory=dict)
    # Of all other code, and of policies that are code.
    confinement: Confinement = Confinement.BUBBLEWRAP
    tools_off: tuple[str, ...] = ()  # that agents have to do without, by name


class Campaign:
    """One campaign on one fleet."""

    def __init__(
        self,
        settings: LoopSettings,
        run: Run,
        writer: EpisodeWriter,
        fleet: Fleet,
        first: ConfiguredRecipe,
        trainer: Trainer,
        team: AgentPool,
        budget: Budget,
        ceilings: Ceilings,
        state: LoopState,
    ) -> None:
        """settings: as of a loop; first: how the first policy is made, as a loop does."""
        self.settings, self.budget, self.ceilings, self.state = settings, budget, ceilings, state
        self.run_store = run
        self.lock = threading.RLock()  # held while anything here changes; tools take it to read
        self.changed = threading.Condition(self.lock)  # after each look, and at the end
        self.ended = False
        self._writer, self.fleet, self.team = writer, fleet, team
        self._trainer: Trainer = RoutingTrainer(trainer, team.confinement)
        self._first = first
        self.stations: StationBackend = fleet.stations
        size = self.stations.action_size

        def acts(policy: Policy, name: str) -> Controller:
            inner = policy_host.controller(policy, self.stations, team.confinement)
            return guard_actions(inner, name, size)

        self.known = EpisodeCache(run, self.stations, acts)
        self.books = EventLog(run, self.known, settings.seed, fleet, budget)
        self.admission = Admission(settings, run, self.books, self.known, fleet, ceilings)
        self._experiments = ExperimentRunner(
            *(settings, run, writer, fleet, self.known, self.books, self._trainer),
            *(len(team.agents), team.sources),
        )
        self._lives: dict[int, Life] = {}
        self._examiner = Examiner(
            settings, run.ledger, self.books, self.known, state, self._experiments.run_out
        )
        self._examining = self._examiner.life()
        self._refusals: dict[str, int] = {}
        self._looked = self._reported = 0.0

    @property
    def record(self) -> CampaignState:
        """What its events come to."""
        return self.books.record

    @property
    def closed(self) -> str:
        """Why no experiment may begin any more; empty while they may."""
        return self.admission.closed

    @property
    def board(self) -> FindingsBoard:
        """What was found out so far."""
        return self.books.board

    def fresh(self, name: str) -> Estimate:
        """How good a policy is on seeds that it was not chosen by."""
        return self.books.fresh(name)

    def run(self) -> LoopState:
        """Go on until the target holds on sealed seeds, or nobody may begin anything any more.

        Raises:
            Stopped: a budget ended, or a person asked; everything is recorded.
        """
        self.books.open()
        policy_process.sweep()
        try:
            self._begin()
            with contextlib.closing(self.fleet.go_on(self._has_ended)) as running:
                for episode in running:
                    with self.lock:
                        self.known.add(episode)
                        self._experiments.add(episode)
                        self._looked = 0.0
            self.fleet.stop("the campaign has ended")
        finally:
            with self.changed:
                self.ended = True
                self.changed.notify_all()
            for agent in self.team.agents:
                agent.close()
            self.books.close()
        return self.state

    # What agents ask for

    def propose(self, experiment: Experiment, trials: bool = True) -> None:
        """Take up an experiment; without `trials` it is trained, and waits for `release`.

        Raises:
            CampaignError: it is refused, and nothing has been begun; why, and what to do.
        """
        with self.lock:
            self.admission.require(experiment)
            self._experiments.recipe(experiment).require(self.stations)
            number = len(self.record.entries) + 1
            self.books.event(number, EXPERIMENT if trials else HELD, experiment.as_json())
            self.books.tell("proposed", number, f"{experiment.id}: {experiment.hypothesis}")
            self._lives[number] = self._experiments.life(number)

    def release(self, agent: str, id: str) -> None:
        """Have an agent's own experiment go on to trials, once it is trained.

        Raises:
            CampaignError: it is not the agent's, or not under way.
        """
        with self.lock:
            entry = self._entry_of(agent, id)
            if not entry.released:
                self.books.event(entry.number, RELEASED, "")

    def _entry_of(self, agent: str, id: str) -> ExperimentEntry:
        entry = self.record.named(id)
        if entry.experiment.agent != agent:
            raise CampaignError(f"{id} is {entry.experiment.agent}'s: ask for your own")
        if entry.experiment.decided:
            raise CampaignError(f"{id} is decided already: {entry.experiment.state}")
        return entry

    def _drop(self, entry: ExperimentEntry, reason: str) -> None:
        life = self._lives.pop(entry.number, None)
        if life is not None:
            life.close()
        self.books.move(entry.number, ExperimentState.DROPPED, reason=reason)

    def retire(self, agent: str, reason: str) -> None:
        """An agent has ended: what it has not released is dropped, the rest goes on."""
        with self.lock:
            if agent in self.record.retired:
                return
            self.books.event(0, RETIRED, retirement(agent, one_line(reason, WORDS)))
            self.books.tell("retired", 0, f"{agent}: {one_line(reason, WORDS)}")
            for entry in self.record.of(agent):
                if not entry.released:
                    self._drop(entry, "its agent ended before it asked for trials")

    def spend(self, agent: str, used: ModelUse, classes: Mapping[str, int]) -> None:
        """An agent has used its model; classes: of tokens, as its API counts them."""
        with self.lock:
            self.books.event(0, USED, used.as_json(agent, classes))

    # What goes on

    def _begin(self) -> None:
        """Have the first policy, and take up what was under way."""
        Loop(
            self.settings,
            self.run_store,
            self._writer,
            self.fleet,
            self._first,
            (),
            self._trainer,
            self.budget,
            self.state,
        ).begin()
        self._writer.flush()
        with self.lock:
            self.known.read()
            self._examiner.recall()
            self.books.settle()
            for entry in self.record.under_way:
                self._lives[entry.number] = self._experiments.life(entry.number)

    def _has_ended(self) -> bool:
        """Let whatever waited go on; whether the campaign has ended."""
        now = time.monotonic()
        if self.state.reached:
            return True
        if now - self._looked < LOOK_S:
            return False
        self._looked = now
        with self.lock:
            for number, life in list(self._lives.items()):
                self._go_on(number, life)
            self._experiments.favour()
            next(self._examining)
            if not self.state.reached:
                self._turns()
            self._show(now)
            self.changed.notify_all()
            retired = all(a.name in self.record.retired for a in self.team.agents)
            over = bool(self.closed or retired) and not (self._lives or self._examiner.busy)
            return self.state.reached or over

    def _go_on(self, number: int, life: Life) -> None:
        try:
            next(life)
        except StopIteration:
            del self._lives[number]
        except (RecipeError, CampaignError, UsageError, SandboxError) as error:
            del self._lives[number]
            self.books.move(number, ExperimentState.FAILED, reason=str(error))

    def _turns(self) -> None:
        """Each agent that has not ended has a turn."""
        for agent in self.team.agents:
            self.admission.look()
            if agent.name in self.record.retired:
                continue
            try:
                agent.turn(AgentSession(self, agent.name))
                self._refusals[agent.name] = 0
            except CampaignError as error:
                refusals = self._refusals[agent.name] = self._refusals.get(agent.name, 0) + 1
                if not self.closed and refusals >= REFUSALS:
                    self.retire(agent.name, str(error))

    def _show(self, now: float) -> None:
        """What a person sees; the report is kept current."""
        state, record = self.state, self.record
        state.incumbent, state.round = record.incumbent, len(record.decided)
        if state.doing != "experiments":
            state.success = self.fresh(record.incumbent)
        changed = (state.done, state.planned) != (state.round, len(record.entries))
        state.doing, state.done, state.planned = "experiments", state.round, len(record.entries)
        if now - self._reported >= REPORT_S or (changed and now - self._reported >= 1.0):
            self._reported = now
            write(self.run_store)
