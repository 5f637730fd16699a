"""Puts a station's MuJoCo model together from a world, a robot and a task's objects."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import mujoco
import numpy as np

from enpire import git_lfs
from enpire.errors import PackError
from enpire.packs import Arm, Robot, World
from enpire.packs.models import require_own_files
from enpire.twin import dynamics, objects
from enpire.twin.arms import attach, require_reachable
from enpire.twin.bench_top import require_bench_top
from enpire.twin.scene import ArmIndex, IntArray, Scene
from enpire.twin.servos import require_servos
from enpire.twin.sight import require_sight

LOG = logging.getLogger(__name__)
WEAKEST, STRONGEST = 1.5, 12.0  # gravity of a bench, the Moon's too [m/s^2]
FILES = 1000  # beside a model that are looked at
TILT = 0.5  # of it, along a bench that stands askew [m/s^2]
SHORTEST, LONGEST = 1e-5, 0.02  # a time step [s]
LOOSEST = 1e-3  # tolerance of a solver that still comes to contacts
AIR, WATER, BREEZE = 2.0, 1e-3, 3.0  # density, viscosity, wind that no air on a bench has
NEEDED = tuple(
    getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
    for name in (
        *("CONTACT", "GRAVITY", "CONSTRAINT", "ACTUATION", "FRICTIONLOSS", "LIMIT", "SENSOR"),
        *("EQUALITY", "SPRING", "DAMPER"),
    )
)
LARGEST, LARGEST_LOOSE = 50.0, 5.0  # from the middle of a thing that stands, and that moves [m]
ROUGHEST = 10.0  # coefficient of sliding friction: soft rubber has 4 at most
NARROWEST, WIDEST = 5.0, 170.0  # that a camera sees [deg]; a lens of 400 mm sees more
HEAVIEST = 100.0  # part of what moves on a bench, arms among it [kg]
# Of a hinge whose ends are told: a whole range in rad that was read as degrees, and one in degrees
# that was read as rad.
LEAST_TURN, MOST_TURN = 0.06, 30.0  # [rad]
DENSEST = 25e3  # that anything is [kg/m^3]: osmium has 22.6e3
LINEAR = ("jnt_stiffness", "dof_damping")
FROM_NOUGHT_UP = (
    *("geom_friction", "pair_friction", "jnt_stiffness"),
    *("dof_damping", "dof_frictionloss", "dof_armature"),
)

CONSTRAINED = ("geom", "pair", "jnt", "dof", "eq")
SOLREFS = tuple(f"{each}_solref" for each in CONSTRAINED)
SOLIMPS = tuple(f"{each}_solimp" for each in CONSTRAINED)
SLOWEST = 1.0  # that a contact or another constraint gives way [s]; usual are 0.002 to 0.02


def compose(world: World, robot: Robot, build: Callable[[mujoco.MjSpec], None]) -> Scene:
    """Compile world + arms + objects into one model.

    Args:
        world: the bench with its cameras; its `<option>` holds for the whole model.
        robot: each arm is attached on its base with the prefix `<arm name>_`.
        build: adds the task's objects to the spec; may refer to the arms' elements.

    A world that was identified gives the arms the dynamics found there.

    Raises:
        PackError: MuJoCo does not compile the result; the message carries MuJoCo's own. It
            compiles, and a number in it is none; things do not fall down, or a time step is no
            small part of a second; a camera sees nothing of the workspace, or nothing below it is
            solid; a hand is outside its workspace when its arm is at home, or its gripper is open
            where it is to be closed. Or the world's dynamics are those of another robot.
    """
    try:
        spec = mujoco.MjSpec.from_file(str(world.model))
        for arm in robot.arms:
            require_reachable(arm)
            attach(spec, arm)
        build(spec)
        if world.dynamics is not None:
            dynamics.prepare(spec, robot, world.dynamics)
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        folders = {world.model.parent, *(arm.model.parent for arm in robot.arms)}
        beside = _pointers(*sorted(folders))
        raise PackError(
            f"the scene of {robot.name} in {world.name} does not compile: {error}{beside}"
        ) from error
    _require_finite(model, robot, world)
    _require_bench(model, world)
    _require_physical(model, robot, world)
    require_sight(model, robot, world)
    require_bench_top(model, robot, world)
    scene = Scene(model, tuple(_index(model, arm) for arm in robot.arms), robot, world)
    require_servos(model, robot, scene.arms)
    _require_hands_at_work(scene)
    _require_opening(scene)
    _tell_of_hinges(model, world)
    _tell_of_weight(model, world)
    if world.dynamics is not None:
        fitted = world.dynamics
        values = dict(zip(fitted.names, fitted.values, strict=True))
        dynamics.apply(scene, {n: v for n, v in values.items() if not _elsewhere(scene, n)})
    return scene


def read_scene(path: Path) -> mujoco.MjSpec:
    """The objects of a scene's file, to be attached.

    It is compiled by itself first: to attach it would leave out, without a word, what refers to
    something that is not there.

    Raises:
        ValueError: MuJoCo does not compile it.
        PackError: it names a file elsewhere.
    """
    require_own_files(path.parent)
    try:
        mujoco.MjSpec.from_file(str(path)).compile()
        return mujoco.MjSpec.from_file(str(path))
    except ValueError as error:
        raise ValueError(f"{error}{_pointers(path.parent)}") from error


def _pointers(*folders: Path) -> str:
    """Which files beside a model are pointers of Git LFS, for a message: MuJoCo cannot know."""
    files = (file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file())
    found = next((file for file in islice(files, FILES) if git_lfs.points(file)), None)
    return "" if found is None else f" ({found} {git_lfs.HINT})"


def _require_finite(model: mujoco.MjModel, robot: Robot, world: World) -> None:
    """MuJoCo warns of a number that is none, and compiles it all the same."""
    for of in (model, model.opt):
        for field in filter(lambda name: not name.startswith("_"), dir(of)):
            values = getattr(of, field)
            if isinstance(values, np.ndarray) and values.dtype.kind == "f":
                bad = np.argwhere(~np.isfinite(values))
                if len(bad):
                    raise PackError(
                        f"the scene of {robot.name} in {world.name} has a number that is none: "
                        f"{field} of {_row_name(model, field, int(bad[0][0]))} is "
                        f"{values[bad[0][0]]}"
                    )


def _require_bench(model: mujoco.MjModel, world: World) -> None:
    """A world's z points up, in m, and its steps are short enough for contacts."""
    x, y, z = model.opt.gravity
    if abs(x) > TILT or abs(y) > TILT or not WEAKEST <= -z <= STRONGEST:
        raise PackError(
            f"{world.model}: gravity is {x:g} {y:g} {z:g}: on a bench it is along -z, "
            f"{WEAKEST:g} to {STRONGEST:g} m/s^2, usually 0 0 -9.81"
        )
    if not SHORTEST <= model.opt.timestep <= LONGEST:
        raise PackError(
            f"{world.model}: timestep is {model.opt.timestep:g} s: at most {LONGEST:g} s, no ms, "
            f"and at least {SHORTEST:g} s"
        )
    if model.opt.iterations < 1:
        raise PackError(f"{world.model}: iterations is 0: without any, nothing is in contact")
    if model.opt.tolerance > LOOSEST or model.opt.impratio <= 0.0 or model.opt.disableactuator:
        raise PackError(
            f"{world.model}: tolerance is at most {LOOSEST:g}, impratio above 0, and "
            f"actuatorgroupdisable empty; found {model.opt.tolerance:g}, {model.opt.impratio:g} "
            f"and {model.opt.disableactuator:b} (by bits): contacts and arms need them so"
        )
    for name, value, most in (
        ("density [kg/m^3]", model.opt.density, AIR),
        ("viscosity [Pa s]", model.opt.viscosity, WATER),
        ("wind [m/s]", float(np.abs(model.opt.wind).max()), BREEZE),
    ):
        if value > most:
            LOG.warning("%s has a %s of %g: a bench stands in air", world.model, name, value)
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
        LOG.warning(
            '%s: <flag override="enable"/> has all contacts alike, whatever geoms say', world.model
        )
    off = [flag.name for flag in NEEDED if model.opt.disableflags & flag]
    if off:
        what = off[0].removeprefix("mjDSBL_").lower()
        raise PackError(f'{world.model}: <flag {what}="disable"/>: on a bench there is {what}')


def _require_physical(model: mujoco.MjModel, robot: Robot, world: World) -> None:
    """MuJoCo compiles what would speed up by friction, and things as large as houses."""
    where = f"the scene of {robot.name} in {world.name}"
    for field in FROM_NOUGHT_UP:
        values = getattr(model, field)
        if field in LINEAR and values.ndim == 2:  # the first of a polynomial
            values = values[:, 0]
        below = np.argwhere(values < 0.0)
        if len(below):
            raise PackError(
                f"{where}: {field} of {_row_name(model, field, int(below[0][0]))} is below nought"
            )
    rough = model.geom_friction[:, 0] > ROUGHEST
    if rough.any():
        geom = int(np.argmax(rough))
        raise PackError(
            f"{where}: geom {_row_name(model, 'geom_', geom)} "
            f"has a friction of {model.geom_friction[geom, 0]:g}: {ROUGHEST:g} at most, no per cent"
        )
    _require_constraints(model, where)
    plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    loose = model.body_weldid[model.geom_bodyid] != 0
    large = ~plane & (model.geom_rbound > np.where(loose, LARGEST_LOOSE, LARGEST))
    if large.any():
        geom = int(np.argmax(large))
        raise PackError(
            f"{where}: geom {_row_name(model, 'geom_', geom)} "
            f"reaches {model.geom_rbound[geom]:.3g} m from its middle: sizes and meshes are in m, "
            "no mm"
        )
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_camlight(model, data)
    for field, places in (("body", data.xpos), ("camera", data.cam_xpos)):
        away = np.abs(places).max(axis=1, initial=0.0) > LARGEST
        if away.any():
            row = int(np.argmax(away))
            raise PackError(
                f"{where}: {field} {_row_name(model, field, row)} is at "
                f"{', '.join(f'{x:g}' for x in places[row])} "
                f"m, beyond {LARGEST:g} m: places are in m, no mm"
            )
    heavy = (model.body_weldid != 0) & (model.body_mass > HEAVIEST)  # a bench may weigh a ton
    if heavy.any():
        body = int(np.argmax(heavy))
        raise PackError(
            f"{where}: body {_row_name(model, 'body', body)} has a mass of "
            f"{model.body_mass[body]:g} kg: {HEAVIEST:g} at most, and no grams"
        )
    orthographic = model.cam_projection == mujoco.mjtProjection.mjPROJ_ORTHOGRAPHIC
    wrong = ~orthographic & ((model.cam_fovy < NARROWEST) | (model.cam_fovy > WIDEST))
    if wrong.any():
        camera = int(np.argmax(wrong))
        raise PackError(
            f"{where}: camera {_row_name(model, 'camera', camera)} has a fovy of "
            f"{model.cam_fovy[camera]:g}: it is in degrees, no rad, {NARROWEST:g} at least and "
            f"{WIDEST:g} at most"
        )


def _tell_of_hinges(model: mujoco.MjModel, world: World) -> None:
    """MuJoCo reads ranges in degrees, unless a model's `<compiler angle="radian"/>` says other."""
    for i in np.flatnonzero(model.jnt_limited & (model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)):
        low, high = model.jnt_range[i]
        if high - low < LEAST_TURN or max(-low, high) > MOST_TURN:
            LOG.warning(
                "%s and what is on it: joint %s goes from %.3g to %.3g rad: is its range in the "
                "unit of its <compiler angle>?",
                *(world.model.name, model.joint(i).name or i, low, high),
            )


def _tell_of_weight(model: mujoco.MjModel, world: World) -> None:
    """Tell of a thing that is heavier than any is, in boxes around its geoms: grams as kg."""
    volume = np.zeros(model.nbody)
    boxes = 8.0 * model.geom_aabb[:, 3:].prod(axis=1)
    np.add.at(volume, model.body_rootid[model.geom_bodyid], boxes)
    for body in np.flatnonzero(model.body_rootid == np.arange(model.nbody)):
        mass = model.body_subtreemass[body]
        if model.body_weldid[body] and 0.0 < volume[body] < mass / DENSEST:
            LOG.warning(
                "%s and what is on it: body %s has %.3g kg in %.2g cm^3, and nothing is as dense: "
                "masses are in kg",
                *(world.model.name, model.body(body).name or body, mass, 1e6 * volume[body]),
            )


def _require_opening(scene: Scene) -> None:
    """An arm's pads are nearer to each other where its pack says closed than where it says open.

    Raises:
        PackError: they are not: the two ends are exchanged.
    """
    model, data = scene.model, mujoco.MjData(scene.model)
    for arm, of_pack in zip(scene.arms, scene.robot.arms, strict=True):
        pads = scene.finger_pads(arm)
        fingers = [pads[model.geom_bodyid[pads] == b] for b in np.unique(model.geom_bodyid[pads])]
        if len(fingers) != 2:
            continue
        apart = []
        for end in of_pack.gripper_range:
            for address, share in _moved_by(model, arm.gripper):
                data.qpos[address] = share * end
            mujoco.mj_kinematics(model, data)
            one, other = (data.geom_xpos[finger].mean(axis=0) for finger in fingers)
            apart.append(float(np.linalg.norm(one - other)))
        closed, opened = of_pack.gripper_range
        if apart[0] > apart[1]:
            raise PackError(
                f"robot {scene.robot.name}: {arm.name}'s gripper_range goes from {closed:g} "
                f"(closed), where its pads are {apart[0]:.2g} m apart, to {opened:g} (open), where "
                f"they are {apart[1]:.2g} m: exchange the two"
            )


def _moved_by(model: mujoco.MjModel, actuator: int) -> list[tuple[int, float]]:
    """Where an actuator's joints stand in qpos, and how far each goes for 1 of the actuator's."""
    target, gear = model.actuator_trnid[actuator, 0], model.actuator_gear[actuator, 0]
    if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT:
        return [(int(model.jnt_qposadr[target]), 1.0 / gear)]
    if model.actuator_trntype[actuator] != mujoco.mjtTrn.mjTRN_TENDON:
        return []
    first, count = model.tendon_adr[target], model.tendon_num[target]
    rows = slice(first, first + count)
    if (model.wrap_type[rows] != mujoco.mjtWrap.mjWRAP_JOINT).any():
        return []
    share = 1.0 / (gear * float(model.wrap_prm[rows].sum()))
    return [(int(model.jnt_qposadr[joint]), share) for joint in model.wrap_objid[rows]]


def _require_hands_at_work(scene: Scene) -> None:
    """Where an arm's base stands is only seen by where its hand comes to be."""
    data, limits = mujoco.MjData(scene.model), scene.robot.limits
    for arm, of_pack in zip(scene.arms, scene.robot.arms, strict=True):
        data.qpos[arm.qpos] = of_pack.home
    mujoco.mj_kinematics(scene.model, data)
    for arm in scene.arms:
        hand = data.site_xpos[arm.grasp]
        if not ((limits.workspace_low <= hand) & (hand <= limits.workspace_high)).all():
            raise PackError(
                f"robot {scene.robot.name}: with {arm.name} at home its hand is at "
                f"{', '.join(f'{at:.3g}' for at in hand)} m, outside the workspace from "
                f"{list(limits.workspace_low)} to {list(limits.workspace_high)}: look at position "
                "[m], quaternion (w x y z), home [rad] and workspace_low and _high [m]"
            )


def _require_constraints(model: mujoco.MjModel, where: str) -> None:
    """MuJoCo takes other numbers for a `solref` or a `solimp` that makes no sense."""
    for field in SOLREFS:
        values = getattr(model, field)
        odd = (values[:, 0] > SLOWEST) | ((values[:, 0] > 0.0) != (values[:, 1] > 0.0))
        if odd.any():
            row = int(np.argmax(odd))
            raise PackError(
                f"{where}: {field} of {_row_name(model, field, row)} is "
                f"{values[row, 0]:g} {values[row, 1]:g}: a time of {SLOWEST:g} s at most, no ms, "
                "and a ratio above 0; or none of them above 0"
            )
    for field in SOLIMPS:
        shares = getattr(model, field)[:, :2]
        odd = ((shares < 0.0) | (shares > 1.0)).any(axis=1)
        if odd.any():
            row = int(np.argmax(odd))
            raise PackError(
                f"{where}: {field} of {_row_name(model, field, row)} begins with "
                f"{shares[row, 0]:g} {shares[row, 1]:g}: shares of 1, no per cent"
            )


def _row_name(model: mujoco.MjModel, field: str, row: int) -> str:
    """What the element of a row is called, of an array as `body_pos`; else the row's number."""
    kind = field.partition("_")[0]
    find = {
        "body": model.body,
        "geom": model.geom,
        "site": model.site,
        "jnt": model.joint,
        "camera": model.camera,
    }.get(kind)
    return str(find(row).name or row) if find else str(row)


def _elsewhere(scene: Scene, name: str) -> bool:
    """Whether a parameter is of an object of another task's."""
    return name.rsplit("/", 1)[-1] in objects.KINDS and name not in objects.things(scene)


def _index(model: mujoco.MjModel, arm: Arm) -> ArmIndex:
    names = [f"{arm.name}_joint{i + 1}" for i in range(len(arm.home))]
    try:
        joints = np.array([model.joint(name).id for name in names])
        return ArmIndex(
            name=arm.name,
            joints=joints,
            qpos=model.jnt_qposadr[joints].astype(np.int64),
            dofs=model.jnt_dofadr[joints].astype(np.int64),
            actuators=np.array([model.actuator(name).id for name in names]),
            gripper=model.actuator(f"{arm.name}_gripper").id,
            grasp=model.site(f"{arm.name}_grasp").id,
            wrist=model.site(f"{arm.name}_wrist").id,
            force=_samples(model, f"{arm.name}_wrist_force", arm),
        )
    except KeyError as error:
        raise PackError(
            f"{arm.model}: an arm needs joint1.., gripper, grasp, wrist, wrist_force: {error}"
        ) from error


def _samples(model: mujoco.MjModel, name: str, arm: Arm) -> IntArray:
    sensor = model.sensor(name).id
    count = int(model.sensor_history[sensor, 0])
    if not count:
        raise PackError(
            f"{arm.model}: the sensor wrist_force needs nsample, the number of substeps that a "
            f"reading is the mean of"
        )
    # MuJoCo keeps two numbers of its own and the samples' times before the samples.
    first = int(model.sensor_historyadr[sensor]) + 2 + count
    return first + np.arange(3 * count, dtype=np.int64).reshape(count, 3)
