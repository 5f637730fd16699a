"""Our arrays as ROS 2 messages, and back."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.drivers.wire import Objects
from enpire.packs.toml import REACH
from enpire.types import FloatArray, Image

FARTHEST = 1e3  # that a joint stands or moves [rad or m, and a second]: no joint does
HARDEST = 1e4  # that a joint pushes or turns [N or N m]: no joint does
WORLD = "world"  # a frame, where trackers and station have no other name for it
UNIT = 0.01  # by which the length of a quaternion may differ from 1


class Names:
    """Axes by name; where they stand in messages is looked up once for each order of names."""

    def __init__(self, axes: Sequence[str]) -> None:
        """axes: names in messages, in our order."""
        self.axes = tuple(axes)
        self._orders: dict[tuple[str, ...], list[int] | None] = {}

    def ordered(self, state: Any) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Position, velocity and effort of a JointState, (axes,) each.

        None if an axis is missing, is there twice, or where it stands is no number that a joint
        has, and if there are not as many velocities or efforts as names, or none at all: such a
        message counts as none, and the watchdog of joint states sees the gap. An effort that a
        message does not say is NaN; a velocity that it does not say, or says as NaN, is nought.
        """
        try:
            return self._ordered(state)
        except (TypeError, ValueError, OverflowError, IndexError):  # what is no list of numbers
            return None

    def _ordered(self, state: Any) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        names = tuple(state.name)
        if names not in self._orders:
            known = {name: k for k, name in enumerate(names)}
            whole = all(names.count(axis) == 1 for axis in self.axes)
            self._orders[names] = [known[axis] for axis in self.axes] if whole else None
        order = self._orders[names]
        if order is None or len(state.position) != len(names):
            return None
        if not {len(state.velocity), len(state.effort)} <= {0, len(names)}:
            return None
        position = _numbers(state.position)[order]
        if not (np.abs(position) <= FARTHEST).all():
            return None
        velocity: FloatArray = np.zeros(len(order))
        if len(state.velocity) == len(names):
            velocity = _numbers(state.velocity)[order]
            velocity[np.isnan(velocity)] = 0.0  # of a controller that has no such interface
            if not (np.abs(velocity) <= FARTHEST).all():
                return None
        effort: FloatArray = np.full(len(order), np.nan)
        if len(state.effort) == len(names):
            effort = _numbers(state.effort)[order]
            effort[~(np.abs(effort) <= HARDEST)] = np.nan  # nobody measured that
        return position, velocity, effort


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


def frame_of(message: Any) -> str:
    """The frame that poses are told in; empty where nobody says."""
    return str(message.header.frame_id).removeprefix("/")


def objects_of(message: Any, stamp: int, frame: str = WORLD) -> Objects | None:
    """The poses of a PoseArray, or None where one is no pose of a bench; stamp: monotonic ns.

    frame: the task's world, as the tracker calls it. Poses of another frame are somewhere else.
    """
    if frame_of(message) not in ("", frame):
        return None
    places = [(p.position.x, p.position.y, p.position.z) for p in message.poses]
    turn = [
        (p.orientation.w, p.orientation.x, p.orientation.y, p.orientation.z) for p in message.poses
    ]
    try:
        quaternions = _numbers(np.array(turn).ravel()).reshape(-1, 4) if turn else np.zeros((0, 4))
        position = _numbers(np.array(places).ravel()).reshape(-1, 3) if turn else np.zeros((0, 3))
    except (TypeError, ValueError, OverflowError):
        return None
    lengths = np.linalg.norm(quaternions, axis=1)
    if not ((np.abs(position) <= REACH).all() and (np.abs(lengths - 1.0) < UNIT).all()):
        return None
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


def picture_of(message: Any) -> Image | None:
    """The RGB pixels, (height, width, 3), of an Image in rgb8 or bgr8, or of a CompressedImage.

    None of another encoding, of what does not decode, or is not as large as it says.
    """
    data = np.frombuffer(message.data, np.uint8)
    if hasattr(message, "format"):
        try:
            seen = cv2.imdecode(data, cv2.IMREAD_COLOR) if len(data) else None
        except cv2.error:  # of sizes that nobody has
            return None
        return None if seen is None else cv2.cvtColor(seen, cv2.COLOR_BGR2RGB).astype(np.uint8)
    if message.encoding not in ("rgb8", "bgr8") or not message.height * message.width:
        return None
    if message.step < 3 * message.width or len(data) != message.height * message.step:
        return None
    rows = data.reshape(message.height, message.step)
    pixels = rows[:, : 3 * message.width].reshape(message.height, message.width, 3)
    return (pixels[..., ::-1] if message.encoding == "bgr8" else pixels).copy()
