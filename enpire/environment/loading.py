"""From the name of a task to its stations."""

from __future__ import annotations

import inspect
import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from enpire.environment.cameras.domain_randomization import dresser, looks
from enpire.environment.cameras.twin_cameras import NoGraphics, TwinVerifierCameras
from enpire.environment.core.declared import nonsense
from enpire.environment.core.faults import where
from enpire.environment.core.joint_task import with_joint_actions
from enpire.environment.core.policy_cameras import TwinFrameCapture
from enpire.environment.core.station_backend import StationBackend
from enpire.environment.core.task import Task
from enpire.environment.resets.perturbation import Perturbation
from enpire.environment.stations.resets import ResetMode
from enpire.environment.stations.stations import Stations
from enpire.errors import PackError, UsageError, error_text
from enpire.packs import Pack, available, find, load_robot, load_world
from enpire.packs.finder import AT_JOINTS, AT_START, FROM_START, GYM, sets_joints
from enpire.packs.modules import PREFIX, import_of_pack
from enpire.packs.signing import require_answered

LOG = logging.getLogger(__name__)
MOST_STATIONS = 4096  # of one machine
UNEVEN = 1e-3  # share by which a control period may be off its time steps
SENSORS, CAMERAS = "sensors", "cameras"  # what verdicts are come by with


def build_stations(
    task: str,
    stations: int,
    threads: int = 0,
    reset: ResetMode = ResetMode.FAST,
    verify: str = SENSORS,
    images: int = 0,
    world: str = "",
    vary_looks: bool = False,
    perturbation: Perturbation | None = None,
) -> Stations:
    """Stations of the task called `task`, with the robot and the world that it names.

    verify: by `sensors`, or by `cameras`. Where the task cannot be, or this machine has no OpenGL,
    it is by sensors all the same, and `verified_by` says so. images: size of the pictures that
    policies see [px]; 0: none, they see what the tracker says. world: another than the task's.
    vary_looks: in these pictures light, colours and cameras are each episode's own. perturbation: a
    change to every episode, on top of what it draws.

    Raises:
        NoGraphics: there are to be pictures, and this machine cannot render.
        UsageError: no such pack, fewer than one station, no skills for a physical reset, or looks
            that are to vary where nobody sees them.
        PackError: a pack does not parse, lacks something, or does not compile.
    """
    if stations < 1:
        raise UsageError(f"{stations} stations cannot run anything: at least 1")
    if threads < 0:
        raise UsageError(f"{threads} threads are none: 0 for one a processor")
    if vary_looks and not images:
        raise UsageError("--vary-looks is of the pictures that policies see: --images 64 with it")
    pack = find("tasks", task)
    loaded = load_task(pack)
    if reset is ResetMode.PHYSICAL and not loaded.target_names:
        raise UsageError(
            f"{pack.name} has no skills for a physical reset; tasks that have: "
            f"{', '.join(name for name in available('tasks') if _restores(name)) or 'none'}"
        )
    robot, bench = find("robots", loaded.robot), find("sim", world or loaded.world)
    arms = load_robot(robot)
    seals = {f"{p.kind}/{p.name}": p.sha256 for p in (pack, robot, bench)}
    made = Stations(
        loaded,
        load_world(bench),
        arms,
        stations,
        threads,
        seals | {f"{robot.kind}/{robot.name}": arms.sha256},
        reset,
        perturbation,
    )
    _say_uneven(made)
    changed = None if perturbation is None else perturbation.looks
    if verify == CAMERAS and loaded.verifies_views:
        with suppress(NoGraphics):
            made.verifier_cameras = TwinVerifierCameras(made.twin, dresser(changed))
    if images:
        made.frame_capture = TwinFrameCapture(
            loaded, made.sensors, images, changed or (looks if vary_looks else None)
        )
    return made


def _say_uneven(stations: Stations) -> None:
    """Say so where a control period is no whole number of the scene's time steps."""
    took = stations.substeps * stations.twin.model.opt.timestep
    if abs(took - stations.period) > UNEVEN * stations.period:
        LOG.warning(
            "%s acts %.4g times a second: its control period of %.4g s is no whole number of its "
            "world's time steps, and takes %.4g s",
            *(stations.name, 1 / stations.period, stations.period, took),
        )


@dataclass(frozen=True, slots=True)
class Order:
    """Stations that are asked for, wherever they are to be."""

    task: str  # a pack, or the Gymnasium environment `gym:ID`
    python: str = ""  # interpreter of that environment's own workers
    success: str = ""  # what makes an episode of it one; see `SuccessRule`
    reset: ResetMode = ResetMode.FAST
    # verify, images, world, vary_looks: as in `build_stations`; such an environment judges by
    # itself, in no world
    verify: str = SENSORS
    images: int = 0
    world: str = ""
    vary_looks: bool = False
    demonstrator: str = ""  # a file that shows how it is done there (`gym_worker.making.script_of`)


def open_stations(order: Order, stations: int, threads: int = 0) -> StationBackend:
    """So many of them, on this machine; raises as `build_stations`."""
    task = order.task
    if task.startswith(GYM) and task.endswith(AT_START):
        raise UsageError(
            f"--begin start is for a task pack; {task.removesuffix(AT_START)} has one start"
        )
    if task.startswith(GYM) and sets_joints(task):
        raise UsageError(
            f"{AT_JOINTS} is for a task pack; {task.removesuffix(AT_JOINTS)} has its own actions"
        )
    if task.startswith(GYM) and order.reset is ResetMode.PHYSICAL:
        raise UsageError(f"--reset {order.reset} is for a task pack; {task} resets itself")
    if task.startswith(GYM) and (order.images or order.vary_looks):
        option = "--images" if order.images else "--vary-looks"
        raise UsageError(f"{option} is for a task pack; {task} shows what it shows")
    if task.startswith(GYM) and order.verify == CAMERAS:
        raise UsageError(f"--verify cameras is for a task pack; {task} judges by itself")
    if stations > MOST_STATIONS:
        raise UsageError(
            f"{stations} stations are more than a machine runs: {MOST_STATIONS} at most"
        )
    if not task.startswith(GYM):
        if order.python or order.success:
            raise UsageError(f"--python and --success are for {GYM}ENV_ID; {task} is a task pack")
        if order.demonstrator:
            raise UsageError(
                f"--demonstrator is for {GYM}ENV_ID; {task} is a task pack, whose task.py has one"
            )
        return build_stations(
            task,
            stations,
            threads,
            order.reset,
            order.verify,
            order.images,
            order.world,
            order.vary_looks,
        )
    if order.world:
        raise UsageError(f"--world is for a task pack; {task} is a world of its own")
    if stations < 1:
        raise UsageError(f"{stations} stations cannot run anything: at least 1")
    from enpire.environment.gym_bridge.gym_stations import GymStations  # Gymnasium only where used

    return GymStations(task, stations, order.python, order.success, order.demonstrator)


def _restores(name: str) -> bool:
    """Whether the task called so has skills for a physical reset."""
    try:
        return bool(load_task(find("tasks", name)).target_names)
    except PackError:
        return False


def load_task(pack: Pack) -> Task:
    """Import `task.py` of a pack, or its `from_start.py`, and make the task there.

    Under a name that ends in `@joints` it is the same task with joint actions.

    The pack's folder becomes a private package named after its hash, so its modules import one
    another relatively (`from .strap import ...`) and two versions never mix.

    Raises:
        PackError: with file and line, when the module does not import, holds no task or several, or
            when the task lacks a method or an attribute; or an agent drafted the pack, and nobody
            answers for it.
    """
    require_answered(pack)
    whole = pack.name.removesuffix(AT_JOINTS).endswith(AT_START)
    path = pack.folder / (FROM_START if whole else "task.py")
    module = _import(pack, path)
    found = [
        item
        for item in vars(module).values()
        if inspect.isclass(item)
        and issubclass(item, Task)
        and item is not Task
        and item.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise PackError(
            f"{path}: one subclass of enpire.environment.Task expected, {len(found)} found"
        )
    cls = found[0]
    try:
        line = inspect.getsourcelines(cls)[1]
    except (OSError, SyntaxError) as error:  # compiled all the same, from bytes in a comment
        raise PackError(f"{path} cannot be read as UTF-8: save it so") from error
    missing = sorted(cls.__abstractmethods__)
    required = set(Task.__annotations__) - set(vars(Task))
    missing += sorted(name for name in required if not hasattr(cls, name))
    if missing:
        raise PackError(f"{path}:{line}: {cls.__name__} lacks {', '.join(missing)}")
    if wrong := nonsense(cls):
        raise PackError(f"{path}:{line}: {cls.__name__}: {wrong}")
    if sets_joints(pack.name):
        cls = with_joint_actions(cls, load_robot(find("robots", cls.robot)))
    try:
        task = cls(pack.folder)
        if not hasattr(task, "folder"):
            raise TypeError("its __init__ does not call that of Task")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PackError(
            f"{where(error, pack.folder)}: {cls.__name__}(folder) does not come about: "
            f"{error_text(error)}"
        ) from error
    task.name = pack.name
    return task


def _import(pack: Pack, path: Path) -> ModuleType:
    package = f"{PREFIX}{pack.folder.name}_{pack.sha256[:12]}"
    try:
        return import_of_pack(package, path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit, too: it would end the command without a word
        raise PackError(f"{where(error, pack.folder)}: {error_text(error)}") from error
