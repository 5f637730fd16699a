from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from enpire.environment import open_stations
from enpire.environment.loading import Order
from enpire.errors import PolicyError
from enpire.policies import (
    BestOfPolicy,
    Chooser,
    ChooserSpec,
    EstimatedPolicy,
    FlowPolicy,
    FlowSpec,
    ObservationMask,
    PictureSpec,
    StateEstimator,
    eyes,
    load,
    metadata,
)
from enpire.policies.estimated import EstimatedController
from enpire.policies.policy_runner import PolicyState
from enpire.types import Float32Array

SEES = PictureSpec("t", 6, 3, 1, cameras=("a", "b"), size=16, felt=(0, 1, 2))
CHOOSER = ChooserSpec(6, (0,), 3, SEES.execute, (0, 1), attempt_lags=(0,))


def flow(history: int = 1) -> FlowPolicy:
    torch.manual_seed(1)
    return FlowPolicy(replace(FlowSpec.of(SEES), history=history)).eval()


def estimator() -> StateEstimator:
    torch.manual_seed(2)
    made = StateEstimator(SEES).eval()
    made.mean.copy_(torch.arange(6.0))
    made.std.fill_(2.0)
    return made


def chosen(chooser: ChooserSpec = CHOOSER, history: int = 1) -> BestOfPolicy:
    torch.manual_seed(3)
    return BestOfPolicy(flow(history), Chooser(chooser).eval())


@pytest.mark.parametrize("acting", [flow(), chosen()])
def test_it_is_kept_as_a_file(acting: FlowPolicy | BestOfPolicy) -> None:
    policy = EstimatedPolicy(acting, estimator())
    again = load(metadata(policy), policy.tensors())
    assert again.spec == policy.spec
    for name, tensor in again.tensors().items():
        np.testing.assert_array_equal(tensor, policy.tensors()[name])
    assert eyes(again) == (("a", "b"), 16)


@pytest.mark.parametrize(
    "acting",
    [
        flow(history=3),
        chosen(history=3),
        chosen(replace(CHOOSER, lags=(4, 0))),
        chosen(replace(CHOOSER, attempt_lags=(8, 0), margin=0.1, back=3)),
    ],
)
def test_what_looks_back_is_refused(acting: FlowPolicy | BestOfPolicy) -> None:
    with pytest.raises(PolicyError, match="the newest observation alone"):
        EstimatedPolicy(acting, estimator())


def test_a_file_of_another_kind_is_refused() -> None:
    policy = EstimatedPolicy(flow(), estimator())
    said = replace(policy.spec, kind="skill").to_json()
    with pytest.raises(PolicyError, match="of kind 'skill'; known are flow, best_of"):
        load({"kind": "estimated", "spec": said}, policy.tensors())


@pytest.mark.parametrize("acting", [flow(), chosen()])
def test_it_acts_by_estimates_and_is_told_nothing_of_a_tracker(
    acting: FlowPolicy | BestOfPolicy,
) -> None:
    stations = open_stations(Order("pick_cube"), 1)
    mask = ObservationMask((0, 1), SEES.felt, SEES.observation)
    said = []
    for tracked in (0.5, np.nan):
        controller = EstimatedController(acting.controller(stations), estimator(), mask)
        state = PolicyState.of(controller.spec, np.random.default_rng(4))
        row = np.array([0.1, 0.2, 0.3, tracked, tracked, tracked], np.float32)
        state.see(row)
        state.look(np.random.default_rng(5).integers(0, 255, (2, 16, 16, 3)).astype(np.uint8))
        said.append(controller.chunks(row[None, None], [state]))
    np.testing.assert_array_equal(*said)
    assert np.isfinite(said[0]).all()


def test_rows_do_not_depend_on_how_many_are_asked_together() -> None:
    policy = EstimatedPolicy(flow(), estimator())
    mask = ObservationMask((0, 1), SEES.felt, SEES.observation)
    stations = open_stations(Order("pick_cube"), 1)
    rows = np.random.default_rng(6).normal(size=(3, 6)).astype(np.float32)
    pictures = np.random.default_rng(7).integers(0, 255, (3, 2, 16, 16, 3)).astype(np.uint8)

    def chunks(some: list[int]) -> Float32Array:
        acting = policy.acting.controller(stations)
        controller = EstimatedController(acting, policy.estimator, mask)
        states = [PolicyState.of(controller.spec, np.random.default_rng(at)) for at in some]
        for at, state in zip(some, states, strict=True):
            state.look(pictures[at])
        return controller.chunks(rows[some][:, None], states)

    together = chunks([0, 1, 2])
    for at in range(3):
        np.testing.assert_array_equal(chunks([at])[0], together[at])
