"""`enpire twin explore`: look for the motion that tells most, and have it played."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser
from enpire.cli.options.twin import add_arms, add_task, arms_of, handling_of
from enpire.errors import UsageError
from enpire.option_values import more_than_zero, natural, positive, seed_number

if TYPE_CHECKING:
    from enpire.identification.arms import ArmsModel, Handling
    from enpire.identification.motion import ExcitationMotion
    from enpire.safety.client import StationClient
    from enpire.safety.launch import Supervision
    from enpire.safety.machine import Mode
    from enpire.safety.station import StationFile

DESCRIPTION = """\
Look for the motion within a robot's limits that tells most of its arms' parameters (after ASID),
and have it played: on the twin of --world, whose arms' sensors are then recorded (with --task they
push and carry its object too, which lies where the task's scene has it), or on a station
through its supervisor, whose flight record of it `enpire twin fit --station` reads. A station with
arms moves only with --confirm-motion and a check passed today; docs/safety.md."""

LONGEST = 27.0  # on a station: a flight record holds 30 s [s]
RATE = 100.0  # of setpoints on a twin [Hz]
PATIENCE_S = 120.0
SWING_S = 5.0  # in which arms come to a standstill
POLL_S = 0.02


def add_options(parser: Parser) -> None:
    """The options of `enpire twin explore`."""
    add_arms(parser)
    add_task(parser)
    parser.add_argument(
        "--seconds",
        type=more_than_zero,
        default=20.0,
        metavar="S",
        help="length of the motion [s] (default 20)",
    )
    parser.add_argument(
        "--evaluations",
        type=natural,
        default=300,
        metavar="N",
        help="motions to compare in the search; 0: take a random one (default 300)",
    )
    parser.add_argument(
        "--seed",
        type=seed_number,
        default=0,
        metavar="N",
        help="random seed of the search (default 0)",
    )
    parser.add_argument(
        "--times",
        type=positive,
        default=1,
        metavar="N",
        help="motions to find and play, each with the next seed (default 1)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for the twin's recordings; needed without --station",
    )
    parser.add_argument(
        "--station",
        type=Path,
        metavar="STATION.toml",
        help="station to play the motion on, in place of a twin",
    )
    parser.add_argument("--confirm-motion", action="store_true", help="allow the arms to move")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be sent, and send nothing"
    )


def run(options: Namespace) -> int:
    """Explore, and play."""
    from enpire.safety.station import load_station

    station = None if options.station is None else load_station(options.station)
    robot = options.robot if station is None else station.robot.name
    if robot is None or (options.robot is not None and options.robot != robot):
        raise UsageError("whose arms? give --robot NAME, or --station STATION.toml alone")
    if station is None and options.out is None:
        raise UsageError(
            "where to? --out DIR for recordings of the twin, or --station STATION.toml"
        )
    if station is not None and options.task is not None:
        raise UsageError("an object is handled on twins only: leave --task or --station out")
    if station is not None and options.seconds > LONGEST:
        raise UsageError(f"a station's flight record holds {LONGEST:g} s at most")
    handling = None if options.task is None else handling_of(options.task, options.world)
    if handling is not None and handling.held.scene.robot.name != robot:
        raise UsageError(f"{options.task} is for {handling.held.scene.robot.name}, not for {robot}")
    arms = arms_of(robot, options.world) if handling is None else handling.free
    rate = RATE if station is None else 1.0 / station.period
    for number in range(options.times):
        made = _motion(options, arms, rate, options.seed + number)
        if station is None:
            _play_on_twin(options.out, arms, made, options.seed + number)
            if handling is not None:
                _handle_on_twin(options.out, handling, options.seed + number)
        else:
            _play_on_station(station, made, options)
    return 0


def _motion(options: Namespace, arms: ArmsModel, rate: float, seed: int) -> ExcitationMotion:
    import numpy as np

    from enpire.identification.explore import Information, explore
    from enpire.identification.motion import draw, motion
    from enpire.identification.play import ArmNoise

    rng = np.random.default_rng(seed)
    if not options.evaluations:
        return motion(arms.scene, draw(arms.scene, rng, rate), options.seconds, rate)
    information = Information(arms, ArmNoise(), rate)

    def tell(done: int, deviation: float) -> None:
        print(f"\r{done} motions, mean deviation left {deviation:.2%}", end="", flush=True)

    found = explore(information, rng, options.evaluations, options.seconds, tell)
    print(f"; of the first one {found.deviation[0]:.2%}")
    return found.motion


def _play_on_twin(folder: Path, arms: ArmsModel, made: ExcitationMotion, seed: int) -> None:
    import numpy as np

    from enpire.identification.play import ArmNoise, play
    from enpire.store.durable import disk_errors

    rng, scene = np.random.default_rng((seed, 1)), arms.scene
    path = folder / f"twin-{seed}.npz"
    with disk_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
    name = f"{path.name}, twin of {scene.world.name}"
    play(scene, {}, made.stamps, made.sent, ArmNoise(), rng, name).save(path)
    print(path)


def _handle_on_twin(folder: Path, arms: Handling, seed: int) -> None:
    """Have the object pushed and carried that lies between the open fingers."""
    import numpy as np

    from enpire.identification.handle import Moves, handling
    from enpire.identification.play import ArmNoise, play

    rng, scene, name = np.random.default_rng((seed, 2)), arms.held.scene, arms.object
    made = handling(scene, Moves(), RATE)
    path = folder / f"twin-{seed}-{name}.npz"
    said = f"{path.name}, twin of {scene.world.name}"
    play(scene, {}, made.stamps, made.sent, ArmNoise(), rng, said, name).save(path)
    print(path)


def _play_on_station(station: StationFile, made: ExcitationMotion, options: Namespace) -> None:
    """Go to the posture for parking, stream the motion, and stop, which writes the record."""
    from datetime import date

    import numpy as np

    from enpire.safety.client import StationClient
    from enpire.safety.launch import Supervision
    from enpire.safety.machine import Mode
    from enpire.safety.pace import Pace
    from enpire.safety.permit import permit
    from enpire.safety.setpoint_follower import EVERY_S, SetpointFollower

    home = np.concatenate([[*arm.home, np.nan] for arm in station.robot.arms])
    if not np.array_equal(np.nan_to_num(home), np.nan_to_num(station.park)):
        raise UsageError(f"{station.path}: a motion begins at the robot's home: leave `park` out")
    may = permit(station, options.confirm_motion, options.dry_run, date.today())
    with Supervision(station, may) as supervision:
        client = StationClient(supervision.folder)
        supervision.ask("park")
        _wait_until(client, {Mode.IDLE}, {Mode.PARKING})
        _arm(supervision)
        _wait_until(client, {Mode.ARMED}, {Mode.IDLE})
        times = np.arange(EVERY_S, made.stamps[-1], EVERY_S)
        motion = np.stack([np.interp(times, made.stamps, axis) for axis in made.sent.T], axis=1)
        motion = np.where(np.isnan(home), client.status().sent, motion)
        following = SetpointFollower(station, client)
        try:
            pace = Pace(EVERY_S)
            for setpoint in motion:
                following.go(setpoint)
                pace.wait()
            following.rest()
        finally:
            following.close()
        supervision.ask("stop")
        _wait_until(client, {Mode.HOLDING}, {Mode.ARMED, Mode.STOPPING})
    print(f"played; its flight record is in {station.records}")


def _arm(supervision: Supervision) -> None:
    """Once the arms stand still: where they have just arrived they swing a little."""
    from enpire.errors import SafetyError

    end = time.monotonic() + SWING_S
    while True:
        try:
            supervision.ask("arm")
            return
        except SafetyError:
            if time.monotonic() > end:
                raise
            time.sleep(POLL_S)


def _wait_until(client: StationClient, there: set[Mode], on_the_way: set[Mode]) -> None:
    """Wait for the supervisor; raises SafetyError if it does something else, or takes long."""
    from enpire.errors import SafetyError

    end = time.monotonic() + PATIENCE_S
    while (status := client.status()).mode not in there:
        if status.mode not in on_the_way or time.monotonic() > end:
            said = ", ".join(status.rules.names) or "nothing of why"
            raise SafetyError(f"the station is {status.mode.name.lower()} ({said})")
        time.sleep(POLL_S)
