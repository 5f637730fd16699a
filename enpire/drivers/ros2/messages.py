"""Our arrays as ROS 2 messages, and back.

A message that is not what it should be counts as none: reading it raises a DriverError that says
why, and the watchdog of what it carries sees the gap.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.drivers.wire import Objects
from enpire.errors import DriverError
from enpire.packs.toml import REACH
from enpire.types import FloatArray, Image

FARTHEST = 1e3  # that a joint moves in a second [rad or m]: no joint does
TURNED = 40.0  # and that it stands at: six turns
HARDEST = 1e4  # that a joint pushes or turns [N or N m]: no joint does
WORLD = "world"  # a frame, where trackers and station have no other name for it
UNIT = 0.01  # by which the length of a quaternion may differ from 1


class Names:
    """Axes by name; where they stand in messages is looked up once for each order of names."""

    def __init__(self, axes: Sequence[str]) -> None:
        """axes: names in messages, in our order."""
        self.axes = tuple(axes)
        self._orders: dict[tuple[str, ...], list[int]] = {}

    def ordered(self, state: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and effort of a JointState, (axes,) each.

        A velocity or an effort that a message does not say is NaN.

        Raises:
            DriverError: an axis is missing or is there twice, where it stands is no number that a
                joint has, or there are not as many velocities or efforts as names, or none at all.
        """
        try:
            return self._ordered(state)
        except (TypeError, ValueError, OverflowError, IndexError) as error:
            raise DriverError("what stands in it are no lists of numbers") from error

    def _ordered(self, state: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        names = tuple(state.name)
        order = self._orders.get(names)
        if order is None:
            for axis in self.axes:
                if names.count(axis) != 1:
                    raise DriverError(f"{axis} is {'there twice' if axis in names else 'missing'}")
            order = self._orders[names] = [names.index(axis) for axis in self.axes]
        for what in ("position", "velocity", "effort"):
            count = len(getattr(state, what))
            if count != len(names) and (count or what == "position"):
                raise DriverError(f"it has {len(names)} names, and of {what} {count} numbers")
        position = _numbers(state.position)[order]
        self._require(position, "position", TURNED)
        velocity: FloatArray = np.full(len(order), np.nan)
        if len(state.velocity) == len(names):
            velocity = _numbers(state.velocity)[order]
            self._require(np.nan_to_num(velocity, posinf=np.inf, neginf=-np.inf), "velocity")
        effort: FloatArray = np.full(len(order), np.nan)
        if len(state.effort) == len(names):
            effort = _numbers(state.effort)[order]
            effort[~(np.abs(effort) <= HARDEST)] = np.nan  # nobody measured that
        return position, velocity, effort

    def _require(self, values: FloatArray, what: str, most: float = FARTHEST) -> None:
        wrong = np.flatnonzero(~(np.abs(values) <= most))
        if len(wrong):
            value, axis = values[wrong[0]], self.axes[wrong[0]]
            raise DriverError(
                f"the {what} of {axis} is {value:g}, which no joint has: rad or m, no degrees"
            )


def _numbers(values: Any) -> FloatArray:
    """A message's numbers, (n,); raises ValueError for text, truth values, masks and tables."""
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "iuf" or isinstance(values, np.ma.MaskedArray):
        raise ValueError("no list of numbers")
    return found.astype(np.float64)


def trajectory(
    names: Sequence[str], position: FloatArray, speed: FloatArray | None, seconds: float
) -> Any:
    """A JointTrajectory of one point, to be reached in `seconds` from its arrival.

    Without a speed the way there is straight and even.
    """
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    point = JointTrajectoryPoint(
        positions=position.tolist(),
        velocities=[] if speed is None else speed.tolist(),
        time_from_start=Duration(sec=int(seconds), nanosec=round(seconds % 1 * 1e9)),
    )
    return JointTrajectory(joint_names=list(names), points=[point])


def forward(values: FloatArray) -> Any:
    """What a forward command controller takes."""
    from std_msgs.msg import Float64MultiArray

    return Float64MultiArray(data=values.tolist())


def poses(objects: Objects, stamp: Any, frame: str = WORLD) -> Any:
    """A PoseArray; stamp: builtin_interfaces/Time."""
    from geometry_msgs.msg import Point, Pose, PoseArray, Quaternion
    from std_msgs.msg import Header

    found = []
    for position, rotation in zip(objects.position, objects.rotation, strict=True):
        w, x, y, z = Rotation.from_matrix(rotation).as_quat(scalar_first=True)
        found.append(
            Pose(
                position=Point(x=position[0], y=position[1], z=position[2]),
                orientation=Quaternion(w=w, x=x, y=y, z=z),
            )
        )
    return PoseArray(header=Header(stamp=stamp, frame_id=frame), poses=found)


def objects_of(message: Any, stamp: int, frame: str = WORLD) -> Objects:
    """The poses of a PoseArray; stamp: monotonic ns.

    frame: the task's world, as the tracker calls it. One that says none is taken to be in it.

    Raises:
        DriverError: one is no pose of a bench, or they are of another frame, so somewhere else.
    """
    if (said := str(message.header.frame_id).removeprefix("/")) not in ("", frame):
        raise DriverError(
            f"they are in frame {said}, and not in {frame}: have the tracker tell them in the "
            "world's, or call that one objects_frame"
        )
    places = [(p.position.x, p.position.y, p.position.z) for p in message.poses]
    turn = [
        (p.orientation.w, p.orientation.x, p.orientation.y, p.orientation.z) for p in message.poses
    ]
    try:
        quaternions = _numbers(np.array(turn).ravel()).reshape(-1, 4) if turn else np.zeros((0, 4))
        position = _numbers(np.array(places).ravel()).reshape(-1, 3) if turn else np.zeros((0, 3))
    except (TypeError, ValueError, OverflowError) as error:
        raise DriverError("one has what is no number") from error
    if not (np.abs(position) <= REACH).all():
        raise DriverError(f"one is farther off than {REACH:g} m, or nowhere: in m, no mm")
    lengths = np.linalg.norm(quaternions, axis=1)
    if not (np.abs(lengths - 1.0) < UNIT).all():
        raise DriverError("the quaternion of one is not of length 1")
    rotation = Rotation.from_quat(quaternions, scalar_first=True).as_matrix()
    return Objects(stamp, position.reshape(-1, 3), rotation.reshape(-1, 3, 3))


def force_of(message: Any) -> FloatArray:
    """The force of a WrenchStamped, (3,) [N]; endless where it is no number.

    A wrist that has a sensor and does not tell is above every limit: nobody would notice else.
    """
    felt = message.wrench.force
    try:
        force = _numbers([felt.x, felt.y, felt.z])
    except (TypeError, ValueError, OverflowError):
        return np.full(3, np.inf)
    return force if np.isfinite(force).all() else np.full(3, np.inf)


def image(pixels: Image, stamp: Any, frame: str) -> Any:
    """An Image of RGB pixels (height, width, 3); stamp: builtin_interfaces/Time."""
    from sensor_msgs.msg import Image as Message
    from std_msgs.msg import Header

    height, width, _ = pixels.shape
    return Message(
        header=Header(stamp=stamp, frame_id=frame),
        height=height,
        width=width,
        encoding="rgb8",
        step=3 * width,
        data=array("B", pixels.tobytes()),  # of a list, or of bytes, each number would be looked at
    )


def compressed(pixels: Image, stamp: Any, frame: str) -> Any:
    """A CompressedImage of them, without loss; stamp: builtin_interfaces/Time."""
    from sensor_msgs.msg import CompressedImage
    from std_msgs.msg import Header

    fast = [cv2.IMWRITE_PNG_COMPRESSION, 1]
    _, data = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), fast)
    return CompressedImage(
        header=Header(stamp=stamp, frame_id=frame),
        format="rgb8; png compressed bgr8",
        data=array("B", data.tobytes()),
    )


def picture_of(message: Any) -> Image:
    """The RGB pixels, (height, width, 3), of an Image in rgb8 or bgr8, or of a CompressedImage.

    Raises:
        DriverError: it is of another encoding, does not decode, or is not as large as it says.
    """
    try:
        data = np.frombuffer(message.data, np.uint8)
    except TypeError as error:
        raise DriverError("its data are no bytes") from error
    if hasattr(message, "format"):
        return _decoded(data, message.format)
    height, width, step = message.height, message.width, message.step
    if message.encoding not in ("rgb8", "bgr8"):
        raise DriverError(f"its encoding is {message.encoding!r:.40}: rgb8 or bgr8 is needed")
    whole = all(type(each) is int for each in (height, width, step))
    if not whole or not height * width or step < 3 * width or len(data) != height * step:
        raise DriverError(
            f"it says {width} x {height} pixels in rows of {step} bytes, and has {len(data)}"
        )
    pixels = data.reshape(height, step)[:, : 3 * width].reshape(height, width, 3)
    return (pixels[..., ::-1] if message.encoding == "bgr8" else pixels).copy()


def _decoded(data: Image, form: str) -> Image:
    """The RGB pixels of a compressed picture; one of depth, or of grey, is of another encoding."""
    flags = cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH
    try:
        seen = cv2.imdecode(data, flags) if len(data) else None
    except cv2.error:  # of sizes that nobody has
        seen = None
    if seen is None:
        raise DriverError(f"it is cut off, or no picture; its format is {form!r:.40}")
    if seen.ndim != 3 or seen.dtype != np.uint8:
        raise DriverError(f"it has no three colours of 8 bits; its format is {form!r:.40}")
    return cv2.cvtColor(seen, cv2.COLOR_BGR2RGB).astype(np.uint8)
