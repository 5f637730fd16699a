"""What small networks compute when they act, compiled.

Every row is computed by itself and in a fixed order, so an answer does not depend on how many ask.
Where nothing can be zero, `np.divide` stands for `/`: it does not look for zero, and a loop without
that check is worked out several numbers at a time.

A perceptron of widths (inputs, hidden, ..., outputs) has its weights end to end in one array: numba
takes longer to hand over an array than to fill it. A layer from n to m is a table (3 + n, m): bias,
gain and shift of its normalisation, and a row for each input. The last layer is not normalised.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enpire.twin.native import compiled
from enpire.types import Float32Array

INPUT_LIMIT = 6.0  # standard deviations at which a normalised observation is clipped
NORM_EPS = 1e-5  # of a layer normalisation, added to the variance
NOISE_LIMIT = 1.5  # of steered noise, in standard deviations of the noise of a flow

Widths = NDArray[np.int64]

# The exponential of glibc, after Arm's optimized routines: 2 ** (k / 32), of which a table has the
# bits less those of k // 32, times a cubic polynomial.
PARTS = 32  # of an octave
PART_BITS = 47  # of a double below those that count parts, where an octave begins at bit 52
PER_E = PARTS / np.log(2.0)
ROUNDING = float(3 << 51)  # added to a double, it leaves a whole number in its last bits
FAR = 200.0  # of single numbers: beyond, an exponential is zero or infinite
CUBE, SQUARE, SLOPE = (
    float.fromhex(text) / PARTS**power
    for text, power in (
        ("0x1.c6af84b912394p-5", 3),
        ("0x1.ebfce50fac4f3p-3", 2),
        ("0x1.62e42ff0c52d6p-1", 1),
    )
)
ROOTS = np.exp2(np.arange(PARTS) / PARTS).view(np.int64) - (np.arange(PARTS) << PART_BITS)


@compiled
def exponential(x: np.float32) -> np.float32:
    """e ** x to within 0.51 of the last place, by code that loops can work out in parallel."""
    parts = min(max(np.float64(x), -FAR), FAR) * PER_E
    rounded = parts + ROUNDING
    whole = np.float64(rounded).view(np.int64)
    rest = parts - (rounded - ROUNDING)
    bits = ROOTS[whole & (PARTS - 1)] + (whole << PART_BITS)
    power = (CUBE * rest + SQUARE) * (rest * rest) + (SLOPE * rest + 1.0)
    return np.float32(power * np.int64(bits).view(np.float64))


@compiled
def normalise(seen: Float32Array, mean: Float32Array, std: Float32Array, x: Float32Array) -> None:
    """Observations (rows, n) in standard deviations, clipped, to `x`."""
    limit = np.float32(INPUT_LIMIT)
    for row in range(len(seen)):
        for k in range(len(mean)):
            z = (seen[row, k] - mean[k]) / std[k]
            x[row, k] = min(max(z, -limit), limit)


@compiled
def add_product(x: Float32Array, weight: Float32Array, y: Float32Array) -> None:
    """Add x (rows, n) @ weight (n, m) to `y`, each row in one order: input after input.

    An output is read and written once for four inputs, whose weights are at hand for all rows.
    """
    inputs, outputs = weight.shape
    fours = inputs - inputs % 4
    for i in range(0, fours, 4):
        for row in range(len(x)):
            a, b, c, d = x[row, i], x[row, i + 1], x[row, i + 2], x[row, i + 3]
            for k in range(outputs):
                first = (y[row, k] + a * weight[i, k]) + b * weight[i + 1, k]
                y[row, k] = (first + c * weight[i + 2, k]) + d * weight[i + 3, k]
    for i in range(fours, inputs):
        for row in range(len(x)):
            for k in range(outputs):
                y[row, k] += x[row, i] * weight[i, k]


@compiled
def activate(y: Float32Array, gain: Float32Array, shift: Float32Array) -> None:
    """Layer normalisation of rows whose mean is zero, then SiLU, in place."""
    one = np.float32(1.0)
    for row in y:
        total = np.float32(0.0)
        for k in range(len(gain)):
            total += row[k] * row[k]
        scale = one / np.sqrt(total / np.float32(len(gain)) + np.float32(NORM_EPS))
        for k in range(len(gain)):
            z = row[k] * scale * gain[k] + shift[k]
            row[k] = np.divide(z, one + exponential(-z))


@compiled
def set_rows(y: Float32Array, value: Float32Array) -> None:
    """Do `y[:] = value`, which numba compiles for seconds."""
    for row in range(len(y)):
        for k in range(len(value)):
            y[row, k] = value[k]


@compiled
def first_layer(x: Float32Array, widths: Widths, weights: Float32Array) -> Float32Array:
    """What the first layer makes of the first of its inputs, (rows, n): (rows, widths[1])."""
    table = weights[: (3 + widths[0]) * widths[1]].reshape(3 + widths[0], widths[1])
    y = np.empty((len(x), widths[1]), np.float32)
    set_rows(y, table[0])
    add_product(x, table[3 : 3 + x.shape[1]], y)
    return y


@compiled
def other_layers(y: Float32Array, widths: Widths, weights: Float32Array) -> Float32Array:
    """Outputs (rows, widths[-1]) of a perceptron; y: of its first layer, which is written to."""
    end = (3 + widths[0]) * widths[1]
    table = weights[:end].reshape(3 + widths[0], widths[1])
    for layer in range(1, len(widths) - 1):
        activate(y, table[1], table[2])
        begin, inputs, outputs = end, widths[layer], widths[layer + 1]
        end += (3 + inputs) * outputs
        table = weights[begin:end].reshape(3 + inputs, outputs)
        x = y
        y = np.empty((len(x), outputs), np.float32)
        set_rows(y, table[0])
        add_product(x, table[3:], y)
    return y


@compiled
def forward(x: Float32Array, widths: Widths, weights: Float32Array) -> Float32Array:
    """Outputs (rows, widths[-1]) of a perceptron for inputs (rows, widths[0])."""
    return other_layers(first_layer(x, widths, weights), widths, weights)


@compiled
def flow(
    seen: Float32Array,
    noise: Float32Array,
    pending: int,
    told_of: Float32Array,
    widths: Widths,
    weights: Float32Array,
) -> Float32Array:
    """Chunks (rows, n) that noise (rows, n) flows to, in units of the flow.

    seen: normalised observations (rows, obs), whose part of the first layer is the same at every
    step. pending: how many of the first numbers of each row stay as they are. told_of: what the
    network is told at each step beside what is seen and the chunk, (steps, m). widths, weights: of
    that network, which answers with candidates and gates, (rows, 2 n).
    """
    rows, n = noise.shape
    one, part = np.float32(1.0), np.float32(1.0 / len(told_of))
    of_seen = first_layer(seen, widths, weights)
    table = weights[: (3 + widths[0]) * widths[1]].reshape(3 + widths[0], widths[1])
    shown = np.empty((rows, n + told_of.shape[1]), np.float32)
    x = noise.copy()
    for told in told_of:
        set_rows(shown[:, n:], told)
        for row in range(rows):
            for k in range(n):
                shown[row, k] = x[row, k]
        y = of_seen.copy()
        add_product(shown, table[3 + seen.shape[1] :], y)
        said = other_layers(y, widths, weights)
        for row in range(rows):
            for k in range(pending, n):
                gate = np.divide(one, one + exponential(-said[row, n + k]))
                x[row, k] += part * gate * (said[row, k] - x[row, k])
    return x


@compiled
def steer(said: Float32Array, deviation: Float32Array, drawn: Float32Array) -> Float32Array:
    """Noise (rows, n) about what the steering network says, (rows, n), from normal draws."""
    noise = np.empty_like(drawn)
    limit = np.float32(NOISE_LIMIT)
    for row in range(len(drawn)):
        for k in range(drawn.shape[1]):
            noise[row, k] = limit * np.tanh(said[row, k] + deviation[k] * drawn[row, k])
    return noise


@compiled
def scaled(x: Float32Array, spread: Float32Array, centre: Float32Array) -> Float32Array:
    """Actions (rows, n) of chunks in units of the flow."""
    actions = np.empty_like(x)
    for row in range(len(x)):
        for k in range(x.shape[1]):
            actions[row, k] = centre[k] + spread[k] * x[row, k]
    return actions
