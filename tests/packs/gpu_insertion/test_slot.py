"""The slot alone: what goes in, what it takes, what holds; the card stays upright."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from enpire.packs import find

DEPTH = 7.5  # [mm]
WEIGHT = 0.5 * 9.81  # [N]


class Bench:
    """Slot and card, the card on three slides and under a force."""

    def __init__(self, x: float = 0.0, y: float = 0.0, yaw: float = 0.0) -> None:
        """The card stands 2 mm above the mouth, off by x, y [m] and yaw [rad]."""
        spec = mujoco.MjSpec.from_file(str(find("tasks", "gpu_insertion").folder / "scene.xml"))
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = 10
        card, slot = spec.body("card"), spec.body("slot")
        spec.delete(spec.joint("card"))
        card.pos = slot.pos + np.array([x, y, 0.002])
        card.quat = (np.cos(yaw / 2), 0, 0, np.sin(yaw / 2))
        slide = mujoco.mjtJoint.mjJNT_SLIDE
        for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
            card.add_joint(name=name, type=slide, axis=axis, damping=20.0)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.z = int(self.model.joint("z").dofadr[0])
        self.x = int(self.model.joint("x").dofadr[0])

    def push(self, force: float, seconds: float = 1.0, across: float = 0.0) -> float:
        """Press down (or pull, below zero) beyond the weight; the depth after it [mm]."""
        self.data.qfrc_applied[self.z] = WEIGHT - force
        self.data.qfrc_applied[self.x] = across
        for _ in range(round(seconds / self.model.opt.timestep)):
            mujoco.mj_step(self.model, self.data)
        card, slot = self.data.body("card").xpos, self.data.body("slot").xpos
        return 1e3 * float(slot[2] - card[2])


def test_there_is_the_play_that_is_said() -> None:
    model = Bench().model

    def face(name: str, axis: int, side: int) -> float:
        geom = model.geom(name)
        return float(geom.pos[axis] + side * geom.size[axis])

    edge = model.geom("edge")
    thick = face("front", 0, -1) - face("back", 0, 1)
    long = face("end_left", 1, -1) - face("end_right", 1, 1)
    assert 1e3 * (thick / 2 - edge.size[0]) == pytest.approx(0.3, abs=0.01)
    assert 1e3 * (long / 2 - edge.size[1]) == pytest.approx(0.4, abs=0.01)
    assert 1e3 * face("floor", 2, 1) == pytest.approx(-DEPTH, abs=0.01)


def test_seating_takes_between_16_and_21_newtons_and_ends_on_the_floor() -> None:
    bench = Bench()
    depths = [bench.push(force, 0.1) for force in range(17)]  # little by little
    assert depths[3:] == pytest.approx([3.76] * 14, abs=0.2), "it stands on the springs"
    assert bench.push(21.0) == pytest.approx(DEPTH, abs=0.1)
    assert bench.push(40.0) == pytest.approx(DEPTH, abs=0.1)


def test_the_springs_hold_what_is_seated() -> None:
    bench = Bench()
    bench.push(30.0)
    assert bench.push(-5.0) == pytest.approx(DEPTH, abs=0.3)
    assert bench.push(-12.0, 3.0) < 0.0


@pytest.mark.parametrize("x", [-0.0014, 0.0014])
def test_the_lead_in_catches_what_is_a_little_off(x: float) -> None:
    assert Bench(x=x).push(25.0) == pytest.approx(DEPTH, abs=0.1)


@pytest.mark.parametrize("y", [-0.0014, 0.0014])
def test_the_lead_in_catches_what_is_a_little_off_along_it(y: float) -> None:
    assert Bench(y=y).push(25.0) == pytest.approx(DEPTH, abs=0.1)


@pytest.mark.parametrize(
    "off", [{"x": 0.004}, {"x": -0.004}, {"y": 0.003}, {"y": -0.003}, {"yaw": 0.12}]
)
def test_nothing_goes_in_beside_the_slot(off: dict[str, float]) -> None:
    assert Bench(**off).push(40.0) < 2.0


def test_a_seated_card_does_not_come_through_the_walls() -> None:
    bench = Bench()
    bench.push(30.0)
    for across in (-30.0, 30.0):
        bench.push(30.0, across=across)
        assert abs(bench.data.qpos[bench.model.joint("x").qposadr[0]]) < 0.4e-3
