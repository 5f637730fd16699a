"""Learn online: act by the best of some chunks, as critics tell that learn from every episode.

Best-of-N under an ensemble of critics is what EXPO acts by (Dong et al. 2025, arXiv 2507.07986;
chunks: EXPO-FT, arXiv 2605.25477). The incumbent is the base. It draws chunks, each is varied a
little, and critics choose. These learn while stations work, from every episode of the run. The base
can go on learning, too, by cloning what succeeded; at a constant rate it got worse
(`docs/explanation/learning.md`), so it stays as it is unless told otherwise.

What collects is what is proposed, with what varies its chunks: where a memory of what was tried is
short, one that always does the same stays stuck. An attempt that has become less likely to succeed
is given up: it goes back to the place that promised most, and tries again (`attempt_values.py`).
What collects sometimes goes on all the same, so that what would have come of it is learned, too.
The base is not shown what was taken back.
A base that is not ours to teach so, such as LeRobot's, stays as it is.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from enpire.errors import RecipeError
from enpire.improvement.attempt_values import AttemptSettings, AttemptValueLearner
from enpire.improvement.base_learning import BaseLearner, BaseSettings
from enpire.improvement.checkpoint import NOWHERE, Checkpoint, TrainingState
from enpire.improvement.chunk_buffer import ChunkBuffer, Chunks
from enpire.improvement.critic_learning import CriticLearner, CriticSettings, Mix
from enpire.improvement.data import MIN_STD, looked_back
from enpire.improvement.frozen_base import Moments, base_among, standing
from enpire.improvement.learner import LOOK
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.replay import later_of, transitions
from enpire.improvement.scene_symmetry import scales
from enpire.packs.finder import sets_joints
from enpire.policies import (
    Base,
    BestOfPolicy,
    Chooser,
    ChooserSpec,
    ChunkPolicy,
    ChunkSpec,
    FlowPolicy,
    Policy,
)
from enpire.policies.retracing import taken_back
from enpire.types import Episode

SHARES = (0.5, 0.25)  # of demonstrations in a batch, at the beginning and later
FOLLOWED = 0.5  # share of the return that followed in a target, at the beginning
LEAST_DONE = 2  # periods of an episode that there is anything to learn from
STAGE = "best_of_n"


@dataclass(frozen=True, slots=True)
class BestOfN:
    """Improve the incumbent online: the best of its chunks, by critics that learn."""

    critic: CriticSettings = field(default_factory=CriticSettings)
    attempt: AttemptSettings = field(default_factory=AttemptSettings)
    base: BaseSettings = field(default_factory=BaseSettings)
    samples: int = 8  # chunks that the base draws when it acts, and as many variations
    critics: int = 4
    width: int = 256  # of hidden layers
    noise: float = 0.02  # standard deviation of a variation, of half an action's range
    caution: float = 2.0  # standard deviations of what critics disagree by
    margin: float = 0.05  # chance lost at which an attempt is given up; 0: never
    back: int = 20  # periods before it is first given up, each time so many more; 0: never
    waits: float = 0.3  # chance that it goes on all the same, while it collects
    lags: tuple[int, ...] = (4, 2, 0)  # of what critics see [periods]
    attempt_lags: tuple[int, ...] = (50, 25, 12, 4, 2, 0)  # of what values of attempts see
    warm_steps: int = 1500  # gradient steps of the critics before the first block is learned from
    steps: float = 0.5  # gradient steps of the critics a control period of what is collected
    base_steps: float = 0.0  # of the base, a control period that it can clone; 0: it stays as it is
    early: int = 300  # episodes in which returns and demonstrations count for less and less

    begins_from: ClassVar[str] = "flow"

    def require_policy(self, policy: Policy | None) -> None:
        """See `Particular.require_policy`."""
        base_among("best_of_n", policy)

    def learner(self, given: RecipeInputs) -> BestOfLearner:
        """See `OnlineRecipe.learner`; needs an incumbent."""
        return BestOfLearner(self, given)

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`: learns from the episodes there are."""
        learner = self.learner(given)
        kept = given.checkpoint.find(STAGE)
        if kept is not None:
            learner.restore((), kept)
        learner.work(given.checkpoint)
        return learner.candidate()


class BestOfLearner:
    """A base and its critics, with all that they learn from."""

    def __init__(self, settings: BestOfN, given: RecipeInputs) -> None:
        """Keep the episodes there are; nothing is learned of them before `add`.

        Raises:
            RecipeError: there is no incumbent, or no success to learn from.
        """
        torch.manual_seed(given.seed)
        self.settings = settings
        self._given = replace(given, episodes=(), checkpoint=NOWHERE)
        self._frozen: Base = standing("best_of_n", given)
        before = sorted((e for e in given.episodes if _tells(e)), key=lambda e: e.id)
        shown = [e for e in before if e.shown] or [e for e in before if e.success]
        won = [e for e in shown if e.success]
        if not won:
            raise RecipeError("best_of_n: no demonstration and no success to learn from")
        self._shown = {e.id for e in shown}
        moments = Moments.of(self._frozen, won, given)
        # Of who sees by cameras, what it sees would have to be moved, too.
        self._symmetry = given.symmetry if moments.film is None else None
        self._chooser = self._first_chooser(moments)
        self._buffer = ChunkBuffer()
        generators = [torch.Generator().manual_seed(given.seed + part) for part in range(2)]
        self._critics = CriticLearner(self._chooser, settings.critic, generators[0], self._symmetry)
        self._base: BaseLearner | None = None
        if settings.base_steps and isinstance(self._frozen, ChunkPolicy | FlowPolicy):
            self._base = BaseLearner(self._frozen, settings.base, generators[1], self._symmetry)
        self._attempts: AttemptValueLearner | None = None
        if self._chooser.spec.margin:
            own = torch.Generator().manual_seed(given.seed + 2)
            self._attempts = AttemptValueLearner(
                self._chooser, settings.attempt, own, self._symmetry
            )
        self._take(before)
        self._episodes, self._seconds = 0, 0.0
        begun = float(settings.warm_steps)
        self._owed = {"critics": begun, "base": 0.0, "attempts": begun}  # gradient steps

    def add(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """See `OnlineLearner`."""
        some = self._add_collected(episodes)
        self.work()
        return {"success": sum(e.success for e in some) / max(len(some), 1), **self._numbers()}

    def work(self, checkpoint: Checkpoint = NOWHERE) -> None:
        """Take all gradient steps that are owed for what there is to learn from.

        Raises:
            RecipeError: learning diverged.
        """
        started, before = time.monotonic(), self._critics.steps
        while self._owes("critics"):
            self._critics.step(self._buffer, self._mix)
            if self._critics.steps % LOOK == 0:
                checkpoint.show(STAGE, self._critics.steps, self._critics.numbers)
            if checkpoint.due:
                checkpoint.keep(STAGE, self.state())
        while self._base is not None and self._owes("base"):
            self._base.step()
        while self._attempts is not None and self._owes("attempts"):
            self._attempts.step()
        self._critics.require_finite()
        if self._attempts is not None:
            self._attempts.require_finite()
        self._seconds += time.monotonic() - started
        if checkpoint.keeps and self._critics.steps > before:
            checkpoint.keep(STAGE, self.state())

    def policy(self) -> Policy:
        """See `OnlineLearner`."""
        return self._acting(self.settings.waits)

    def candidate(self) -> Candidate:
        """See `OnlineLearner`."""
        numbers = {"episodes": self._episodes, **self._numbers(), "seconds": self._seconds}
        return Candidate(self._acting(0.0), numbers)

    def state(self) -> TrainingState:
        """See `OnlineLearner`."""
        parts = {"critics": self._critics.state()}
        if self._base is not None:
            parts["base"] = self._base.state()
        if self._attempts is not None:
            parts["attempts"] = self._attempts.state()
        tensors = {
            f"{name}/{key}": t for name, part in parts.items() for key, t in part.tensors.items()
        }
        states = {name: part.state for name, part in parts.items()}
        return TrainingState(
            tensors, {"parts": states, "owed": dict(self._owed), "seconds": self._seconds}
        )

    def restore(self, episodes: Sequence[Episode], kept: TrainingState) -> None:
        """See `OnlineLearner`."""
        self._add_collected(episodes)
        self._critics.restore(_part(kept, "critics"))
        if self._base is not None:
            self._base.restore(_part(kept, "base"))
        if self._attempts is not None and "attempts" in kept.state["parts"]:  # not in older runs
            self._attempts.restore(_part(kept, "attempts"))
        self._owed |= kept.state["owed"]
        self._seconds = kept.state["seconds"]

    def _acting(self, waits: float) -> BestOfPolicy:
        """Return what acts by all of them as they are now; waits: see `ChooserSpec`."""
        base = self._frozen if self._base is None else self._base.acting()
        chooser = copy.deepcopy(self._chooser).eval()
        chooser.spec = replace(chooser.spec, waits=waits)
        return BestOfPolicy(base, chooser)

    def _add_collected(self, episodes: Sequence[Episode]) -> list[Episode]:
        """Take what was collected; steps are owed for it."""
        some = [e for e in episodes if _tells(e)]
        self._episodes += len(some)
        cloned = self._take(some)
        steps = self.settings.steps * sum(len(e) for e in some)
        self._owed["critics"] += steps
        self._owed["attempts"] += steps
        self._owed["base"] += self.settings.base_steps * cloned
        return some

    def _take(self, episodes: Sequence[Episode]) -> int:
        """Keep episodes to learn from; returns how many moments the base can clone."""
        cloned = 0
        for episode in episodes:
            moments = Moments.of(self._frozen, [episode], self._given)
            seen = moments.asked.seen.beside(moments.data.rows)  # in each period, (T, obs)
            chunks = self._chunks(episode, moments.asked.spec, seen)
            self._buffer.add(chunks, demonstration=episode.id in self._shown)
            if self._attempts is not None:
                self._attempts.add(episode, seen)
            if self._base is not None and episode.success:
                spec = self._chooser.spec
                cloned += self._base.add(
                    episode, taken_back(episode.actions, spec.chunk, spec.varied)
                )
        return cloned

    def _owes(self, part: str) -> bool:
        """Return whether a whole step is owed, and owe it no more."""
        due = self._owed[part] >= 1.0
        self._owed[part] -= due
        return due

    @property
    def _mix(self) -> Mix:
        left = max(0.0, 1.0 - self._episodes / max(self.settings.early, 1))
        begun, later = SHARES
        return Mix(later + left * (begun - later), FOLLOWED * left)

    def _numbers(self) -> dict[str, float]:
        return {"steps": self._critics.steps, **self._critics.numbers}

    def _chunks(self, episode: Episode, spec: ChunkSpec, seen: Tensor) -> Chunks:
        """Return the chunks of an episode; seen: in each of its periods, (T, obs)."""
        at, lags = torch.arange(len(seen)), torch.tensor(self._chooser.spec.lags)
        done = transitions([episode], spec, self.settings.critic.discount)
        return Chunks(
            seen=seen[looked_back(at, lags, torch.zeros_like(at))],
            actions=done.actions,
            later=later_of([episode], spec.execute),
            reward=done.reward,
            discount=done.discount,
            followed=done.followed,
        )

    def _first_chooser(self, moments: Moments) -> Chooser:
        """Return the chooser to begin with: the incumbent's own, if it has one."""
        incumbent, settings = self._given.incumbent, self.settings
        if isinstance(incumbent, BestOfPolicy):
            return copy.deepcopy(incumbent.head).train()
        asked, grippers = moments.asked, self._given.grippers
        of = asked.spec
        varied = tuple(entry for entry in range(of.action) if entry not in grippers)
        margin = settings.margin if settings.back and not sets_joints(of.task) else 0.0
        spec = ChooserSpec(
            observation=asked.observation,
            lags=settings.lags,
            action=of.action,
            chunk=of.execute,
            varied=varied,
            width=settings.width,
            critics=settings.critics,
            samples=settings.samples,
            noise=settings.noise,
            caution=settings.caution,
            back=-(-settings.back // of.execute) if margin else 0,
            margin=margin,  # joint actions are no ways that could be taken back
            attempt_lags=settings.attempt_lags,
            relative=self._given.relative,
        )
        made = Chooser(spec)
        data = replace(moments.data, symmetry=self._symmetry)
        shown = scales(data, relative=spec.relative)
        made.mean.copy_(asked.seen.beside(shown.mean))
        made.std.copy_(asked.seen.beside(shown.std).clamp_min(MIN_STD))
        made.centre.copy_(shown.action_mean)
        made.spread.copy_(shown.action_std if spec.relative else asked.spread)
        return made


def _part(kept: TrainingState, name: str) -> TrainingState:
    begin = f"{name}/"
    tensors = {
        key.removeprefix(begin): t for key, t in kept.tensors.items() if key.startswith(begin)
    }
    return TrainingState(tensors, kept.state["parts"][name])


def _tells(episode: Episode) -> bool:
    """Whether there is anything to learn from an episode."""
    return episode.tells and len(episode) >= LEAST_DONE


RECIPE = BestOfN
