"""The compiled products of policies: each row in one order, whoever asks beside it."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.policies.network import multiply
from enpire.types import Float32Array


def in_order(x: Float32Array, weight: Float32Array, bias: Float32Array) -> Float32Array:
    """x @ weight + bias in single precision, input after input."""
    y = np.repeat(bias[None], len(x), axis=0)
    for i, row in enumerate(weight):
        y = y + x[:, i : i + 1] * row
    return y


@pytest.mark.parametrize("inputs", [1, 3, 4, 7, 64, 121])
@pytest.mark.parametrize("outputs", [1, 5, 37])
def test_inputs_are_added_in_their_order_to_the_last_bit(inputs: int, outputs: int) -> None:
    rng = np.random.default_rng(inputs)
    x = rng.standard_normal((6, inputs), np.float32)
    weight = rng.standard_normal((inputs, outputs), np.float32)
    bias = rng.standard_normal(outputs, np.float32)
    y = np.empty((6, outputs), np.float32)
    multiply(x, weight, bias, y)
    np.testing.assert_array_equal(y, in_order(x, weight, bias))
    alone = np.empty((1, outputs), np.float32)
    for row in range(6):
        multiply(x[row : row + 1], weight, bias, alone)
        np.testing.assert_array_equal(alone[0], y[row])
