"""What comes over ROS 2 that is slightly wrong: it counts as none, and a watchdog sees the gap."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Message
from typing import Any

import cv2
import numpy as np

from enpire.drivers.ros2.messages import Names, force_of, objects_of, picture_of
from tests.inputs.entry import REFUSED, TAKEN, Input

NAN, INF = float("nan"), float("inf")
GOOD = {"name": ["a", "b"], "position": [1.0, 2.0], "velocity": [3.0, 4.0], "effort": []}


def joints(called: str, words: str, ends: str = REFUSED, **said: Any) -> Input:
    """An entry: a JointState."""

    def give(_: Path) -> tuple[str, str]:
        names = Names(["a", "b"])
        assert names.ordered(Message(**GOOD))[0].tolist() == [1.0, 2.0]
        return TAKEN, str(names.ordered(Message(**GOOD | said)))

    return Input(called, give, words, ends)


def pose(
    name: str, words: str, *numbers: float, ends: str = REFUSED, frame: str = "world"
) -> Input:
    """An entry: a pose, x y z and a turn w x y z, in a frame."""
    place = Message(**dict(zip("xyz", numbers[:3], strict=True)))
    turn = Message(**dict(zip("wxyz", numbers[3:], strict=True)))
    header = Message(frame_id=frame)
    message = Message(header=header, poses=[Message(position=place, orientation=turn)])
    return Input(name, lambda _: (TAKEN, str(objects_of(message, 7))), words, ends)


def picture(name: str, words: str, ends: str = REFUSED, **said: Any) -> Input:
    """An entry: a picture."""
    return Input(name, lambda _: (TAKEN, str(picture_of(Message(**said)))), words, ends)


def coded(name: str, words: str, pixels: Any, ends: str = REFUSED, form: str = ".png") -> Input:
    """An entry: a CompressedImage of an array."""
    return picture(name, words, ends, format=form, data=cv2.imencode(form, pixels)[1].tobytes())


def raw(encoding: str, height: int, width: float, step: int, data: Any) -> dict[str, Any]:
    """The parts of an Image."""
    return {"encoding": encoding, "height": height, "width": width, "step": step, "data": data}


def force(name: str, x: float) -> Input:
    """An entry: a force, which is above every limit where it is none."""
    felt = Message(wrench=Message(force=Message(x=x, y=0.0, z=0.0)))
    return Input(name, lambda _: (TAKEN, str(force_of(felt))), r"\[inf inf inf\]", TAKEN)


MORE, ORDER = ["x", "b", "a"], r"1\., 2\."
NUMBERS = "no lists of numbers"
PIXELS = np.full((2, 2, 3), 9, np.uint8)
AXES = ["a", "b", "x"]
ALL = (
    joints("more joints", ORDER, TAKEN, name=MORE, position=[9, 2, 1.0], velocity=[]),
    joints("no velocities", r"\[nan, nan\]", TAKEN, velocity=[]),
    joints("velocities that nobody measures", r"\[nan, nan\]", TAKEN, velocity=[NAN, NAN]),
    joints("a velocity too few", "of velocity 1 numbers", velocity=[3.0]),
    joints("a velocity too many", "of velocity 3 numbers", velocity=[3.0, 4.0, 5.0]),
    joints("an infinite velocity", "velocity of a is inf", velocity=[INF, 0.0]),
    joints("a velocity of 1e300", "velocity of a is 1e.300", velocity=[1e300, 0.0]),
    joints("an effort too few", "of effort 1 numbers", effort=[1.0]),
    joints("an effort of NaN", "nan", TAKEN, effort=[NAN, 1.0]),
    joints(
        "an axis twice",
        "a is there twice",
        name=["a", "b", "a"],
        position=[1.0, 2.0, 3.0],
        velocity=[],
    ),
    joints("an axis missing", "b is missing", name=["a", "x"]),
    joints("names of another arm", "a is missing", name=["left_a", "left_b"]),
    joints("names with a slash", "a is missing", name=["/a", "/b"]),
    joints("names with a space", "a is missing", name=["a ", "b"]),
    joints("no names", "a is missing", name=[]),
    joints("a position of NaN", "position of a is nan", position=[NAN, 2.0]),
    joints("an infinite position", "position of b is inf", position=[1.0, INF]),
    joints(
        "a position of 1e300", "position of a is 1e.300, which no joint has", position=[1e300, 2.0]
    ),
    joints("positions in degrees", "position of a is 90, .* no degrees", position=[90.0, -45.0]),
    joints("a joint that has turned round six times", "37", TAKEN, position=[37.0, 2.0]),
    joints("no positions", "2 names, and of position 0 numbers", position=[]),
    joints("positions in text", NUMBERS, position=["1", "2"]),
    joints("positions that are nothing", NUMBERS, position=[None, 1.0]),
    joints("positions in a table", NUMBERS, position=[[1.0], [2.0]]),
    joints("positions that are true", NUMBERS, position=[True, False]),
    joints("complex positions", NUMBERS, position=[1j, 2.0]),
    joints("a position of 400 digits", NUMBERS, position=[10**400, 1]),
    joints("velocities in text", NUMBERS, velocity=["x", "y"]),
    joints("velocities that are None", NUMBERS, velocity=None),
    joints("efforts in text", NUMBERS, effort=["x", "y"]),
    joints("an endless effort", "nan", TAKEN, effort=[INF, 1.0]),
    pose("a pose in text", "no number", "1", 0, 0, 1, 0, 0, 0),  # type: ignore[arg-type]
    pose("a pose of nothing", "no number", None, 0, 0, 1, 0, 0, 0),  # type: ignore[arg-type]
    force("a force in text", "x"),  # type: ignore[arg-type]
    force("a force of 400 digits", 10**400),
    joints("a position too many", "of position 3 numbers", position=[1.0, 2.0, 3.0]),
    pose("a pose", "Objects", 1, 2, 3, 1, 0, 0, 0, ends=TAKEN),
    pose("a pose of no frame", "Objects", 1, 2, 3, 1, 0, 0, 0, ends=TAKEN, frame=""),
    pose("a frame of ROS 1", "Objects", 1, 2, 3, 1, 0, 0, 0, ends=TAKEN, frame="/world"),
    pose(
        "a pose that a camera tells",
        "in frame camera_link, and not in world",
        1,
        2,
        3,
        1,
        0,
        0,
        0,
        frame="camera_link",
    ),
    pose(
        "a pose from the arm's base", "in frame base_link", 1, 2, 3, 1, 0, 0, 0, frame="base_link"
    ),
    pose("a pose in millimetres", "in m, no mm", 500, 300, 10, 1, 0, 0, 0),
    pose("a pose of NaN", "or nowhere", 1, NAN, 3, 1, 0, 0, 0),
    pose("a pose of 1e300", "farther off than 10 m", 1e300, 0, 0, 1, 0, 0, 0),
    pose("a turn of no length", "not of length 1", 1, 2, 3, 0, 0, 0, 0),
    pose("a turn of length 2", "not of length 1", 1, 2, 3, 2, 0, 0, 0),
    pose("a turn of NaN", "not of length 1", 1, 2, 3, NAN, 0, 0, 0),
    picture("a picture", r"\[49 50 51\]", TAKEN, **raw("rgb8", 1, 1, 3, b"123")),
    picture("a picture of no rows", "0 x 0 pixels", **raw("rgb8", 0, 0, 0, b"")),
    picture("a picture below nought", "4 x -1 pixels", **raw("rgb8", -1, 4, 12, b"")),
    picture("a picture beyond memory", "has 3", **raw("rgb8", 2**31, 2**31, 2**33, b"123")),
    picture("a picture of grey", "encoding is 'mono8': rgb8 or", **raw("mono8", 1, 1, 1, b"1")),
    picture("a picture of four colours", "is 'rgba8'", **raw("rgba8", 1, 1, 4, b"1234")),
    picture("rows too short", "in rows of 3 bytes", **raw("rgb8", 1, 2, 3, b"123")),
    picture("a picture cut off", "cut off, or no picture", format="png", data=b"\x89PNG\r\n\x1a\n"),
    picture("no picture", "format is 'jpeg'", format="jpeg", data=b"no picture"),
    joints("another joint of NaN", ORDER, TAKEN, name=AXES, position=[1.0, 2.0, NAN], velocity=[]),
    joints(
        "another joint twice", ORDER, TAKEN, name=[*AXES, "x"], position=[1.0, 2, 3, 3], velocity=[]
    ),
    joints("another joint in text", NUMBERS, name=AXES, position=[1.0, 2.0, "x"], velocity=[]),
    joints("names in bytes", "a is missing", name=[b"a", b"b"]),
    joints("names that are None", NUMBERS, name=None),
    joints("names in a table", NUMBERS, name=[["a"], ["b"]]),
    picture("capitals", "encoding is 'RGB8'", **raw("RGB8", 1, 1, 3, b"123")),
    picture("raw colours of a sensor", "'bayer_rggb8'", **raw("bayer_rggb8", 2, 2, 2, b"1234")),
    picture("a depth", "'16UC1'", **raw("16UC1", 1, 1, 2, b"12")),
    picture("rows of nought", "in rows of 0 bytes", **raw("rgb8", 1, 1, 0, b"123")),
    picture("rows with more behind", r"\[49 50 51\]", TAKEN, **raw("rgb8", 1, 1, 4, b"1234")),
    picture("a last row cut off", "rows of 4 bytes, and has 7", **raw("rgb8", 2, 1, 4, b"1231231")),
    picture(
        "height and width exchanged", "2 x 1 pixels in rows of 3", **raw("rgb8", 1, 2, 3, b"123123")
    ),
    picture("fractions of pixels", "1.0 x 2 pixels", **raw("rgb8", 2, 1.0, 3, b"123123")),
    picture("text as data", "no bytes", **raw("rgb8", 1, 1, 3, "123")),
    picture("a video", "cut off, or no picture.* 'h264'", format="h264", data=b"\0\0\0\1abc"),
    coded("colours in a file", r"\[9 9 9\]", PIXELS, TAKEN),
    coded("grey in a file", "no three colours of 8 bits", PIXELS[..., 0], form=".jpg"),
    coded("a depth in a file", "no three colours", PIXELS[..., 0].astype(np.uint16)),
    coded("colours of 16 bits", "no three colours", PIXELS.astype(np.uint16)),
    force("a force of NaN", NAN),
    force("an infinite force", -INF),
    joints("1e6 rad", "the position of a is 1e.06, which no joint has", position=[1e6, 2.0]),
    pose("no turn at all", "is not of length 1", 0, 0, 0, 0, 0, 0, 0),
    pose("a place in mm", "farther off than 10 m", 350.0, 0, 120, 1, 0, 0, 0),
    picture("rows below nought", "in rows of -1 bytes", **raw("rgb8", 2, 2, -1, b"0" * 12)),
)
