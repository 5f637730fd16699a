"""What recipes share that learn on top of a policy which stays as it is: asking it, once.

A base that sees by cameras can be asked where pictures were taken: whenever a policy was asked for
a chunk, and now and then besides. They are kept with the episodes, so what it said need not be: it
says it again, whoever acted there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enpire.errors import RecipeError
from enpire.improvement.checkpoint import Checkpoint, TrainingState
from enpire.improvement.data import Examples, examples
from enpire.improvement.film import Film
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.replay import Transitions, later_of, transitions
from enpire.improvement.residual import residual_inputs
from enpire.packs.finder import sets_joints
from enpire.policies import (
    BASES,
    Base,
    ChunkSampler,
    LeRobotPolicy,
    ObservationMask,
    PictureSpec,
    Policy,
    base_of,
    eyes,
)
from enpire.types import Episode, Flags, Float32Array

BLOCK = 64  # moments that are asked about at a time
CHUNKS = "chunks"


def base_among(name: str, policy: Policy | None, kinds: Mapping[str, type[Base]] = BASES) -> Base:
    """The policy that the recipe `name` can stand on: this one, or what it stands on itself.

    Raises:
        RecipeError: It is of no kind among `kinds`.
    """
    base = base_of(policy)
    for kind in kinds.values():
        if isinstance(base, kind):
            return base
    found = f"the incumbent is of kind {base.kind!r}" if base else "there is none"
    raise RecipeError(
        f"{name} stands on a policy of kind {', '.join(kinds)}, and {found}: "
        "begin with --policy, or with a first recipe that makes one"
    )


def standing(name: str, given: RecipeInputs, kinds: Mapping[str, type[Base]] = BASES) -> Base:
    """As `base_among` of the incumbent, which also has to see what policies see here.

    Raises:
        RecipeError: It is of no kind among `kinds`, sets joints, or sees otherwise.
    """
    base = base_among(name, given.incumbent, kinds)
    if isinstance(base, LeRobotPolicy) and sets_joints(given.spec.task):
        raise RecipeError(
            f"{name}: a policy of LeRobot's that sets joints is not stood on; --recipe "
            "finetune teaches it"
        )
    _require_eyes(name, base, given)
    return base


def _require_eyes(name: str, base: Base, given: RecipeInputs) -> None:
    _, size = eyes(base)
    pictured = isinstance(given.spec, PictureSpec)
    if pictured and not size:
        raise RecipeError(
            f"{name}: policies see by cameras here, and the one to stand on does not: "
            "leave --images out"
        )
    if size and not pictured:
        raise RecipeError(
            f"{name}: the policy to stand on sees by cameras, and nothing takes pictures here: "
            f"--images {size}"
        )


@dataclass(frozen=True, slots=True)
class Moments:
    """All control periods of some episodes, end to end, N rows, as a base is asked about them."""

    asked: ChunkSampler  # how
    data: Examples  # what is seen and done, whole, an example a row
    film: Film | None  # what cameras showed

    @classmethod
    def of(cls, base: Base, episodes: Sequence[Episode], given: RecipeInputs) -> Moments:
        """Raises RecipeError where there is no moment that it can be asked about."""
        looked, spec = _observation_mask(base, given), given.spec
        asked = base.sampler(given.instruction, looked)
        data = examples(episodes, asked.spec)
        film = None
        if isinstance(spec, PictureSpec):
            film = Film.of(episodes, spec, looked.cameras, asked.looks)
            if not film.whole().any():
                raise RecipeError(
                    f"no moment of which there are pictures of {asked.looks} successive periods: "
                    "the policy's own episodes have them"
                )
        return cls(asked, data, film)

    @property
    def known(self) -> Flags:
        """Rows that the base can be asked about, (N,)."""
        return np.ones(len(self.data), bool) if self.film is None else self.film.whole()

    def told(self) -> Tensor:
        """What who stands on the base is shown of each row, (N, history, obs): no tracker's word
        where the base sees by cameras."""
        return self.asked.seen.beside(self.data.rows[self.data.window])

    def besides(self) -> Tensor:
        """What of each row's newest observation is not `told`, (N, any).

        A critic is told (asymmetric actor-critic, Pinto et al. 2017, arXiv 1710.06542), for it
        never acts: what a tracker said in all rows. It is nothing where all is told.
        """
        rows = self.data.rows
        if self.film is None:
            return rows[:, :0]
        rest = rows.isfinite().all(dim=0)
        rest[list(self.asked.seen.felt)] = False
        return rows[:, rest]

    def transitions(
        self, episodes: Sequence[Episode], said: Tensor, discount: float
    ) -> tuple[Transitions, Tensor]:
        """Chunks as who stands on the base sees them, and the rows at which they begin, (M,).

        What is seen is one vector, see `residual.residual_inputs`. said: by the base of all rows
        that are `known`. Of chunks these are at which it is known what the base says, and where
        they end.
        """
        spec, known = self.asked.spec, torch.from_numpy(self.known)
        plain = transitions(episodes, spec, discount)
        chunks = torch.zeros(len(known), spec.execute, spec.action)
        chunks[known] = said[:, : spec.execute]
        whole = residual_inputs(self.told(), chunks, self.besides())
        later = later_of(episodes, spec.execute)
        ended = plain.discount == 0.0
        at = torch.where(known & (ended | known[later]))[0]
        return replace(plain, history=whole, later=whole[later]).at(at), at

    def answers(
        self,
        at: NDArray[np.int64],
        seed: int,
        checkpoint: Checkpoint,
        stage: str,
        noise: Float32Array | None = None,
    ) -> Tensor:
        """The base's chunks (M, n, act) for the rows `at`, (M,), all of them `known`.

        A large one takes its time, so what it has said is kept as the stage of that name. noise:
        that chunks begin from, (M, *asked.noise); drawn by `seed` if not given.
        """
        kept = checkpoint.find(stage)
        said = [kept.tensors[CHUNKS]] if kept else []
        done = sum(len(part) for part in said)
        seeds = np.random.default_rng(seed).integers(2**63, size=len(at))
        for start in range(done, len(at), BLOCK):
            some = slice(start, start + BLOCK)
            rows = at[some]
            history = self.data.rows[self.data.window[torch.from_numpy(rows)]].numpy()
            chosen = None if noise is None else noise[some]
            pictures = None if self.film is None else self.film.at(rows)
            chunks = self.asked.many(history, seeds[some].tolist(), chosen, pictures)
            said.append(torch.from_numpy(np.ascontiguousarray(chunks, np.float32)))
            if checkpoint.due:
                checkpoint.keep(stage, TrainingState({CHUNKS: torch.cat(said)}, {}))
        result = torch.cat(said)
        if checkpoint.keeps and done < len(at):
            checkpoint.keep(stage, TrainingState({CHUNKS: result}, {}))
        return result


def _observation_mask(base: Base, given: RecipeInputs) -> ObservationMask:
    """What it sees of what stations show here.

    Raises:
        RecipeError: they show other pictures.
    """
    spec, (cameras, size) = given.spec, eyes(base)
    if not isinstance(spec, PictureSpec):
        return ObservationMask()
    if size != spec.size or not set(cameras) <= set(spec.cameras):
        raise RecipeError(
            f"the policy sees {size} px of {', '.join(cameras)}; pictures here have {spec.size} px "
            f"and are of {', '.join(spec.cameras)}"
        )
    places = tuple(spec.cameras.index(camera) for camera in cameras)
    return ObservationMask(places, spec.felt, spec.observation)
