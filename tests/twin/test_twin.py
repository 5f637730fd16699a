"""Stations: each its own physics, its own pace, its own model fields, its own failures."""

from __future__ import annotations

import copy
import threading
from functools import cache

import mujoco
import numpy as np
import pytest
from mujoco.batch import MODEL_FIELDS

from enpire.packs import find, load_robot, load_world
from enpire.twin import Scene, Twin, compose


@cache
def scene() -> Scene:
    robot, world = find("robots", "so101"), find("sim", "bench")
    return compose(load_world(world), load_robot(robot), lambda spec: None)


@pytest.fixture
def twin() -> Twin:
    """Three stations with the arm at home."""
    made = Twin(scene(), 3, threads=1)
    arm = made.scene.arms[0]
    for row in range(3):
        made.qpos[row, arm.qpos] = made.scene.robot.arms[0].home
        made.ctrl[row, arm.actuators] = made.scene.robot.arms[0].home
        made.forward(row)
    return made


def test_it_steps_as_plain_mujoco_does(twin: Twin) -> None:
    data = mujoco.MjData(twin.model)
    arm = twin.scene.arms[0]
    twin.ctrl[1, arm.actuators] += 0.2
    data.qpos[:], data.ctrl[:] = twin.qpos[1], twin.ctrl[1]
    twin.step(np.arange(3), 50)
    mujoco.mj_step(twin.model, data, 50)
    np.testing.assert_allclose(twin.qpos[1], data.qpos, atol=1e-9)
    assert abs(data.qpos[arm.qpos] - twin.scene.robot.arms[0].home).max() > 0.05


def test_only_the_stations_asked_for_move(twin: Twin) -> None:
    twin.ctrl[:, twin.scene.arms[0].actuators] += 0.2
    before = twin.qpos.copy()
    assert twin.step(np.array([0, 2]), 10) == []
    assert (twin.qpos[1] == before[1]).all()
    assert (twin.qpos[0] != before[0]).any()
    np.testing.assert_array_equal(twin.qpos[0], twin.qpos[2])
    assert twin.substeps_done == 20


def test_reset_puts_one_station_back(twin: Twin) -> None:
    twin.ctrl[:] += 0.2
    twin.step(np.arange(3), 10)
    others = twin.qpos[[0, 2]].copy()
    twin.reset(1)
    np.testing.assert_array_equal(twin.qpos[1], twin.model.qpos0)
    assert not twin.qvel[1].any()
    assert not twin.ctrl[1].any()
    np.testing.assert_array_equal(twin.qpos[[0, 2]], others)


def test_a_model_field_can_differ_by_station(twin: Twin) -> None:
    stiffness = twin.expand("jnt_stiffness")
    joint = twin.scene.arms[0].joints[1]
    stiffness[1, joint] = 50.0
    twin.step(np.arange(3), 100)
    assert abs(twin.qpos[1] - twin.qpos[0]).max() > 0.01
    np.testing.assert_array_equal(twin.qpos[0], twin.qpos[2])


def test_a_diverged_station_is_named_and_comes_back(twin: Twin) -> None:
    twin.qvel[1, 0] = np.nan
    assert twin.step(np.arange(3), 5) == [1]
    twin.reset(1)
    assert twin.step(np.arange(3), 5) == []
    assert np.isfinite(twin.qpos).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_some_stations_can_be_looked_at_while_others_are_under_way(threads: int) -> None:
    alone, twin = Twin(scene(), 3, threads), Twin(scene(), 3, threads)
    for made in (alone, twin):
        made.ctrl[:] = np.linspace(-0.2, 0.2, 3)[:, None]
    alone.step(np.arange(3), 60)
    twin.start([0, 2], 30)
    before = twin.qpos[1].copy()
    assert twin.wait([1]) == []
    np.testing.assert_array_equal(twin.qpos[1], before)
    twin.start([1], 60)
    twin.wait([2])
    twin.start([2], 30)
    twin.wait([0])
    twin.start([0], 30)
    assert twin.wait(range(3)) == twin.wait(range(3)) == []
    np.testing.assert_array_equal(twin.state, alone.state)
    np.testing.assert_array_equal(twin.site_xpos, alone.site_xpos)
    assert twin.substeps_done == alone.substeps_done == 180


def test_what_a_thread_stumbles_over_is_raised_where_one_waits(
    twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise MemoryError("no more")

    monkeypatch.setattr(mujoco, "mj_step", stumble)
    twin.start([1], 5)
    twin.wait([0, 2])
    with pytest.raises(MemoryError, match="no more"):
        twin.wait([1])


def test_what_mujoco_raises_is_a_diverged_station(
    twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise mujoco.FatalError("stack overflow")

    with monkeypatch.context() as patch:
        patch.setattr(mujoco, "mj_step", fail)
        assert twin.step([1], 5) == [1]
    twin.reset(1)
    assert twin.step(range(3), 5) == []


def test_derived_constants_follow_what_a_station_varies(twin: Twin) -> None:
    twin.expand("body_mass")[2] *= 2.0
    twin.set_const(2)
    heavy = twin.variation(2)["body_subtreemass"][0]
    assert heavy == pytest.approx(2 * twin.model.body_subtreemass[0])
    assert twin.simulation(2)[0].body_subtreemass[0] == heavy
    assert twin.variation(0)["body_subtreemass"][0] == twin.model.body_subtreemass[0]


def test_all_that_mujoco_derives_is_kept_for_a_station(twin: Twin) -> None:
    twin.expand("body_mass")[1] *= 2.0
    twin.expand("body_pos")[1] += 0.01
    twin.expand("dof_armature")[1] *= 3.0
    twin.set_const(1)
    whole = copy.copy(twin.model)
    for name in ("body_mass", "body_pos", "dof_armature"):
        getattr(whole, name)[...] = twin.variation(1)[name]
    mujoco.mj_setConst(whole, mujoco.MjData(whole))
    kept = twin.variation(1)
    arrays = [name for name in MODEL_FIELDS if "." not in name]
    for name in arrays:
        values = kept.get(name, getattr(twin.model, name))
        np.testing.assert_array_equal(values, getattr(whole, name), name)
    changed = [n for n in arrays if not np.array_equal(getattr(whole, n), getattr(twin.model, n))]
    assert len(changed) > 6


def test_threads_end_with_their_twin() -> None:
    before = set(threading.enumerate())
    twin = Twin(scene(), 1, threads=3)
    mine = set(threading.enumerate()) - before
    assert len(mine) == 2
    del twin
    for thread in mine:
        thread.join(timeout=10)
        assert not thread.is_alive()


def test_threads_change_nothing() -> None:
    ends = []
    for threads in (1, 2):
        twin = Twin(scene(), 5, threads)
        twin.ctrl[:] = np.linspace(-0.2, 0.2, 5)[:, None]
        twin.step(np.arange(5), 100)
        ends.append(twin.qpos.tobytes())
    assert ends[0] == ends[1]
