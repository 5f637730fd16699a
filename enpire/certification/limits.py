"""What a robot does against its limits: the twin's own state, once every control period.

Joint angles and the hand's place as they are at the end of the period; mean speeds of joints and
hand over it; the force at the wrist over what it was when the reset ended. Peaks between two looks
are not seen; accelerations, motor torques and contacts elsewhere are not measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enpire.certification.episodes import Observer
from enpire.certification.row import CheckRow
from enpire.environment import Job, Stations
from enpire.environment.stations.episode_state import StationPhase
from enpire.types import Episode, FloatArray

STOP = 0.01  # a joint's stop is a soft contact in MuJoCo, and yields by so much [rad]
OVERSHOOT = 0.1  # share by which a joint that follows its setpoint may be faster than that may
EDGE = 0.005  # so far a hand may coast over the edge at which its setpoint stops [m]


@dataclass(slots=True)
class LimitCount:
    """One limit: how many looks there were, how many found it exceeded, and the furthest of all."""

    name: str
    bar: str
    parts: list[str]
    looks: int = 0
    beyond: int = 0
    furthest: float = -np.inf
    where: str = "nothing seen"

    def look(self, measures: FloatArray, limits: FloatArray, unit: str, where: str) -> None:
        """Hold measures against limits, each (parts,)."""
        excess = measures - limits
        worst = int(np.argmax(excess))
        self.looks += 1
        self.beyond += bool(excess[worst] > 0)
        if excess[worst] > self.furthest:
            self.furthest = float(excess[worst])
            self.where = f"{self.parts[worst]} {measures[worst]:.3g} {unit} in {where}"

    def row(self) -> CheckRow:
        """The row of the table."""
        return CheckRow(
            check=self.name,
            counted="looks that found it exceeded",
            hits=self.beyond,
            trials=self.looks,
            bar=self.bar,
            passed=self.looks > 0 and self.beyond == 0,
            detail=f"furthest: {self.where}",
        )


class LimitWatcher(Observer):
    """Watches joints, hands and wrists of all stations, in every phase of an episode."""

    def __init__(self, stations: Stations) -> None:
        """Watch the robot of `stations`."""
        control, model = stations.control, stations.twin.model
        limits = stations.twin.scene.robot.limits
        joints = [
            f"{arm.name} joint{j + 1}" for arm in control.arms for j in range(len(arm.joints))
        ]
        hands = [f"{arm.name} hand" for arm in control.arms]
        wrists = [f"{arm.name} wrist" for arm in control.arms]
        self._range = np.concatenate([model.jnt_range[arm.joints] for arm in control.arms])
        self._speed = np.tile(limits.joint_speed, len(hands))
        self._low, self._high = np.array(limits.workspace_low), np.array(limits.workspace_high)
        self._hand_speed = np.full(len(hands), limits.cartesian_speed)
        self._force = np.full(len(hands), stations.task.force_limit)
        self._samples = np.array([arm.force for arm in control.arms])
        self._grasp = np.array([arm.grasp for arm in control.arms])
        self._wrist = np.array([arm.wrist for arm in control.arms])
        self.joint_range = LimitCount("joint range", f"0 beyond by {STOP} rad", joints)
        self.joint_speed = LimitCount("joint speed", f"0 over the limit + {OVERSHOOT:.0%}", joints)
        self.workspace = LimitCount("workspace", f"0 beyond by {1e3 * EDGE:.0f} mm", hands)
        self.hand_speed = LimitCount("hand speed", f"0 over {limits.cartesian_speed:g} m/s", hands)
        self.force = LimitCount("force", f"0 over {stations.task.force_limit:g} N", wrists)
        self._seed: dict[int, int] = {}
        self._time = stations.twin.bind("time")
        self._before: dict[int, tuple[float, FloatArray, FloatArray]] = {}
        self._felt: dict[int, list[tuple[str, FloatArray]]] = {}

    def begun(self, stations: Stations, row: int, job: Job) -> None:
        """Forget the station's last episode."""
        self._seed[row] = job.seed
        self._before.pop(row, None)
        self._felt[row] = []

    def period(self, stations: Stations) -> None:
        """Look at every busy station."""
        for row in range(len(stations)):
            if stations.phase(row) is not StationPhase.IDLE:
                self.look(stations, row)

    def ended(self, stations: Stations, episode: Episode) -> None:
        """Forces need the end of the reset to be known: they are held against their limit now.

        There the hands hang free. A reset that failed may have ended with one that presses: then
        the sensors still have the zero of the reset before.
        """
        row = episode.station
        tare = stations.sensors.tare(row)
        for where, felt in self._felt[row]:
            force = np.linalg.norm(felt - tare, axis=-1)
            self.force.look(force, self._force, "N", where)

    def look(self, stations: Stations, row: int) -> None:
        """Look at one station."""
        twin, rows, phase = stations.twin, np.array([row]), stations.phase(row)
        where = f"{phase.value}, seed {self._seed[row]}"
        joints = stations.control.measured(rows).ravel()
        outside = np.maximum(self._range[:, 0] - joints, joints - self._range[:, 1])
        self.joint_range.look(outside, np.full(len(joints), STOP), "rad beyond", where)
        hands = twin.site_xpos[row, self._grasp]
        outside = np.maximum(self._low - hands, hands - self._high).max(axis=-1)
        self.workspace.look(1e3 * outside, np.full(len(hands), 1e3 * EDGE), "mm beyond", where)
        now = float(self._time[row].item())
        before, joints_before, hands_before = self._before.get(row, (now, joints, hands))
        if before < now:  # not placed anew by a second try at the reset
            speed = abs(joints - joints_before) / stations.period
            self.joint_speed.look(speed, (1 + OVERSHOOT) * self._speed, "rad/s", where)
            speed = np.linalg.norm(hands - hands_before, axis=-1) / stations.period
            self.hand_speed.look(speed, self._hand_speed, "m/s", where)
        self._before[row] = now, joints, hands
        frames = twin.site_xmat[row, self._wrist].reshape(-1, 3, 3)
        felt = (frames @ twin.history[row, self._samples].mean(axis=1)[..., None])[..., 0]
        self._felt[row].append((where, felt))

    def rows(self) -> list[CheckRow]:
        """The rows of the table."""
        found = (self.joint_range, self.joint_speed, self.workspace, self.hand_speed, self.force)
        return [limit.row() for limit in found]
