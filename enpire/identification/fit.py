"""An arm's parameters from its recordings, with intervals.

Prediction errors of whole recordings, from rest and open loop, are least where the parameters are
right (output-error method: Ljung 1999, System Identification, ch. 7): Gauss-Newton with MuJoCo's
own `minimize.least_squares`, which `mujoco.sysid` uses too, on residuals of `mujoco.batch`, a
finite difference a simulation. A weak normal prior about the packs' values says what is not shown.

Intervals are those of the Laplace approximation, or of the sandwich over blocks of time (White
1982; Liang and Zeger 1986) where that is wider: what the twin has no parameter for makes errors
that last, and intervals which take them for white noise would be too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mujoco import minimize

from enpire.errors import UsageError
from enpire.identification.arms import ArmsModel, Response
from enpire.identification.prior import Prior, prior
from enpire.identification.recording import Recording
from enpire.identification.servo import beginning
from enpire.twin.dynamics import LATENCY
from enpire.types import Flags, FloatArray

SIGNALS = ("position", "velocity", "effort")
BURN_IN = 0.2  # of a recording: what friction held at its start is not known [s]
EPS = 1e-2  # of central differences, in coordinates of the prior: dry friction kinks what is small
LATE = 1e-3  # of those of latencies: half of MuJoCo's step, at which they kink [s]
ROUNDS = 3  # of fits, each with the noise that the one before has left
SAME = 0.1  # logarithm of noise, by which it may change and the fit stand
OUTLIER = 6.0  # deviations at which a row counts no more: something was touched
BLOCK = 0.5  # of the sandwich [s]
COVERED = 1.959964  # deviations on both sides of 95%
SHOWN = 0.5  # of the prior's deviation: wider than that, the recordings do not show a parameter
FLOOR = {"position": 2e-5, "velocity": 1e-3, "effort": 1e-3}  # of the noise, in SI units
FIRST = {"position": 2e-3, "velocity": 5e-2, "effort": 0.5}  # of the noise, before any fit


@dataclass(frozen=True, slots=True, eq=False)
class ParameterFit:
    """Parameters with 95% intervals, (n,), in the parameters' units."""

    prior: Prior
    values: FloatArray
    low: FloatArray
    high: FloatArray
    # Whether the recordings tell more than half of what was not known; else the value is hardly
    # more than the prior.
    shown: Flags
    covariance: FloatArray  # (n, n), in coordinates of `prior`
    noise: dict[str, FloatArray]  # by signal, (axes,), what no parameters explain
    rows: tuple[int, int]  # rows used and rows left out as touching something

    @classmethod
    def at(
        cls,
        about: Prior,
        z: FloatArray,
        covariance: FloatArray,
        noise: dict[str, FloatArray],
        rows: tuple[int, int],
    ) -> ParameterFit:
        """The one at z, (n,), in coordinates of the prior `about`; the rest as above."""
        deviation = np.sqrt(np.diag(covariance))
        low, high = (
            np.clip(about.values(z + side * COVERED * deviation), about.low, about.high)
            for side in (-1, 1)
        )
        return cls(about, about.values(z), low, high, deviation < SHOWN, covariance, noise, rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self.prior.names

    @property
    def nominal(self) -> FloatArray:
        """The parameters as the packs have them."""
        return self.prior.nominal


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Root mean square errors of an open-loop prediction by signal, each (axes,)."""

    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


class _Residuals:
    """The residuals of some recordings, in deviations of the noise; with the prior's at the end."""

    def __init__(self, arms: ArmsModel, recordings: Sequence[Recording], about: Prior) -> None:
        self.arms, self.recordings, self.prior = arms, recordings, about
        axes = recordings[0].sent.shape[1]
        self.noise: dict[str, FloatArray] = {n: np.full(axes, FIRST[n]) for n in SIGNALS}
        self.weights = [_counted(recording) for recording in recordings]
        self.joints = arms.joint_axes
        # Until rows that touch something are left out, large errors count by their size, not its
        # square (pseudo-Huber), and differences are one-sided, which costs half as much.
        self.settled = False
        late = np.array([name.endswith(LATENCY) for name in about.names])
        self.step = np.where(late, LATE / about.scale, EPS)

    def differences(self, values: FloatArray) -> list[dict[str, FloatArray]]:
        """Predicted minus measured by recording and signal, (candidates, T, joint axes)."""
        found = []
        for recording, weights in zip(self.recordings, self.weights, strict=True):
            response = self.arms.respond(values, recording)
            found.append(
                {
                    name: _difference(response, recording, name)[..., self.joints]
                    * weights[name][:, self.joints]
                    for name in SIGNALS
                }
            )
        return found

    def __call__(self, z: FloatArray) -> FloatArray:
        """Residuals (m, candidates) at coordinates (n, candidates), as `minimize` wants them."""
        columns = z.reshape(len(self.prior.names), -1).T
        parts = [columns]
        for found in self.differences(self.prior.values(columns)):
            for name, difference in found.items():
                scaled = difference / self.noise[name][self.joints]
                if not self.settled:
                    scaled = np.sign(scaled) * np.sqrt(2 * (np.hypot(1.0, scaled) - 1.0))
                parts.append(scaled.reshape(len(columns), -1))
        return np.concatenate(parts, axis=1).T

    def jacobian(self, z: FloatArray, r: FloatArray) -> FloatArray:
        """The Jacobian (m, n) of the residuals (m, 1) at z (n, 1), by differences within bounds."""
        z, n = z.ravel(), len(self.prior.names)
        low, high = self.prior.bounds()
        above, below = np.minimum(z + self.step, high), np.maximum(z - self.step, low)
        both = np.full(n, self.settled) | (above - z < self.step / 2)
        ahead, behind = np.diag(above - z), np.diag(below - z)[:, both]
        moved = self(z[:, None] + np.hstack([ahead, behind]))
        begins = np.repeat(r.reshape(-1, 1), n, axis=1)
        begins[:, both] = moved[:, n:]
        result: FloatArray = (moved[:, :n] - begins) / (above - np.where(both, below, z))
        return result

    def learn_noise(self, z: FloatArray) -> bool:
        """Take the noise for what is left at z (n,), and leave out rows that are far off.

        Returns whether that has changed what the best parameters are.
        """
        before = {name: values.copy() for name, values in self.noise.items()}
        rows = sum(float(each["position"].sum()) for each in self.weights)
        found = self.differences(self.prior.values(z[None]))
        for name in SIGNALS:
            left = np.concatenate([each[name][0] for each in found])
            counts = np.concatenate([w[name][:, self.joints] for w in self.weights]) > 0
            for axis, joint in enumerate(self.joints):
                mine = left[counts[:, axis], axis]
                if len(mine):
                    spread = 1.4826 * float(np.median(np.abs(mine)))
                    near = mine[np.abs(mine) < OUTLIER * max(spread, FLOOR[name])]
                    rms = float(np.sqrt(np.mean(near**2))) if len(near) else spread
                    self.noise[name][joint] = max(rms, FLOOR[name])
        for each, weights in zip(found, self.weights, strict=True):
            limit = OUTLIER * self.noise["position"][self.joints]
            off = (np.abs(each["position"][0]) > limit).any(1)
            for name in SIGNALS:
                weights[name][off] = 0.0
        changed = [abs(np.log(self.noise[n] / before[n])).max() > SAME for n in SIGNALS]
        return any(changed) or rows != sum(float(w["position"].sum()) for w in self.weights)

    def blocks(self) -> list[FloatArray]:
        """Numbers of the blocks of time that residuals belong to, as `__call__` lays them out."""
        found: list[FloatArray] = []
        first = 0.0
        for recording in self.recordings:
            number = (recording.stamps - recording.stamps[0]) // BLOCK
            number = first + np.repeat(number[:, None], len(self.joints), 1).ravel()
            found += [number] * len(SIGNALS)
            first = float(number.max()) + 1
        return found


def fit(
    arms: ArmsModel,
    recordings: Sequence[Recording],
    about: Prior | None = None,
    verbose: bool = False,
) -> ParameterFit:
    """The parameters that `arms` names, from recordings of these arms.

    Raises:
        UsageError: there is none, or one that is of another number of axes, or in which an object
            is handled.
    """
    if not recordings:
        raise UsageError("nothing to fit: no recording in which the arms move from rest")
    if any(each.sent.shape[1] != len(arms.actuators) for each in recordings):
        raise UsageError(f"recordings of other arms than {arms.scene.robot.name}'s")
    if handled := [each.name for each in recordings if each.handled]:
        raise UsageError(f"{handled[0]}: the arms handle something: --task says whose object it is")
    about = about or prior(arms.scene, arms.names, arms.nominal)
    residuals = _Residuals(arms, recordings, about)
    low, high = about.bounds()
    begin = beginning(arms, recordings)
    first = np.array([begin.get(n, v) for n, v in zip(about.names, about.nominal, strict=True)])
    z = np.clip(about.coordinates(first), low, high)
    level = minimize.Verbosity.ITER if verbose else minimize.Verbosity.SILENT
    for _ in range(ROUNDS):
        z, _log = minimize.least_squares(
            z,
            residuals,
            bounds=[low, high],
            jacobian=residuals.jacobian,
            xtol=1e-3,
            mu_min=1e-1,
            mu_max=1e7,
            mu_factor=10**0.5,
            max_iter=15,
            verbose=level,
        )
        z = z.ravel()
        residuals.settled = True
        if not residuals.learn_noise(z):
            break
    covariance = _covariance(residuals, z)
    counted = [weights["position"][:, 0] > 0 for weights in residuals.weights]
    used = sum(int(each.sum()) for each in counted)
    begun = sum(int((_counted(each)["position"][:, 0] > 0).sum()) for each in recordings)
    return ParameterFit.at(about, z, covariance, residuals.noise, (used, begun - used))


def errors(arms: ArmsModel, recordings: Sequence[Recording], values: FloatArray) -> Errors:
    """How well parameters (n,) predict recordings, open loop, their first moments left out."""
    squares: dict[str, list[FloatArray]] = {name: [] for name in SIGNALS}
    for recording in recordings:
        response, weights = arms.respond(values[None], recording), _counted(recording)
        for name in SIGNALS:
            off = _difference(response, recording, name)[0] ** 2
            squares[name].append(np.where(weights[name] > 0, off, np.nan))
    means: dict[str, FloatArray] = {}
    for name, parts in squares.items():
        both = np.concatenate(parts)
        count: FloatArray = np.isfinite(both).sum(0).astype(np.float64)
        mean = np.nansum(both, axis=0) / np.where(count > 0, count, np.nan)
        means[name] = np.asarray(np.sqrt(mean), np.float64)
    return Errors(**means)


def _difference(response: Response, recording: Recording, name: str) -> FloatArray:
    predicted, measured = getattr(response, name), getattr(recording, name)
    result: FloatArray = np.where(np.isfinite(measured), predicted - measured, 0.0)
    return result


def _counted(recording: Recording) -> dict[str, FloatArray]:
    """The weights by signal, (T, axes): one where a row counts, zero where it does not."""
    begun = (recording.stamps - recording.stamps[0] >= BURN_IN)[:, None]
    return {name: (np.isfinite(getattr(recording, name)) & begun) * 1.0 for name in SIGNALS}


def _covariance(residuals: _Residuals, z: FloatArray) -> FloatArray:
    """Laplace's, or the sandwich's, whichever is wider, by parameter; (n, n)."""
    n = len(z)
    r = residuals(z).ravel()
    J = residuals.jacobian(z, r)
    laplace = np.asarray(np.linalg.inv(J.T @ J), np.float64)
    blocks = np.concatenate(residuals.blocks()).astype(int)
    scores = np.zeros((blocks.max() + 1, n))
    np.add.at(scores, blocks, J[n:] * r[n:, None])
    sandwich = laplace @ (scores.T @ scores + np.eye(n)) @ laplace
    wider = np.sqrt(np.maximum(np.diag(sandwich) / np.diag(laplace), 1.0))
    return np.asarray(laplace * np.outer(wider, wider), np.float64)
