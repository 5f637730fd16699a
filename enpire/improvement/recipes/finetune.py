"""Fine-tuning of a LeRobot policy on what the verifier called a success, by LeRobot's own loss.

Replay of verified successes as in `replay_bc`, for policies that people bring: ACT, Diffusion,
SmolVLA. The whole policy learns, or low-rank adapters do (LoRA, Hu et al. 2021, arXiv 2106.09685),
which are merged into it at the end: what comes out is a policy of the same kind and shape, with the
normalisation that it came with. Of a policy that stands on one of LeRobot's, the base learns what
both together were verified to do: it is distilled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enpire.environment import load_task
from enpire.environment.core.motors import Motors
from enpire.errors import RecipeError
from enpire.improvement.data import instructive, pictures_of
from enpire.improvement.learner import Learner, warmed_and_annealed
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.packs import find
from enpire.packs.finder import sets_joints
from enpire.policies import ChunkSpec, LeRobotPolicy, PictureSpec, Policy, base_of
from enpire.policies.device import compiled, mixed
from enpire.types import Episode

if TYPE_CHECKING:
    from enpire.policies.lerobot.model import LeRobotModel

# Gives the chunks (M, n, act) that should have begun at some rows of episodes end to end, (M,).
Teacher = Callable[[Tensor], Tensor]

DRAWS = 2  # of an example that a teacher was asked about, on average: it is slow to answer


@dataclass(frozen=True, slots=True)
class FineTuning:
    """Fine-tune the incumbent on all successes."""

    steps: int = 2000  # gradient steps
    batch: int = 64  # examples a step
    lr: float = 0.0  # peak learning rate, then cosine annealed; 0: the policy's own
    rank: int = 0  # of low-rank adapters; 0: every weight learns
    targets: str = ""  # layers with adapters, a regular expression; or those that LeRobot says
    most_loss: float = 10.0  # of a gradient's norm, at which it is clipped

    def require_policy(self, policy: Policy | None) -> None:
        """See `Particular.require_policy`."""
        lerobot_base("finetune", policy)

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; goes on from the incumbent's weights, or of what it stands on."""
        base = lerobot_base("finetune", given.incumbent)
        chosen = [episode for episode in given.episodes if episode.success and len(episode)]
        started = time.monotonic()
        policy, loss = self.tuned(base, chosen, given)
        numbers = {
            "episodes": len(chosen),
            "steps": self.steps,
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(policy, numbers)

    def tuned(
        self,
        base: LeRobotPolicy,
        episodes: Sequence[Episode],
        given: RecipeInputs,
        weight: Tensor | None = None,
    ) -> tuple[LeRobotPolicy, float]:
        """The base, taught what was done in `episodes`, and the smoothed loss; see `teach`."""

        model = base.model()
        if sets_joints(given.spec.task):
            model.units = Motors.of(load_task(find("tasks", given.spec.task)))
        loss = self.teach(model, episodes, given, weight)
        return replace(base, files=model.save()), loss

    def teach(
        self,
        model: LeRobotModel,
        episodes: Sequence[Episode],
        given: RecipeInputs,
        weight: Tensor | None = None,
        teacher: Teacher | None = None,
    ) -> float:
        """Teach a model what was done in `episodes`, in place; returns the smoothed loss.

        weight: of each of their rows end to end, (N,); all alike if not given. teacher: the model
        learns its chunks in the place of what was done. It is asked about moments drawn at random,
        each of which training draws `DRAWS` times on average.

        Raises:
            RecipeError: training diverged or lacks data.
        """
        anywhere = teacher is not None
        examples = Windows.of(episodes, model, given.instruction, given.spec, anywhere)
        if teacher is not None:
            examples = examples.some(self.steps * self.batch // DRAWS, given.seed)
            examples = replace(examples, taught=teacher(examples.at))
        torch.manual_seed(given.seed)
        weights = torch.ones(len(examples)) if weight is None else weight[examples.at]
        return self._learn(model, examples, weights, given)

    def _learn(
        self, model: LeRobotModel, examples: Windows, weights: Tensor, given: RecipeInputs
    ) -> float:
        """Train the model in place; returns the smoothed loss.

        Examples are drawn in proportion to their weights, (M,). That weighs any policy's loss,
        though few of LeRobot's tell it apart by example.
        """
        tuner = FineTuner(self, model, examples, weights, given.seed)
        # Of adapters they are kept alone: the rest of a large policy does not change.
        kept: nn.Module = nn.ParameterList(tuner.learned) if self.rank else tuner.network
        learner = Learner(
            {"policy": kept},
            {"policy": tuner.optimiser},
            tuner.generator,
            {"policy": tuner.schedule},
        )
        loss = learner.run("policy", self.steps, tuner.step, given.checkpoint)
        if self.rank:
            model.network = tuner.network.merge_and_unload()
            model.config.use_peft = False
        model.network.eval()
        return loss


class FineTuner:
    """A model that is being fine-tuned: what learns, and what a gradient step changes."""

    def __init__(
        self, said: FineTuning, model: LeRobotModel, examples: Windows, weights: Tensor, seed: int
    ) -> None:
        """said: the settings. The model is changed; weights, (M,): see `FineTuning._learn`."""
        self._said, self._model, self._examples, self._weights = said, model, examples, weights
        self.network: Any = model.network
        if said.rank:
            self.network = adapted(model, said.rank, said.targets)
        self.network.train()
        compiled(self.network, model.where, said.steps)
        preset = model.config.get_optimizer_preset()
        self.learned = [weights for weights in self.network.parameters() if weights.requires_grad]
        self.optimiser = torch.optim.AdamW(
            self.learned,
            lr=said.lr or preset.lr,
            betas=tuple(preset.betas),
            weight_decay=preset.weight_decay,
            fused=model.where.type == "cuda" or None,
        )
        self.schedule = warmed_and_annealed(self.optimiser, said.steps)
        self.generator = torch.Generator().manual_seed(seed)

    def step(self, at: int) -> Tensor:
        """Learn from one batch; returns its loss."""
        said, generator = self._said, self.generator
        index = torch.multinomial(self._weights, said.batch, replacement=True, generator=generator)
        # Dropout and noise inside LeRobot draw from the global generator.
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        batch = self._model.before(self._examples.batch(index))
        with mixed(self._model.where):
            loss: Tensor = self.network(batch)[0]
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.learned, said.most_loss)
        self.optimiser.step()
        self.schedule.step()
        return loss


def adapted(model: LeRobotModel, rank: int, targets: str) -> nn.Module:
    """The model's network with low-rank adapters, which alone learn.

    Where LeRobot does not say which layers have them, all linear and convolutional ones do.

    Raises:
        RecipeError: there is no layer that is called so.
    """
    from peft import LoraConfig, get_peft_model

    network = model.network
    own = network._get_default_peft_targets() or {}
    where = targets or own.get("target_modules")
    where = where or [
        name for name, layer in network.named_modules() if type(layer) in (nn.Linear, nn.Conv1d)
    ]
    for weights in network.parameters():
        weights.requires_grad_(False)
    wanted = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=where)
    try:
        return get_peft_model(network, wanted)
    except ValueError as error:
        raise RecipeError(f"no adapters at {targets!r}: {error}") from error


@dataclass(frozen=True, slots=True)
class Windows:
    """Successive periods of episodes, as LeRobot cuts them for one policy: M examples of N rows.

    Of a policy that sees, rows are what an arm feels, and examples are those of which there are
    pictures.
    """

    rows: Tensor  # (N, obs), of all episodes end to end
    actions: Tensor  # (N, act), of all episodes end to end
    at: Tensor  # the moment of each example, (M,)
    first: Tensor  # the first row of its episode, (M,)
    end: Tensor  # the row after the last of its episode, (M,)
    # Periods from there that the policy sees, and predicts; beyond an episode's ends these are
    # repeated, which is flagged in actions.
    seen: Tensor
    acted: Tensor
    model: LeRobotModel
    told: str
    pictures: Tensor | None = None  # (P, cameras, size, size, 3) of uint8
    pictured: Tensor | None = None  # (N,), which of them a row has
    # Chunks that a teacher would have begun at each example, (M, n, act); then these are what is
    # predicted from there on, and what comes after them is flagged.
    taught: Tensor | None = None

    @classmethod
    def of(
        cls,
        episodes: Sequence[Episode],
        model: LeRobotModel,
        told: str,
        spec: ChunkSpec,
        anywhere: bool = False,
    ) -> Windows:
        """What is `instructive` of them, or every moment.

        spec: says what their pictures are, and what is felt.

        Raises:
            RecipeError: there is no such moment.
        """
        lengths = [len(episode) for episode in episodes]
        ends = np.cumsum(lengths)
        firsts = ends - lengths
        at = np.arange(sum(lengths)) if anywhere else _shown_well(episodes, model)
        if not len(at):
            raise RecipeError("no moment of any success to learn from")
        rows = np.concatenate([e.observations for e in episodes])
        config = model.config
        seen = np.array(config.observation_delta_indices or [0])
        pictures, pictured = None, None
        if model.cameras:
            spec = _picturing(spec)
            rows = rows[:, list(spec.felt)]
            places = [spec.cameras.index(camera) for camera in model.cameras]
            shown, which = pictures_of(episodes, spec)
            first = firsts[np.searchsorted(ends, at, side="right")]
            whole = (which[np.maximum(at[:, None] + seen, first[:, None])] >= 0).all(axis=1)
            at = at[whole]
            if not len(at):
                raise RecipeError(
                    f"no moment of any success of which there are pictures of {len(seen)} "
                    "successive periods: the policy's own episodes have them, with --images"
                )
            pictures, pictured = torch.from_numpy(shown[:, places]), torch.from_numpy(which)
        of = np.searchsorted(ends, at, side="right")
        actions = np.concatenate([e.actions for e in episodes])
        if model.units is not None:
            actions = model.units.told(actions)
        return cls(
            rows=torch.from_numpy(rows),
            actions=torch.from_numpy(actions),
            at=torch.from_numpy(at),
            first=torch.from_numpy(firsts[of]),
            end=torch.from_numpy(ends[of]),
            seen=torch.from_numpy(seen),
            acted=torch.tensor(config.action_delta_indices),
            model=model,
            told=told,
            pictures=pictures,
            pictured=pictured,
        )

    def __len__(self) -> int:
        return len(self.at)

    def some(self, count: int, seed: int) -> Windows:
        """At most `count` of the examples, drawn at random."""
        rng = np.random.default_rng(seed)
        drawn = torch.from_numpy(np.sort(rng.permutation(len(self))[:count]))
        return replace(self, at=self.at[drawn], first=self.first[drawn], end=self.end[drawn])

    def batch(self, index: Tensor) -> dict[str, Any]:
        """Some examples, (b,), as LeRobot's preprocessor takes them."""
        at, first, last = self.at[index], self.first[index, None], self.end[index, None] - 1
        seen = (at[:, None] + self.seen).clamp(first, last)
        acted = at[:, None] + self.acted
        action, beyond = self.actions[acted.clamp(first, last)], (acted < first) | (acted > last)
        if self.taught is not None:
            ahead, length = self.acted >= 0, self.taught.shape[1]
            place = self.acted[ahead].clamp(max=length - 1)
            action[:, ahead] = self.taught[index[:, None], place]
            beyond[:, ahead] = self.acted[ahead] >= length
        return {
            **self.model.batch(self.rows[seen], self.told, self._pictures_of(seen)),
            "action": action,
            "action_is_pad": beyond,
        }

    def _pictures_of(self, rows: Tensor) -> Tensor | None:
        """The pictures of some rows (b, history), (b, history, cameras, size, size, 3)."""
        if self.pictures is None or self.pictured is None:
            return None
        return self.pictures[self.pictured[rows]]


def lerobot_base(name: str, policy: Policy | None) -> LeRobotPolicy:
    """LeRobot's policy that the recipe `name` teaches: this one, or what it stands on.

    Raises:
        RecipeError: It is none of LeRobot's.
    """
    base = base_of(policy)
    if not isinstance(base, LeRobotPolicy):
        raise RecipeError(
            f"{name} teaches a policy of LeRobot's: begin with --policy DIR, a folder that "
            "LeRobot wrote"
        )
    return base


def _shown_well(episodes: Sequence[Episode], model: LeRobotModel) -> NDArray[np.int64]:
    """The `instructive` rows of episodes end to end, (M,).

    Their last frames predict mostly what is repeated; Diffusion leaves some out.
    """
    left_out = int(getattr(model.config, "drop_n_last_frames", 0))
    good = [instructive(e) & (np.arange(len(e)) < max(1, len(e) - left_out)) for e in episodes]
    return np.flatnonzero(np.concatenate(good)) if good else np.zeros(0, np.int64)


def _picturing(spec: ChunkSpec) -> PictureSpec:
    """The shape of what sees by cameras; raises RecipeError where nothing does."""
    if not isinstance(spec, PictureSpec):
        raise RecipeError("the policy sees by cameras: its episodes need pictures, --images")
    return spec


RECIPE = FineTuning
