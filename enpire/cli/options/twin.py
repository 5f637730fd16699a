"""What `enpire twin fit`, `gap` and `explore` have in common: whose arms, and what was recorded."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser
from enpire.errors import UsageError

if TYPE_CHECKING:
    from enpire.identification.arms import ArmsModel, Handling
    from enpire.identification.recording import Recording


def add_arms(parser: Parser) -> None:
    """Options that say whose arms it is about."""
    parser.add_argument(
        "--robot",
        metavar="NAME",
        help="robot pack of the arms (default: that of the run, station or recordings)",
    )
    parser.add_argument(
        "--world",
        default="bench",
        metavar="NAME",
        help="world pack that the arms stand in (default bench)",
    )


def add_task(parser: Parser) -> None:
    """The option that says whose object is asked about besides."""
    parser.add_argument(
        "--task",
        metavar="NAME",
        help="task whose object is included, which the arm pushes and carries",
    )


def add_recordings(parser: Parser) -> None:
    """Options that say what was recorded."""
    parser.add_argument(
        "recordings",
        type=Path,
        nargs="*",
        metavar="FILE.npz",
        help="recordings of `twin explore`, flight records, or folders of them",
    )
    parser.add_argument("--run", type=Path, metavar="RUN", help="run whose episodes are used too")
    parser.add_argument(
        "--station",
        type=Path,
        metavar="STATION.toml",
        help="station whose flight records are used too",
    )


def recorded(options: Namespace) -> tuple[str, list[Recording]]:
    """The robot's name and its recordings; raises UsageError if there is none, or of two robots."""
    from enpire.identification import recording, runs
    from enpire.safety.station import load_station

    robots, found = {options.robot} - {None}, []
    paths = list(options.recordings)
    if options.run is not None:
        robot, episodes = runs.recordings(options.run)
        robots.add(robot)
        found += episodes
    if options.station is not None:
        station = load_station(options.station)
        robots.add(station.robot.name)
        paths.append(station.records)
    if not robots and paths and (said := recording.robot_of(paths[0])) is not None:
        robots.add(said)
    if len(robots) != 1:
        raise UsageError(
            f"of one robot, please: {', '.join(sorted(robots)) or 'give --robot NAME'}"
        )
    (robot,) = robots
    found += recording.read(paths, robot)
    if not found:
        raise UsageError("nothing recorded: give FILE.npz, --run RUN or --station STATION.toml")
    return robot, found


def arms_of(robot: str, world: str) -> ArmsModel:
    """The arms of a robot in a world, about all of whose parameters one may ask."""
    from enpire.identification.arms import ArmsModel, arms_alone
    from enpire.packs import find, load_robot, load_world
    from enpire.twin import dynamics

    scene = arms_alone(load_world(find("sim", world)), load_robot(find("robots", robot)))
    return ArmsModel(scene, tuple(dynamics.places(scene)))


def handling_of(task: str, world: str) -> Handling:
    """The arms that a task is for, and its object; raises PackError if it has not one of them."""
    from enpire.environment.loading import load_task
    from enpire.identification.arms import Handling, arms_alone, with_task
    from enpire.packs import find, load_robot, load_world

    loaded = load_task(find("tasks", task))
    bench, robot = load_world(find("sim", world)), load_robot(find("robots", loaded.robot))
    held = with_task(bench, robot, loaded.build)
    return Handling(arms_alone(bench, robot), held)
