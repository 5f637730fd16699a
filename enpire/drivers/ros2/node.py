"""A ROS 2 node with an executor in a thread of its own, in a context of its own."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from enpire.drivers.ros2.shared_memory import remove_abandoned
from enpire.errors import DriverError

MISSING = (
    "rclpy cannot be imported ({error}): source a ROS 2 installation (source /opt/ros/*/setup.sh), "
    "or install enpire[ros2] on Linux x86-64 with Python 3.12"
)
POLL_S = 0.005
UNKNOWN = "NAME_UNKNOWN"  # in the name of a node that is not discovered yet
LOOK_S = 0.1  # between two looks whether to end


def ros2() -> Any:
    """The module rclpy; raises DriverError that says how to come by it."""
    try:
        import rclpy
        import rclpy.clock
        import rclpy.executors
        import rclpy.lifecycle
        import rclpy.qos
        import rclpy.signals
    except ImportError as error:
        raise DriverError(MISSING.format(error=error)) from error
    return rclpy


def sensor_data() -> Any:
    """QoS of what comes often and of which the newest counts: best effort."""
    qos = ros2().qos
    return qos.QoSProfile(
        depth=1,
        reliability=qos.ReliabilityPolicy.BEST_EFFORT,
        durability=qos.DurabilityPolicy.VOLATILE,
    )


def command() -> Any:
    """QoS of what must come: reliable, the newest."""
    qos = ros2().qos
    return qos.QoSProfile(depth=1, reliability=qos.ReliabilityPolicy.RELIABLE)


def latched() -> Any:
    """QoS of what holds until it is said anew: whoever comes late hears it, too."""
    qos = ros2().qos
    return qos.QoSProfile(
        depth=1,
        reliability=qos.ReliabilityPolicy.RELIABLE,
        durability=qos.DurabilityPolicy.TRANSIENT_LOCAL,
    )


class Spinning:
    """A lifecycle node `name`, configured and active, spun by a thread until it is closed."""

    def __init__(self, name: str, namespace: str, use_sim_time: bool) -> None:
        """Raises DriverError without rclpy."""
        rclpy = ros2()
        remove_abandoned()
        self.context = rclpy.context.Context()
        rclpy.init(
            context=self.context, signal_handler_options=rclpy.signals.SignalHandlerOptions.NO
        )
        self.node = rclpy.lifecycle.LifecycleNode(
            name,
            namespace=namespace,
            context=self.context,
            parameter_overrides=[
                rclpy.parameter.Parameter("use_sim_time", value=use_sim_time),
            ],
        )
        self._others: list[Any] = []
        self._closing = False
        self._failure: Exception | None = None  # why the thread ended by itself
        self._unwanted: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        # Not the experimental EventsExecutor: what other threads do to a node deadlocks with it.
        self._executor = rclpy.executors.SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, name=f"ros2 {name}", daemon=True)

    def add(self, node: Any) -> None:
        """Spin another lifecycle node of the same context, too."""
        self._others.append(node)
        self._executor.add_node(node)

    def every(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call back in its thread, by a clock that nobody sets."""
        rclpy = ros2()
        steady = rclpy.clock.Clock(clock_type=rclpy.clock.ClockType.STEADY_TIME)
        self.node.create_timer(seconds, callback, clock=steady)

    def start(self) -> None:
        """Publishers and subscriptions are made: from now on there are callbacks."""
        self.node.trigger_configure()
        self.node.trigger_activate()
        self._thread.start()

    def require_active(self) -> None:
        """Raise DriverError if nothing is heard any more, or a publisher would say nothing."""
        if self._failure is not None:
            raise DriverError(f"the thread that listens to ROS 2 has ended: {self._failure!r}")
        if self.node._state_machine.current_state[1] != "active":
            raise DriverError("the driver's node is not active: somebody has deactivated it")

    def now(self) -> int:
        """The time of the node's clock, ns: the system's, or the simulation's."""
        return int(self.node.get_clock().now().nanoseconds)

    @property
    def name(self) -> str:
        """The node's own, with its namespace: `/left/enpire_left`."""
        return str(self.node.get_fully_qualified_name())

    def publishers(self, topic: str) -> list[str]:
        """The nodes that publish on a topic, by their full names, in order.

        A node's name may be discovered a little later than its publisher.
        """
        found = self.node.get_publishers_info_by_topic(self.node.resolve_topic_name(topic))
        return sorted(
            "a node of unknown name"
            if UNKNOWN in each.node_name
            else f"{each.node_namespace.rstrip('/')}/{each.node_name}"
            for each in found
        )

    def call(self, kind: Any, service: str, request: Any, seconds: float) -> Any:
        """A service's answer, or None if there is none in time."""
        client = self.node.create_client(kind, service)
        try:
            end = time.monotonic() + seconds
            if not wait_until(client.service_is_ready, seconds):
                return None
            future = client.call_async(request)
            if not wait_until(future.done, max(end - time.monotonic(), POLL_S)):
                return None
            return future.result()
        finally:
            self._destroy(lambda: self.node.destroy_client(client))

    def hear(self, kind: Any, topic: str, qos: Any, seconds: float) -> Any:
        """The next message of a topic, or None if there is none in time."""
        heard: list[Any] = []
        subscription = self.node.create_subscription(kind, topic, heard.append, qos)
        wait_until(lambda: bool(heard), seconds)
        self._destroy(lambda: self.node.destroy_subscription(subscription))
        return heard[0] if heard else None

    def close(self) -> None:
        """End thread, node and context."""
        self._closing = True
        self._executor.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._executor.shutdown()
        for node in (*self._others, self.node):
            node.destroy_node()
            # These rclpy forgets: they would hold the node in the network until the process ends.
            node._state_machine.destroy_when_not_in_use()
            for waitable in tuple(node.waitables):  # action servers
                waitable.destroy()
        self.context.try_shutdown()

    def _destroy(self, destroy: Callable[[], object]) -> None:
        """Have something of the node destroyed by the thread.

        The executor fails where another thread destroys what it is about to wait for.
        """
        self._unwanted.put(destroy)

    def _spin(self) -> None:
        try:
            while not self._closing:
                self._executor.spin_once(LOOK_S)
                while not self._unwanted.empty():
                    self._unwanted.get()()
        except Exception as error:
            self._failure = error
            self.node.get_logger().error(f"the thread that listens has ended: {error!r}")


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Wait until something holds; False if it does not in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True
