"""Policies that mean no good, setpoint by setpoint; and people and arms that do not either."""

from __future__ import annotations

import numpy as np

from enpire.errors import SafetyError
from enpire.safety.machine import Mode
from enpire.safety.messages import SetpointRequest
from enpire.safety.rules import GateRule
from tests.safety.rig import Rig

SETPOINTS = (
    "drift", "drift", "drift", "drift", "near", "near", "edge", "jump", "far", "nan", "inf",
    "huge", "size", "stale", "future", "scrap", "flood", "repeat", "old epoch", "rest",
)  # fmt: skip
ARMS = ("pushed", "forced", "broken", "frozen", "held up")


def act(rig: Rig, kind: str, rng: np.random.Generator) -> None:
    """One period of it, beginning from a station that a person has made ready."""
    ready(rig)
    rig.now += 10**6
    body = _body(rig, kind, rng)
    if body is not None:
        rig.put(body, 500 if kind == "flood" else 1)
    rig.now -= 10**6
    _trouble(rig, kind, rng)
    rig.tick()
    rig.arms.broken = rig.arms.frozen = False
    rig.arms.force, rig.arms.pushed = 0.0, None


def ready(rig: Rig) -> None:
    """Brake, clear, recover, go home if the arms stand where they must not."""
    supervisor = rig.supervisor
    for _ in range(1000):
        if supervisor.mode in (Mode.ARMED, Mode.MOVING):
            return
        try:
            if supervisor.mode is Mode.LATCHED:
                supervisor.clear()
            elif supervisor.mode is Mode.IDLE:
                supervisor.arm()
            elif supervisor.mode is Mode.HOLDING:
                supervisor.episode()
                supervisor.recover()
        except SafetyError:  # where they must not be: a person moves them back, by hand
            rig.arms.position = rig.arms.home.copy()
            rig.arms._setpoint = rig.arms.position
        rig.tick()
    raise RuntimeError("it stays unfit")


def _body(rig: Rig, kind: str, rng: np.random.Generator) -> bytes | None:
    motion = rig.supervisor._motion
    at = rig.arms.position if motion is None else motion.position
    axes, limits = len(at), rig.limits
    wanted, stamp, epoch = at + rng.normal(size=axes) * 0.003, rig.now, rig.supervisor.epoch
    last = rig.supervisor._wanted
    if kind == "drift" and last is not None and motion is not None:
        wanted = at + motion.velocity * 0.01 * rng.uniform(0.8, 1.3) + rng.normal(size=axes) * 5e-4
    elif kind == "edge":
        wanted = np.where(rng.random(axes) < 0.5, limits.low, limits.high)
        wanted = at + np.clip(wanted - at, -0.19, 0.19)
    elif kind == "jump":
        wanted = at + rng.normal(size=axes) * rng.choice([0.05, 0.2, 1.0])
    elif kind == "far":
        wanted = rng.uniform(-10, 10, axes)
    elif kind in ("nan", "inf", "huge"):
        value = {"nan": np.nan, "inf": np.inf, "huge": 1e308}[kind]
        wanted[rng.random(axes) < 0.4] = value * rng.choice([-1, 1])
        wanted[rng.integers(axes)] = value
    elif kind == "size":
        wanted = rng.normal(size=rng.integers(0, 1000))
    elif kind == "scrap":
        return rng.bytes(int(rng.integers(0, 200)))
    stamp += {"stale": -1, "future": 1}.get(kind, 0) * int(rng.integers(25_000_000, 10**10))
    epoch -= kind == "old epoch"
    if kind == "repeat":
        return None
    return SetpointRequest(epoch, stamp, wanted, kind == "rest").encoded()


def _trouble(rig: Rig, kind: str, rng: np.random.Generator) -> None:
    if kind == "pushed":
        rig.arms.pushed = rng.normal(size=len(rig.arms.home)) * rng.choice([0.01, 0.1])
    elif kind == "forced":
        rig.arms.force = 100.0
    elif kind == "broken":
        rig.arms.broken = True
    elif kind == "frozen":
        rig.now += 6 * 10**7
        rig.arms.frozen = True
    elif kind == "held up":
        rig.now += 10**8
    elif rng.random() < 0.002:
        rig.supervisor.stop(GateRule.EMERGENCY if rng.random() < 0.5 else GateRule.ASKED)
