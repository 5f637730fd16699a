"""One SO-101 whose first two joints, latency and payload are in question, and a short motion."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.identification.arms import ArmsModel, arms_alone
from enpire.identification.motion import ExcitationMotion, draw, motion
from enpire.identification.play import ArmNoise, play
from enpire.identification.recording import Recording
from enpire.packs import find, load_robot, load_world
from enpire.twin import Scene

NAMES = (
    *(f"arm/joint1/{kind}" for kind in ("kp", "kv", "damping", "frictionloss", "armature")),
    "arm/joint2/armature",
    "arm/latency",
    "arm/payload",
)
HIDDEN = {
    "arm/joint1/kp": 28.0,
    "arm/joint1/kv": 0.8,
    "arm/joint1/damping": 0.30,
    "arm/joint1/frictionloss": 0.26,
    "arm/joint1/armature": 0.024,
    "arm/joint2/armature": 0.045,
    "arm/latency": 0.024,
    "arm/payload": 0.15,
}


@pytest.fixture(scope="session")
def scene() -> Scene:
    return arms_alone(load_world(find("sim", "bench")), load_robot(find("robots", "so101")))


@pytest.fixture(scope="session")
def arms(scene: Scene) -> ArmsModel:
    return ArmsModel(scene, NAMES, threads=1)


@pytest.fixture(scope="session")
def moved(scene: Scene) -> ExcitationMotion:
    return motion(scene, draw(scene, np.random.default_rng(3), 100.0), 5.0, 100.0)


@pytest.fixture(scope="session")
def recording(scene: Scene, moved: ExcitationMotion) -> Recording:
    rng = np.random.default_rng(4)
    return play(scene, HIDDEN, moved.stamps, moved.sent, ArmNoise(), rng)
