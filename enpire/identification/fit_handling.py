"""What an arm handles, from recordings of it: mass and sliding friction, with intervals.

First the arms alone, of recordings in which nothing is touched (`fit.py`). What is known of them
then is a normal prior, with all its correlations, of a second fit to recordings in which they push
an object and carry it: Gauss-Newton on the same open-loop prediction errors. What is seen in the
air tells the mass; with it, the best of many frictions is where the last search begins, of all.
Only what is pushed by open fingers or carried counts: gripped on the bench, an object is borne by
both, and before fingers have shut around it, it is where nobody knows.

Contacts chatter: what an arm does from one row to the next follows from differences that nobody
knows. So means over `WINDOW` rows are compared, with noise of their own on the bench and in the
air; differences in the object's parameters are bold; and what the arms' own parameters change,
which is hundreds of times less than the chatter at such small differences, is asked of arms with
nothing in hand, where it is nearly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enpire.errors import UsageError
from enpire.identification.arms import ArmsModel, Handling, Response
from enpire.identification.fit import (
    BURN_IN,
    EPS,
    FLOOR,
    LATE,
    OUTLIER,
    SIGNALS,
    ParameterFit,
    fit,
)
from enpire.identification.motion import hands
from enpire.identification.prior import Prior, prior
from enpire.identification.recording import Recording
from enpire.twin import Scene
from enpire.twin.dynamics import LATENCY
from enpire.twin.objects import SLIDING
from enpire.types import Flags, FloatArray

WINDOW = 25  # rows
BOLD = 0.1, 0.15  # of central differences in an object's parameters, in their logarithms
ROUNDS = 5  # of Gauss-Newton, at most
LONGEST = 0.2  # of a step, in coordinates
TRIED = 48  # frictions, from a third of the pack's to three times it: 5% from one to the next
TOGETHER = 2  # windows, whose errors count as one in intervals
NEITHER, PUSHED, CARRIED = 0, 1, 2  # what is done with the object
STANDS = 0.99  # of the way from shut to open, at which fingers stand open
LIFTED = 0.015  # of a hand above where it is lowest, when nothing else bears the object [m]
THERE = 0.25  # of a deviation: a step that is shorter is the last


def fit_handling(arms: Handling, recordings: Sequence[Recording]) -> ParameterFit:
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
    search = _Search(arms, held, alone)
    z, _ = search.improve(search.begin, (CARRIED,))
    z, at = search.improve(search.scanned(z), (CARRIED, PUSHED))
    covariance = _covariance(at, search.known)
    told = at.counts.any(axis=1)
    rows = alone.rows[0] + int(told.sum()) * WINDOW, alone.rows[1] + int((~told).sum()) * WINDOW
    return ParameterFit.at(search.about, z, covariance, alone.noise, rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Linear:
    """The linear last step: residuals r (numbers,) in units of noise, Jacobian J (numbers, n)."""

    r: FloatArray
    J: FloatArray
    information: FloatArray  # (n, n), what was known before in it
    counts: Flags  # which residuals do, (windows, signals x joints)


class _Search:
    """Gauss-Newton on means over windows, in the coordinates of a prior."""

    def __init__(self, arms: Handling, held: Sequence[Recording], alone: ParameterFit) -> None:
        self.arms, self.held, self.joints = arms, held, arms.free.joint_axes
        mine, n = len(arms.free.names), len(arms.names)
        self.about = prior(arms.held.scene, arms.names, arms.nominal)
        self.begin = self.about.coordinates(np.append(alone.values, arms.nominal[mine:]))
        self.known = np.eye(n)  # the inverse covariance of what is known before
        self.known[:mine, :mine] = np.linalg.inv(alone.covariance)
        self.measured = _means(held, self.joints, held)[0]
        self.stages = _stages(arms.free.scene, held)
        self.rough = np.array([name.endswith("/" + SLIDING) for name in arms.names])
        self.bold = np.diag(1.0 / self.about.scale)[mine:]
        small = _small(self.about, mine)
        self.of_arms = _slopes(lambda z: self.predicted(arms.free, z), self.begin, small)

    def predicted(self, arms: ArmsModel, z: FloatArray) -> FloatArray:
        """Means at coordinates (candidates, n), (candidates, windows, signals x joints)."""
        values = self.about.values(z)[:, : len(arms.names)]
        return _means([arms.respond(values, each) for each in self.held], self.joints, self.held)

    def improve(self, z: FloatArray, stages: tuple[int, ...]) -> tuple[FloatArray, _Linear]:
        """The best coordinates on the way from z (n,), by what is seen in these stages.

        Not the last: pushes are not always as linear as steps take them to be.
        """
        low, high = self.about.bounds()
        seen = np.isin(self.stages, stages)
        told = ~self.rough | (PUSHED in stages)  # in the air, friction shows by chance only
        visited: list[tuple[float, FloatArray, _Linear]] = []
        for _ in range(ROUNDS + 1):
            one, other = (self.of_object(z, bold, told) for bold in BOLD)
            off = self.predicted(self.arms.held, z[None])[0] - self.measured
            noise = _spread(off, self.stages)
            counts = np.isfinite(off) & (abs(off) < OUTLIER * noise)
            counts &= seen[:, None]
            weights = np.where(counts, 1.0 / noise, 0.0).ravel()
            r = weights * np.nan_to_num(off).ravel()
            J, again = (weights[:, None] * np.hstack([self.of_arms, s]) for s in (one, other))
            information = self.known + _common(J, again)
            moved = z - self.begin
            left = _unexplained(noise, seen) + float(moved @ self.known @ moved) / 2.0
            visited.append((left, z, _Linear(r, J, information, counts)))
            step = -np.linalg.solve(information, self.known @ moved + J.T @ r)
            deviation = np.sqrt(np.diag(np.linalg.inv(information)))
            if (abs(step) < THERE * deviation).all():
                break
            z = np.clip(z + step / max(1.0, abs(step).max() / LONGEST), low, high)
        _, z, at = min(visited, key=lambda each: each[0])
        return z, at

    def of_object(self, z: FloatArray, bold: float, told: Flags) -> FloatArray:
        """Slopes about z (n,) in the object's parameters, (numbers, k); 0 in those not `told`."""
        mine = told[len(told) - len(self.bold) :]
        slopes = _slopes(lambda z: self.predicted(self.arms.held, z), z, bold * self.bold[mine])
        every: FloatArray = np.zeros((len(slopes), len(mine)))
        every[:, mine] = slopes
        return every

    def scanned(self, z: FloatArray) -> FloatArray:
        """The coordinates z (n,) with the friction, of many, that explains the pushes best."""
        low, high = self.about.bounds()
        tried = z + np.where(self.rough, np.linspace(-1.0, 1.0, TRIED)[:, None], 0.0)
        tried = np.clip(tried, low, high)
        off = self.predicted(self.arms.held, tried) - self.measured
        pushed = self.stages == PUSHED
        left = [_unexplained(_spread(each, self.stages), pushed) for each in off]
        best: FloatArray = tried[int(np.argmin(left))]
        return best


def _means(
    said: Sequence[Response] | Sequence[Recording],
    joints: NDArray[np.intp],
    recordings: Sequence[Recording],
) -> FloatArray:
    """Means over windows, (candidates, windows, signals x joints), the first moments left out."""
    parts = []
    for each, recording in zip(said, recordings, strict=True):
        rows = np.concatenate([getattr(each, name)[..., joints] for name in SIGNALS], axis=-1)
        rows = rows.reshape(-1, *rows.shape[-2:])
        parts.append(np.stack([_windows(row, recording).mean(axis=1) for row in rows]))
    return np.concatenate(parts, axis=1)


def _stages(scene: Scene, recordings: Sequence[Recording]) -> NDArray[np.intp]:
    """What is done with the object in each window of `_means`, (windows,).

    PUSHED: fingers that were shut before stand open at the least height. CARRIED: they are above
    it. NEITHER: all else, in which the object is where nobody knows, or is borne by the bench and
    the grip together.
    """
    found = []
    for each in recordings:
        height, gripper = hands(scene, each.sent[:, :-1])[:, 0, 2], each.sent[:, -1]
        opened = gripper - gripper.min() > STANDS * np.ptp(gripper)
        before = np.maximum.accumulate(gripper - gripper.min() < (1.0 - STANDS) * np.ptp(gripper))
        stage = np.where(opened & before, PUSHED, NEITHER)
        stage[height - height.min() > LIFTED] = CARRIED
        windows = _windows(stage, each)
        same = (windows == windows[:, :1]).all(axis=1)
        found.append(np.where(same, windows[:, 0], NEITHER))
    return np.concatenate(found)


def _windows[T: np.generic](rows: NDArray[T], recording: Recording) -> NDArray[T]:
    """Rows (T, ...) after the first moments as (windows, WINDOW, ...); the last few are left."""
    period = recording.seconds / (len(recording) - 1)
    first = round(BURN_IN / period)
    whole = (len(rows) - first) // WINDOW
    return rows[first : first + whole * WINDOW].reshape(whole, WINDOW, *rows.shape[1:])


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


def _spread(off: FloatArray, stages: NDArray[np.intp]) -> FloatArray:
    """The noise of each signal and joint in each window's stage, unchanged by a few outliers.

    off: (windows, signals x joints), and so is the noise: without end where no window counts.
    """
    floors = np.repeat([FLOOR[name] for name in SIGNALS], off.shape[1] // len(SIGNALS))
    noise = np.full_like(off, np.inf)
    for stage in set(stages) - {NEITHER}:
        mine = np.where(np.isfinite(off), off, np.nan)[stages == stage]
        noise[stages == stage] = np.fmax(1.4826 * np.nanmedian(abs(mine), axis=0), floors)
    return noise


def _unexplained(noise: FloatArray, seen: Flags) -> float:
    """How much the windows `seen` are left unexplained: the less noise, the likelier they are."""
    return float(np.log(noise[seen]).sum())


def _common(J: FloatArray, again: FloatArray) -> FloatArray:
    """The information (n, n) of slopes J (numbers, n) that were taken twice.

    The chatter in slopes is no information, but its square would be taken for some. That in one
    and in the other are independent, so that their products have the right mean: one is the
    other's instrumental variable.
    """
    both = J.T @ again
    values, vectors = np.linalg.eigh((both + both.T) / 2.0)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T, np.float64)


def _covariance(at: _Linear, known: FloatArray) -> FloatArray:
    """Laplace's, or the sandwich's, whichever is wider, by parameter; (n, n)."""
    laplace = np.linalg.inv(at.information)
    windows = np.arange(len(at.r)) // at.counts.shape[1]
    scores = np.zeros((windows[-1] // TOGETHER + 1, at.J.shape[1]))
    np.add.at(scores, windows // TOGETHER, at.J * at.r[:, None])
    sandwich = laplace @ (scores.T @ scores + known) @ laplace
    wider = np.sqrt(np.maximum(np.diag(sandwich) / np.diag(laplace), 1.0))
    return np.asarray(laplace * np.outer(wider, wider), np.float64)
