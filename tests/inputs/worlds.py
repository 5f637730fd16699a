"""Worlds, robots and what was identified of them, that are slightly wrong, beside those of
`files.py`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import mujoco

from enpire import git_lfs
from enpire.environment import Task
from enpire.errors import PackError
from enpire.packs import find, load_robot, load_world
from enpire.packs.menagerie import VARIABLE, of_pack
from enpire.packs.models import require_files_of
from enpire.twin import bench_top, compose, composition, servos, unused_options
from tests.environment.reach import Reach
from tests.inputs.entry import REFUSED, TAKEN, TOLD, Input, changed

DYNAMICS = """
robot = "so101"
[[parameters]]
name = "arm/joint1/kp"
unit = "N m/rad"
value = 20.0
low = 18.0
high = 22.0
deviation = 0.05
log = true
correlation = [1.0]
"""
ROBOT, WORLD = find("robots", "so101").folder, find("sim", "bench").folder


def composed(world: Path, robot: Path) -> str:
    """A scene of these two packs with nothing on the bench."""
    packs = find("sim", str(world)), find("robots", str(robot))
    return repr(compose(load_world(packs[0]), load_robot(packs[1]), lambda spec: None))


def put(pack: Path, to: Path, file: str, old: str, new: str) -> Path:
    """A copy of a pack with another text in one place of a file."""
    copy = Path(shutil.copytree(pack, to))
    text = (copy / file).read_text("utf-8")
    (copy / file).write_text(changed(text, old, new), "utf-8")
    return copy


def robot(name: str, old: str, new: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: the SO-101's `robot.toml` with another text in one place."""

    def give(folder: Path) -> tuple[str, str]:
        return TAKEN, composed(WORLD, put(ROBOT, folder / "mine", "robot.toml", old, new))

    return Input(f"robot: {name}", give, words, ends)


def option(name: str, said: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: the bench with another `<option>`."""

    def give(folder: Path) -> tuple[str, str]:
        copy = put(WORLD, folder / "mine", "bench.xml", "<worldbody>", f"{said}<worldbody>")
        return TAKEN, composed(copy, ROBOT)

    return Input(f"world: {name}", give, words, ends)


def told_of(name: str, said: str, words: str, ends: str = TOLD) -> Input:
    """An entry: what is told of a bench with another `<option>`."""

    def give(folder: Path) -> tuple[str, str]:
        told: list[str] = []
        with patch.object(composition.LOG, "warning", lambda text, *args: told.append(text % args)):
            option(name, said, "").give(folder)
        return (TOLD if told else TAKEN), "; ".join(told)

    return Input(f"world of {name}", give, words, ends)


def known(
    name: str, old: str, new: str, words: str, ends: str = TOLD, by: ModuleType = bench_top
) -> Input:
    """An entry: what is told, by a module, of a bench with another text in one place."""

    def give(folder: Path) -> tuple[str, str]:
        told: list[str] = []
        with patch.object(by.LOG, "warning", lambda text, *args: told.append(text % args)):
            bench(name, old, new, "").give(folder)
        return (TOLD if told else TAKEN), "; ".join(told)

    return Input(f"world: {name}", give, words, ends)


def slab(name: str, height: float, more: str, words: str, ends: str = TOLD) -> Input:
    """An entry: what is told of a bench with a slab above it."""
    geom = f'<geom name="upper" type="box" size="0.6 0.75 0.01" pos="0.3 0 {height}" {more}/>'
    return known(name, "<camera", f"{geom}<camera", words, ends)


def bench(name: str, old: str, new: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: the bench with another text in one place."""

    def give(folder: Path) -> tuple[str, str]:
        return TAKEN, composed(put(WORLD, folder / "mine", "bench.xml", old, new), ROBOT)

    return Input(f"world: {name}", give, words, ends)


def identified(name: str, old: str, new: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a bench whose arm was identified, with another text in one place of it."""

    def give(folder: Path) -> tuple[str, str]:
        copy = put(WORLD, folder / "mine", "world.toml", "model", 'dynamics = "d.toml"\nmodel')
        (copy / "d.toml").write_text(changed(DYNAMICS, old, new))
        return TAKEN, composed(copy, ROBOT)

    return Input(f"dynamics: {name}", give, words, ends)


def menagerie(name: str, old: str, new: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: the UR5e's `menagerie.toml` with another text in one place."""

    def give(folder: Path) -> tuple[str, str]:
        copy = put(find("robots", "ur5e").folder, folder / "mine", "menagerie.toml", old, new)
        model = folder / "models" / "universal_robots_ur5e" / "ur5e.xml"
        model.parent.mkdir(parents=True)
        model.write_text("<mujoco/>")
        with patch.dict(os.environ, {VARIABLE: str(folder / "models")}):
            return TAKEN, repr(of_pack(copy, 6))

    return Input(f"menagerie: {name}", give, words, ends)


def scene(name: str, text: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: the scene of a task's pack, beside a mesh that Git LFS keeps elsewhere."""

    def give(folder: Path) -> tuple[str, str]:
        (folder / "part.obj").write_bytes(git_lfs.BEGINS + b"v1\noid sha256:0\nsize 9\n")
        (folder / "scene.xml").write_text(f"<mujoco>{text}</mujoco>")
        told: list[str] = []
        task = Reach()
        task.folder = folder
        with patch.object(
            unused_options.LOG, "warning", lambda text, *args: told.append(text % args)
        ):
            try:
                Task.build(task, mujoco.MjSpec())
            except ValueError as error:
                raise PackError(str(error)) from error
        return (TOLD if told else TAKEN), "; ".join(told)

    return Input(f"scene: {name}", give, words, ends)


def hinge(name: str, range_: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a task's hinge with a range, in the unit that MuJoCo takes it for by default."""

    def build(spec: mujoco.MjSpec) -> None:
        body = '<body name="door"><joint name="hinge" limited="true" range="{}"/><geom size="0.1"/>'
        text = f"<mujoco><worldbody>{body.format(range_)}</body></worldbody></mujoco>"
        spec.attach(
            mujoco.MjSpec.from_string(text), prefix="task_", frame=spec.worldbody.add_frame()
        )

    def give(_: Path) -> tuple[str, str]:
        told: list[str] = []
        with patch.object(composition.LOG, "warning", lambda text, *args: told.append(text % args)):
            made = compose(
                load_world(find("sim", "bench")), load_robot(find("robots", "so101")), build
            )
        return (TOLD if told else TAKEN), "; ".join(told) or repr(made)

    return Input(f"hinge: {name}", give, words, ends)


def elsewhere(name: str, where: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a mesh that a task's own code adds, of a file in a folder beside its pack's."""

    def give(folder: Path) -> tuple[str, str]:
        (folder / "pack").mkdir()
        path = folder / where
        path.write_text(
            "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
        )

        def build(spec: mujoco.MjSpec) -> None:
            spec.add_mesh(name="m", file=str(path))
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m")

        world, robot_ = load_world(find("sim", "bench")), load_robot(find("robots", "so101"))
        made = compose(world, robot_, build)
        require_files_of(made.model, folder / "pack", [world.model, *robot_.models])
        return TAKEN, repr(made)

    return Input(name, give, words, ends)


def arm(name: str, old: str, new: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: the SO-101's model with another text in one place, and what is told of it."""

    def give(folder: Path) -> tuple[str, str]:
        told: list[str] = []
        with patch.object(servos.LOG, "warning", lambda text, *args: told.append(text % args)):
            made = composed(WORLD, put(ROBOT, folder / "mine", "arm.xml", old, new))
        return (TOLD if told else TAKEN), "; ".join(told) or made

    return Input(f"arm: {name}", give, words, ends)


OFF, ON = '<flag contact="disable"/>', '<flag override="enable"/>'
FRONT = 'pos="1.30 0 0.62" xyaxes="0 1 0 -0.466 0 0.885"'
LOW = 'pos="1.30 0 -0.1" xyaxes="0 1 0 0.3 0 0.95"'
WALL = '<geom name="wall" type="box" size="0.01 2 2" pos="1.2 0 1"/>'
CUBE = '<body pos="0.3 0 1"><freejoint/><geom size="0.02" mass="{}"/></body>'
GRANITE = '<body name="stand" pos="0 3 0"><geom type="box" size="1 1 1" mass="9000"/></body>'
GLASS = WALL.replace("/>", ' rgba="1 1 1 0.2"/>')
HOUSING = '<geom type="box" size="0.03 0.03 0.03" pos="1.3 0 0.62"/>'
CAMERA = 'fovy="45"/>\n    <camera name="side"'
OPEN = "[-0.17453, 1.74533]"
KP, VALUE = "kp = [0.85, 1.15]", "value = 20.0"
TOP, BARE = 'friction="0.8 ', 'contype="0" conaffinity="0"'
PLACE = 'pos="0.30 0 -0.02"'
THING = "<camera"
OTHER = 'contype="2" conaffinity="4"'
GAIN, FORCE = 'kp="22.1"', 'forcerange="-2.94 2.94"'
ALL = (
    arm("as it should be", GAIN, GAIN, "Scene", TAKEN),
    arm("a kp for a degree", GAIN, 'kp="0.386"', "a kp of 0.386 N m/rad at most, and its", TOLD),
    arm("a kp of a stiffer one", GAIN, 'kp="998"', "Scene", TAKEN),
    arm("no kp", GAIN, 'kp="0"', "arm's servo of arm_joint1 moves nothing: its kp or its gear"),
    arm("no gear", GAIN, f'{GAIN} gear="0"', "arm's servo of arm_joint1 moves nothing"),
    arm("N mm for N m", FORCE, 'forcerange="-2940 2940"', "turn it by 2.94e.03 N m at most", TOLD),
    arm("kN m for N m", FORCE, 'forcerange="-.00294 .00294"', "is forcerange in N m", TOLD),
    arm("no NaN", GAIN, 'kp="nan"', "arm.xml: kp of position is 'nan': nan is no number"),
    arm(
        "inertia in kg mm^2",
        "8.38e-5 8.10e-5 2.40e-5",
        "83.8 81.0 24.0",
        "arm_link1 has an inertia of 83.8 kg m.2 and 0.1 kg, as if it were 28.9 m wide",
    ),
    option("as it should be", "", "Scene", TAKEN),
    option("gravity as people say it", '<option gravity="0 0 9.81"/>', "gravity is 0 0 9.81: on"),
    option("gravity along y", '<option gravity="0 -9.81 0"/>', "gravity is 0 -9.81 0: on"),
    option("no gravity", '<option gravity="0 0 0"/>', "0 0 -9.81"),
    option("gravity in mm", '<option gravity="0 0 -9810"/>', "gravity is 0 0 -9810"),
    option("a bench a little askew", '<option gravity="0.1 0 -9.81"/>', "Scene", TAKEN),
    option("gravity of the Moon", '<option gravity="0 0 -1.62"/>', "Scene", TAKEN),
    option("a time step in ms", '<option timestep="2"/>', "timestep is 2 s: at most 0.02 s, no ms"),
    option("no time step", '<option timestep="0"/>', "positive timestep"),
    option("a time step of a nanosecond", '<option timestep="1e-9"/>', "and at least 1e-05 s"),
    option("no iterations", '<option iterations="0"/>', "iterations is 0: without any"),
    *(
        option(
            f"no {name}, by its flag",
            f'<option><flag {name}="disable"/></option>',
            f"there is {name}",
        )
        for name in (
            "contact",
            "gravity",
            "constraint",
            "actuation",
            "frictionloss",
            "limit",
            "equality",
        )
    ),
    option("no warm start", '<option><flag warmstart="disable"/></option>', "Scene", TAKEN),
    bench("a lens that sees behind itself", CAMERA, CAMERA.replace("45", "179"), "170 at most"),
    told_of(
        "wind of a storm", '<option wind="40 0 0"/>', "wind .m/s. of 40: a bench stands in air"
    ),
    told_of("honey", '<option viscosity="10"/>', "viscosity .Pa s. of 10: a bench"),
    told_of("water", '<option density="1000"/>', "density .kg/m.3. of 1000: a bench"),
    told_of(
        "contacts alike", f"<option>{ON}</option>", "has all contacts alike, whatever geoms say"
    ),
    told_of("air", '<option density="1.2" viscosity="2e-5"/>', "^$", TAKEN),
    bench("a camera of no name", '<camera name="side"', "<camera", "0.5 m has no name"),
    bench("a thing in grams", "<camera", f"{CUBE.format(250)}<camera", "mass of 250 kg: 100 at"),
    known("a thing of 50 kg", THING, CUBE.format(50) + THING, "50 kg in 64 cm.3", by=composition),
    known("a thing of lead", THING, CUBE.format(0.7) + THING, "^$", TAKEN, by=composition),
    bench("a mass of NaN", THING, CUBE.format("nan") + THING, "bench.xml: mass of geom is 'nan'"),
    bench("a mass in hex", THING, CUBE.format("0x1") + THING, "mass of geom is '0x1': 0x1 is no"),
    bench("a place at infinity", PLACE, 'pos="0 -inf 0"', "pos of geom bench is '0 -inf 0': -inf"),
    bench("half a number", PLACE, 'pos="0 0 NaN"', "pos of geom bench is '0 0 NaN'"),
    bench("a mark called nan", THING, f'<site name="nan"/>{THING}', "Scene", TAKEN),
    bench("a block of granite", "<camera", f"{GRANITE}<camera", "Scene", TAKEN),
    bench("a thing in kg", "<camera", f"{CUBE.format(0.25)}<camera", "Scene", TAKEN),
    option("gravity in g", '<option gravity="0 0 -1"/>', "gravity is 0 0 -1: on a bench"),
    option("a solver that does nothing", '<option tolerance="1000"/>', "tolerance is at most"),
    option("friction without contacts", '<option impratio="0"/>', "impratio above 0"),
    option("arms that nothing moves", '<option actuatorgroupdisable="0"/>', "and 1 .by bits"),
    option("an integrator that is none", '<option integrator="euler2"/>', "invalid keyword"),
    bench(
        "a lens in rad", CAMERA, 'fovy="0.8"/>\n    <camera name="side"', "a fovy of 0.8: .* no rad"
    ),
    bench(
        "a camera in cm", 'pos="1.30 0 0.62"', 'pos="130 0 62"', "camera front is at 130, 0, 62 m"
    ),
    bench("a camera below the bench", FRONT, 'pos="0.35 0 -0.6" zaxis="0 0 -1"', "bench_edge"),
    bench("a camera within the bench", FRONT, 'pos="0.35 0 -0.02" zaxis="0 0 -1"', "bench stands"),
    bench("a camera that looks away", FRONT, 'pos="1.30 0 0.62" zaxis="-1 0 0"', "looks elsewhere"),
    bench("a camera that looks up", FRONT, 'pos="1.30 0 0.62" zaxis="0 0 -1"', "looks elsewhere"),
    bench("a camera that looks up a little", "-0.466 0 0.885", "0.6 0 0.8", "it looks elsewhere"),
    bench("a camera below, beside the bench", FRONT, LOW, "Scene", TAKEN),
    bench("a camera behind a wall", "<camera", f"{WALL}<camera", "wall stands between"),
    bench("a camera behind glass", "<camera", f"{GLASS}<camera", "Scene", TAKEN),
    bench("a camera in its housing", "<camera", f"{HOUSING}<camera", "Scene", TAKEN),
    bench("a camera upside down", "0 1 0 -0.466 0 0.885", "0 -1 0 0.466 0 -0.885", "Scene", TAKEN),
    bench(
        "friction in per cent", 'friction="0.8', 'friction="80', "bench has a friction of 80: 10 at"
    ),
    bench("a contact in ms", TOP, f'solref="20 1" {TOP}', "geom_solref of bench is 20 1: a ti"),
    bench("a contact of two senses", TOP, f'solref="-1000 1" {TOP}', "is -1000 1: .* none of them"),
    bench("a contact by stiffness", TOP, f'solref="-10000 -100" {TOP}', "Scene", TAKEN),
    bench("a contact in per cent", TOP, f'solimp="95 99" {TOP}', "with 95 99: shares of 1, no per"),
    bench("a bench without contacts", TOP, f"{BARE} {TOP}", "give geom bench a contype and a con"),
    bench("a bench of other contacts", TOP, f"{OTHER} {TOP}", "touches anything, and things fall"),
    bench("a bench that others touch", TOP, f'contype="0" {TOP}', "Scene", TAKEN),
    slab("a second bench above the first", 0.1, "", "geom upper lies at z = 0.11 m below 100% of"),
    slab("a bench that is too high", 0.02, "", "geom upper lies at z = 0.03 m below 100% of"),
    known("a bench that is lower", PLACE, 'pos="0.30 0 -0.32"', "lies at z = -0.3 m"),
    known("a bench in mm", PLACE, 'pos="0.30 0 -20"', "lies at z = -20 m below 1"),
    known("a bench that slopes", TOP, f'euler="0 0.3 0" {TOP}', "lies at z = .* at another height"),
    known("a bench as a cushion", TOP, f'solref="0.5 1" {TOP}', "geom bench is soft, by its solr"),
    known("a bench from half a metre", TOP, f'margin="0.5" {TOP}', "pushes from 0.5 m away"),
    slab("a picture of a bench above it", 0.1, BARE, "^$", TAKEN),
    hinge("as it should be", "0 90", "Scene", TAKEN),
    hinge("whose range is in rad", "0 1.57", "task_hinge goes from 0 to 0.0274 rad: is its", TOLD),
    hinge("of many turns", "0 5000", "task_hinge goes from 0 to 87.3 rad: is its range", TOLD),
    elsewhere(
        "a mesh that a task's code adds from elsewhere", "m.obj", "lies in none of its packs"
    ),
    elsewhere("a mesh that a task's code adds", "pack/m.obj", "Scene", TAKEN),
    robot("an opening for a closing", OPEN, "[1.74533, -0.17453]", "0.12 m apart, .*exchange the"),
    robot("an opening in part", OPEN, "[-0.17453, 1.0]", "Scene", TAKEN),
    bench(
        "friction below nought", 'friction="0.8', 'friction="-0.8', "geom_friction of bench is b"
    ),
    bench(
        "in mm", 'size="0.60 0.75 0.02" pos', 'size="600 750 20" pos', "geom bench reaches 961 m"
    ),
    robot("a model elsewhere", '"arm.xml"', '"../mine/../arm.xml"', "is not in the pack: a file"),
    robot("a model at an absolute path", '"arm.xml"', f'"{ROBOT}/arm.xml"', "is not in the pack"),
    robot("a model with a detour", '"arm.xml"', '"../mine/arm.xml"', "Scene", TAKEN),
    robot("a home in quotes", "home = [", 'home = "0" # [', "home must be numbers"),
    bench(
        "a picture elsewhere",
        "<asset>",
        '<asset><texture type="2d" name="x" file="/x.png"/>',
        "texture /x.png leads out of the pack",
    ),
    bench(
        "a mesh above",
        "<asset>",
        '<asset><mesh name="x" file="../x.obj"/>',
        "mesh ../x.obj leads out",
    ),
    bench(
        "meshes of a folder above",
        "<worldbody>",
        '<compiler meshdir="../m"/><asset><mesh name="x" file="x.obj"/></asset><worldbody>',
        "leads out of the pack",
    ),
    bench(
        "a part of another's",
        "<worldbody>",
        '<include file="../b/b.xml"/><worldbody>',
        "include ../b/b.xml leads out",
    ),
    robot("a turn x y z w", "[1.0, 0.0, 0.0, 0.0]", "[0.0, 0.0, 0.0, 1.0]", "at home its hand is"),
    robot("a base in centimetres", "position = [0.0,", "position = [9.0,", "outside the workspace"),
    robot(
        "a workspace of another arm", "workspace_low = [0.10", "workspace_low = [0.30", "outside"
    ),
    robot("factors in per cent", KP, "kp = [85, 115]", "no per cent and no parts of it"),
    robot("factors as plus and minus", KP, "kp = [0.1, 0.2]", "from 0.1 to 1, and from 1 to 10"),
    robot("factors beyond any", KP, "kp = [1e-9, 1e9]", "found 1e-09 and 1e.09"),
    robot("a factor of one", KP, "kp = [1.0, 1.0]", "Scene", TAKEN),
    identified("as it should be", "robot", "robot", "Scene", TAKEN),
    identified("of another robot", "so101", "yam", "are of yam, not of so101"),
    identified("of a joint too many", "joint1", "joint9", "has a parameter arm/joint9/kp"),
    identified("a misspelt key", "deviation", "deviaton", "do you mean deviation"),
    identified("a key of another", "log = true", "log = true\nmean = 3", "mean means nothing"),
    identified("a flag in quotes", "log = true", 'log = "true"', "expected bool"),
    identified("a value in quotes", VALUE, 'value = "20"', "must be a number"),
    identified("a value below nought", VALUE, "value = -20.0", "numbers from 0 up"),
    identified("a value outside its interval", VALUE, "value = 200.0", "not from its low to its h"),
    identified("an interval upside down", "low = 18.0", "low = 28.0", "not from its low to its hi"),
    identified("another unit", "N m/rad", "N m/deg", "in N m/deg: N m/rad is its unit"),
    identified("a deviation of the value", "deviation = 0.05", "deviation = 5.0", "its logarithm"),
    identified("no correlation", "[1.0]", "[2.0]", "no correlation matrix"),
    scene("as it should be", "", "", TAKEN),
    scene(
        "a mesh that is a pointer",
        '<asset><mesh name="part" file="part.obj"/></asset>'
        '<worldbody><geom type="mesh" mesh="part"/></worldbody>',
        "part.obj is a pointer of Git LFS.*git lfs pull",
    ),
    scene("its own gravity", '<option gravity="0 0 -1.62"/>', "gravity of .* is not used", TOLD),
    scene("its own integrator", '<option integrator="RK4"/>', "integrator of 1 is not used", TOLD),
    scene("its own wind", '<option wind="3 0 0"/>', "wind of .* is not used", TOLD),
    scene(
        "its own contacts", f"<option>{OFF}</option>", 'flag contact="disable" is not used', TOLD
    ),
    scene("a flag of its own", f"<option>{ON}</option>", 'override="enable" is not used', TOLD),
    scene("what all have", '<option solver="Newton" density="0"/>', "^$", TAKEN),
    scene("its own time step", '<option timestep="0.01"/>', "timestep of 0.01 is not used", TOLD),
    menagerie("as it should be", "model", "model", "Menagerie", TAKEN),
    menagerie("a misspelt key", "flange =", "flang =", "do you mean flange"),
    menagerie("a joint twice", '"shoulder_pan_joint"', '"elbow_joint"', "a name twice"),
    menagerie("a joint too few", '"shoulder_pan_joint", ', "", "joints are 5, the arm has 6"),
    menagerie("a turn of length 2", "base = [0.70710678", "base = [1.8", "has length 1.9"),
    menagerie("a place in mm", "[0.0, 0.1, 0.0]", "[0.0, 100, 0.0]", "within 10 m, no mm"),
)
