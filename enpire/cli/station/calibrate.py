"""`enpire station calibrate`: where a station's camera is and how it sees, by a ChArUco board."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser, print_json
from enpire.errors import SafetyError, UsageError
from enpire.option_values import more_than_zero, positive
from enpire.session.progress_bar import counted, progress_bar

if TYPE_CHECKING:
    from enpire.calibration.board import CharucoBoard
    from enpire.safety.station import StationFile

DESCRIPTION = """\
Calibrate a camera of a station with arms by a ChArUco board, and write what comes of it into the
station's file: intrinsics, the camera's pose, and their errors. It is refused above the bars.

  enpire station calibrate lab.toml --camera top --shots shots/ --draw board.png
  enpire station calibrate lab.toml --camera top --shots shots/ --record
  enpire station calibrate lab.toml --camera top --shots shots/

Nothing moves by it: move the arm by hand, or by the means it came with. docs/calibration.md."""

STRANGE, STRANGE_PX = 5.0, 0.5  # times the lens's error, and pixels: arms and boards are at fault
DRAWN = 8000.0  # pixels a metre: 203 dots an inch


def add_options(parser: Parser) -> None:
    """The options of `enpire station calibrate`."""
    parser.add_argument("path", type=Path, metavar="STATION.toml", help="file of the station")
    parser.add_argument(
        "--camera",
        required=True,
        metavar="NAME",
        help="camera to calibrate, as the driver calls it",
    )
    parser.add_argument(
        "--shots",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of pictures and the arm's positions",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="add pictures to the folder, one each time Enter is pressed",
    )
    parser.add_argument(
        "--draw", type=Path, metavar="PNG", help="draw the board into this file, to be printed"
    )
    parser.add_argument(
        "--arm", metavar="NAME", help="arm that moves the board or the camera (default: the first)"
    )
    parser.add_argument(
        "--on-wrist",
        action="store_true",
        help="say that the camera is on the wrist and the board stands still",
    )
    board = parser.add_argument_group("board")
    board.add_argument(
        "--columns",
        type=positive,
        default=8,
        metavar="N",
        help="squares of the board from left to right (default 8)",
    )
    board.add_argument(
        "--rows",
        type=positive,
        default=6,
        metavar="N",
        help="squares of the board from top to bottom (default 6)",
    )
    for name, size in (("square", 0.025), ("marker", 0.018)):
        line = f"side of a {name}, as measured on the print [m] (default {size})"
        board.add_argument(f"--{name}", type=more_than_zero, default=size, metavar="M", help=line)
    board.add_argument(
        "--dictionary",
        default="DICT_4X4_50",
        metavar="NAME",
        help="dictionary of the board's markers in OpenCV (default DICT_4X4_50)",
    )
    bars = parser.add_argument_group("bars")
    for name, bar, unit, what in (
        ("intrinsics-rms", 1.0, "px", "intrinsics with a larger rms error"),
        ("hand-eye-rms", 2.0, "px", "a hand-eye calibration with a larger rms error"),
        ("position-deviation", 0.005, "m", "a position with a larger standard deviation"),
        ("angle-deviation", 0.01, "rad", "an angle with a larger standard deviation"),
    ):
        line = f"refuse {what} [{unit}] (default {bar:g})"
        bars.add_argument(f"--{name}", type=more_than_zero, default=bar, metavar="X", help=line)
    parser.add_argument("--json", action="store_true", help="print the result last, as JSON")


def run(options: Namespace) -> int:
    """Draw, record, or calibrate and write."""
    from enpire.calibration.board import CharucoBoard
    from enpire.safety.station import load_station

    sizes = options.columns, options.rows, options.square, options.marker
    board = CharucoBoard(*sizes, options.dictionary)
    station = load_station(options.path)
    if options.draw:
        return _draw(board, options.draw)
    return _record(station, options) if options.record else _calibrate(station, board, options)


def _draw(board: CharucoBoard, path: Path) -> int:
    import cv2

    if not cv2.imwrite(str(path), board.picture(DRAWN)):
        raise UsageError(f"{path} cannot be written")
    wide, high = board.columns * board.square, board.rows * board.square
    print(
        f"{path}: print it {wide * 1e3:.0f} by {high * 1e3:.0f} mm, glue it on a stiff plate, and"
    )
    print("measure a square: what is printed is seldom as large as asked for")
    return 0


def _record(station: StationFile, options: Namespace) -> int:
    from enpire.calibration.shots import write_shot
    from enpire.drivers import CameraDriver, build
    from enpire.safety.lock import take
    from enpire.safety.supervisor import STILL

    handle = take(station)
    driver = build(station.driver, station.robot, time.monotonic_ns, station.site)
    if not isinstance(driver, CameraDriver):
        raise UsageError(
            f"driver {station.driver} has no cameras: put pictures into {options.shots}"
        )
    driver.connect()
    try:
        print("Enter takes a picture; an empty line's end (Ctrl-D) ends it", flush=True)
        for _ in sys.stdin:
            reading, pictures = driver.read(), driver.pictures()
            if options.camera not in pictures:
                there = ", ".join(pictures) or "none"
                raise UsageError(f"no camera {options.camera}; the driver's: {there}")
            if (abs(reading.velocity) > STILL * station.limits.speed).any():
                print("not taken: the arm moves")
                continue
            picture = pictures[options.camera]
            print(write_shot(options.shots, picture.image, reading.position.tolist()), flush=True)
    finally:
        driver.disconnect()
        os.close(handle)
    return 0


def _calibrate(station: StationFile, board: CharucoBoard, options: Namespace) -> int:
    from dataclasses import asdict

    import numpy as np

    from enpire.calibration import written
    from enpire.calibration.camera import WORLD
    from enpire.calibration.fitting import Bars, BoardView, calibrate
    from enpire.calibration.poses import wrists
    from enpire.calibration.shots import read_shots
    from enpire.store.durable import publish_file

    arms = [arm.name for arm in station.robot.arms]
    arm = options.arm or arms[0]
    if arm not in arms:
        raise UsageError(f"no arm {arm}; {station.robot.name} has {', '.join(arms)}")
    shots = read_shots(options.shots, len(station.park))
    sizes = {image.shape[:2] for image, _ in shots}
    if len(sizes) > 1:
        raise UsageError(f"pictures of {len(sizes)} sizes in {options.shots}: one camera has one")
    positions = np.array([position for _, position in shots])
    taken = list(zip(shots, wrists(station.robot, arm, positions), strict=True))
    views = [
        BoardView(*found, world_wrist)
        for (image, _), world_wrist in counted(taken, "pictures")
        if (found := board.find(image))
    ]
    print(f"the board was found in {len(views)} of {len(shots)} pictures")
    if not views:
        raise SafetyError("no picture shows the board: are its numbers those of the print?")
    (height, width), mount = sizes.pop(), arm if options.on_wrist else WORLD
    bars = Bars(*(getattr(options, name) for name in Bars.__dataclass_fields__))
    with progress_bar("calibrating"):
        camera = calibrate(views, width, height, mount, options.on_wrist, bars)
    text = written(station.path.read_text(encoding="utf-8"), options.camera, camera)
    publish_file(station.path, text.encode())
    print(
        f"[calibration.{options.camera}]: lens {camera.intrinsics_rms:.2f} px, pose "
        f"{camera.hand_eye_rms:.2f} px, on pictures held out {camera.held_out_rms:.2f} px"
    )
    print(
        f"its place is known to {camera.position_deviation * 1e3:.2f} mm, its turn to "
        f"{camera.angle_deviation * 1e3:.2f} mrad (standard deviations, if the arm's own are right)"
    )
    if camera.hand_eye_rms > max(STRANGE_PX, STRANGE * camera.intrinsics_rms):
        print(
            f"its pose fits {camera.hand_eye_rms / camera.intrinsics_rms:.0f} times worse than its "
            "lens: measure a square of the print anew (--square), or the arm's joints are off. The "
            "place is then worse than it says"
        )
    print(f"{options.path} is another file now: enpire station check {options.path}")
    if options.json:
        print_json(asdict(camera))
    return 0
