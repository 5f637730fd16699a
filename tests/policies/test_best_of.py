"""A policy that acts by the best of its base's chunks and their variations."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from enpire.environment import Readings, RelativeTarget
from enpire.errors import PolicyError
from enpire.policies import (
    BestOfPolicy,
    Chooser,
    ChooserSpec,
    ChunkPolicy,
    ChunkSpec,
    FlowPolicy,
    FlowSpec,
    load,
    metadata,
)
from enpire.policies.best_of import BestOfController, _Chosen
from enpire.policies.retracing import Path, attempts

SPEC = ChunkSpec("t", observation=5, action=3, history=2, stride=1, chunk=4, execute=4, hidden=(8,))
SHAPE = ChooserSpec(
    observation=5,
    lags=(3, 1, 0),
    action=3,
    chunk=4,
    varied=(0, 2),
    width=16,
    critics=3,
    samples=4,
    noise=0.0,
)
SENSED = Readings(*(np.zeros((1, 0)) for _ in range(len(Readings.__slots__))))


def flow() -> FlowPolicy:
    torch.manual_seed(0)
    return FlowPolicy(FlowSpec.of(SPEC)).eval()


def chooser(spec: ChooserSpec = SHAPE) -> Chooser:
    """Random weights that tell chunks apart."""
    torch.manual_seed(1)
    made = Chooser(spec).eval()
    with torch.no_grad():
        for values in made.parameters():
            values.normal_(0.0, 0.5)
    return made


def observations(rows: int = 3) -> np.ndarray:
    return np.random.default_rng(2).standard_normal((rows, SPEC.observation)).astype(np.float32)


def acted(policy: BestOfPolicy, seeds: list[int], periods: int = 1) -> np.ndarray:
    """Actions (rows, periods, act) of the same observations, each episode with its own seed."""
    controller = policy.controller(stations())
    for row, seed in enumerate(seeds):
        controller.begin(row, np.random.default_rng(seed), 0.0)
    rows = np.arange(len(seeds))
    shown = np.repeat(observations(1), len(seeds), axis=0)
    return np.stack([controller.act(rows, shown, SENSED) for _ in range(periods)], axis=1)


def stations() -> Any:
    class Blind:
        policy_cameras = None
        name = "t"

    return Blind()


def preferring(sign: float, spec: ChooserSpec = SHAPE) -> Chooser:
    """A chooser whose critics like a large first entry of actions, or a small one."""
    made = chooser(spec)

    class Likes(torch.nn.Module):
        def forward(self, x: torch.Tensor, chosen: object = None) -> torch.Tensor:
            chunks = x[:, SHAPE.seen :].view(len(x), SHAPE.chunk, SHAPE.action)
            return sign * chunks[:, :, 0].mean(dim=1).expand(SHAPE.critics, -1)

    made.critics = Likes()  # type: ignore[assignment]
    return made


def test_a_variation_is_one_offset_for_a_chunk_and_leaves_grippers_alone() -> None:
    made = chooser(replace(SHAPE, noise=0.1))
    chunks = torch.rand(64, 4, 3) - 0.5
    offset = made.varied(chunks, np.random.default_rng(0)) - chunks
    assert torch.equal(offset[:, :, 1], torch.zeros(64, 4))
    assert torch.allclose(offset, offset[:, :1].expand_as(offset), atol=1e-6)
    assert float(offset[:, 0, [0, 2]].std()) == pytest.approx(0.1, rel=0.2)
    assert float(made.varied(chunks + 5.0, np.random.default_rng(0)).abs().max()) <= 1.0


TARGETS = (RelativeTarget(done=0, seen=1, scale=0.5),)


def test_targets_of_joints_are_shown_and_varied_as_ways() -> None:
    made = chooser(replace(SHAPE, noise=0.1, relative=TARGETS))
    made.spread[0] = 0.01
    history = torch.randn(6, len(SHAPE.lags), 5)
    made.mean.copy_(torch.randn(5))
    made.std.copy_(torch.rand(5) + 0.5)
    chunks = torch.zeros(6, 4, 3)
    chunks[:, :, 0] = 0.5 * history[:, -1:, 1] + 0.02  # two spreads from where the joint is
    shown = made.show(made.see(history), chunks).view(6, 4, 3)
    assert torch.allclose(shown[:, :, 0], torch.tensor(2.0), atol=1e-3)
    assert torch.equal(shown[:, :, 1:], torch.zeros(6, 4, 2))
    offset = made.varied(torch.zeros(999, 4, 3), np.random.default_rng(0))[:, 0]
    assert float(offset[:, 0].std()) == pytest.approx(0.1 * 0.01 / 0.5, rel=0.1)
    assert float(offset[:, 2].std()) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_chunk_that_critics_expect_most_of_is_carried_out(sign: float, noise: float) -> None:
    base, made = flow(), preferring(sign, replace(SHAPE, noise=noise))
    chosen = _Chosen(base.sampler(""), made)
    history = np.repeat(observations(1), SPEC.history, axis=0)
    told = np.repeat(observations(1), len(SHAPE.lags), axis=0)
    chunk = chosen(history, told, told, np.random.default_rng(3), None, Path())
    rng = np.random.default_rng(3)
    seeds = rng.integers(2**63, size=SHAPE.samples).tolist()
    rows = np.repeat(history[None], SHAPE.samples, axis=0)
    drawn = torch.from_numpy(base.sampler("").chunks(rows, seeds).astype(np.float32)).clamp(-1, 1)
    candidates = torch.cat([drawn, made.varied(drawn, rng)])
    best = max(candidates, key=lambda each: sign * float(each[:, 0].mean()))
    np.testing.assert_allclose(chunk, best.numpy(), atol=1e-5)


def test_what_critics_disagree_about_is_worth_less() -> None:
    made = chooser(replace(SHAPE, caution=1.0))
    base = torch.zeros(3, 1, 4)
    sure, unsure = torch.full((3, 1, 1), 0.5), torch.tensor([0.0, 0.6, 1.2]).view(3, 1, 1)
    worth = made.advantages(torch.cat([base, sure, unsure], dim=2))[0]
    assert worth[4] == pytest.approx(0.5)
    assert worth[5] == pytest.approx(0.6 - 0.6)
    moment = torch.tensor([0.0, 0.3, 0.9]).view(3, 1, 1)  # on which they disagree: for all chunks
    shifted = made.advantages(torch.cat([base, sure, unsure], dim=2) + moment)[0]
    assert torch.allclose(shifted, worth, atol=1e-6)


def test_an_episode_acts_the_same_whoever_else_asks() -> None:
    policy = BestOfPolicy(flow(), chooser(replace(SHAPE, noise=0.3)))
    together = acted(policy, [5, 6, 7], periods=9)
    alone = acted(policy, [5], periods=9)
    np.testing.assert_array_equal(together[0], alone[0])
    assert not np.array_equal(together[1], alone[0])


def test_networks_see_what_was_seen_as_long_ago_as_their_lags_say() -> None:
    told: list[np.ndarray] = []
    recalled: list[np.ndarray] = []
    shape = replace(VALUED, lags=SHAPE.lags, attempt_lags=(4, 0))
    controller = BestOfPolicy(flow(), chooser(shape)).controller(stations())
    infer = controller._infer

    def recorded(history: Any, seen: np.ndarray, before: np.ndarray, *rest: Any) -> np.ndarray:
        told.append(seen)
        recalled.append(before)
        return np.asarray(infer(history, seen, before, *rest))

    controller._infer = recorded
    controller.begin(0, np.random.default_rng(0), 0.0)
    for period in range(5):
        shown = np.full((1, SPEC.observation), period, np.float32)
        controller.act(np.arange(1), shown, SENSED)
    assert [list(each[:, 0]) for each in told] == [[0.0, 0.0, 0.0], [1.0, 3.0, 4.0]]
    assert [list(each[:, 0]) for each in recalled] == [[0.0, 0.0], [0.0, 4.0]]


def test_its_file_holds_it_all() -> None:
    policy = BestOfPolicy(flow(), chooser(replace(SHAPE, noise=0.1, back=2, margin=0.25)))
    again = load(metadata(policy), policy.tensors())
    assert isinstance(again, BestOfPolicy)
    assert again.head.spec == policy.head.spec
    np.testing.assert_array_equal(acted(again, [5, 6]), acted(policy, [5, 6]))


VALUED = replace(SHAPE, back=2, margin=0.25)


def expecting(chances: list[list[float]], spec: ChooserSpec = VALUED) -> Chooser:
    """A chooser that gives attempts these chances, (asked, critics), the last one for ever."""
    made = chooser(spec)
    left = list(chances)

    class Expects(torch.nn.Module):
        def forward(self, x: torch.Tensor, chosen: object = None) -> torch.Tensor:
            now = left.pop(0) if len(left) > 1 else left[0]
            return torch.logit(torch.tensor(now))[:, None]

    made.attempt_values = Expects()
    return made


def tries(policy: BestOfPolicy, chunks: int) -> list[tuple[int, int]]:
    """Begin and end of an episode's attempts, in chunks."""
    done = acted(policy, [5], periods=chunks * SPEC.execute)[0]
    found = attempts(done, SPEC.execute, SHAPE.varied)
    return [(begin // SPEC.execute, end // SPEC.execute) for begin, end in found]


def test_an_attempt_that_has_lost_of_its_chance_goes_back_to_where_it_promised_most() -> None:
    falls = [[0.6] * 3, [0.9, 0.8, 0.9], [0.5] * 3]
    policy = BestOfPolicy(flow(), expecting([*falls, [0.9] * 3]))
    done = acted(policy, [5], periods=7 * SPEC.execute)[0]
    ((_, given_up), (again, _)) = attempts(done, SPEC.execute, SHAPE.varied)
    assert given_up == 2 * SPEC.execute
    varied = done[:, list(SHAPE.varied)]
    moved = varied[SPEC.execute : again].sum(axis=0)
    np.testing.assert_allclose(moved, 0.0, atol=1e-5, err_msg="the second place promised most")


def test_an_attempt_that_has_lost_little_goes_on() -> None:
    policy = BestOfPolicy(flow(), expecting([[0.8] * 3, [0.8] * 3, [0.6] * 3]))
    assert tries(policy, 4) == [(0, 4)]


def test_after_each_way_back_the_next_try_has_longer_before_it_is_given_up() -> None:
    falls = [[each] * 3 for n in (2, 4, 6) for each in (0.9, *[0.1] * n)]
    found = tries(BestOfPolicy(flow(), expecting(falls)), 24)
    assert [end - begin for begin, end in found[:3]] == [2, 4, 6]


def test_what_collects_may_go_on_all_the_same() -> None:
    falls = [[0.8] * 3, [0.8] * 3, [0.1] * 3]
    policy = BestOfPolicy(flow(), expecting(falls, replace(VALUED, waits=1.0)))
    assert tries(policy, 9) == [(0, 9)]


def test_a_policy_that_went_back_by_the_clock_is_refused() -> None:
    said = {
        "observation": 4,
        "lags": [0],
        "action": 3,
        "chunk": 2,
        "varied": [0],
        "back": 2,
        "clock": 9,
    }
    with pytest.raises(PolicyError, match="goes back by the clock"):
        ChooserSpec.from_json(json.dumps(said))
    spec = ChooserSpec.from_json(json.dumps({**said, "clock": 0, "margin": 0.25}))
    assert (spec.back, spec.margin) == (2, 0.25)


@pytest.mark.parametrize("text", ["{", "[]", '{"observation": 4}', '{"nonsense": 1}'])
def test_what_describes_no_chooser_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="not a chooser's description"):
        ChooserSpec.from_json(text)


def test_chances_that_are_no_numbers_are_refused() -> None:
    policy = BestOfPolicy(flow(), expecting([[0.5] * 3, [0.5] * 3, [float("nan")] * 3]))
    with pytest.raises(PolicyError, match="values of an attempt are not finite"):
        acted(policy, [5], periods=3 * SPEC.execute)


def test_what_values_attempts_is_the_same_when_read_again() -> None:
    policy = BestOfPolicy(flow(), chooser(VALUED))
    again = load(metadata(policy), policy.tensors())
    assert "head/attempt_values.weights.0" in policy.tensors()
    np.testing.assert_array_equal(acted(again, [5, 6], 20), acted(policy, [5, 6], 20))


def test_a_base_without_noise_can_be_chosen_from_too() -> None:
    torch.manual_seed(0)
    base = ChunkPolicy(SPEC).eval()
    assert acted(BestOfPolicy(base, chooser()), [5]).shape == (1, 1, SPEC.action)


@pytest.mark.parametrize("changed", [{"chunk": 2}, {"action": 4}, {"observation": 4}])
def test_critics_of_another_shape_are_refused(changed: dict[str, int]) -> None:
    with pytest.raises(PolicyError, match="the critics know chunks of"):
        BestOfController(flow().sampler(""), chooser(replace(SHAPE, **changed)))


def test_values_that_are_no_numbers_are_refused() -> None:
    made = chooser()
    with torch.no_grad():
        made.critics.biases[2].fill_(float("nan"))
    with pytest.raises(PolicyError, match="not finite"):
        acted(BestOfPolicy(flow(), made), [5])
