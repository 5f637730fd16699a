"""Policies that stand on another: kept as one, and what the network adds to what the base says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from enpire.environment import Readings
from enpire.errors import PolicyError
from enpire.policies import (
    Base,
    ChunkPolicy,
    ChunkSampler,
    ChunkSpec,
    Composed,
    Correction,
    CorrectionSpec,
    FlowPolicy,
    FlowSpec,
    NoiseSteering,
    ObservationMask,
    PicturePolicy,
    PictureSpec,
    Quick,
    ResidualPolicy,
    SpecialistPolicy,
    SpecialistSpec,
    SteeredPolicy,
    SteeringSpec,
    load,
    metadata,
)
from enpire.policies.flow import FlowController
from enpire.policies.policy_runner import PolicyController
from enpire.policies.residual import ResidualController
from enpire.policies.specialist import SpecialistController
from enpire.policies.steered import SteeredController, spread_out
from enpire.policies.vision import SeeingController
from enpire.types import Float32Array

SPEC = ChunkSpec("t", observation=5, action=3, history=2, stride=1, chunk=4, execute=4, hidden=(8,))
QUICK = replace(SPEC, execute=1)
TOGETHER = SpecialistSpec(every=4, late=0, pending=3, quick=QUICK)
SENSED = Readings(*(np.zeros((1, 0)) for _ in range(len(Readings.__slots__))))


def chunk() -> ChunkPolicy:
    torch.manual_seed(0)
    return ChunkPolicy(SPEC).eval()


def flow() -> FlowPolicy:
    torch.manual_seed(0)
    return FlowPolicy(FlowSpec.of(SPEC)).eval()


SIGHT = PictureSpec(
    "t", 5, 3, history=2, stride=1, chunk=4, execute=4, hidden=(8,), cameras=("top",), size=16
)
SEEN = ObservationMask(cameras=(1,), felt=(1, 4), observation=5)


def picture() -> PicturePolicy:
    torch.manual_seed(0)
    return PicturePolicy(replace(SIGHT, felt=SEEN.felt, channels=(4, 6))).eval()


def shaken[M: nn.Module](module: M) -> M:
    """With other weights than it begins with."""
    torch.manual_seed(1)
    with torch.no_grad():
        for values in module.parameters():
            values += 0.3 * torch.randn_like(values)
    return module.eval()


def correction() -> Correction:
    return Correction(CorrectionSpec(5, 3, history=2, chunk=4, reach=0.5))


def steering() -> NoiseSteering:
    return NoiseSteering(SteeringSpec(5, 3, history=2, execute=4, chosen=2, width=3))


def composed() -> list[Composed[Any]]:
    return [
        ResidualPolicy(chunk(), shaken(correction())),
        SpecialistPolicy(chunk(), shaken(Quick(TOGETHER))),
        SteeredPolicy(flow(), shaken(steering())),
        ResidualPolicy(picture(), shaken(Correction(CorrectionSpec(2, 3, 2, 4, 0.5)))),
    ]


def acted(controller: PolicyController, periods: int, seed: int = 3) -> Float32Array:
    """What it does on one station, shown something new every period, (periods, act)."""
    rows, shown = np.array([0]), np.random.default_rng(seed)
    controller.begin(0, np.random.default_rng(seed), 0.0)
    actions = [
        controller.act(rows, shown.standard_normal((1, 5)).astype(np.float32), SENSED)[0]
        for _ in range(periods)
    ]
    return np.array(actions)


@pytest.mark.parametrize("policy", composed(), ids=lambda p: p.kind)
def test_both_parts_are_kept_in_one_file(policy: Composed[Any]) -> None:
    again = load(metadata(policy), policy.tensors())
    assert isinstance(again, type(policy))
    assert again.spec == policy.spec
    assert (again.spec.task, again.spec.observation, again.spec.action) == ("t", 5, 3)
    for name, values in policy.tensors().items():
        np.testing.assert_array_equal(again.tensors()[name], values)
    with pytest.raises(PolicyError, match="do not fit"):
        load(metadata(policy), policy.base.tensors())


def test_a_residual_begins_as_its_base() -> None:
    base = chunk()
    alone = acted(PolicyController(base), 9)
    np.testing.assert_array_equal(
        acted(ResidualController(base.sampler(""), correction()), 9), alone
    )
    moved = acted(ResidualController(base.sampler(""), shaken(correction())), 9) - alone
    assert 0.1 < np.abs(moved).max() <= 0.5


def test_a_residual_acts_as_it_was_learned() -> None:
    base, made = chunk(), shaken(correction())
    history = torch.randn(6, 2, 5)
    with torch.no_grad():
        learned = made(history, base(history)).numpy()
    controller = ResidualController(base.sampler(""), made)
    controller.begin(0, np.random.default_rng(0), 0.0)
    states = [controller._states[0]] * 6
    np.testing.assert_allclose(controller.chunks(history.numpy(), states), learned, atol=1e-5)


def test_a_specialist_is_asked_every_period_and_its_generalist_now_and_then() -> None:
    asked: list[int] = []
    generalist = counting(chunk(), asked)
    acted(SpecialistController(generalist, shaken(Quick(TOGETHER))), 10)
    assert asked == [0, 4, 8]


def test_what_a_specialist_is_shown_of_a_late_chunk() -> None:
    """The generalist says the period it was asked in; the specialist acts by what is pending."""
    asked: list[int] = []
    generalist = counting(chunk(), asked)
    together = replace(TOGETHER, late=2)
    head = Quick(together)
    seen: list[tuple[float, float]] = []
    controller = SpecialistController(generalist, head)

    def noted(shown: Float32Array) -> Float32Array:
        *_, first, _, _, age = shown[0, 0, -10::3].tolist()
        seen.append((first, age * together.oldest))
        return np.zeros((1, 4, 3), np.float32)

    controller._infer = noted
    acted(controller, 12)
    asked_in, age = np.array(seen).T
    # Chunks begin with the period that they are for: at any age, what is pending is for now.
    np.testing.assert_allclose(asked_in, np.arange(12))
    np.testing.assert_allclose(age, [0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 2, 3], atol=1e-5)
    assert together.oldest == 5


def counting(base: Base, asked: list[int]) -> ChunkSampler:
    """Its chunks say, in each entry, for which period they are; as it is asked every 4 of them."""
    plain = base.sampler("")

    def chunks(
        history: Float32Array, seeds: list[int], noise: Float32Array | None = None, pictures=None
    ) -> Float32Array:
        asked.append(4 * len(asked))
        periods = asked[-1] + np.arange(12, dtype=np.float32)
        return np.tile(periods[None, :, None], (1, 1, 3))

    return replace(plain, chunks=chunks)


def test_together_or_alone_they_do_the_same() -> None:
    """Two stations in different phases: neither hears of the other."""
    made = SpecialistController(chunk().sampler(""), shaken(Quick(TOGETHER)))
    alone = acted(SpecialistController(chunk().sampler(""), shaken(Quick(TOGETHER))), 7)
    shown, other = np.random.default_rng(3), np.random.default_rng(4)
    made.begin(1, np.random.default_rng(4), 0.0)
    made.act(np.array([1]), other.standard_normal((1, 5)).astype(np.float32), SENSED)
    made.begin(0, np.random.default_rng(3), 0.0)
    for action in alone:
        both = np.array([shown.standard_normal(5), other.standard_normal(5)], np.float32)
        np.testing.assert_array_equal(made.act(np.array([0, 1]), both, SENSED)[0], action)


def seeing(name: str, asked: ChunkSampler) -> SeeingController:
    """What stands on a base that sees; it is shown the two entries that are felt."""
    torch.manual_seed(2)
    if name == "residual":
        made = Correction(CorrectionSpec(2, 3, history=2, chunk=4, reach=0.5))
        return ResidualController(asked, shaken(made))
    if name == "steered":
        shape = SteeringSpec(2 * 2 + 4 * 3, 3, 1, execute=4, chosen=2, width=3, advised=True)
        return SteeredController(asked, shaken(NoiseSteering(shape)))
    together = replace(TOGETHER, quick=replace(QUICK, observation=2))
    return SpecialistController(asked, shaken(Quick(together)))


def watched(
    controller: SeeingController, periods: int, untracked: bool = False
) -> tuple[Float32Array, list[int]]:
    """As `acted`, shown pictures only when they are due; also the periods in which they were."""
    rows, rng = np.array([0]), np.random.default_rng(3)
    controller.begin(0, np.random.default_rng(3), 0.0)
    actions, due = [], []
    for period in range(periods):
        observation = rng.standard_normal((1, 5)).astype(np.float32)
        if untracked:
            observation[:, [0, 2, 3]] = np.nan
        if controller.due(0):
            due.append(period)
            shown = np.random.default_rng(period).integers(0, 256, (2, 16, 16, 3), np.uint8)
            controller.look(0, shown)
        actions.append(controller.act(rows, observation, SENSED)[0])
    return np.array(actions), due


@pytest.mark.parametrize("name", ["residual", "steered", "specialist"])
def test_what_stands_on_eyes_needs_no_tracker(name: str) -> None:
    base = picture().sampler("", SEEN)
    actions, due = watched(seeing(name, base), 9)
    assert due == [0, 4, 8], "pictures are for the base alone"
    assert np.isfinite(actions).all()
    blind, _ = watched(seeing(name, base), 9, untracked=True)
    np.testing.assert_array_equal(blind, actions)


@pytest.mark.parametrize(
    ("late", "looks", "expected"),
    [(0, 1, [0, 4, 8]), (4, 1, [0, 4, 9]), (0, 2, [0, 3, 4, 7, 8]), (3, 2, [0, 3, 4, 7, 8])],
)
def test_pictures_are_due_when_the_generalist_is_asked(
    late: int, looks: int, expected: list[int]
) -> None:
    asked_in: list[int] = []

    def chunks(
        history: Float32Array, seeds: list[int], noise: Float32Array | None = None, pictures=None
    ) -> Float32Array:
        assert pictures.shape == (1, looks, 1, 16, 16, 3)
        asked_in.append(len(asked_in))
        return np.zeros((1, 12, 3), np.float32)

    base = replace(picture().sampler("", SEEN), chunks=chunks, looks=looks)
    together = replace(TOGETHER, late=late, quick=replace(QUICK, observation=2))
    _, due = watched(SpecialistController(base, Quick(together)), 10)
    assert due == expected
    assert len(asked_in) == 3


def test_all_at_once_it_answers_as_row_by_row() -> None:
    asked, rng = picture().sampler("", SEEN), np.random.default_rng(5)
    history = rng.standard_normal((3, 2, 5)).astype(np.float32)
    pictures = rng.integers(0, 256, (3, 1, 1, 16, 16, 3), np.uint8)
    single = asked.chunks(history, [1, 2, 3], pictures=pictures)
    np.testing.assert_allclose(asked.many(history, [1, 2, 3], pictures=pictures), single, atol=2e-5)
    with pytest.raises(PolicyError, match="without pictures"):
        asked.chunks(history, [1, 2, 3])


def test_who_works_together_has_to_fit() -> None:
    for wrong in ({"late": 5}, {"pending": 0}, {"every": 0}):
        with pytest.raises(PolicyError, match="late <= every"):
            replace(TOGETHER, **wrong)
    with pytest.raises(PolicyError, match="a multiple of the 3"):
        replace(TOGETHER, quick=replace(QUICK, execute=3))
    with pytest.raises(PolicyError, match="corrects chunks of 4"):
        ResidualController(ChunkPolicy(replace(SPEC, execute=2)).sampler(""), correction())
    with pytest.raises(PolicyError, match="that of the base has none"):
        SteeredController(chunk().sampler(""), steering())


def test_the_last_noise_that_is_chosen_stands_for_the_rest() -> None:
    chosen = np.arange(4, dtype=np.float32)[None]
    whole = spread_out(chosen, (4, 2), 2)
    np.testing.assert_array_equal(whole[0], [[0, 1], [2, 3], [2, 3], [2, 3]])


def test_steering_chooses_the_noise() -> None:
    base = flow()
    nowhere = acted(SteeredController(base.sampler(""), steering()), 4)
    again = acted(SteeredController(base.sampler(""), steering()), 4)
    np.testing.assert_array_equal(nowhere, again)
    elsewhere = acted(SteeredController(base.sampler(""), shaken(steering())), 4)
    assert np.abs(elsewhere - nowhere).max() > 0.01
    assert np.abs(nowhere - acted(FlowController(base), 4)).max() > 0.01
