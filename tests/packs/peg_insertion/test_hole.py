"""The hole alone: its play, what the chamfer catches, and what does not go in."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from enpire.packs import find

DEPTH = 30.0  # [mm]
WEIGHT = 0.14 * 9.81  # [N]
HAND = 3.0  # what of the arm moves with the peg, about: contacts are as stiff as that is heavy [kg]


def scene() -> mujoco.MjSpec:
    spec = mujoco.MjSpec.from_file(str(find("tasks", "peg_insertion").folder / "scene.xml"))
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    return spec


def depth(x: float = 0.0, lean: float = 0.0, push: float = 15.0, thicker: float = 0.0) -> float:
    """The depth of an upright peg, x [m] off the axis, after a push of one second [mm].

    lean [rad]: about an axis that nothing turns it back about. thicker [m].
    """
    spec = scene()
    peg = spec.body("peg")
    spec.delete(spec.joint("peg"))
    spec.geom("shank").size[0] += thicker / 2
    peg.pos = spec.body("block").pos + np.array([x, 0.0, 0.0005])
    peg.quat = (np.cos(lean / 2), 0, np.sin(lean / 2), 0)
    slide = mujoco.mjtJoint.mjJNT_SLIDE
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        peg.add_joint(name=name, type=slide, axis=axis, damping=40.0, armature=HAND)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qfrc_applied[2] = WEIGHT - push
    mujoco.mj_step(model, data, round(1.0 / model.opt.timestep))
    mujoco.mj_forward(model, data)
    return 1e3 * float(data.body("block").xpos[2] - data.body("peg").xpos[2])


def test_there_is_the_play_that_is_said() -> None:
    model = scene().compile()
    walls = [i for i in range(model.ngeom) if model.geom(i).name.startswith("wall")]
    inner = np.hypot(*model.geom_pos[walls, :2].T) - model.geom_size[walls, 0]
    assert len(walls) == 12
    np.testing.assert_allclose(2e3 * inner, 16.6, atol=0.01)
    assert 2e3 * model.geom("shank").size[0] == pytest.approx(16.0)
    floor = model.geom("floor")
    assert 1e3 * float(floor.pos[2] + floor.size[2]) == pytest.approx(-DEPTH)


@pytest.mark.parametrize("x", [-0.001, 0.0, 0.001])
def test_the_chamfer_catches_a_peg_that_is_a_little_off(x: float) -> None:
    assert depth(x) == pytest.approx(DEPTH, abs=0.2)


@pytest.mark.parametrize("off", [{"x": 0.004}, {"lean": 0.06}, {"thicker": 0.001}])
def test_what_is_beside_aslant_or_too_thick_does_not_go_in(off: dict[str, float]) -> None:
    assert depth(**off) < 20.0
