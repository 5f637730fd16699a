"""Station files that are slightly wrong: cameras, names in ROS 2, axes of LeRobot; beside those of
`files.py`.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from unittest.mock import patch

from enpire.drivers.lerobot.axes import Axes
from enpire.drivers.ros2.settings import Ros2Settings
from enpire.packs import find, load_robot
from enpire.packs.toml import Table
from enpire.safety import station as safety
from enpire.safety.station import load_station
from tests.inputs.entry import REFUSED, TAKEN, TOLD, Input, changed

LAB = 'cameras = ["top"]\ndriver = "mock"\nrobot = "yam"\n'
CAMERA = """
[calibration.top]
mount = "world"
width = 640
height = 480
focal = [611.1, 613.0]
centre = [324.3, 231.6]
distortion = [0.094, -0.172, 0.0007, -0.0022, 0.0]
position = [1.052, 0.0997, 0.351]
quaternion = [-0.398, 0.507, 0.601, -0.473]
pictures = 15
intrinsics_rms = 0.22
hand_eye_rms = 0.27
held_out_rms = 0.27
position_deviation = 0.0012
angle_deviation = 0.002
"""


def station(name: str, more: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a station's file with something more."""

    def give(folder: Path) -> tuple[str, str]:
        (folder / "lab.toml").write_text(LAB + more)
        return TAKEN, repr(load_station(folder / "lab.toml"))

    return Input(name, give, words, ends)


def driven(name: str, said: str, words: str, ends: str = REFUSED, robot: str = "so101") -> Input:
    """An entry: a whole station's file, of an SO-101."""

    def give(folder: Path) -> tuple[str, str]:
        (folder / "x").symlink_to("x")
        (folder / "lab.toml").write_text(f'robot = "{robot.format(folder)}"\n{said}')
        return TAKEN, repr(load_station(folder / "lab.toml"))

    return Input(f"driver: {name}", give, words, ends)


def drivers(name: str, said: str, words: str) -> Input:
    """An entry: a robot's `drivers.toml`."""

    def give(folder: Path) -> tuple[str, str]:
        pack = Path(shutil.copytree(find("robots", "so101").folder, folder / "mine"))
        (pack / "drivers.toml").write_text(said)
        (folder / "lab.toml").write_text(f'driver = "ros2"\nrobot = "{pack}"\n')
        return TAKEN, repr(load_station(folder / "lab.toml"))

    return Input(f"drivers.toml: {name}", give, words)


def camera(name: str, old: str, new: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a calibrated camera with another text in one place."""
    return station(f"camera: {name}", changed(CAMERA, old, new), words, ends)


def turned(name: str, turn: str, words: str, ends: str = TOLD) -> Input:
    """An entry: what is told of a camera elsewhere, by this turn."""
    there = changed(CAMERA, "[1.052, 0.0997, 0.351]", "[0.9, -0.3, 0.4]")
    made = station(f"camera: {name}", changed(there, LOOKS, turn), "")

    def give(folder: Path) -> tuple[str, str]:
        told: list[str] = []
        with patch.object(safety.LOG, "warning", lambda text, *args: told.append(text % args)):
            made.give(folder)
        return (TOLD if told else TAKEN), "; ".join(told)

    return Input(made.name, give, words, ends)


def wall(name: str, low: str, high: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a box that is to be kept out of."""
    box = f'[[keep_out]]\nname = "w"\nlow = {low}\nhigh = {high}\n'
    return station(f"wall: {name}", box, words, ends)


def ros2(name: str, said: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: what things are called in ROS 2."""

    def give(folder: Path) -> tuple[str, str]:
        (folder / "ros2.toml").write_text(said)
        read = Ros2Settings.read(Table.read(folder / "ros2.toml"))
        robot = load_robot(find("robots", "so101"))
        cameras = read.pictures(("front", "side"))
        return TAKEN, f"{read} {cameras} {read.names(robot)} {read.forces(robot)}"

    return Input(f"ros2: {name}", give, words, ends)


def axis(name: str, said: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: an axis of LeRobot's."""

    def give(folder: Path) -> tuple[str, str]:
        (folder / "axes.toml").write_text(f"[[axes]]\n{said}\n")
        read = Axes.read(Table.read(folder / "axes.toml").tables("axes"))
        return TAKEN, f"{read.factor} {read.offset}"

    return Input(f"axis: {name}", give, words, ends)


def config(name: str, said: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: the SO-101's own `drivers.toml`, with another line in its config."""

    def give(folder: Path) -> tuple[str, str]:
        pack = Path(shutil.copytree(find("robots", "so101").folder, folder / "mine"))
        text = (pack / "drivers.toml").read_text("utf-8")
        (pack / "drivers.toml").write_text(changed(text, "use_degrees = true", said))
        (folder / "lab.toml").write_text(f'driver = "lerobot"\nrobot = "{pack}"\n')
        return TAKEN, repr(load_station(folder / "lab.toml"))

    return Input(f"config: {name}", give, words, ends)


LOOKS = "[-0.398, 0.507, 0.601, -0.473]"
MOCK, TWIN, ROS, LEROBOT = (f'driver = "{d}"\n' for d in ("mock", "twin", "ros2", "lerobot"))
WALL = '[[keep_out]]\nname = "w"\nlow = [0.7, -1, 0]\nhigh = [0.8, 1, 1]\n'
SPACE = '[ros2]\nnamespace = "/left"\n'
SIDES = "width = 640\nheight = 480"
LENS = "distortion = [0.094, -0.172, 0.0007, -0.0022, 0.0]"
FOCAL, CENTRE, NONE = "focal = [611.1, 613.0]", "centre = [324.3, 231.6]", "is no name in ROS 2"
ALL = (
    camera("as it should be", "top", "top", "StationFile", TAKEN),
    turned("a turn w x y z", "[-0.466485, 0.72355, 0.424842, -0.279956]", "^$", TAKEN),
    turned("a turn x y z w", "[0.72355, 0.424842, -0.279956, -0.466485]", "1% .* 67% were its"),
    camera("in mm", "[1.052, 0.0997, 0.351]", "[1052, 99.7, 351]", "position .* no mm"),
    camera("a focal length in mm", FOCAL, "focal = [3.6, 3.6]", "focal must be in px, no mm"),
    camera("a focal length below nought", FOCAL, "focal = [-611.1, 613.0]", "found -611.1, 613"),
    camera("a focal length of 1e9", FOCAL, "focal = [1e9, 613.0]", "focal must be in px"),
    camera("a focal length of NaN", FOCAL, "focal = [nan, 613.0]", "finite number"),
    camera("a lens of two lengths", FOCAL, "focal = [611.1, 1226.0]", "no lens differs so much"),
    camera("a lens that was squeezed", FOCAL, "focal = [611.1, 460.0]", "StationFile", TAKEN),
    camera("a centre outside", CENTRE, "centre = [3243, 231.6]", "off the edges of its 640 by 480"),
    camera("a centre in shares", CENTRE, "centre = [0.507, 0.4825]", "centre must be in px"),
    camera("half a pixel", "width = 640", "width = 640.5", "width must be a whole number from 1"),
    camera("no width", "width = 640", "width = 0", "width must be a whole number from 1"),
    camera("a height below nought", "height = 480", "height = -480", "height must be a whole"),
    camera("a lens that is none", "[0.094", "[94", "distortion must be within 50"),
    camera("its sides exchanged", SIDES, "width = 480\nheight = 640", "are two of them exchanged"),
    camera("its centre exchanged", CENTRE, "centre = [231.6, 324.3]", "are two of them exchanged"),
    camera("a centre aside", CENTRE, "centre = [400.0, 231.6]", "StationFile", TAKEN),
    camera("of seven pictures", "pictures = 15", "pictures = 7", "whole number from 8 up"),
    camera("a lens that folds", LENS, "distortion = [-0.9, 0.0, 0.0, 0.0, 0.0]", "folds the pict"),
    camera(
        "a lens in another order", LENS, "distortion = [0.094, 0.0, -0.172, 0.0, 0.0]", "p1 and p2"
    ),
    camera(
        "a lens by its tangents",
        LENS,
        "distortion = [0.0, 0.0, 0.4, 0.0, 0.0]",
        "p1 and p2 must be",
    ),
    camera("a wide lens", LENS, "distortion = [-0.35, 0.12, 0.0, 0.0, 0.0]", "StationF", TAKEN),
    camera("a lens that folds beyond", LENS, "distortion = [-0.3, 0, 0, 0, 0]", "StationF", TAKEN),
    camera("a lens of no bend", LENS, "distortion = [0.0, 0.0, 0.0, 0.0, 0.0]", "StationF", TAKEN),
    camera("a turn of length 2", "[-0.398", "[-1.9", "quaternion .w x y z. has length 2"),
    camera("an error of 27 px", "hand_eye_rms = 0.27", "hand_eye_rms = 27.0", "0 to 5 px"),
    camera("15 px held out", "held_out_rms = 0.27", "held_out_rms = 15.0", "0 to 5 px"),
    camera("3 m farther off", "[1.052,", "[4.052,", "m from the workspace of"),
    camera("an error below nought", "held_out_rms = 0.27", "held_out_rms = -1", "held_out_rms mu"),
    camera("a deviation in mm", "0.0012", "1.2", "position_deviation must be 0 to 0.1 m, no mm"),
    camera("a deviation in degrees", "0.002\n", "0.5\n", "0 to 0.2 rad, no degrees"),
    camera("of no picture", "pictures = 15", "pictures = 0", "pictures must be a whole number"),
    camera("below the bench", "0.351]", "-0.351]", "at 1.05, 0.0997, -0.351 m is below the bench"),
    camera("within the bench", "0.351]", "-0.001]", "below the bench, whose top is at z = 0"),
    camera("that looks away", LOOKS, "[0.507, 0.398, 0.473, 0.601]", "nothing of the workspace"),
    camera("that looks at the ceiling", LOOKS, "[1, 0, 0, 0]", "shows nothing of the workspace"),
    camera("upside down", LOOKS, "[-0.473, -0.601, 0.507, 0.398]", "StationFile", TAKEN),
    camera("behind the arm", "[1.052,", "[-1.052,", "shows nothing of the workspace"),
    camera("a wrist's from the world", '"world"', '"arm"', "more than 0.5 m from the wrist of arm"),
    camera("of no arm", '"world"', '"left"', "mount is 'left': world, or one of arm"),
    wall("as it should be", "[0.7, -1, 0]", "[0.8, 1, 1]", "StationFile", TAKEN),
    wall("in centimetres", "[6, -5, 0]", "[7, 5, 9]", "more than 3 m from every arm.* no cm"),
    wall("around the arm", "[-0.2, -0.2, -0.1]", "[0.2, 0.2, 0.3]", "base stands in w: nothing"),
    wall("the whole workspace", "[0.1, -1, -0.1]", "[2, 1, 2]", "has the whole workspace in it"),
    wall("the bench", "[-1, -1, -1]", "[1, 1, 0.0]", "StationFile", TAKEN),
    wall("the room's", "[1.5, -9, 0]", "[1.6, 9, 3]", "StationFile", TAKEN),
    ros2("as it should be", 'namespace = "/left"', "'/left'", TAKEN),
    ros2("no slash before it", 'namespace = "left"', "'left'", TAKEN),
    ros2("a space", 'namespace = "left arm"', f"namespace 'left arm' {NONE}"),
    ros2("an accent", 'namespace = "/é"', NONE),
    ros2("a slash after it", 'namespace = "/left/"', NONE),
    ros2("two slashes", 'objects = "a//b"', NONE),
    ros2("a digit first", 'namespace = "/1left"', NONE),
    ros2("a topic of no name", 'objects = ""', f"objects '' {NONE}"),
    ros2("a controller of no name", 'controller = ""', f"controller '' {NONE}"),
    ros2("a hyphen", 'images = ["front-cam", "b"]', f"images 'front-cam' {NONE}"),
    ros2("a joint twice", 'joints = ["a", "a", "b", "c", "d"]', "joints .* have a twice"),
    ros2(
        "a gripper that is a joint",
        'joints = ["a", "b", "c", "d", "e"]\ngripper_joints = ["a"]',
        "joints and gripper_joints have a twice",
    ),
    ros2("one topic for two cameras", 'images = ["a", "a"]', "images have a twice"),
    ros2("one topic for three cameras", 'images = ["a", "b", "c"]', "2 names needed, found 3"),
    ros2("more wrists than arms", 'wrenches = ["a", "b"]', "wrenches: 1 names needed, found 2"),
    ros2("a flag in quotes", 'simulated = "true"', "expected bool"),
    driven("as it should be", MOCK, "driver='mock'", TAKEN),
    driven("its own table", ROS + SPACE, "driver='ros2'", TAKEN),
    driven("its wire's table", LEROBOT + 'wire = "ros2"\n' + SPACE, "wire='ros2'", TAKEN),
    driven("ROS 2 under a mock", MOCK + SPACE, "nothing reads .ros2. .* driver is mock: take it"),
    driven("ROS 2 under a twin", TWIN + SPACE, "nothing reads .ros2."),
    driven("a twin under ROS 2", f"{ROS}[twin]\nsent = 'a'", "nothing reads .twin."),
    driven("LeRobot under ROS 2", f"{ROS}[lerobot.config]\nport = 'x'", "reads .lerobot."),
    driven("a leader under ROS 2", f"{ROS}[lerobot.teleoperator]\ntype = 'x'", "reads .lerobot."),
    driven("a list under a mock", f"{MOCK}[[ros2]]\nsimulated = true", "nothing reads .ros2."),
    driven("a text under a mock", f"ros2 = '/left'\n{MOCK}", "nothing reads .ros2."),
    driven("capitals", f"{MOCK}[ROS2]\nsimulated = true", "ROS2 means nothing here"),
    driven("an environment", f"{MOCK}[environment]\nA = 'b'", "environment means nothing here"),
    driven(
        "of no such name", 'driver = "ros"', "lab.toml: unknown driver 'ros'; did you mean ros2"
    ),
    driven("of no name", 'driver = ""', "lab.toml: unknown driver ''; there are: mock"),
    driven("in capitals", 'driver = "Mock"', "unknown driver 'Mock'; did you mean mock"),
    driven("a space", 'driver = "mock "', "unknown driver 'mock '"),
    driven(
        "a key of a mock", f"{MOCK}[mock]\nspeed = 3", "speed means nothing here; there are none"
    ),
    driven("a twin's misspelt key", f"{TWIN}[twin]\nsend = 'a'", "do you mean sent"),
    driven("a twin's number", f"{TWIN}[twin]\nsent = 3", "sent is 3, expected str"),
    driven("a misspelt key", f"{ROS}[ros2]\nnamespce = '/l'", "namespce means nothing to ros2"),
    driven("two joints of six", f"{ROS}[ros2]\njoints = ['a', 'b']", "joints: 5 names needed"),
    driven("two wrists of one", f"{ROS}[ros2]\nwrenches = ['a', 'b']", "1 names needed, found 2"),
    driven(
        "two topics of one camera",
        f"{ROS}cameras = ['top']\n[ros2]\nimages = ['a', 'b']",
        "images: 1",
    ),
    driven("LeRobot's port", f"{LEROBOT}[lerobot]\nport = 'x'", "port means nothing here"),
    driven("a leader of no type", f"{LEROBOT}[lerobot.teleoperator]\nid = 'x'", "id means nothing"),
    driven(
        "a wire's misspelt key", f"{MOCK}wire = 'ros2'\n[ros2]\nimage = 'x'", "image means nothing"
    ),
    driven("a rate with its unit", f"{MOCK}rate = '100 Hz'", "rate must be a number"),
    driven("a camera in quotes", f"{MOCK}cameras = 'top'", "cameras is 'top', expected list"),
    driven(
        "a watchdog in ms", f"{MOCK}[watchdogs]\nheartbeat = 1e-4", "heartbeat must be 0.001 to"
    ),
    driven("a camera's in us", f"{MOCK}[watchdogs]\ncamera = 1e-9", "camera must be 0.001 to"),
    driven("no speed", f"{MOCK}[limits]\ncartesian_speed = 0", "must be above 0"),
    driven(
        "a park with the gripper", f"{MOCK}park = [0, 0, 0, 0, 0, 0.5]", "park must be 5 numbers"
    ),
    driven("a wall with a margin", f"{MOCK}{WALL}margin = 0.1", "margin means nothing here"),
    driven(
        "two walls of one name", f"{MOCK}{WALL}{WALL}", "two of ..keep_out.. have the same name"
    ),
    driven("a calibration of another camera", MOCK + CAMERA, "StationFile", TAKEN),
    driven(
        "a camera misspelt",
        f"{MOCK}cameras = ['topp']{CAMERA}",
        "no camera is called top; do you mean topp",
    ),
    driven("a robot at home", MOCK, "is no robot pack: it has no robot.toml", robot="~/so101"),
    driven("a robot of links in a circle", MOCK, "is no robot pack", robot="{}/x"),
    drivers(
        "another driver", "[ros]\nnamespace = '/l'", "ros means nothing here; do you mean ros2"
    ),
    drivers("a key outside", "namespace = '/l'", "namespace means nothing here"),
    drivers("a secret", "[environment]\nHF_TOKEN = 'x'", "environment means nothing here"),
    drivers("a list", "[[ros2]]\nnamespace = '/l'", "ros2 is .*expected dict"),
    axis("as it should be", 'motor = "elbow"\noffset = -0.5', "-0.5", TAKEN),
    axis(
        "a gripper in degrees",
        'motor = "jaw"\ntheirs = [0, 100]\nours = [-10, 100]',
        "no degrees and",
    ),
    config("as it should be", "use_degrees = true", "StationFile", TAKEN),
    config("a flag in quotes", 'use_degrees = "true"', "use_degrees is 'true': true or false"),
    config("no degrees", "use_degrees = false", "goes from -100 to 100, and shoulder_pan is read"),
    axis("a zero in degrees", 'motor = "elbow"\noffset = 90', "rad or m, no degrees"),
    axis("a motor of no name", 'motor = ""', "motor is ''"),
    axis("LeRobot's key of a motor", 'motor = "elbow.pos"', "without .pos after it"),
    axis("a sign of nought", 'motor = "elbow"\nsign = 0', "sign must be 1 or -1"),
    axis("two points in one", 'motor = "jaw"\ntheirs = [1, 1]\nours = [0, 1]', "two different"),
    camera(
        "k1 k2 k3 p1 p2",
        "0.0007, -0.0022, 0.0]",
        "0.3, 0.0007, -0.0022]",
        "p1 and p2 must be within",
    ),
    camera("sides that are exchanged", SIDES, "width = 480\nheight = 640", "are two of them exch"),
)
