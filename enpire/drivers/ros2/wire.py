"""Tracker, fixture, cameras and told faults over ROS 2."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from enpire.drivers.driver import Clock, Picture, Site
from enpire.drivers.ros2.messages import forward, objects_of, picture_of
from enpire.drivers.ros2.node import Spinning, command, latched, sensor_data, wait_until
from enpire.drivers.ros2.settings import COMPRESSED, Ros2Settings
from enpire.drivers.wire import Fault, Objects
from enpire.errors import DriverError, ResetFailed
from enpire.json_text import loads
from enpire.types import FloatArray

CONNECT_S = 15.0
FAULTS, SCENE, INITIAL_STATE, PHYSICS = "faults", "scene", "set_initial_state", "randomize_physics"
"""Topics of a simulated station: told faults and how its scene is, as JSON; initial conditions."""


class Ros2Wire:
    """See `Wire`. Poses are in the world frame of the task."""

    def __init__(self, site: Site, clock: Clock) -> None:
        """Raises DriverError if no tracker is heard."""
        from geometry_msgs.msg import PoseArray
        from std_msgs.msg import Float64MultiArray, String

        settings = self._settings = Ros2Settings.read(site.settings)
        self.simulated, self._clock = settings.simulated, clock
        name = f"enpire_wire_{site.name}".replace("-", "_").replace(".", "_")
        self._spinning = Spinning(name, settings.namespace, settings.use_sim_time)
        self._lock = threading.Lock()
        self._objects: Objects | None = None
        self._refused: dict[str, str] = {}  # why what came last counted as none, by what it was
        self._pictures: dict[str, Picture] = {}
        self._told: dict[int, Fault] = {}
        self._taken = 0
        self._scene: dict[str, Any] = {}
        self._placed = 0  # of the simulator's scenes, the one before ours
        self._on: tuple[str, ...] | None = None
        node = self._spinning.node
        node.create_subscription(PoseArray, settings.objects, self._on_object, sensor_data())
        self._fixture = node.create_publisher(String, settings.fixture, latched())
        if self.simulated:
            node.create_subscription(String, FAULTS, self._faulty, latched())
            node.create_subscription(String, SCENE, self._settled, latched())
            self._initial_state = node.create_publisher(Float64MultiArray, INITIAL_STATE, command())
            self._physics = node.create_publisher(Float64MultiArray, PHYSICS, command())
        self._spinning.start()
        if not wait_until(lambda: self._objects is not None, CONNECT_S):
            self.close()
            refused = self._refused.get(settings.objects, "")
            raise DriverError(
                f"no tracked objects on {settings.objects} in namespace "
                f"{settings.namespace or '/'}"
                + (refused and f"; there are some that count as none: {refused}")
            )
        if self.simulated and not wait_until(self._heard_by_simulator, CONNECT_S):
            self.close()
            raise DriverError("no simulated station listens, though [ros2] says simulated = true")

    def objects(self) -> Objects | None:
        """See `Wire`."""
        return self._objects

    def operate(self, on: tuple[str, ...]) -> None:
        """See `Wire`."""
        from std_msgs.msg import String

        if on != self._on:
            self._on = on
            self._fixture.publish(String(data=",".join(on)))

    def watch(self, cameras: tuple[str, ...]) -> None:
        """See `Wire`."""
        from sensor_msgs.msg import CompressedImage
        from sensor_msgs.msg import Image as Raw

        for camera, topic in self._settings.pictures(cameras).items():
            self._spinning.node.create_subscription(
                CompressedImage if topic.endswith(COMPRESSED) else Raw,
                topic,
                lambda message, camera=camera: self._pictured(camera, message),
                sensor_data(),
            )

    def picture(self, camera: str) -> Picture | None:
        """See `Wire`."""
        return self._pictures.get(camera)

    def faults(self) -> list[Fault]:
        """See `Wire`."""
        with self._lock:
            found = [self._told[number] for number in sorted(self._told) if number > self._taken]
            self._taken = max(self._told, default=0)
        return found

    def set_initial_state(self, variation: FloatArray) -> None:
        """See `Wire`."""
        self._placed = int(self._scene.get("number", 0))
        self._initial_state.publish(forward(np.asarray(variation)))

    def randomize_physics(self, variation: FloatArray) -> None:
        """See `Wire`."""
        self._physics.publish(forward(np.asarray(variation)))

    @property
    def placed(self) -> bool:
        """See `Wire`."""
        scene = self._scene
        if int(scene.get("number", 0)) <= self._placed or not scene["placed"]:
            return False
        if scene["failed"]:
            raise ResetFailed(str(scene["failed"]))
        return True

    def close(self) -> None:
        """See `Wire`."""
        self._spinning.close()

    def _heard_by_simulator(self) -> bool:
        return bool(self._initial_state.get_subscription_count() and self._scene)

    def _age(self, header: Any) -> int:
        """The age of what has just come [ns]; below nought where its clock is ahead of ours."""
        stamp = int(header.stamp.sec) * 10**9 + int(header.stamp.nanosec)
        return self._spinning.now() - stamp

    def _on_object(self, message: Any) -> None:
        frame = self._settings.objects_frame
        measured = self._clock() - max(self._age(message.header), 0)
        if self._objects is None or measured > self._objects.stamp:
            try:
                self._objects = objects_of(message, measured, frame)
            except DriverError as error:
                self._refuse(self._settings.objects, error)

    def _pictured(self, camera: str, message: Any) -> None:
        age = self._age(message.header)
        measured, newest = self._clock() - max(age, 0), self._pictures.get(camera)
        if newest is not None and measured <= newest.stamp:
            return  # it was overtaken
        try:
            self._pictures[camera] = Picture(measured, picture_of(message), max(-age, 0))
        except DriverError as error:
            self._refuse(f"a picture of {camera}", error)

    def _refuse(self, what: str, error: DriverError) -> None:
        """Have it count as none; it is said once for each reason that follows another."""
        if self._refused.get(what) != str(error):
            self._refused[what] = str(error)
            self._spinning.node.get_logger().warning(f"{what} counts as none: {error}")

    def _faulty(self, message: Any) -> None:
        with self._lock:
            for one in loads(message.data):
                self._told[one["number"]] = Fault(**one)

    def _settled(self, message: Any) -> None:
        self._scene = loads(message.data)
