"""Where to begin: latency and gains of the servos by linear regression of their efforts.

A position servo's effort is kp (setpoint - position) - kv velocity below its limit. Everything in
it is measured but the latency of the setpoint, which is looked for along a line. Nothing is
simulated, so there is no other minimum to fall into.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.identification.arms import ArmsModel
from enpire.identification.recording import Recording, summed
from enpire.twin import dynamics

LATENCIES = np.arange(0.0, 0.0801, 0.005)  # looked at [s],
FINER = np.arange(-0.004, 0.0041, 0.001)  # and then about the best of them [s]
SATURATED = 0.98  # of the limit of an effort
FEW = 50  # rows, fewer than which say nothing
BELIEVED = 5.0  # factor between a gain and the pack's: farther off, rows were too much alike


def beginning(arms: ArmsModel, recordings: Sequence[Recording]) -> dict[str, float]:
    """Latencies [s] and gains by name; of arms that measure no efforts, nothing."""
    found: dict[str, float] = {}
    axes, h = len(arms.scene.arms[0].joints) + 1, arms.scene.model.opt.timestep
    for number, arm in enumerate(arms.scene.arms):
        joints = number * axes + np.arange(axes - 1)
        best: tuple[float, float, dict[int, tuple[float, float]]] = (np.inf, 0.0, {})
        for about in (LATENCIES, FINER):  # the error has one valley, wider than the first steps
            for latency in (best[1] + about if about is FINER else about).clip(0.0).tolist():
                error, gains = 0.0, dict[int, tuple[float, float]]()
                for joint, actuator in zip(joints, arm.actuators, strict=True):
                    limit = SATURATED * arms.scene.model.actuator_forcerange[actuator, 1]
                    left, kp, kv = _regression(recordings, int(joint), latency, limit, h)
                    gains[int(joint)] = kp, kv
                    error += left
                if error < best[0]:
                    best = (error, latency, gains)
        error, latency, gains = best
        if not np.isfinite(error) or not gains:
            continue
        found[f"{arm.name}/{dynamics.LATENCY}"] = latency
        for k, (joint, actuator) in enumerate(zip(joints, arm.actuators, strict=True)):
            model = arms.scene.model
            of_pack = model.actuator_gainprm[actuator, 0], -model.actuator_biasprm[actuator, 2]
            ratios = np.array(gains[int(joint)]) / of_pack
            if (ratios > 1 / BELIEVED).all() and (ratios < BELIEVED).all():
                for kind, gain in zip((dynamics.KP, dynamics.KV), gains[int(joint)], strict=True):
                    found[f"{arm.name}/joint{k + 1}/{kind}"] = gain
    return found


def _regression(
    recordings: Sequence[Recording], joint: int, latency: float, limit: float, step: float
) -> tuple[float, float, float]:
    """Logarithm of the mean squared error, times rows; kp and kv. Infinite without rows."""
    rows, efforts = [], []
    for each in recordings:
        stamps, sent, q = each.stamps, each.sent[:, joint], each.position[:, joint]
        window = each.effort_window or 1e-4
        read = stamps - each.age
        late = read - latency
        wanted = (summed(stamps, sent, late) - summed(stamps, sent, late - window)) / window
        speed = each.velocity[:, joint]
        speed = np.where(np.isfinite(speed), speed, np.gradient(q, stamps))
        middle = read - (window + step) / 2  # an effort is of the beginning of its substep
        offset = wanted - np.interp(middle, read, q)
        row = np.stack([offset, -np.interp(middle, read, speed)], axis=1)
        effort = each.effort[:, joint]
        good = np.isfinite(effort) & (np.abs(effort) < limit) & (stamps > stamps[0] + 0.2)
        rows.append(row[good])
        efforts.append(effort[good])
    A, b = np.concatenate(rows), np.concatenate(efforts)
    if len(b) < FEW:
        return np.inf, 0.0, 0.0
    gains = np.linalg.lstsq(A, b, rcond=None)[0]
    error = float(np.mean((A @ gains - b) ** 2))
    return len(b) * float(np.log(error + 1e-12)), float(gains[0]), float(gains[1])
