"""What comes over ROS 2 that is slightly wrong: it counts as none, and a watchdog sees the gap."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Message
from typing import Any

from enpire.drivers.ros2.messages import Names, force_of, objects_of, picture_of
from tests.inputs.entry import REFUSED, TAKEN, Input

NAN, INF = float("nan"), float("inf")
GOOD = {"name": ["a", "b"], "position": [1.0, 2.0], "velocity": [3.0, 4.0], "effort": []}


def none_or(found: Any) -> tuple[str, str]:
    """Refused, or what it is taken as."""
    return (REFUSED, "none") if found is None else (TAKEN, str(found))


def joints(called: str, words: str = "none", ends: str = REFUSED, **said: Any) -> Input:
    """An entry: a JointState."""

    def give(_: Path) -> tuple[str, str]:
        assert Names(["a", "b"]).ordered(Message(**GOOD)) is not None
        return none_or(Names(["a", "b"]).ordered(Message(**GOOD | said)))

    return Input(called, give, words, ends)


def pose(name: str, *numbers: float, ends: str = REFUSED, frame: str = "world") -> Input:
    """An entry: a pose, x y z and a turn w x y z, in a frame."""
    place = Message(**dict(zip("xyz", numbers[:3], strict=True)))
    turn = Message(**dict(zip("wxyz", numbers[3:], strict=True)))
    header = Message(frame_id=frame)
    message = Message(header=header, poses=[Message(position=place, orientation=turn)])
    return Input(name, lambda _: none_or(objects_of(message, 7)), "", ends)


def picture(name: str, ends: str = REFUSED, **said: Any) -> Input:
    """An entry: a picture."""
    return Input(name, lambda _: none_or(picture_of(Message(**said))), "", ends)


def raw(encoding: str, height: int, width: int, step: int, data: bytes) -> dict[str, Any]:
    """The parts of an Image."""
    return {"encoding": encoding, "height": height, "width": width, "step": step, "data": data}


def force(name: str, x: float) -> Input:
    """An entry: a force, which is above every limit where it is none."""
    felt = Message(wrench=Message(force=Message(x=x, y=0.0, z=0.0)))
    return Input(name, lambda _: (TAKEN, str(force_of(felt))), r"\[inf inf inf\]", TAKEN)


MORE, ORDER = ["x", "b", "a"], r"1\., 2\."
ALL = (
    joints("more joints", ORDER, TAKEN, name=MORE, position=[9, 2, 1.0], velocity=[]),
    joints("no velocities", r"\[0\., 0\.\]", TAKEN, velocity=[]),
    joints("velocities that nobody measures", r"\[0\., 0\.\]", TAKEN, velocity=[NAN, NAN]),
    joints("a velocity too few", velocity=[3.0]),
    joints("a velocity too many", velocity=[3.0, 4.0, 5.0]),
    joints("an infinite velocity", velocity=[INF, 0.0]),
    joints("a velocity of 1e300", velocity=[1e300, 0.0]),
    joints("an effort too few", effort=[1.0]),
    joints("an effort of NaN", "nan", TAKEN, effort=[NAN, 1.0]),
    joints("an axis twice", name=["a", "b", "a"], position=[1.0, 2.0, 3.0], velocity=[]),
    joints("an axis missing", name=["a", "x"]),
    joints("names of another arm", name=["left_a", "left_b"]),
    joints("names with a slash", name=["/a", "/b"]),
    joints("names with a space", name=["a ", "b"]),
    joints("no names", name=[]),
    joints("a position of NaN", position=[NAN, 2.0]),
    joints("an infinite position", position=[1.0, INF]),
    joints("a position of 1e300", position=[1e300, 2.0]),
    joints("no positions", position=[]),
    joints("positions in text", position=["1", "2"]),
    joints("positions that are nothing", position=[None, 1.0]),
    joints("positions in a table", position=[[1.0], [2.0]]),
    joints("positions that are true", position=[True, False]),
    joints("complex positions", position=[1j, 2.0]),
    joints("a position of 400 digits", position=[10**400, 1]),
    joints("velocities in text", velocity=["x", "y"]),
    joints("velocities that are None", velocity=None),
    joints("efforts in text", effort=["x", "y"]),
    joints("an endless effort", "nan", TAKEN, effort=[INF, 1.0]),
    pose("a pose in text", "1", 0, 0, 1, 0, 0, 0),  # type: ignore[arg-type]
    pose("a pose of nothing", None, 0, 0, 1, 0, 0, 0),  # type: ignore[arg-type]
    force("a force in text", "x"),  # type: ignore[arg-type]
    force("a force of 400 digits", 10**400),
    joints("a position too many", position=[1.0, 2.0, 3.0]),
    pose("a pose", 1, 2, 3, 1, 0, 0, 0, ends=TAKEN),
    pose("a pose of no frame", 1, 2, 3, 1, 0, 0, 0, ends=TAKEN, frame=""),
    pose("a frame of ROS 1", 1, 2, 3, 1, 0, 0, 0, ends=TAKEN, frame="/world"),
    pose("a pose that a camera tells", 1, 2, 3, 1, 0, 0, 0, frame="camera_link"),
    pose("a pose from the arm's base", 1, 2, 3, 1, 0, 0, 0, frame="base_link"),
    pose("a pose in millimetres", 500, 300, 10, 1, 0, 0, 0),
    pose("a pose of NaN", 1, NAN, 3, 1, 0, 0, 0),
    pose("a pose of 1e300", 1e300, 0, 0, 1, 0, 0, 0),
    pose("a turn of no length", 1, 2, 3, 0, 0, 0, 0),
    pose("a turn of length 2", 1, 2, 3, 2, 0, 0, 0),
    pose("a turn of NaN", 1, 2, 3, NAN, 0, 0, 0),
    picture("a picture", TAKEN, **raw("rgb8", 1, 1, 3, b"123")),
    picture("a picture of no rows", **raw("rgb8", 0, 0, 0, b"")),
    picture("a picture below nought", **raw("rgb8", -1, 4, 12, b"")),
    picture("a picture beyond memory", **raw("rgb8", 2**31, 2**31, 2**33, b"123")),
    picture("a picture of grey", **raw("mono8", 1, 1, 1, b"1")),
    picture("a picture of four colours", **raw("rgba8", 1, 1, 4, b"1234")),
    picture("rows too short", **raw("rgb8", 1, 2, 3, b"123")),
    picture("a picture cut off", format="png", data=b"\x89PNG\r\n\x1a\n"),
    picture("no picture", format="jpeg", data=b"no picture"),
    force("a force of NaN", NAN),
    force("an infinite force", -INF),
)
