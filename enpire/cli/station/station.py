"""`enpire station`: stations of a run under way, and stations with arms."""

from __future__ import annotations

import os
import sys
import time
import zlib
from argparse import Namespace
from datetime import date
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.errors import SafetyError, UsageError
from enpire.option_values import more_than_zero, natural, seed_number
from enpire.session.progress_bar import progress_bar

DESCRIPTION = """\
pause, resume RUN N: take a station of a running loop out of work after its episode, or put one back
that was paused or set aside, once its scene is set up. The other stations go on.
check STATION.toml: say whether a station with arms is fit to move today. Nothing moves by it.
jitter STATION.toml: measure how late a supervisor's periods begin on this machine.
stop STATION.toml: stop the arms at once. The stop stays until a person clears it.
clear STATION.toml: say that a person, at this terminal, has looked at the station after a stop.
park STATION.toml: move the arms to the posture for parking.
sim STATION.toml --task NAME: be the station's arms, objects and tracker: a twin in real time,
behind a wire of shared memory (twin, --wire local) or of ROS 2.
None of this is certified safety: docs/safety.md."""

PAUSE, RESUME = "pause", "resume"
STATION = ("check", "jitter", "stop", "clear", "park", "sim")
PARK_S = 120.0


def add_options(parser: Parser) -> None:
    """The options of `enpire station`."""
    parser.add_argument("what", choices=(PAUSE, RESUME, *STATION), help="what to do")
    parser.add_argument(
        "path",
        type=Path,
        metavar="RUN|STATION.toml",
        help="folder of a run for pause and resume, a station's file for the others",
    )
    parser.add_argument(
        "station",
        type=natural,
        metavar="N",
        nargs="?",
        help="pause, resume: number of the station in the run, from 0",
    )
    parser.add_argument(
        "--why", metavar="TEXT", default="", help="pause, resume: reason that the run records"
    )
    parser.add_argument(
        "--confirm-motion", action="store_true", help="park: allow the arms to move"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="park: show what would be sent, and send nothing"
    )
    parser.add_argument(
        "--seconds",
        type=more_than_zero,
        default=10.0,
        metavar="S",
        help="jitter: time to measure [s] (default 10)",
    )
    parser.add_argument(
        "--task", metavar="NAME", default="", help="sim: task whose objects lie at the station"
    )
    parser.add_argument(
        "--wire",
        choices=("local", "ros2"),
        help="sim: wire to stand behind (default: the driver's)",
    )
    parser.add_argument(
        "--faults",
        metavar="SPEC",
        default="none",
        help="sim: mean seconds between faults, by kind: "
        "delay:30,drop:30,reorder:30,freeze:60,lie:60,kill:600, or all:60 (default "
        "none)",
    )
    parser.add_argument(
        "--seed",
        type=seed_number,
        metavar="N",
        help="sim: random seed (default: made from the file's name)",
    )


def run(options: Namespace) -> int:
    """Do what is asked."""
    if options.what in (PAUSE, RESUME):
        return _request(options)
    if options.station is not None:
        raise UsageError(f"{options.what} takes a station file, and no number")
    does = {
        "check": _check,
        "jitter": _jitter,
        "stop": _stop,
        "clear": _clear,
        "park": _park,
        "sim": _sim,
    }
    return does[options.what](options)


def _request(options: Namespace) -> int:
    """Leave the request for the loop, which takes it at its next look."""
    from enpire.rollout.fleet.requests import Request, ask, require_loop
    from enpire.store import Run

    if options.station is None:
        raise UsageError(f"which station? enpire station {options.what} {options.path} N")
    with Run.open(options.path) as opened:
        robots = int(opened.config.get("loop", {}).get("robots", 0))
    if options.station >= robots:
        raise UsageError(f"{options.path} has no station {options.station}: 0 to {robots - 1}")
    require_loop(options.path)
    reason = f"{options.what}d by a person" + (f": {options.why}" if options.why else "")
    ask(options.path, Request(options.station, options.what == PAUSE, reason))
    print(f"asked to {options.what} station {options.station}; enpire show {options.path} lists it")
    return 0


def _check(options: Namespace) -> int:
    from enpire.drivers import build
    from enpire.safety.check import check
    from enpire.safety.lock import take
    from enpire.safety.permit import write_passed
    from enpire.safety.station import load_station

    station = load_station(options.path)
    handle = take(station)
    try:
        with progress_bar("checking the station"):
            driver = build(station.driver, station.robot, time.monotonic_ns, station.site)
            findings = check(station, driver)
    finally:
        os.close(handle)
    for finding in findings:
        print(f"{'ok  ' if finding.good else 'BAD '} {finding.name}: {finding.found}")
    if not all(finding.good for finding in findings):
        station.passed.unlink(missing_ok=True)
        print(f"{station.path.name} is not fit to move")
        return 1
    told = tuple(f"{finding.name}: {finding.found}" for finding in findings)
    write_passed(station, date.today(), told)
    print(f"{station.path.name} passed; it holds for today, and for this file and robot")
    return 0


def _jitter(options: Namespace) -> int:
    from enpire.safety.jitter import measure
    from enpire.safety.pace import prepare
    from enpire.safety.station import load_station

    station = load_station(options.path)
    prepare(station.realtime)
    print(measure(station.period, options.seconds))
    return 0


def _stop(options: Namespace) -> int:
    from enpire.drivers import runtime_folder
    from enpire.drivers.commands import Caller

    Caller(runtime_folder(options.path)).ask("emergency")  # whatever the file says by now
    print(f"stopped; enpire station clear {options.path} lets it move again")
    return 0


def _clear(options: Namespace) -> int:
    from enpire.drivers.commands import Caller
    from enpire.safety.station import load_station

    station = load_station(options.path)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SafetyError("only a person clears a stop, at a terminal")
    caller = Caller(station.runtime)
    said = caller.ask("status")
    print(f"{station.path.name} is {said['mode']}, for {said['rules']}")
    name = station.path.stem
    if input(f"Look at the arms. Type {name} if they may move again: ").strip() != name:
        print("not cleared")
        return 1
    caller.ask("clear")
    print("cleared; it holds until it is recovered or parked")
    return 0


def _park(options: Namespace) -> int:
    from enpire.safety.client import StationClient
    from enpire.safety.launch import Supervision
    from enpire.safety.machine import Mode
    from enpire.safety.permit import permit
    from enpire.safety.station import load_station

    station = load_station(options.path)
    may = permit(station, options.confirm_motion, options.dry_run, date.today())
    with Supervision(station, may) as supervision:
        client = StationClient(supervision.folder)
        supervision.ask("park")
        end = time.monotonic() + PARK_S
        while (status := client.status()).mode in (Mode.PARKING, Mode.STOPPING):
            if time.monotonic() > end:
                raise SafetyError("it does not arrive")
            time.sleep(station.period)  # a person's pace will do: the supervisor drives
    if status.mode is not Mode.IDLE:
        raise SafetyError(f"it stopped on the way: {', '.join(status.rules.names)}")
    print("parked")
    return 0


def _sim(options: Namespace) -> int:
    from enpire.safety.station import load_station
    from enpire.simulation.faults import Plan
    from enpire.simulation.process import keep_up

    station = load_station(options.path)
    wires = {"twin": "local", "ros2": "ros2"}
    if station.driver not in (*wires, "lerobot") or station.wire not in wires:
        raise UsageError(
            f"driver {station.driver} meets no simulated station: twin and ros2 do, and lerobot's "
            'enpire_simulated with wire = "twin" (docs/lerobot-arms.md)'
        )
    wire = options.wire or wires[station.wire]
    if wire != wires[station.wire]:
        raise UsageError(f"wire {station.wire} is for --wire {wires[station.wire]}")
    if not options.task:
        raise UsageError("whose objects are to lie there? --task NAME")
    Plan.read(options.faults)  # what is wrong with it costs nothing to find
    # Of two stations' faults none come at the same moment because nobody gave a seed.
    seed = zlib.crc32(options.path.stem.encode()) if options.seed is None else options.seed
    return keep_up(station, options.task, wire, options.faults, seed)
