"""The compiled products of policies: each row in one order, whoever asks beside it."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.policies.kernels import add_product, exponential, flow, forward
from enpire.policies.network import CACHE_LINE, Perceptron, perceptron, weights
from enpire.twin.native import compiled
from enpire.types import Float32Array


def in_order(x: Float32Array, weight: Float32Array, y: Float32Array) -> Float32Array:
    """x @ weight + y in single precision, input after input."""
    for i, row in enumerate(weight):
        y = y + x[:, i : i + 1] * row
    return y


@compiled
def powers(x: Float32Array) -> Float32Array:
    """e to each of these."""
    y = np.empty_like(x)
    for k in range(len(x)):
        y[k] = exponential(x[k])
    return y


@pytest.mark.parametrize("inputs", [1, 3, 4, 7, 64, 121])
@pytest.mark.parametrize("outputs", [1, 5, 37])
def test_inputs_are_added_in_their_order_to_the_last_bit(inputs: int, outputs: int) -> None:
    rng = np.random.default_rng(inputs)
    x = rng.standard_normal((6, inputs), np.float32)
    weight = rng.standard_normal((inputs, outputs), np.float32)
    begun = rng.standard_normal((6, outputs), np.float32)
    y = begun.copy()
    add_product(x, weight, y)
    np.testing.assert_array_equal(y, in_order(x, weight, begun))
    for row in range(6):
        alone = begun[row : row + 1].copy()
        add_product(x[row : row + 1], weight, alone)
        np.testing.assert_array_equal(alone[0], y[row])


def test_an_exponential_is_within_a_place_of_the_exact_one_for_numbers_of_all_sizes() -> None:
    x = np.arange(0, 2**32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):  # some of them are no numbers, and some are beyond
        exact = np.exp(x.astype(np.float64)).astype(np.float32)
    powers_of_e = powers(x)
    np.testing.assert_array_equal(np.isnan(powers_of_e), np.isnan(x))
    numbers = ~np.isnan(x)
    places = [each[numbers].view(np.int32).astype(np.int64) for each in (powers_of_e, exact)]
    away = abs(places[0] - places[1])
    assert away.max() <= 1
    assert away.mean() < 1e-3


def test_a_flow_takes_its_steps_through_the_whole_network_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    net = Perceptron({f"n.{k}": v for k, v in weights(perceptron(17, (9, 8), 12)).items()}, "n", 2)
    seen, noise, told_of = (
        rng.standard_normal(shape, np.float32) for shape in ((4, 7), (4, 6), (5, 4))
    )
    for pending in (0, 2):
        x = noise
        for told in told_of:
            shown = np.concatenate([seen, x, np.tile(told, (4, 1))], axis=1)
            candidate, gate = np.split(forward(shown, net.widths, net.weights), 2, axis=1)
            one = np.float32(1.0)
            gate = one / (one + powers(-gate.ravel()).reshape(gate.shape))
            moved = x + np.float32(1.0 / 5) * gate * (candidate - x)
            x = np.concatenate([noise[:, :pending], moved[:, pending:]], axis=1)
        chunks = flow(seen, noise, pending, told_of, net.widths, net.weights)
        np.testing.assert_array_equal(chunks, x)


def test_weights_begin_where_a_cache_line_does() -> None:
    """From process to process they would begin elsewhere, and answers take a fifth longer."""
    for inputs in range(1, 20):
        tensors = {f"n.{k}": v for k, v in weights(perceptron(inputs, (8,), 3)).items()}
        assert Perceptron(tensors, "n", 1).weights.ctypes.data % CACHE_LINE == 0
