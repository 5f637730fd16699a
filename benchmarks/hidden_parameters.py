"""Twins with hidden parameters: how well what is known can be found again.

Parameters are drawn from stated ranges about the packs'; arms with these play a motion, noisy
sensors record it, and a fit that knows the packs' values only is held against the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enpire.identification.arms import ArmsModel, Handling
from enpire.identification.fit import ParameterFit, errors, fit
from enpire.identification.fit_handling import fit_handling
from enpire.identification.motion import ExcitationMotion
from enpire.identification.play import ArmNoise, play
from enpire.twin import dynamics, objects
from enpire.types import FloatArray

FACTORS = {  # of the packs' values, evenly in the logarithm
    dynamics.KP: (0.6, 1.6),
    dynamics.KV: (0.6, 1.6),
    dynamics.ARMATURE: (0.6, 1.6),
    dynamics.FRICTION: (0.5, 3.0),
    dynamics.DAMPING: (0.5, 2.0),
    objects.MASS: (0.6, 1.6),
    objects.SLIDING: (0.6, 1.6),
}
DAMPING = (0.01, 0.1)  # of a joint whose pack has none, in parts of its servo's
LATENCY = (2, 18)  # in substeps, both included
PAYLOAD = (0.05, 0.4)  # [kg]
PLACED = (0.002, 0.002, 0.05)  # how far off an object lies, one standard deviation [m, m, rad]


@dataclass(frozen=True, slots=True, eq=False)
class HiddenFit:
    """One hidden draw and its fit."""

    fit: ParameterFit
    true: FloatArray  # (n,), in the parameters' units
    # By how much the fit and the packs' values miss another motion's positions, open loop, root
    # mean square over the joints [rad].
    held_out: tuple[float, float]

    @property
    def off(self) -> FloatArray:
        """Relative errors, (n,)."""
        result: FloatArray = self.fit.values / self.true - 1.0
        return result

    @property
    def covered(self) -> FloatArray:
        """Whether the intervals hold the truth, (n,)."""
        inside = (self.fit.low <= self.true) & (self.true <= self.fit.high)
        return inside.astype(np.float64)


def hide(arms: ArmsModel | Handling, rng: np.random.Generator) -> dict[str, float]:
    """Draw the parameters that `arms` names."""
    scene = arms.held.scene if isinstance(arms, Handling) else arms.scene
    known, step = dynamics.parameters(scene), scene.model.opt.timestep
    nominal = dict(zip(arms.names, arms.nominal, strict=True))
    drawn = {}
    for name, value in nominal.items():
        kind = known[name].kind
        if kind == dynamics.LATENCY:
            drawn[name] = step * int(rng.integers(LATENCY[0], LATENCY[1] + 1))
        elif kind == dynamics.PAYLOAD:
            drawn[name] = float(rng.uniform(*PAYLOAD))
        elif value > 0.0:
            drawn[name] = value * float(np.exp(rng.uniform(*np.log(FACTORS[kind]))))
        else:
            servo = nominal[name.rsplit("/", 1)[0] + "/" + dynamics.KV]
            drawn[name] = servo * float(rng.uniform(*DAMPING))
    return drawn


def recover(
    arms: ArmsModel,
    played: ExcitationMotion,
    other: ExcitationMotion,
    noise: ArmNoise,
    rng: np.random.Generator,
) -> HiddenFit:
    """Hide parameters, play a motion, fit, and predict another motion."""
    hidden = hide(arms, rng)
    recording = play(arms.scene, hidden, played.stamps, played.sent, noise, rng)
    found = fit(arms, [recording])
    return HiddenFit(found, _true(hidden), _missed(arms, found, hidden, other, noise, rng))


def recover_handling(
    arms: Handling,
    played: ExcitationMotion,
    handled: ExcitationMotion,
    other: ExcitationMotion,
    noise: ArmNoise,
    rng: np.random.Generator,
) -> HiddenFit:
    """Hide parameters, an object's too; play a motion with nothing in hand, then handle it; fit.

    The object lies `PLACED` off where the fit takes it to be.
    """
    hidden = hide(arms, rng)
    alone = {name: hidden[name] for name in arms.free.names}
    free = play(arms.free.scene, alone, played.stamps, played.sent, noise, rng)
    x, y, yaw = rng.normal(0.0, PLACED).tolist()
    sent = handled.stamps, handled.sent
    held = play(arms.held.scene, hidden, *sent, noise, rng, "", arms.object, (x, y, yaw))
    found = fit_handling(arms, [free, held])
    return HiddenFit(found, _true(hidden), _missed(arms.free, found, alone, other, noise, rng))


def _true(hidden: dict[str, float]) -> FloatArray:
    return np.array(list(hidden.values()))


def _missed(
    arms: ArmsModel,
    fit: ParameterFit,
    hidden: dict[str, float],
    other: ExcitationMotion,
    noise: ArmNoise,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The errors by which the fit and the packs' values miss another motion's positions."""
    test = play(arms.scene, hidden, other.stamps, other.sent, noise, rng)
    mine = len(arms.names)
    fitted, packs = (
        float(np.sqrt(np.mean(errors(arms, [test], values).position[arms.joint_axes] ** 2)))
        for values in (fit.values[:mine], fit.nominal[:mine])
    )
    return fitted, packs
