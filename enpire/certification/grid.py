"""The published grid of `enpire stress`: one change at a time; `docs/stress.md` says why each."""

from __future__ import annotations

from enpire.environment.resets.perturbation import Change, Perturbation

BASELINE = Perturbation("baseline", Change.NOTHING)
GRID = (
    BASELINE,
    Perturbation("friction-x0.6", Change.CONTACT_FRICTION, 0.6),
    Perturbation("friction-x1.5", Change.CONTACT_FRICTION, 1.5),
    Perturbation("mass-x0.7", Change.MASS, 0.7),
    Perturbation("mass-x1.4", Change.MASS, 1.4),
    Perturbation("stiffness-x0.6", Change.STIFFNESS, 0.6),
    Perturbation("stiffness-x1.5", Change.STIFFNESS, 1.5),
    Perturbation("clearance-0.1mm", Change.CLEARANCE, 0.0001),
    Perturbation("kp-x0.7", Change.KP, 0.7),
    Perturbation("kp-x1.3", Change.KP, 1.3),
    Perturbation("kv-x0.7", Change.KV, 0.7),
    Perturbation("kv-x1.3", Change.KV, 1.3),
    Perturbation("joint-friction-x2", Change.JOINT_FRICTION, 2.0),
    Perturbation("pad-friction-x0.7", Change.PAD_FRICTION, 0.7),
    Perturbation("latency+30ms", Change.LATENCY, 0.030),
    Perturbation("noise-x2", Change.NOISE, 2.0),
    Perturbation("tracker-off-1mm", Change.TRACKER_OFFSET, 0.001),
    Perturbation("tracker-late+40ms", Change.TRACKER_LATENCY, 0.040),
    Perturbation("poses-x1.5", Change.POSES, 1.5),
    Perturbation("poses-x2", Change.POSES, 2.0),
    Perturbation("light-moved", Change.LIGHT),
    Perturbation("cameras-off", Change.CAMERAS),
)
NAMES = tuple(point.name for point in GRID)
