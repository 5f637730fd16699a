"""A chunk policy keeps its weights, its shape and its units through a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from enpire.errors import PolicyError
from enpire.policies import ChunkPolicy, ChunkSpec
from enpire.policies.kernels import INPUT_LIMIT
from enpire.store import Run

SPEC = ChunkSpec(
    "t", observation=5, action=3, history=2, stride=2, chunk=4, execute=2, hidden=(16,)
)


def policy(seed: int = 0, spec: ChunkSpec = SPEC) -> ChunkPolicy:
    """Random weights and a normalisation that is not the identity."""
    torch.manual_seed(seed)
    made = ChunkPolicy(spec).eval()
    with torch.no_grad():
        for buffer in (made.mean, made.centre):
            buffer.normal_()
        for buffer in (made.std, made.spread):
            buffer.uniform_(0.5, 2.0)
    return made


def history(rows: int = 6) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.standard_normal((rows, SPEC.history, SPEC.observation)).astype(np.float32)


def test_infer_gives_a_chunk_a_row() -> None:
    actions = policy().infer(history())
    assert actions.shape == (6, SPEC.chunk, SPEC.action)
    assert actions.dtype == np.float32
    assert np.ptp(actions, axis=0).min() > 0


@pytest.mark.parametrize("hidden", [(16,), (256, 256, 256)])
def test_inference_is_the_forward_pass(hidden: tuple[int, ...]) -> None:
    made = policy(spec=replace(SPEC, hidden=hidden))
    with torch.no_grad():
        for module in made.net:
            if isinstance(module, torch.nn.LayerNorm):
                module.weight.normal_(1.0, 0.2)
                module.bias.normal_(0.0, 0.2)
        expected = made(torch.from_numpy(history(50))).numpy()
    np.testing.assert_allclose(made.infer(history(50)), expected, atol=1e-5)


def test_inference_keeps_the_weights_it_began_with() -> None:
    made = policy()
    inference = made.inference()
    before = inference(history())
    with torch.no_grad():
        for value in (*made.parameters(), made.mean, made.centre):
            value.zero_()
    np.testing.assert_array_equal(inference(history()), before)
    assert not made.infer(history()).any()


def test_rows_do_not_mix() -> None:
    """To the last bit: an action must not depend on how many stations ask at the same time."""
    wide = policy(spec=replace(SPEC, hidden=(256, 256)))
    seen = history()
    together = wide.infer(seen)
    for i in range(len(seen)):
        np.testing.assert_array_equal(wide.infer(seen[i : i + 1])[0], together[i])


def test_round_trip_through_tensors() -> None:
    original = policy()
    copy = ChunkPolicy.from_tensors(SPEC, original.tensors())
    np.testing.assert_array_equal(copy.infer(history()), original.infer(history()))
    assert not copy.training


def test_tensors_are_copied() -> None:
    tensors = policy().tensors()
    made = ChunkPolicy.from_tensors(SPEC, tensors)
    before = made.infer(history())
    for value in tensors.values():
        value[...] = 0
    np.testing.assert_array_equal(made.infer(history()), before)


def test_round_trip_through_a_run(tmp_path: Path) -> None:
    original = policy()
    with Run.create(tmp_path / "run", {"task": "t"}) as run:
        run.save_policy("p", original.tensors(), {"spec": SPEC.to_json()})
    with Run.open(tmp_path / "run") as run:
        tensors, metadata = run.load_policy("p")
    copy = ChunkPolicy.from_tensors(ChunkSpec.from_json(metadata["spec"]), tensors)
    assert copy.spec == SPEC
    np.testing.assert_array_equal(copy.infer(history()), original.infer(history()))


@pytest.mark.parametrize("change", ["shape", "missing", "unknown"])
def test_tensors_that_do_not_fit(change: str) -> None:
    tensors = policy().tensors()
    name = next(iter(tensors))
    if change == "shape":
        tensors[name] = tensors[name][..., :-1]
    elif change == "missing":
        del tensors[name]
    else:
        tensors["more"] = np.zeros(3, np.float32)
    with pytest.raises(PolicyError, match="do not fit"):
        ChunkPolicy.from_tensors(SPEC, tensors)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "3",
        "null",
        "{}",
        '{"task": "t", "hidden": 3}',
        '{"hidden": [1], "x": 2}',
    ],
)
def test_what_describes_no_policy(text: str) -> None:
    with pytest.raises(PolicyError, match="not a policy's description"):
        ChunkSpec.from_json(text)


def test_reach_is_from_the_oldest_observation_to_the_newest() -> None:
    assert ChunkSpec("t", 1, 1, history=3, stride=2).reach == 4
    assert ChunkSpec("t", 1, 1, history=1, stride=5).reach == 0


def test_observations_far_outside_the_data_are_clipped() -> None:
    made = policy()
    far = np.full((1, SPEC.history, SPEC.observation), 1e9, np.float32)
    edge = (made.mean + INPUT_LIMIT * made.std).numpy()
    at_edge = np.broadcast_to(edge, far.shape).copy()
    np.testing.assert_allclose(made.infer(far), made.infer(at_edge), atol=1e-5)
