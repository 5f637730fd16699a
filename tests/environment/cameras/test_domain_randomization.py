"""Looks of an episode: within their bounds, from their seed, and of no model but the renderer's."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest

from enpire.environment.cameras.domain_randomization import (
    BRIGHTNESS,
    OFF,
    STANDING,
    TINT,
    TURNED,
    TURNED_OFF,
    VIEW,
    cameras_off,
    dresser,
    looks,
    other_light,
)

SCENE = """
<mujoco>
  <asset><material name="wood" rgba="0.6 0.5 0.4 1"/></asset>
  <worldbody>
    <light dir="0 0 -1" diffuse="0.5 0.5 0.5" ambient="0.1 0.1 0.1"/>
    <geom type="box" size="1 1 0.1" material="wood"/>
    <camera name="still" pos="1 0 1" resolution="4 4" sensorsize="0.01 0.01" focal="0.01 0.01"/>
    <body>
      <freejoint/>
      <geom type="sphere" size="0.1" rgba="0.9 0.1 0.1 0.5"/>
      <camera name="carried" pos="0 0 0.1"/>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(SCENE)


def test_they_follow_from_the_generator_and_leave_the_model_alone(model: mujoco.MjModel) -> None:
    before = copy.copy(model)
    first, again, other = (looks(model, np.random.default_rng(seed)) for seed in (1, 1, 2))
    for name, values in first.items():
        assert values.shape == getattr(model, name).shape
        np.testing.assert_array_equal(values, again[name])
        assert (values != other[name]).any(), name
        np.testing.assert_array_equal(getattr(model, name), getattr(before, name))


def test_they_stay_within_their_bounds(model: mujoco.MjModel) -> None:
    still, carried = model.camera("still").id, model.camera("carried").id
    for seed in range(200):
        drawn = looks(model, np.random.default_rng(seed))
        moved = drawn["cam_pos"] - model.cam_pos
        assert 0 < abs(moved[still]).max() <= STANDING
        assert not moved[carried].any()
        between = abs(drawn["cam_quat"][still] @ model.cam_quat[still])
        assert 2 * np.arccos(min(between, 1.0)) <= np.sqrt(3) * TURNED + 1e-6
        share = drawn["cam_sensorsize"][still] / model.cam_sensorsize[still]
        assert share[0] == pytest.approx(share[1])
        assert abs(share[0] - 1) <= VIEW + 1e-6
        assert np.linalg.norm(drawn["light_dir"], axis=1) == pytest.approx(1.0)
        most = (1 + BRIGHTNESS) * (1 + TINT) * 0.5
        assert drawn["light_diffuse"].max() <= most + 1e-6
        red, green, blue, alpha = drawn["geom_rgba"][1]
        assert red >= 0.9 * (1 - TINT) - 1e-6
        assert max(green, blue) <= 0.1 * (1 + TINT) + 1e-6
        assert alpha == 0.5
        assert 0 <= drawn["mat_rgba"].min() <= drawn["mat_rgba"].max() <= 1


def test_a_camera_that_was_knocked_is_off_by_so_much(model: mujoco.MjModel) -> None:
    still, carried = model.camera("still").id, model.camera("carried").id
    ways = []
    for seed in range(20):
        drawn = cameras_off(model, np.random.default_rng(seed))
        moved = drawn["cam_pos"] - model.cam_pos
        assert np.linalg.norm(moved[still]) == pytest.approx(OFF)
        assert not moved[carried].any()
        between = abs(drawn["cam_quat"][still] @ model.cam_quat[still])
        assert 2 * np.arccos(min(between, 1.0)) == pytest.approx(TURNED_OFF, rel=1e-3)
        ways.append(moved[still])
    assert (np.array(ways).min(axis=0) < 0).all()
    assert (np.array(ways).max(axis=0) > 0).all()


def test_other_light_comes_from_the_other_side(model: mujoco.MjModel) -> None:
    model.light_dir[0] = (0.6, 0.0, -0.8)
    dresser(other_light)(model)
    np.testing.assert_allclose(model.light_dir[0], (-0.6, 0.0, -0.8), rtol=1e-6)
    np.testing.assert_allclose(model.light_diffuse[0], (0.375, 0.35, 0.3), rtol=1e-6)
    before = copy.copy(model)
    dresser(None)(model)
    np.testing.assert_array_equal(model.light_dir, before.light_dir)
