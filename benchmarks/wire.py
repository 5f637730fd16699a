"""How much later a setpoint reaches ROS 2 through the supervisor than from a bare publisher.

In the same run, at the same time and rate, on the same kind of topic and to the same subscriber:
a process that publishes, and one that is a policy, whose setpoints go through mailbox, supervisor
and driver. A simulated station is at the other end, too. As a module it is one of these processes:
`python -m benchmarks.wire bare|policy|subscriber STATION.toml SECONDS`, each with the
station's real-time priority, as its streamer has it; it prints what it sent or heard when. The
subscriber ends with its standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stream import Stream
from enpire.drivers import build
from enpire.drivers.ros2.messages import trajectory
from enpire.drivers.ros2.node import Spinning, command, wait_until
from enpire.errors import DriverError, SafetyError
from enpire.safety.check import check
from enpire.safety.client import StationClient
from enpire.safety.launch import Supervision
from enpire.safety.machine import Mode
from enpire.safety.pace import prepare
from enpire.safety.permit import Permit, write_passed
from enpire.safety.station import StationFile, load_station
from enpire.simulation.process import READY
from enpire.types import FloatArray

NAMESPACE = "/enpire_bench"
BARE = f"{NAMESPACE}/bare/joint_trajectory"
WIRED = f"{NAMESPACE}/joint_trajectory_controller/joint_trajectory"
TOPICS = BARE, WIRED
MEDIAN_S = 0.001  # that it may add at the median; a quarter of a period at the 99th percentile
AMPLITUDE, PERIOD_S, INTERVAL_S = 0.03, 2.0, 0.05  # of the policy's motion
WAIT_S = 60.0
TRIES = 20  # a busy machine lets heartbeats lapse
Sent = dict[float, int]
"""When a setpoint was written, monotonic ns, by the position of its first joint."""


@dataclass(frozen=True, slots=True)
class Wired:
    """Seconds from the writing of a setpoint until a subscriber has it."""

    period: float
    bare: tuple[float, ...]
    supervised: tuple[float, ...]

    def added(self, q: float) -> float:
        """By the supervisor, at a quantile [s]."""
        if not self.bare or not self.supervised:
            return float("nan")
        return float(np.quantile(self.supervised, q) - np.quantile(self.bare, q))

    def markdown(self) -> str:
        """The table, and the bars."""
        lines = ["| from, to a subscriber | setpoints | median ms | p99 ms |", "|---|---|---|---|"]
        for name, found in (("bare publisher", self.bare), ("policy", self.supervised)):
            middle, p99 = np.quantile(found or (np.nan,), [0.5, 0.99]) * 1e3
            lines.append(f"| {name} | {len(found)} | {middle:.2f} | {p99:.2f} |")
        middle, p99 = self.added(0.5), self.added(0.99)
        good = middle <= MEDIAN_S and p99 <= self.period / 4
        lines.append(
            f"added: median {middle * 1e3:.2f} ms (at most {MEDIAN_S * 1e3:.0f}), p99 "
            f"{p99 * 1e3:.2f} ms (at most {self.period / 4 * 1e3:.1f}): "
            f"{'holds' if good else 'missed'}"
        )
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        """For the last line."""
        return asdict(self)


def measure(folder: Path, seconds: float, realtime: str = "") -> Wired:
    """So many seconds of both; realtime: lines of that table of the station file.

    Raises DriverError without rclpy, SafetyError if the station stops time and again.
    """
    path = folder / "bench.toml"
    path.write_text(
        f'driver = "ros2"\nrobot = "so101"\n[realtime]\n{realtime}\n'
        f'[ros2]\nnamespace = "{NAMESPACE}"\nsimulated = true\n'
    )
    station = load_station(path)
    station.runtime.mkdir(mode=0o700, exist_ok=True)
    words = ["--task", "pick_cube", "--wire", "ros2", "--faults", "", "--seed", "0"]
    simulated = _process("enpire.simulation.process", str(path), *words)
    try:
        if _line(simulated) != READY:
            raise DriverError("the simulated station does not start")
        check(station, build(station.driver, station.robot, time.monotonic_ns, station.site))
        write_passed(station, date.today(), ())
        for _ in range(TRIES):
            found = _once(station, seconds)
            if found is not None:
                return found
        raise SafetyError(f"the station stopped in each of {TRIES} tries: see its records")
    finally:
        simulated.kill()
        simulated.communicate()


def _once(station: StationFile, seconds: float) -> Wired | None:
    """None if the station stopped."""
    words = str(station.path), str(seconds)
    subscriber = _process("benchmarks.wire", "subscriber", *words)
    try:
        if _line(subscriber) != READY:
            raise DriverError("the bench's subscriber does not start")
        with Supervision(station, Permit.MOTION) as supervision:
            client = StationClient(supervision.folder)
            supervision.ask("arm")
            wait_until(lambda: client.status().mode is Mode.ARMED, WAIT_S)
            programs = [_process("benchmarks.wire", kind, *words) for kind in ("bare", "policy")]
            sent = [_stamps(program.communicate()[0] or "{}") for program in programs]
        heard = _stamps(subscriber.communicate()[0])
    finally:
        subscriber.kill()
        subscriber.communicate()
    bare, policy = (one.get(topic, {}) for one, topic in zip(sent, TOPICS, strict=True))
    if not policy:
        return None
    return Wired(
        station.period,
        _latencies(bare, heard[BARE]),
        _latencies(policy, heard[WIRED]),
    )


def _latencies(sent: Sent, heard: Sent) -> tuple[float, ...]:
    """Of what came through as it was sent."""
    return tuple((heard[value] - sent[value]) * 1e-9 for value in sent if value in heard)


def _stamps(printed: str) -> dict[str, Sent]:
    """What a process of ours printed, by topic."""
    return {topic: dict(map(tuple, stamps)) for topic, stamps in json.loads(printed).items()}


def _process(module: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", module, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline().strip() if process.stdout else ""


def _subscriber() -> dict[str, Sent]:
    """Hear both until standard input ends."""
    from trajectory_msgs.msg import JointTrajectory

    heard: dict[str, Sent] = {topic: {} for topic in TOPICS}

    def hear(topic: str, message: Any) -> None:
        now = time.monotonic_ns()
        heard[topic].setdefault(float(message.points[0].positions[0]), now)

    spinning = Spinning("enpire_bench", NAMESPACE, False)
    for topic in TOPICS:
        spinning.node.create_subscription(
            JointTrajectory, topic, lambda m, topic=topic: hear(topic, m), command()
        )
    spinning.start()
    try:
        print(READY, flush=True)
        sys.stdin.read()
    finally:
        spinning.close()
    return heard


def _bare(seconds: float) -> Sent:
    """Publish as a supervisor does."""
    from trajectory_msgs.msg import JointTrajectory

    spinning = Spinning("enpire_bare", NAMESPACE, False)
    publisher = spinning.node.create_publisher(JointTrajectory, BARE, command())
    spinning.start()
    sent: Sent = {}
    try:
        wait_until(lambda: bool(publisher.get_subscription_count()), WAIT_S)
        names = [f"arm_joint{k + 1}" for k in range(5)]
        due = time.monotonic_ns()
        end = due + round(seconds * 1e9)
        while due < end:
            due += 10_000_000
            time.sleep(max(due - time.monotonic_ns(), 0) * 1e-9)
            position = np.full(5, len(sent) * 1e-6)
            sent[float(position[0])] = time.monotonic_ns()
            publisher.publish(trajectory(names, position, np.zeros(5), 0.01))
    finally:
        spinning.close()
    return sent


class _Noting(StationClient):
    """A client that notes when it wrote what."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.sent: Sent = {}

    def send(self, epoch: int, setpoint: FloatArray, rest: bool = False) -> None:
        """Write a setpoint."""
        self.sent.setdefault(float(setpoint[0]), time.monotonic_ns())
        super().send(epoch, setpoint, rest)


def _policy(folder: Path, seconds: float) -> Sent:
    """Move the first joint to and fro; nothing if the station stops."""
    client = _Noting(folder)
    try:
        stream = Stream(client)
    except SafetyError:  # stopped again meanwhile
        return {}
    start = client.status().sent
    times = np.arange(0, seconds, INTERVAL_S)
    way = AMPLITUDE * (1 - np.cos(2 * np.pi / PERIOD_S * times)) / 2
    stream.play(start + way[:, None] * np.eye(len(start))[0], INTERVAL_S)
    time.sleep(seconds)
    stopped = stream.ended is not None
    stream.close()
    return {} if stopped else client.sent


def main(kind: str, path: Path, seconds: float) -> None:
    """Be one of these processes."""
    station = load_station(path)
    prepare(replace(station.realtime, cpu=None))
    if kind == "subscriber":
        found = _subscriber()
    elif kind == "bare":
        found = {BARE: _bare(seconds)}
    else:
        found = {WIRED: _policy(station.runtime, seconds)}
    print(json.dumps({topic: list(stamps.items()) for topic, stamps in found.items()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
