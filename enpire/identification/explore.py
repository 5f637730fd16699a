"""Which motion tells most: active exploration after ASID (Memmel et al. 2024, arXiv 2404.12308).

The Fisher information of a motion about the parameters, at the packs' values, is that of its
responses: J' J with noise of deviation one. CMA-ES (Hansen 2016, arXiv 1604.00772) looks for the
amplitudes and phases whose motion leaves the least variance in all parameters together
(A-optimality: the trace of the inverse).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from enpire.identification.arms import ArmsModel
from enpire.identification.fit import EPS, LATE, SIGNALS
from enpire.identification.motion import ExcitationMotion, Waves, draw, greatest, motion
from enpire.identification.play import ArmNoise
from enpire.identification.prior import prior
from enpire.identification.recording import Recording
from enpire.twin import dynamics
from enpire.types import FloatArray

DESIGN_S = 8.0  # of a motion that is judged; a longer one is the same sines for longer
STRIDE = 4  # of the rows, of which the information is taken
SIGMA = 0.25  # CMA-ES's first step, in parts of the ranges


@dataclass(frozen=True, slots=True, eq=False)
class Explored:
    """The best motion found; deviation: root mean square of the parameters', the best so far."""

    waves: Waves
    motion: ExcitationMotion
    deviation: tuple[float, ...]


class Information:
    """Judges motions of some arms about the parameters that these name.

    Joints' parameters of one kind are varied all at once, and a joint's share is read off its own
    axis: a difference a kind instead of one a parameter. What a joint shows of its neighbours'
    parameters is left out, which is little and only ever more.
    """

    def __init__(self, arms: ArmsModel, noise: ArmNoise, rate: float) -> None:
        """noise: of the sensors. rate: of setpoints [Hz]."""
        self.arms, self.rate = arms, rate
        self.prior = prior(arms.scene, arms.names, arms.nominal)
        known = dynamics.places(arms.scene)
        self._places = [known[name] for name in arms.names]
        self._kinds = list(dict.fromkeys((p.arm.name, p.kind) for p in self._places))
        model = arms.scene.model
        limits = model.actuator_forcerange[arms.actuators, 1]
        self._axes = axes = len(arms.actuators)
        efforts = np.maximum(noise.effort * limits, 1e-6)
        self._noise = {
            "position": np.full(axes, noise.position),
            "velocity": np.full(axes, noise.velocity),
            "effort": efforts,
        }

    def variance(self, waves: Waves, seconds: float = DESIGN_S) -> float:
        """Mean variance of the parameters' coordinates that a motion would leave, in logarithms."""
        made = motion(self.arms.scene, waves, seconds, self.rate)
        nothing, now = np.full_like(made.sent, np.nan), np.zeros(len(made.stamps))
        name, period = self.arms.scene.robot.name, 1.0 / self.rate
        measured = made.sent, nothing, nothing
        recording = Recording(name, "", made.stamps, made.sent, *measured, now, period)
        n, late = len(self._places), LATE
        z = np.zeros((1 + len(self._kinds), n))
        for row, kind in enumerate(self._kinds, start=1):
            mine = [i for i, p in enumerate(self._places) if (p.arm.name, p.kind) == kind]
            z[row, mine] = late / self.prior.scale[mine] if kind[1] == dynamics.LATENCY else EPS
        z[:, self.prior.nominal <= 0.0] += 2 * EPS  # off the bounds: a payload, a latency
        response = self.arms.respond(self.prior.values(z), recording)
        J = np.zeros((len(SIGNALS), -(-len(made.stamps) // STRIDE), self._axes, n))
        axes = self._axes // len(self.arms.scene.arms)
        for s, signal in enumerate(SIGNALS):
            at = getattr(response, signal)[:, ::STRIDE] / self._noise[signal]
            for i, place in enumerate(self._places):
                row = 1 + self._kinds.index((place.arm.name, place.kind))
                slope = (at[row] - at[0]) / (z[row, i] - z[0, i])
                arm = self.arms.scene.arms.index(place.arm)
                own = slice(arm * axes, (arm + 1) * axes - 1)
                if place.joint >= 0:
                    own = slice(arm * axes + place.joint, arm * axes + place.joint + 1)
                J[s, :, own, i] = slope[:, own]
        flat = np.sqrt(STRIDE) * J.reshape(-1, n)
        left = np.linalg.inv(flat.T @ flat + np.eye(n))
        return float(np.mean(np.diag(left)))


def explore(
    information: Information,
    rng: np.random.Generator,
    evaluations: int,
    seconds: float,
    tell: Callable[[int, float], None] = lambda done, deviation: None,
) -> Explored:
    """Look for the most telling motion with about so many evaluations.

    tell: is told how many were done and the least deviation so far, a generation at a time.
    """
    from cmaes import CMA  # loads all of `scipy.stats`, for half a second

    scene = information.arms.scene
    largest = greatest(scene, information.rate)
    size = largest.size
    first = draw(scene, rng, information.rate)
    mean = np.concatenate(
        [(first.amplitudes / largest).ravel(), first.phases.ravel() / (2 * np.pi)]
    )
    bounds = np.array([[0.0, 1.0]] * size + [[-1.0, 2.0]] * size)
    seed = int(rng.integers(2**31))
    search = CMA(mean=mean, sigma=SIGMA, bounds=bounds, seed=seed)
    best, least = first, float("inf")
    course: list[float] = []
    while len(course) < evaluations:
        asked = [search.ask() for _ in range(search.population_size)]
        judged = []
        for x in asked:
            waves = _waves(x, largest)
            variance = information.variance(waves, min(seconds, DESIGN_S))
            judged.append((x, float(np.log(variance))))
            if variance < least:
                best, least = waves, variance
            course.append(float(np.sqrt(least)))
        search.tell(judged)
        tell(len(course), course[-1])
    made = motion(scene, best, seconds, information.rate)
    return Explored(best, made, tuple(course))


def _waves(x: FloatArray, largest: FloatArray) -> Waves:
    amplitudes, phases = x.reshape(2, *largest.shape)
    return Waves(amplitudes * largest, 2 * np.pi * phases)
