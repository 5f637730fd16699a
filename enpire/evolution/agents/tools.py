"""What an agent can do in a campaign: ten tools, the same for every agent.

Each returns compact text with counts and intervals. What is wrong is a `CampaignError` that says
what to do. None of them shows a sealed episode, or decides: decisions are the
harness's, from episodes that it has judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from enpire.environment import StationBackend, Tasked
from enpire.errors import CampaignError, UsageError
from enpire.evolution.campaign.campaign import Campaign
from enpire.evolution.experiments.budget import budget_left
from enpire.evolution.experiments.effect import Effect
from enpire.evolution.experiments.events import ExperimentEntry
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.evolution.knowledge import board, literature
from enpire.evolution.knowledge.dedup import duplicates
from enpire.improvement import recipe_finding as recipes
from enpire.packs.finder import unknown
from enpire.rollout.evaluation.statistics import estimate
from enpire.sandbox.sanitize import NOTE, one_line, quoted
from enpire.types import JUDGED, Episode, Float32Array, Outcome, Purpose

CODE = (
    "A policy may be code too (policy_source): a Python file with make(observation, action), given "
    "the sizes of both, that returns an object with begin(row), where an episode begins on station "
    "`row`, and act(rows, observations): float32 actions (m, action) for stations rows (m,) that "
    "see observations (m, observation). It runs in a sandbox, with numpy; it is told nothing else, "
    "and what it prints or what kills it fails its episodes."
)
ARM = "dx dy dz rx ry rz gripper"
MOST = 40  # experiments, or rows of an episode, that one answer holds
TEXT = 400  # characters of a hypothesis
PICTURES = 4  # of an episode
LONGEST_S = 600.0  # that an agent waits for an answer
NAMES = (
    "task_brief",
    "read_results",
    "read_episode",
    "train",
    "run_trials",
    "status",
    "search_literature",
    "read_board",
    "post_finding",
    "propose_merge",
)
OPTIONAL = {
    "literature": ("search_literature",),
    "board": ("read_board", "post_finding"),
    "episodes": ("read_episode",),
    "merges": ("propose_merge",),
}
"""What a campaign may do without: the tools that go with it."""


class OfferedTools(Protocol):
    """An agent's tools: methods of these names, which return text or `EpisodePictures`."""

    @property
    def names(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class EpisodePictures:
    """Text, and pictures to it: an episode and what cameras saw of it. PNG files."""

    text: str
    pictures: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Tools:
    """One agent's tools."""

    campaign: Campaign
    agent: str
    # The text of a file of its workspace, by its path, as it has committed it.
    committed: Callable[[str], str] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those that the campaign leaves its agents, in their order."""
        return tuple(name for name in NAMES if name not in self.campaign.team.tools_off)

    def task_brief(self) -> str:
        """What the task is, what a policy sees and does, what is to be reached, and how."""
        campaign = self.campaign
        settings, stations = campaign.settings, campaign.stations
        goal = settings.evaluation
        known = ", ".join(recipes.names())
        return "\n".join(
            [
                f"Task {settings.task}: make a policy that succeeds at {goal.target:g} or "
                f"more, of {goal.sealed_episodes} episodes or more on sealed seeds.",
                f"An observation has {stations.observation_size} entries, an action "
                f"{stations.action_size}, in [-1, 1], every {stations.period:g} s.",
                *_entries(stations),
                "One experiment: state a falsifiable hypothesis and train (a recipe and what "
                "differs from its usual settings); read its numbers; run_trials; the harness "
                "compares it with its base on the same fresh seeds and keeps or drops it.",
                f"A collection has {settings.rounds.collect} episodes; a comparison at most "
                f"{3 * goal.max_pairs} pairs. You have one experiment under way at a time.",
                f"Recipes: {known}.",
                CODE,
                self.status(),
            ]
        )

    def status(self) -> str:
        """The incumbent, what is under way, and what is left of the budgets."""
        with self.campaign.lock:
            record, campaign = self.campaign.record, self.campaign
            lines = [
                f"Incumbent {record.incumbent}: {campaign.fresh(record.incumbent)} on fresh seeds.",
                f"{len(record.entries)} experiments so far, {len(record.under_way)} under way.",
                self._what_is_left(),
            ]
            for entry in record.under_way:
                lines.append(
                    f"- {entry.experiment.id}: {_stage(entry)}, {entry.experiment.tried(TEXT)}"
                )
            if campaign.closed:
                lines.append(f"No experiment begins any more: {campaign.closed}.")
        return "\n".join(lines)

    def read_results(self, experiment: str = "", last: int = 10, wait: float = 0.0) -> str:
        """The last experiments with their effects; or all that is known of one, by its id.

        wait: that one is decided, or trained and waiting for run_trials, for so many seconds, 600
        at most.
        """
        with self.campaign.changed:
            if experiment:
                most = min(max(0.0, wait), LONGEST_S)
                self.campaign.changed.wait_for(lambda: self._has_come(experiment), most)
                return self._line_on(self.campaign.record.named(experiment))
            entries = list(self.campaign.record.entries.values())[-min(max(last, 1), MOST) :]
            if not entries:
                return "There are no experiments yet: begin one with train."
            total = len(self.campaign.record.entries)
            lines = [f"{len(entries)} of {total} experiments, the latest last. {NOTE}"]
            lines += [_line(entry) for entry in entries]
        return "\n".join(lines)

    def read_episode(self, episode: str, rows: int = 12) -> EpisodePictures:
        """One episode by its id: verdict, predicates, what was seen and done, pictures.

        Ids are in read_results of one experiment. No sealed episode is shown.
        """
        with self.campaign.lock:
            found = self.campaign.known.episodes.get(episode)
        if found is None or found.purpose is Purpose.SEALED:
            raise CampaignError(
                f"there is no episode {episode[:80]!r} to read: ids are in read_results of an "
                "experiment"
            )
        pictures = self.campaign.run_store.evidence(episode)[:PICTURES]
        return EpisodePictures(_episode(found, min(max(rows, 2), MOST)), tuple(pictures))

    def train(
        self,
        hypothesis: str,
        recipe: str,
        settings: Mapping[str, str] | None = None,
        builds_on: Sequence[str] = (),
        anyway: bool = False,
        source: str = "",
        path: str = "",
        policy_source: str = "",
    ) -> str:
        """Begin an experiment on the incumbent: collect and train; it then waits for run_trials.

        source: code of your own, the text of a file with a `RECIPE` as built-in ones have; `recipe`
        is what you call it then; it runs in a sandbox. path: of such a file that you have committed
        on main of your workspace, instead. policy_source: a policy that is code, the text of a file
        with a `make(observation, action)`, for which nothing is collected or trained. settings:
        that differ from its usual ones, by dotted name, as text. builds_on: ids of findings of the
        board. anyway: though one that is under way looks much the same.
        """
        if path and (source or self.committed is None):
            raise CampaignError("give source, or the path of a file that you have committed")
        if path and self.committed is not None:
            source = self.committed(path)
        return self._begin(
            hypothesis,
            recipe,
            dict(settings or {}),
            tuple(builds_on),
            anyway,
            source,
            program=policy_source,
        )

    def run_trials(self, experiment: str) -> str:
        """Let your experiment go on to its comparison as soon as it is trained."""
        self.campaign.release(self.agent, experiment)
        return (
            f"{experiment} goes on to its trials; read_results {experiment} tells what came of it."
        )

    def search_literature(self, query: str, k: int = 4) -> str:
        """Method cards that answer a query, a page each."""
        return literature.cards_text(literature.search(query, k))

    def read_board(self, query: str = "") -> str:
        """What was found out so far, by all agents, with its evidence."""
        with self.campaign.lock:
            findings = list(self.campaign.board.findings.values())
            return board.board_text(findings, self.campaign.record.experiments, query)

    def post_finding(self, text: str, evidence: Sequence[str]) -> str:
        """Put up what you found, in a sentence or two; evidence: ids of decided experiments."""
        with self.campaign.lock:
            known = {e.id: e for e in self.campaign.record.experiments}
            finding = self.campaign.board.post(self.agent, text, evidence, known)
        return f"posted as {finding.id}"

    def propose_merge(self, experiments: Sequence[str], hypothesis: str) -> str:
        """Begin an experiment that joins the settings of several of one recipe; later ones win."""
        with self.campaign.lock:
            chosen = [self.campaign.record.named(id).experiment for id in experiments]
        if len(chosen) < 2:
            raise CampaignError("a merge needs two experiments or more: give their ids")
        if len({(e.recipe, e.source, e.program) for e in chosen}) > 1 or any(
            e.program for e in chosen
        ):
            names = ", ".join(f"{e.id} {e.recipe}" for e in chosen)
            raise CampaignError(f"only experiments of one recipe can be merged; these are: {names}")
        settings: dict[str, str] = {}
        for one in chosen:
            settings |= dict(one.settings)
        merges, source = tuple(e.id for e in chosen), chosen[0].source
        return self._begin(hypothesis, chosen[0].recipe, settings, (), source=source, merges=merges)

    # Helpers

    def _begin(
        self,
        hypothesis: str,
        recipe: str,
        settings: Mapping[str, str],
        builds_on: tuple[str, ...],
        anyway: bool = False,
        source: str = "",
        merges: tuple[str, ...] = (),
        program: str = "",
    ) -> str:
        with self.campaign.lock:
            record = self.campaign.record
            if recipe not in recipes.names() and not (source or program):
                known = ", ".join(recipes.names())
                raise CampaignError(f"there is no recipe {recipe[:64]!r}; there are: {known}")
            own = sum(e.agent == self.agent for e in record.experiments)
            proposal = Experiment(
                id=f"{self.agent}-{own}",
                agent=self.agent,
                hypothesis=one_line(hypothesis, TEXT),
                recipe=recipe,
                base=record.incumbent,
                settings=tuple((str(name), str(value)) for name, value in settings.items()),
                source=source,
                program=program,
                builds_on=builds_on,
                merges=merges,
            )
            alike = duplicates(proposal, record.experiments)
            if alike and not anyway:
                other = alike[0].experiment
                raise CampaignError(
                    f"{other.id} of {other.agent} is under way and tries much the same "
                    f"({other.tried(TEXT)}): try something else, wait for what comes of it, or "
                    "say what is different and train with anyway"
                )
            self.campaign.propose(proposal, trials=False)
        return f"{proposal.id} is collecting, then training; ask for run_trials {proposal.id}."

    def _has_come(self, id: str) -> bool:
        """Whether an experiment is where its agent, or nobody, has something to do for it."""
        entry = self.campaign.record.named(id)
        trained = self.campaign.run_store.ledger.policy(entry.policy) is not None
        waits = trained and not entry.released
        return entry.experiment.decided or waits or self.campaign.ended

    def _what_is_left(self) -> str:
        campaign = self.campaign
        ceilings, used = campaign.ceilings, campaign.record.spent
        wall = campaign.budget.wall_s - campaign.budget.elapsed
        return budget_left(
            {
                "minutes": wall / 60,
                "robot-hours": (ceilings.robot_s - campaign.fleet.robot_s) / 3600,
                "experiments": ceilings.experiments - len(campaign.record.entries),
                "tokens": ceilings.tokens - used.tokens,
                "dollars": ceilings.dollars - used.dollars,
            }
        )

    def _line_on(self, entry: ExperimentEntry) -> str:
        e = entry.experiment
        lines = [_line(entry), NOTE, quoted(e.hypothesis, TEXT)]
        if e.reason:
            lines.append(f"Reason: {one_line(e.reason, TEXT)}")
        for match in entry.matches:
            lines.append(f"Against {match.opponent}: {Effect(match.record)}.")
        note = [n for n in self.campaign.run_store.ledger.decisions() if n.round == entry.number]
        lines += [f"Training: {n.text}" for n in note if n.kind == "trained"]
        own = [e for e in self.campaign.known.episodes.values() if e.policy == entry.policy]
        own = [e for e in own if e.purpose is not Purpose.SEALED]
        judged = [e.success for e in own if e.verdict.outcome in JUDGED]
        lines.append(f"Its policy so far: {estimate(sum(judged), len(judged))}.")
        failed = [e for e in own if e.verdict.outcome is Outcome.FAILURE]
        reasons = Counter(name for e in failed for name in e.verdict.failed)
        if reasons:
            counted = ", ".join(f"{name} {count}" for name, count in reasons.most_common(6))
            lines.append(f"Predicates that did not hold in {len(failed)} failures: {counted}.")
        unjudged = [e.verdict for e in failed if not e.verdict.predicates]
        faults = Counter(one_line(verdict.reason, TEXT) for verdict in unjudged)
        lines += [f"Ended {n} of them: {reason}" for reason, n in faults.most_common(2) if reason]
        lines += [f"- {e.id}: {e.verdict.outcome}" for e in [*failed[:4], *own[:2]]]
        return "\n".join(lines)


def without(said: str) -> tuple[str, ...]:
    """The tools that `literature,board` takes away.

    Raises:
        UsageError: there is no such thing to do without.
    """
    chosen = said.split(",")
    for name in chosen:
        if name not in OPTIONAL:
            raise UsageError(unknown("tool to do without", name, list(OPTIONAL)))
    return tuple(tool for name in chosen for tool in OPTIONAL[name])


def callables(tools: OfferedTools) -> list[Callable[..., str | EpisodePictures]]:
    """The tools as functions, in their order."""
    return [getattr(tools, name) for name in tools.names]


def _entries(stations: StationBackend) -> list[str]:
    """What entries of an observation and of an action are, where stations say so."""
    if not isinstance(stations, Tasked):
        return []
    task = stations.task
    names = task.observation_names
    acts = f"{ARM}, of each of {len(task.actions.arms)} arms"
    if task.joint_actions is not None:
        acts = f"{', '.join(names[: stations.action_size])}: where each is to be, in its range"
    return [f"Entries of an observation: {', '.join(names)}.", f"Entries of an action: {acts}."]


def _line(entry: ExperimentEntry) -> str:
    e = entry.experiment
    effect = str(e.effect) if e.effect else "not measured"
    return f"{e.id} ({e.agent}), {e.tried(TEXT)}, on {e.base}: {_stage(entry)}, effect {effect}"


def _stage(entry: ExperimentEntry) -> str:
    e = entry.experiment
    waiting = e.state is ExperimentState.TRAINING and not entry.released
    return f"{e.state}, run_trials not asked for" if waiting else str(e.state)


def _episode(episode: Episode, rows: int) -> str:
    verdict = episode.verdict
    lines = [
        f"{episode.id}: {verdict.outcome} under {episode.policy}, {episode.purpose}, "
        f"{len(episode)} periods, {episode.times.execute:.1f} s; score {verdict.score:.2f}, stage "
        f"{verdict.stage or 'none'}; {one_line(verdict.reason, TEXT)}",
    ]
    for p in verdict.predicates:
        sign = ">=" if p.at_least else "<="
        lines.append(f"- {p.name}: {p.value_text} {sign} {p.threshold:g} {p.unit}: {p.state}")
    at = np.unique(np.linspace(0, max(len(episode) - 1, 0), rows).astype(int))
    lines.append("time [s]: observation → action")
    for i in at if len(episode) else []:
        seen, done = _numbers(episode.observations[i]), _numbers(episode.actions[i])
        lines.append(f"{episode.stamps[i]:.2f}: {seen} → {done}")
    return "\n".join(lines)


def _numbers(values: Float32Array) -> str:
    return " ".join(f"{value:.2f}" for value in values)
