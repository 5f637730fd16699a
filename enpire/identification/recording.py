"""What an arm was sent and what it then did: all that identification looks at."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np

from enpire.drivers.speeds import told_share, untrue
from enpire.errors import StoreError
from enpire.store.durable import publish_file
from enpire.types import FloatArray

QUICKEST, SLOWEST = 1e-5, 1.0  # between two rows [s]
SOON, OLDEST = 0.1, 10.0  # what was measured is younger or older than its row, at most [s]
TURNED = 40.0  # that no axis is farther than [rad, m]: six turns
GAP = 3.0  # periods without a row, after which another recording begins
REST = 0.02  # joints slower than this rest [rad/s]
LEAST_MOTION = 0.01  # of an axis, in a recording that tells something [rad, m]
AGAINST = -0.5  # correlation of an axis with what it is sent: a late one is above
LATE_S = 0.1  # without a row, while an arm moves
QUICK = 0.1  # of an axis that moves [rad/s]
FAR = 0.1  # that a setpoint moves, and an axis after it [rad, m]
WINDOW_S = 0.1  # over which velocities are held against positions
EXPLAINED = 0.9  # of an effort, by the way to a setpoint and by speed
FIRST = 10  # rows of a beginning
NPY = ".npy"  # ends the name of an array in an archive
# What an archive may raise that is none, was cut off, is locked, or says that it is vast.
BROKEN = (OSError, EOFError, ValueError, RuntimeError, MemoryError, zlib.error, zipfile.BadZipFile)
COLUMNS = ("stamps", "sent", "position", "velocity", "effort", "age")


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Rows of what was measured, and of the setpoint that was sent after it.

    It begins at rest. Axes are as in `enpire.drivers.Reading`; velocity and effort are NaN where an
    arm does not measure them.
    """

    robot: str
    name: str  # where it is from
    stamps: FloatArray  # (T,), increasing, of the setpoints [s]
    sent: FloatArray  # (T, axes) [rad, or the gripper's unit]
    position: FloatArray  # (T, axes) [rad, or the gripper's unit]
    velocity: FloatArray  # (T, axes)
    effort: FloatArray  # (T, axes) [N m, or N]
    age: FloatArray  # (T,), by how much what was measured is older [s]
    # Efforts are means over the time up to their stamp [s]; 0: of the moment.
    effort_window: float = 0.0
    # The object that lies where its task's scene has it, and may be touched; none: nothing is.
    handled: str = ""

    def __post_init__(self) -> None:
        rows = len(self.stamps) if self.stamps.ndim == 1 else 0
        if (
            rows < 2
            or self.stamps.dtype.kind not in "iuf"
            or not np.isfinite(self.stamps).all()
            or (np.diff(self.stamps) <= 0).any()
        ):
            raise StoreError(f"{self.name}: stamps must be two or more increasing numbers")
        if self.age.shape != (rows,):
            raise StoreError(f"{self.name}: age has shape {self.age.shape}")
        for name in COLUMNS:
            if getattr(self, name).dtype.kind not in "iuf":
                raise StoreError(
                    f"{self.name}: {name} is of {getattr(self, name).dtype}, no numbers"
                )
        step = float(np.median(np.diff(self.stamps)))
        if not QUICKEST <= step <= SLOWEST:
            raise StoreError(
                f"{self.name}: its rows are {step:g} s apart: stamps are in s, no ms and no ns"
            )
        if not ((self.age >= -SOON) & (self.age <= OLDEST)).all():
            raise StoreError(
                f"{self.name}: an age is below -{SOON:g} or above {OLDEST:g} s: ages are in s"
            )
        if not 0.0 <= self.effort_window <= OLDEST:
            raise StoreError(
                f"{self.name}: effort_window is {self.effort_window:g}: 0 to {OLDEST:g} s is needed"
            )
        if self.sent.ndim != 2:
            raise StoreError(f"{self.name}: sent has shape {self.sent.shape}: (rows, axes) is due")
        for name in COLUMNS[1:-1]:
            if getattr(self, name).shape != self.sent.shape or len(self.sent) != rows:
                raise StoreError(f"{self.name}: {name} has shape {getattr(self, name).shape}")
        if not (np.isfinite(self.sent).all() and np.isfinite(self.position).all()):
            raise StoreError(f"{self.name}: a setpoint or a position is not a number")
        if max(np.abs(self.sent).max(), np.abs(self.position).max()) > TURNED:
            raise StoreError(
                f"{self.name}: a setpoint or a position is beyond {TURNED:g}: rad or m are needed, "
                "no degrees"
            )
        if np.isinf(self.velocity).any() or np.isinf(self.effort).any():
            raise StoreError(f"{self.name}: a velocity or an effort is infinite")

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def seconds(self) -> float:
        """The time from the first row to the last."""
        return float(self.stamps[-1] - self.stamps[0])

    def part(self, first: int, end: int) -> Recording:
        """Rows from `first` to before `end`."""
        columns = {name: getattr(self, name)[first:end] for name in COLUMNS}
        return replace(self, **columns)

    def save(self, path: Path) -> None:
        """Write an `.npz` of plain numbers, durably; raises StoreError."""
        memory = BytesIO()
        with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
            about = {"robot": np.array(self.robot), "name": np.array(self.name)}
            about["effort_window"] = np.array(self.effort_window)
            about["handled"] = np.array(self.handled)
            for name, value in {**about, **{n: getattr(self, n) for n in COLUMNS}}.items():
                member = BytesIO()
                np.save(member, value, allow_pickle=False)
                archive.writestr(f"{name}.npy", member.getvalue())
        publish_file(path, memory.getvalue())


def summed(stamps: FloatArray, sent: FloatArray, at: FloatArray) -> FloatArray:
    """Integral over time, from the first stamp to `at`, of setpoints (T,) each held to the next.

    Before the first stamp the first one holds, after the last the last.
    """
    ends = np.append(stamps, max(float(at.max()), float(stamps[-1])) + 1.0)
    area = np.concatenate([[0.0], np.cumsum(sent * np.diff(ends))])
    before = np.minimum(at - stamps[0], 0.0) * sent[0]
    return np.asarray(np.interp(at, ends, area) + before)


def load(path: Path) -> Recording:
    """What `save` has written; raises StoreError."""
    columns = _columns(path)
    try:
        robot, name = str(columns["robot"]), str(columns["name"])
        stamps, sent, position, velocity, effort, age = (columns[each] for each in COLUMNS)
        try:
            window = float(columns["effort_window"])
        except (TypeError, ValueError) as error:
            raise StoreError(f"{path}: its effort_window is no number: {error}") from error
        handled = str(columns.get("handled", ""))
        measured = position, velocity, effort, age
        return Recording(robot, name, stamps, sent, *measured, window, handled)
    except KeyError as error:
        raise StoreError(f"{path} is no recording: it has no {error.args[0]}") from error


def of_flight_record(path: Path, robot: str) -> list[Recording]:
    """Stretches of a supervisor's flight record in which setpoints were sent, each from rest.

    A record is 30 s of periods before a stop (docs/safety.md). Efforts are taken to be means over a
    period, as arms filter them. Raises StoreError.
    """
    columns = _columns(path)
    if not {"stamp", "measured", *COLUMNS[1:-1]} <= columns.keys():
        raise StoreError(f"{path} is no flight record")
    stamps = columns["stamp"] * 1e-9
    whole = np.isfinite(columns["sent"]).all(1) & np.isfinite(columns["position"]).all(1)
    rows = np.flatnonzero(whole)
    if len(rows) < 2:
        return []
    period = float(np.median(np.diff(stamps[rows])))
    late = GAP * period
    found = []
    for stretch in np.split(rows, np.flatnonzero(np.diff(stamps[rows]) > late) + 1):
        if len(stretch) < 2:  # stopped as soon as it had begun
            continue
        sent, position, velocity, effort = (columns[n][stretch] for n in COLUMNS[1:-1])
        age = (columns["stamp"] - columns["measured"])[stretch] * 1e-9
        resting = _rests(stamps[stretch], position, velocity)
        if resting is None or len(stretch) - resting < 2:
            continue
        name = f"{path.name}, {stamps[stretch[resting]] - stamps[0]:.1f} s"
        all_of_it = Recording(
            robot, name, stamps[stretch], sent, position, velocity, effort, age, period
        )
        found.append(all_of_it.part(resting, len(stretch)))
    return found


def robot_of(path: Path) -> str | None:
    """Whose arms a recording says that it is of; None if it does not say; raises StoreError."""
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    said = [columns["robot"] for file in files[:1] if "robot" in (columns := _columns(file))]
    return str(said[0]) if said else None


def read(paths: list[Path], robot: str) -> list[Recording]:
    """Recordings and flight records, files or folders of them; raises StoreError.

    robot: whose a flight record is; a recording of another one is refused, and so are recordings
    in none of which an axis moves.
    """
    found: list[Recording] = []
    for path in paths:
        files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
        if not files:
            raise StoreError(f"{path} holds no .npz file")
        for file in files:
            if "stamp" in _columns(file):
                found += of_flight_record(file, robot)
                continue
            recording = load(file)
            if recording.robot != robot:
                raise StoreError(f"{file} is of {recording.robot}, not of {robot}")
            found.append(recording)
    if all(np.ptp(each.position, axis=0).max() < LEAST_MOTION for each in found):
        raise StoreError(
            f"nothing moves in {', '.join(map(str, paths))}: no axis by {LEAST_MOTION:g} rad or m, "
            "so nothing can be learned of the arm: `enpire twin explore` has motion played"
        )
    for each in found:
        _require_one_way(each)
        _require_true_setpoints(each)
        _require_true_efforts(each)
        _require_true_times(each)
    for i, each in enumerate(found):
        for other in found[:i]:
            if np.array_equal(each.position, other.position):
                raise StoreError(
                    f"{each.name} is {other.name} once more, row by row: leave one of them out, or "
                    "a fit would be tested on what it has seen"
                )
    return found


def _require_true_setpoints(of: Recording) -> None:
    """Raises StoreError for positions that no arm has which was sent these setpoints."""
    moved, asked = np.ptp(of.position, axis=0), np.ptp(of.sent, axis=0)
    moving = moved >= LEAST_MOTION
    pulls = np.nan_to_num(of.effort).any(axis=0)
    for axis in np.flatnonzero(moving & pulls & (of.sent == of.position).all(axis=0)):
        raise StoreError(
            f"{of.name}: axis {axis} is sent, in every row, where it is measured: `sent` is what "
            "was commanded, and an arm that pulls lags behind that"
        )
    for axis in np.flatnonzero((moved == 0.0) & (asked > FAR)):
        raise StoreError(
            f"{of.name}: axis {axis} stands still to the last bit, and its setpoint moves by "
            f"{asked[axis]:.2g}: nobody measured it"
        )


def _require_true_efforts(of: Recording) -> None:
    """Raises StoreError for efforts that are not measured, or of another sign or axis."""
    moving = np.ptp(of.position, axis=0) >= LEAST_MOTION
    lags = np.ptp(of.sent - of.position, axis=0) > LEAST_MOTION
    for axis in np.flatnonzero(moving & lags & (of.effort == 0.0).all(axis=0)):
        raise StoreError(
            f"{of.name}: axis {axis} moves, and its efforts are all nought: they are NaN where "
            "nobody measures them"
        )
    for axis in np.flatnonzero(moving & lags & np.isfinite(of.effort).all(axis=0)):
        lead, effort = (of.sent - of.position)[:, axis], of.effort[:, axis]
        speed_of = np.gradient(of.position[:, axis], of.stamps)
        terms = np.stack([lead, speed_of, np.ones_like(lead)], axis=1)
        (stiffness, *_), left, *_ = np.linalg.lstsq(terms, effort)
        if stiffness < 0 and left.sum() < (1 - EXPLAINED) * len(of) * np.var(effort):
            raise StoreError(
                f"{of.name}: axis {axis} has efforts against the way to its setpoint: another "
                "sign, or another axis. An effort above 0 pulls an axis up"
            )


def _require_true_times(of: Recording) -> None:
    """Raises StoreError for lost rows, velocities of another unit, or a beginning in motion."""
    speed = np.abs(np.diff(of.position, axis=0)) / np.diff(of.stamps)[:, None]
    late = np.diff(of.stamps) > max(LATE_S, GAP * float(np.median(np.diff(of.stamps))))
    for row in np.flatnonzero(late[1:]):
        if speed[row].max() > QUICK:
            raise StoreError(
                f"{of.name}: there is no row for {of.stamps[row + 2] - of.stamps[row + 1]:.2g} s "
                f"after {of.stamps[row + 1] - of.stamps[0]:.2g} s, while an arm moves: rows are "
                "lost, or a clock was set"
            )
    share = told_share(of.stamps, of.position, of.velocity, WINDOW_S)
    axis = untrue(share)
    if axis is not None:
        raise StoreError(
            f"{of.name}: axis {axis} moves by its stamps and positions, and by its velocities "
            f"{share[axis]:.3g} times as fast: stamps are in s, and velocities in rad/s or m/s, or "
            "NaN where nobody measures them"
        )
    worked_out = np.polyfit(of.stamps[:FIRST] - of.stamps[0], of.position[:FIRST], 2)[1]
    begins = np.where(np.isfinite(of.velocity[0]), of.velocity[0], worked_out)
    if len(of) >= FIRST and np.abs(begins).max() > QUICK:
        raise StoreError(
            f"{of.name}: it begins in motion ({np.abs(begins).max():.2g} rad/s), and a fit begins "
            "at rest"
        )


def _require_one_way(of: Recording) -> None:
    """Raises StoreError for an axis that goes against its setpoint, or against its velocity."""
    changes = np.gradient(of.position, of.stamps, axis=0)
    for axis in np.flatnonzero(np.ptp(of.position, axis=0) >= LEAST_MOTION):
        for what, there, here in (
            ("setpoint", of.sent[:, axis], of.position[:, axis]),
            ("velocity", of.velocity[:, axis], changes[:, axis]),
        ):
            known = np.isfinite(there)
            if not known.any() or min(np.ptp(there[known]), np.ptp(here[known])) < LEAST_MOTION:
                continue
            along = float(np.corrcoef(there[known], here[known])[0, 1])
            if along < AGAINST:
                raise StoreError(
                    f"{of.name}: axis {axis} goes against its {what} (correlation {along:.2f}): "
                    "another sign, or another axis"
                )


def _rests(stamps: FloatArray, position: FloatArray, velocity: FloatArray) -> int | None:
    """The first row at which all joints rest."""
    differences = np.gradient(position, stamps, axis=0)
    speed = np.where(np.isfinite(velocity), velocity, differences)
    resting = np.flatnonzero((np.abs(speed) < REST).all(1))
    return int(resting[0]) if len(resting) else None


def _array(data: bytes) -> FloatArray:
    made: FloatArray = np.lib.format.read_array(BytesIO(data))  # type: ignore[no-untyped-call]
    return made


def _columns(path: Path) -> dict[str, FloatArray]:
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                name.removesuffix(NPY): _array(archive.read(name))
                for name in archive.namelist()
                if name.endswith(NPY)
            }
    except BROKEN as error:
        raise StoreError(f"{path} cannot be read as a recording (.npz): {error}") from error
