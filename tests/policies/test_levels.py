"""Grippers that were only shown a few values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from enpire.errors import PolicyError
from enpire.policies import ChunkPolicy, ChunkSpec, FlowPolicy, FlowSpec
from enpire.policies.levels import at_levels, levels_shown, tensor_at_levels
from enpire.policies.policy_runner import PolicyController

LEVELS = ((1, -1.0), (1, -0.4))


def test_levels_are_the_values_that_were_shown_unless_they_are_many() -> None:
    rng = np.random.default_rng(0)
    shown = rng.uniform(-1, 1, (50, 3)).astype(np.float32)
    shown[:, 1] = np.where(np.arange(50) % 3, -1.0, -0.4)
    shown[7, 1] += 1e-6
    assert levels_shown(shown, (1, 2)) == pytest.approx(np.array(LEVELS))
    assert levels_shown(shown, ()) == ()


def test_the_nearest_level_is_said_and_other_entries_stay() -> None:
    said = np.array([[[0.3, -0.87], [0.2, -0.69]]], np.float32)
    settled = at_levels(said, LEVELS)
    np.testing.assert_allclose(settled, [[[0.3, -1.0], [0.2, -0.4]]], atol=1e-6)
    assert said[0, 0, 1] == np.float32(-0.87), "what was said is left alone"
    assert at_levels(said, ()) is said


def test_a_gradient_passes() -> None:
    said = torch.tensor([[0.3, -0.87]], requires_grad=True)
    settled = tensor_at_levels(said, LEVELS)
    torch.testing.assert_close(settled.detach(), torch.tensor([[0.3, -1.0]]))
    settled.sum().backward()  # type: ignore[no-untyped-call]
    assert said.grad is not None
    torch.testing.assert_close(said.grad, torch.ones(1, 2))


def test_policies_act_at_their_levels_and_their_files_keep_them() -> None:
    history = np.random.default_rng(1).normal(size=(20, 3, 4)).astype(np.float32)
    chunk = ChunkPolicy(ChunkSpec("reach", 4, 2, levels=LEVELS)).eval()
    flow = FlowPolicy(FlowSpec("reach", 4, 2, levels=LEVELS)).eval()
    drawn = np.zeros((20, flow.noise_size), np.float32)
    again = FlowPolicy.load(flow.spec.to_json(), flow.tensors())
    assert again.spec == flow.spec
    for actions in (chunk.inference()(history), again.inference()(history, drawn)):
        assert set(np.unique(actions[..., 1])) <= {np.float32(-1.0), np.float32(-0.4)}
        assert len(np.unique(actions[..., 0])) > 20
    with torch.no_grad():
        same = flow(torch.from_numpy(history), torch.from_numpy(drawn)).numpy()
    np.testing.assert_allclose(same, flow.inference()(history, drawn), atol=1e-5)


def test_who_explores_keeps_to_levels() -> None:
    rows = np.array([0])
    policy = FlowPolicy(FlowSpec("reach", 4, 2, levels=LEVELS)).eval()
    policy.spread[1] = 0.3  # of what is explored
    controller = PolicyController(policy)
    controller.chunks = lambda seen, states: np.zeros((1, 8, 2), np.float32)  # type: ignore[method-assign]
    controller.begin(0, np.random.default_rng(0), exploration=1.0)
    seen = np.zeros((1, 4), np.float32)
    done = np.array([controller.act(rows, seen, None)[0] for _ in range(400)])  # type: ignore[arg-type]
    assert set(np.unique(done[:, 1])) <= {np.float32(-1.0), np.float32(-0.4)}
    assert len(np.unique(done[:, 0])) > 5


@pytest.mark.parametrize(
    "levels", ["[1]", "[[1]]", "[[2, 0.0]]", "[[0, 7.0]]", '[["a", 0.0]]', "3", '[[0, "b"]]']
)
def test_a_file_whose_levels_are_none_is_refused(levels: str) -> None:
    text = ChunkSpec("reach", 4, 2).to_json().replace('"levels": []', f'"levels": {levels}')
    with pytest.raises(PolicyError, match="levels"):
        ChunkSpec.from_json(text)


def test_a_file_from_before_there_were_levels_has_none() -> None:
    text = ChunkSpec("reach", 4, 2).to_json().replace(', "levels": []', "")
    assert ChunkSpec.from_json(text).levels == ()
