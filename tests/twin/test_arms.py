"""Another model of an arm, as in a checkout of MuJoCo Menagerie, in place of the pack's own."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from enpire.cli import main
from enpire.errors import PackError
from enpire.packs import find, load_robot, load_world
from enpire.packs.menagerie import PACKAGE, VARIABLE
from enpire.packs.toml import Table
from enpire.safety.limits import of_robot
from enpire.twin import Scene, compose

MESH = "v 0 0 0\nv .05 0 0\nv 0 .05 0\nv 0 0 .05\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def build(root: Path, name: str, longer: float = 0.0) -> None:
    """A model with the pack's own kinematics, but for one link, under the names it is to have."""
    pack = find("robots", name)
    said = Table.read(pack.folder / "menagerie.toml")
    path = root / said.text("model")
    (path.parent / "assets").mkdir(parents=True)
    (path.parent / "assets" / "link.obj").write_text(MESH)
    spec = mujoco.MjSpec.from_file(str(pack.folder / "arm.xml"))
    for each in (*spec.actuators, *spec.sensors, *spec.tendons, *spec.equalities, *spec.excludes):
        spec.delete(each)
    spec.delete(spec.body("hand"))
    spec.modelfiledir, spec.meshdir = str(path.parent), "assets"
    spec.add_mesh(name="link", file="link.obj")
    for index, joint in enumerate(said.texts("joints"), 1):
        found = spec.joint(f"joint{index}")
        found.name, found.damping = joint, [200.0, 0, 0]
        spec.body(f"link{index}").mass = 1.0
        spec.body(f"link{index}").add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="link")
    spec.body("link2").pos = spec.body("link2").pos + np.array([0, 0, longer])
    last = spec.body(f"link{len(said.texts('joints'))}")
    # The body that menagerie.toml names, where that makes its hand the pack's.
    home = mujoco.MjSpec.from_file(str(pack.folder / "arm.xml")).body("hand")
    place, turned, back = np.zeros(3), np.zeros(4), np.zeros(4)
    own = np.array(said.numbers("quaternion", 4))
    mujoco.mju_normalize4(own)
    mujoco.mju_negQuat(back, own)
    mujoco.mju_mulQuat(turned, np.array(home.quat), back)
    mujoco.mju_rotVecQuat(place, np.array(said.numbers("position", 3)), turned)
    last.add_body(name=said.text("flange"), pos=home.pos - place, quat=turned)
    based = np.zeros(4)
    mujoco.mju_negQuat(based, np.array(said.numbers("base", 4)))
    spec.body("base").quat = based
    path.write_text(spec.to_xml())


def scene(name: str) -> Scene:
    robot = load_robot(find("robots", name))
    return compose(load_world(find("sim", "bench")), robot, lambda spec: None)


@pytest.mark.parametrize("name", ["fr3", "ur5e"])
def test_its_links_move_as_ours_under_our_servos(name, tmp_path, monkeypatch) -> None:
    own = scene(name)
    build(tmp_path, name)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    other = scene(name)
    assert other.model.nmesh == 1
    assert other.robot.sha256 != own.robot.sha256
    assert other.model.nu == own.model.nu
    for index in range(own.model.nu):
        servo = own.model.actuator(index)
        same = other.model.actuator(servo.name)
        for field in ("gainprm", "biasprm", "ctrlrange", "forcerange"):
            np.testing.assert_array_equal(getattr(same, field), getattr(servo, field))
    for index in range(own.model.njnt):
        joint = own.model.joint(index)
        same = other.model.joint(joint.name)
        for field in ("range", "armature", "damping", "frictionloss"):
            np.testing.assert_array_equal(getattr(same, field), getattr(joint, field))
    poses = []
    for made in (own, other):
        data = mujoco.MjData(made.model)
        data.qpos[made.arms[0].qpos] = np.linspace(-1.0, 1.2, len(made.arms[0].qpos))
        mujoco.mj_kinematics(made.model, data)
        poses.append(np.append(data.site_xpos[made.arms[0].grasp], data.body("arm_hand").xquat))
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-6)
    data = mujoco.MjData(other.model)
    home = other.robot.arms[0].home
    data.qpos[other.arms[0].qpos] = data.ctrl[other.arms[0].actuators] = home
    mujoco.mj_step(other.model, data, 250)
    np.testing.assert_allclose(data.qpos[other.arms[0].qpos], home, atol=0.05)
    touching = other.model.geom_bodyid[np.flatnonzero(other.model.geom_contype)].tolist()
    assert not [b for b in touching if "menagerie" in other.model.body(b).name]


def test_a_supervisor_looks_at_the_packs_own_model(tmp_path, monkeypatch) -> None:
    before = of_robot(load_robot(find("robots", "fr3")))
    build(tmp_path, "fr3")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    robot = load_robot(find("robots", "fr3"))
    assert robot.arms[0].model.name == "arm.xml"
    np.testing.assert_array_equal(of_robot(robot).low, before.low)


def test_an_arm_that_it_has_no_names_for_is_as_it_was(tmp_path, monkeypatch) -> None:
    before = load_robot(find("robots", "so101"))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert load_robot(find("robots", "so101")) == before


def test_a_model_is_taken_from_where_the_official_library_keeps_it(tmp_path, monkeypatch) -> None:
    """Its cache, with a model that was made here in it: nothing is downloaded."""
    library = pytest.importorskip("mujoco_menagerie")
    build(tmp_path / "made", "fr3")
    robot = library.get("franka_fr3")
    cache = library.Cache(dir=tmp_path / "cache")
    kept = cache.model_path(robot)
    kept.parent.mkdir(parents=True)
    (tmp_path / "made" / "franka_fr3").rename(kept)
    (kept / ".complete").write_text(json.dumps({"oid": robot.oid, "files": {}}))
    monkeypatch.setenv("MENAGERIE_CACHE_DIR", str(cache.dir))
    monkeypatch.setenv("MENAGERIE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv(VARIABLE, PACKAGE)
    arm = load_robot(find("robots", "fr3")).arms[0]
    assert arm.menagerie is not None
    assert arm.menagerie.model == kept / "fr3.xml"
    names = [scene("fr3").model.body(i).name for i in range(scene("fr3").model.nbody)]
    assert any("menagerie" in name or "link7" in name for name in names)
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path / "nothing"))
    with pytest.raises(PackError, match="franka_fr3 cannot be had"):
        load_robot(find("robots", "fr3"))


def test_what_is_wrong_with_it_is_told(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(PackError, match="MuJoCo Menagerie"):
        load_robot(find("robots", "fr3"))
    build(tmp_path, "fr3", longer=0.1)
    with pytest.raises(PackError, match=r"0\.\d+ m from where"):
        scene("fr3")
    path = tmp_path / "franka_fr3" / "fr3.xml"
    path.write_text(path.read_text().replace("fr3_joint3", "fr3_joint_3"))
    with pytest.raises(PackError, match="fr3_joint3"):
        scene("fr3")
    asked = ["render", "pick_cube", str(tmp_path / "a.png"), "--menagerie", str(tmp_path / "no")]
    assert main(asked) == 2
    assert "is no folder" in capsys.readouterr().err
