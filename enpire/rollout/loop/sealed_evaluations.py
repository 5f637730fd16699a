"""Which policies of a loop are examined on sealed seeds, and whether one reaches the target."""

from __future__ import annotations

from itertools import islice

from enpire.environment import Job
from enpire.rollout.evaluation.sealed import Sealed
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.evaluation.statistics import together
from enpire.rollout.loop import round_decisions
from enpire.rollout.loop.episode_runner import EpisodeRunner
from enpire.rollout.loop.round_decisions import RoundDecisions
from enpire.rollout.loop.settings import LoopSettings
from enpire.store import EpisodeWriter
from enpire.store.ledger import Ledger
from enpire.types import Estimate, Purpose


class SealedEvaluations:
    """The sealed evaluations of one loop."""

    def __init__(
        self,
        settings: LoopSettings,
        ledger: Ledger,
        writer: EpisodeWriter,
        decisions: RoundDecisions,
        runner: EpisodeRunner,
    ) -> None:
        self._settings, self._ledger, self._writer = settings, ledger, writer
        self._decisions, self._runner = decisions, runner
        self._known, self._state = runner.known, runner.state
        goal = settings.evaluation
        self._sealed = Sealed(ledger, goal.target, goal.sealed_episodes, goal.target_bound)

    def passes(self, name: str, collected: Estimate | None = None) -> bool:
        """Whether the target is reached; `name` is examined if its evaluations so far reach it.

        So is a candidate that could not be shown to be better than a good incumbent. collected: the
        latest episodes of its learner.
        """
        for row in self._ledger.sealed():
            self._state.take(row, self._sealed.passed(row))
        under_way = self._sealed.under_way  # of a run that is continued; it comes to it
        done = self._state.reached or name in self._sealed.examined
        due = not done and under_way in ("", name)
        if due and (under_way or self._looks_good(name, collected)):
            self._examine(name)
        return self._state.reached

    def _looks_good(self, name: str, collected: Estimate | None) -> bool:
        """Whether it reaches the target on enough episodes.

        Where few say that it does, or do not rule it out, what is missing is run: after a quick
        comparison a policy may seem worse than it is, and another round costs more. The latest
        episodes of its learner count too: alone, one failure in 60 would rule out 0.99.
        """
        number, target = self._state.round, self._settings.evaluation.target
        seen = self._decisions.measured(name, number)
        if seen.trials < round_decisions.ENOUGH and seen.high >= target:
            controller = self._known.controller(name)
            seeds = stream(self._settings.seed, "check", number)
            missing = islice(seeds, round_decisions.ENOUGH - seen.trials)
            jobs = [Job(s, Purpose.EVALUATION, controller, name, number) for s in missing]
            self._state.begin("looking closer", len(jobs))
            self._runner.run(jobs)
            seen = self._decisions.measured(name, number)
        self._state.show_success(name, self._known.success(name))
        enough = seen.trials >= round_decisions.ENOUGH
        if collected is not None:
            seen = together(seen, collected)
        return enough and seen.rate >= target

    def _examine(self, name: str) -> None:
        """Run a sealed evaluation, or the rest of one, until its rule has a verdict."""
        state, known = self._state, self._known.episodes
        controller = self._known.controller(name)
        examination = self._sealed.begin(name, controller, state.round)
        failures, done = examination.counts(known)  # of a loop that was killed within it
        state.begin("sealed evaluation", examination.planned(failures), done)
        for episode in self._runner.stream(examination.due(known)):
            failures += not episode.success
            state.done += 1
            state.deciding = f"{name} on sealed seeds: {failures} failed of {state.done}"
            state.planned = examination.planned(failures)
        self._writer.flush()
        row = self._sealed.close(examination, known)
        text = f"{name}, {self._sealed.text(row)}"
        self._decisions.note(state.round, "sealed", text, name, "")
        state.take(row, self._sealed.passed(row))
