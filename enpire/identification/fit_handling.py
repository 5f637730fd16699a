"""What an arm handles, from recordings of it: mass and sliding friction, with intervals.

First the arms alone, of recordings in which nothing is touched (`fit.py`). What is known of them
then is a normal prior, with all its correlations, of a second fit to recordings in which they push
an object and carry it: Gauss-Newton on the same open-loop prediction errors.

Contacts chatter: what an arm does from one row to the next follows from differences that nobody
knows. So means over `WINDOW` rows are compared; differences in the object's parameters are bold;
and what the arms' own parameters change, which is hundreds of times less than the chatter at such
small differences, is asked of arms with nothing in hand, where it is nearly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from enpire.errors import UsageError
from enpire.identification.arms import Arms, Handling, Response
from enpire.identification.fit import (
    BURN_IN,
    EPS,
    FLOOR,
    LATE,
    OUTLIER,
    SIGNALS,
    Fit,
    fit,
)
from enpire.identification.prior import Prior, prior
from enpire.identification.recording import Recording
from enpire.twin.dynamics import LATENCY
from enpire.types import FloatArray

WINDOW = 25  # rows
BOLD = 0.1  # of central differences in an object's parameters, in their logarithms
ROUNDS = 8  # of Gauss-Newton, at most
LONGEST = 1.0  # of a step, in coordinates
TOGETHER = 2  # windows, whose errors count as one in intervals
THERE = 0.1  # of a deviation: a step that is shorter is the last


def fit_handling(arms: Handling, recordings: Sequence[Recording]) -> Fit:
    """The parameters that `arms` names, the arms' and the object's.

    Raises:
        UsageError: none of the recordings is of arms alone, or none of this object's handling.
    """
    free = [each for each in recordings if not each.handled]
    held = [each for each in recordings if each.handled == arms.object]
    if not held or len(free) + len(held) != len(recordings):
        raise UsageError(
            f"recordings are to be of arms alone, and of arms that handle {arms.object}"
        )
    alone = fit(arms.free, free)
    mine, n = len(arms.free.names), len(arms.names)
    about = prior(arms.held.scene, arms.names, arms.nominal)
    low, high = about.bounds()
    begin = about.coordinates(np.append(alone.values, arms.nominal[mine:]))
    known = np.eye(n)  # the inverse covariance of what is known before
    known[:mine, :mine] = np.linalg.inv(alone.covariance)
    joints = arms.free.joint_axes
    measured = _means(held, joints, held)[0]

    def predicted(of: Arms, z: FloatArray) -> FloatArray:
        values = about.values(z)[:, : len(of.names)]
        return _means([of.respond(values, each) for each in held], joints, held)

    slopes = np.zeros((measured.size, n))
    slopes[:, :mine] = _slopes(lambda z: predicted(arms.free, z), begin, _small(about, mine))
    z, bold = begin.copy(), np.diag(np.where(np.arange(n) < mine, 0.0, BOLD / about.scale))[mine:]
    for _ in range(ROUNDS):
        slopes[:, mine:] = _slopes(lambda z: predicted(arms.held, z), z, bold)
        off = predicted(arms.held, z[None])[0] - measured
        noise = _spread(off)
        counts = np.isfinite(off) & (abs(off) < OUTLIER * noise)
        weights = np.where(counts, 1.0 / noise, 0.0).ravel()
        r = weights * np.nan_to_num(off).ravel()
        J = weights[:, None] * slopes
        information = known + J.T @ J
        step = -np.linalg.solve(information, known @ (z - begin) + J.T @ r)
        deviation = np.sqrt(np.diag(np.linalg.inv(information)))
        if (abs(step) < THERE * deviation).all():
            break
        z = np.clip(z + step / max(1.0, abs(step).max() / LONGEST), low, high)
    covariance = _covariance(J, r, known, measured.shape[1])
    used, left = int(counts.any(1).sum()) * WINDOW, int((~counts.any(1)).sum()) * WINDOW
    rows = alone.rows[0] + used, alone.rows[1] + left
    return Fit.at(about, z, covariance, alone.noise, rows)


def _means(
    said: Sequence[Response] | Sequence[Recording],
    joints: NDArray[np.intp],
    recordings: Sequence[Recording],
) -> FloatArray:
    """Means over windows, (candidates, windows, signals x joints), the first moments left out."""
    parts = []
    for each, recording in zip(said, recordings, strict=True):
        period = recording.seconds / (len(recording) - 1)
        first = round(BURN_IN / period)
        rows = np.concatenate([getattr(each, name)[..., joints] for name in SIGNALS], axis=-1)
        rows = rows.reshape(-1, *rows.shape[-2:])[:, first:]
        whole = rows.shape[1] // WINDOW
        windows = rows[:, : whole * WINDOW].reshape(len(rows), whole, WINDOW, -1)
        parts.append(windows.mean(axis=2))
    return np.concatenate(parts, axis=1)


def _small(about: Prior, count: int) -> FloatArray:
    """Steps in the coordinates of the first `count` parameters, a row each, (count, n)."""
    late = np.array([name.endswith(LATENCY) for name in about.names])
    return np.diag(np.where(late, LATE / about.scale, EPS))[:count]


def _slopes(
    predicted: Callable[[FloatArray], FloatArray], z: FloatArray, steps: FloatArray
) -> FloatArray:
    """Central differences about z (n,) along steps (k, n), each of one coordinate: (numbers, k)."""
    said = predicted(np.concatenate([z + steps, z - steps]))
    there, back = np.split(said.reshape(2 * len(steps), -1), 2)
    return np.asarray((there - back).T / (2.0 * steps.max(axis=1)), np.float64)


def _spread(off: FloatArray) -> FloatArray:
    """The noise of each signal and joint, (signals x joints,), unchanged by a few outliers."""
    floors = np.repeat([FLOOR[name] for name in SIGNALS], off.shape[1] // len(SIGNALS))
    middle = 1.4826 * np.nanmedian(np.abs(np.where(np.isfinite(off), off, np.nan)), axis=0)
    return np.asarray(np.fmax(middle, floors), np.float64)


def _covariance(J: FloatArray, r: FloatArray, known: FloatArray, columns: int) -> FloatArray:
    """Laplace's, or the sandwich's, whichever is wider, by parameter; (n, n)."""
    laplace = np.linalg.inv(known + J.T @ J)
    windows = np.arange(len(r)) // columns
    scores = np.zeros((windows[-1] // TOGETHER + 1, J.shape[1]))
    np.add.at(scores, windows // TOGETHER, J * r[:, None])
    sandwich = laplace @ (scores.T @ scores + known) @ laplace
    wider = np.sqrt(np.maximum(np.diag(sandwich) / np.diag(laplace), 1.0))
    return np.asarray(laplace * np.outer(wider, wider), np.float64)
