"""`enpire import lerobot`: a LeRobot dataset as a run of demonstrations."""

from __future__ import annotations

import argparse
import shutil
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser, add_start, task_asked
from enpire.errors import UsageError
from enpire.option_values import more_than_zero, natural
from enpire.packs.finder import AT_JOINTS, GYM, sets_joints
from enpire.session.graphics import choose_graphics
from enpire.session.progress_bar import counted, progress_bar

if TYPE_CHECKING:
    from enpire.datasets import ArmModel, Shown, TaskInterface

DESCRIPTION = """\
Make a run of the episodes of a LeRobot dataset, as demonstrations of a task of ours that shows and
is acted on alike. Every value is looked at first: names, rate, range, units and success have to be
the task's, or an option says so. A dataset as lerobot-record makes it, of an arm's joint positions
and those of its leader, is converted; with --images, for policies that see. A loop begins with them
by --demonstrations-of RUN."""

BATCH = 32  # episodes that are recorded at a time
HELD_EPISODES = 2  # in which what is sent to a place is seen to go there
AGAIN = 4  # stations on which episodes are carried out again


def add_options(parser: Parser) -> None:
    """The options of `enpire import lerobot`."""
    parser.add_argument("dataset", type=Path, metavar="DIR", help="folder of the dataset")
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the new run")
    parser.add_argument(
        "--task",
        required=True,
        metavar="NAME",
        help="task that the episodes demonstrate, or gym:ENV_ID",
    )
    add_start(parser)
    parser.add_argument(
        "--python",
        default="",
        metavar="PATH",
        help="gym:ENV_ID: run the environment with this interpreter, VENV/bin/python",
    )
    parser.add_argument(
        "--images",
        type=natural,
        default=0,
        metavar="N",
        help="width and height to which pictures are brought, for policies that see by "
        "cameras [px]; 0: none are taken (default 0)",
    )
    parser.add_argument(
        "--world", default="", metavar="NAME", help="world pack to use in place of the task's"
    )
    meaning = parser.add_argument_group("what the dataset does not say")
    meaning.add_argument(
        "--accept-names",
        action="store_true",
        help="take entries as the task's, in its order, whatever the dataset calls them",
    )
    meaning.add_argument(
        "--by-name", action="store_true", help="put entries in the task's order by their names"
    )
    meaning.add_argument(
        "--rename",
        type=_renamed,
        default={},
        metavar="THEIRS=OURS,...",
        help="rename entries and cameras from the dataset's names to the task's, and put "
        "entries in order by name; COLUMN:THEIRS=OURS renames in one column alone",
    )
    meaning.add_argument(
        "--fps",
        type=more_than_zero,
        default=0.0,
        metavar="HZ",
        help="frames a second, whatever the dataset says; only joint positions are resampled",
    )
    meaning.add_argument(
        "--success-column",
        dest="success",
        default="",
        metavar="NAME",
        help="column that says whether an episode was a success; `all`: each of them was "
        "(default `success` or `next.success`)",
    )
    meaning.add_argument(
        "--clip", action="store_true", help="take actions beyond [-1, 1] as full ones"
    )
    meaning.add_argument(
        "--accept-motion",
        action="store_true",
        help="accept actions that move what is seen the other way than the task's do",
    )
    units = meaning.add_mutually_exclusive_group()
    units.add_argument(
        "--degrees", action="store_true", help="read joint positions as degrees (use_degrees)"
    )
    units.add_argument(
        "--calibration",
        default="",
        metavar="FILE",
        help="read joint positions as -100 to 100, by the file that lerobot-calibrate wrote "
        "for the arm",
    )


def run(options: Namespace) -> int:
    """Make it."""
    choose_graphics()
    from itertools import batched

    from enpire.datasets import Allowed, demonstrations
    from enpire.environment.core.policy_cameras import require_size
    from enpire.store import Run
    from enpire.version import __version__

    if options.accept_names and options.by_name:
        raise UsageError("--accept-names takes entries as they stand: without --by-name")
    require_size(options.images)
    task = task_asked(options)
    if (options.images or options.world) and task.startswith(GYM):
        raise UsageError(f"--images and --world are for a task pack, and {task} is none")
    allowed = Allowed(**{each.name: getattr(options, each.name) for each in fields(Allowed)})
    wanted = _wanted(task, options.python, options.world)
    arms, shown = _station(task, options.world, options.images)
    if arms is not None:
        wanted = replace(wanted, motors=arms.axes.keys)
    with progress_bar("reading the dataset"):
        found = demonstrations(options.dataset, wanted, allowed, arms, shown)
    said = {"task": task, "from": str(options.dataset.resolve()), "assumed": list(found.said)}
    config = {"enpire": __version__, "import": said}
    with _all_or_nothing(options.run), Run.create(options.run, config) as made:
        batches = list(batched(found.episodes, BATCH))
        for some in counted(batches, f"batches of {BATCH} episodes"):
            made.add_episodes(some)
        made.ledger.set_facts({"state": "imported"})
    good = sum(episode.success for episode in found.episodes)
    print(
        f"{options.run}: {len(found.episodes)} demonstrations of {wanted.task}, {good} of them "
        f"successes ({'; '.join(found.said)})"
    )
    return 0


def _wanted(task: str, python: str, world: str) -> TaskInterface:
    """What a task shows and is acted on by, with its starts."""
    from enpire.datasets import (
        LONG,
        TaskInterface,
        again,
        demonstrated,
        first_seen,
        moved_by,
        own_demonstrations,
        random_motion,
    )
    from enpire.environment import Order, open_stations
    from enpire.environment.core.station_backend import Tasked, grippers, instruction

    order = Order(task, python=python, world=world)
    stations = open_stations(order, 1)
    try:
        starts = first_seen(stations)
        joints = sets_joints(stations.name)  # they are held against how arms follow, for that
        random = [] if joints else random_motion(stations)
        moves, gains = moved_by(stations, random)
        grip = () if joints else grippers(stations)
        held = [] if joints else random_motion(stations, HELD_EPISODES, LONG)
    finally:
        if close := getattr(stations, "close", None):  # an environment's workers
            close()
    # What an export calls them, too: neither an action nor an environment has names of its own.
    seen = tuple(f"observation_{i}" for i in range(stations.observation_size))
    robot, words = "", ""
    if isinstance(stations, Tasked) and not task.startswith(GYM):
        seen, robot = tuple(stations.task.observation_names), stations.task.robot
        words = instruction(stations)
    done = tuple(f"action_{i}" for i in range(stations.action_size))
    rate = 1.0 / stations.period
    return TaskInterface(
        stations.name,
        seen,
        done,
        rate,
        starts,
        moves,
        gains,
        robot,
        instruction=words,
        grippers=grip,
        demonstrated=lambda: demonstrated(stations),
        demonstrations=None
        if task.startswith(GYM)
        else cache(lambda: own_demonstrations(open_stations(order, AGAIN))),
        random=random,
        held=held,
        again=None
        if joints or task.startswith(GYM)
        else lambda episodes: again(open_stations(order, AGAIN), episodes),
    )


def _station(task: str, world: str, images: int) -> tuple[ArmModel | None, Shown | None]:
    """A task's arms, if its robot says what LeRobot calls their motors, and what policies see."""
    if task.startswith(GYM):
        return None, None
    from enpire.datasets import ArmModel, shown_of
    from enpire.environment import build_stations
    from enpire.environment.core.motors import Motors, axes_of

    stations = build_stations(task, 1, 1, world=world)
    shown = shown_of(stations, images) if images else None
    motors = Motors.of(stations.task)
    if motors is not None:
        hands = build_stations(task.removesuffix(AT_JOINTS), 1, 1, world=world)
        return ArmModel(hands, motors.axes, motors), shown
    axes = axes_of(stations.twin.scene.robot)
    return (None if axes is None else ArmModel(stations, axes)), shown


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[None]:
    """A new folder is whole after it, or as if nobody had begun."""
    there = folder.exists()
    mine = not there or (folder.is_dir() and not any(folder.iterdir()))
    try:
        yield
    except BaseException:
        if mine:
            shutil.rmtree(folder, ignore_errors=True)
            if there:
                folder.mkdir(exist_ok=True)
        raise


def _renamed(text: str) -> dict[str, str]:
    pairs = [part.split("=") for part in text.split(",")]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise argparse.ArgumentTypeError(f"{text!r}: write THEIRS=OURS, several with commas")
    names = [theirs.strip() for theirs, _ in pairs]
    if again := [name for name in names if names.count(name) > 1]:
        raise argparse.ArgumentTypeError(
            f"{again[0]!r} is renamed twice: write COLUMN:{again[0]}=OURS for a column of its own"
        )
    return {theirs.strip(): ours.strip() for theirs, ours in pairs}
