"""`enpire station teleop`: an arm follows a leader arm in a person's hand, under its supervisor."""

from __future__ import annotations

import time
from argparse import Namespace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser
from enpire.errors import SafetyError, UsageError
from enpire.option_values import more_than_zero

if TYPE_CHECKING:
    from enpire.drivers.lerobot.leader import Leader
    from enpire.safety.client import StationClient
    from enpire.safety.setpoint_follower import SetpointFollower
    from enpire.safety.station import StationFile
    from enpire.types import FloatArray

DESCRIPTION = """\
Let the station's arm follow a leader arm (driver lerobot, [lerobot.teleoperator]), through its
supervisor and within all its limits, until Ctrl-C. It helps to bring an arm somewhere: for
calibrating, or out of a corner. Nothing is recorded. docs/lerobot-arms.md."""

START = 0.3  # that a joint may be away from the leader's when it begins [rad]
LEAD = 0.1  # that a setpoint is ahead of the arm at most [rad]: half of what the jump rule allows
FRESH_S = 0.1  # older wishes are not followed
ARM_S = 2.0  # until its supervisor says that it is armed


def add_options(parser: Parser) -> None:
    """The options of `enpire station teleop`."""
    parser.add_argument("path", type=Path, metavar="STATION.toml", help="file of the station")
    parser.add_argument("--confirm-motion", action="store_true", help="allow the arm to move")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be sent, and send nothing"
    )
    parser.add_argument(
        "--seconds",
        type=more_than_zero,
        metavar="S",
        help="time after which it ends [s] (default: at Ctrl-C)",
    )


def run(options: Namespace) -> int:
    """Follow until it is enough, or the station stops."""
    from enpire.drivers.lerobot.leader import make_leader
    from enpire.safety.client import StationClient
    from enpire.safety.launch import Supervision
    from enpire.safety.machine import Mode
    from enpire.safety.permit import permit
    from enpire.safety.setpoint_follower import SetpointFollower
    from enpire.safety.station import load_station

    station = load_station(options.path)
    if station.driver != "lerobot":
        raise UsageError(f"driver {station.driver} has no leader arms: lerobot has")
    may = permit(station, options.confirm_motion, options.dry_run, date.today())
    leader = make_leader(station.robot, time.monotonic_ns, station.settings)
    leader.connect()
    try:
        with Supervision(station, may) as supervision:
            supervision.ask("status")  # it answers: from now on it says where the arm is
            client = StationClient(supervision.folder)
            _require_near(station, leader.read().position, client.status().measured)
            supervision.ask("arm")
            end = time.monotonic() + ARM_S
            while client.status().mode is not Mode.ARMED and time.monotonic() < end:
                time.sleep(station.period)
            following = SetpointFollower(station, client)
            try:
                _follow(station, leader, client, following, options.seconds)
                following.rest()
            finally:
                following.close()
    finally:
        leader.disconnect()
    return 0


def _require_near(station: StationFile, wanted: FloatArray, here: FloatArray) -> None:
    """Raise SafetyError unless the leader is held as the arm stands, joint by joint."""
    import numpy as np

    away = np.where(station.limits.grippers, 0.0, wanted - here)
    worst = int(abs(away).argmax())
    if not abs(away[worst]) <= START:
        raise SafetyError(
            f"the leader is not held as the arm stands: axis {worst + 1} by {away[worst]:+.2f} rad"
        )


def _follow(
    station: StationFile,
    leader: Leader,
    client: StationClient,
    following: SetpointFollower,
    seconds: float | None,
) -> None:
    import numpy as np

    from enpire.safety.setpoint_follower import EVERY_S

    lead = np.where(station.limits.grippers, np.inf, LEAD)
    end = time.monotonic() + (seconds or np.inf)
    print("following; Ctrl-C ends it", flush=True)
    try:
        while time.monotonic() < end:
            wish = leader.read()
            if time.monotonic_ns() - wish.stamp < FRESH_S * 1e9:
                here = client.status().measured
                ahead = np.clip(wish.position - here, -lead, lead)
                following.go(here + ahead)  # raises once the station has stopped
            time.sleep(EVERY_S)  # a person's pace: the streamer sends, and the supervisor decides
    except KeyboardInterrupt:
        print("ended")
