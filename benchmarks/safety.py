"""How soon a supervisor stops when its policy fails, and how much later its setpoints arrive.

Everything is as on an arm, in processes of their own, but for the arm, which is the mock driver.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.faulty_policy import FAULTS
from enpire.drivers import build
from enpire.errors import SafetyError
from enpire.safety.check import check
from enpire.safety.client import StationClient
from enpire.safety.launch import Supervision
from enpire.safety.machine import Mode
from enpire.safety.messages import SupervisorStatus
from enpire.safety.permit import Permit, write_passed
from enpire.safety.rules import GateRule
from enpire.safety.station import StationFile, load_station

KILLED, FROZEN = "killed", "frozen"
KINDS = (KILLED, FROZEN, *FAULTS)
EXPECTED = {
    KILLED: GateRule.HEARTBEAT,
    FROZEN: GateRule.HEARTBEAT,
    "nan": GateRule.FINITE,
    "stale": GateRule.STALE | GateRule.HEARTBEAT,
    "clock forward": GateRule.FUTURE,
    "clock back": GateRule.STALE | GateRule.HEARTBEAT,
    "flood": GateRule.FLOOD,
}
BAR_S = 0.020  # and one period: from the fault until the stop is issued
LATENCY_S = 0.001  # at the median; a quarter of a period at the 99th percentile
RUN_UP_S = (0.03, 0.10)  # of motion before a fault
GOING = "going"
WAIT_S = 60.0  # far more than anything takes on a busy machine


@dataclass(slots=True)
class StopDelays:
    """One kind of fault: delays from it until the stop was issued [s].

    early: the station had stopped before the fault, as its policy was held up: not counted there.
    """

    fault: str
    delays: list[float] = field(default_factory=list)
    early: int = 0

    def quantile(self, q: float) -> float:
        """Of the delays [s]."""
        return float(np.quantile(self.delays, q)) if self.delays else float("nan")


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured: rows of faults, and latencies from a policy to the driver [s]."""

    period: float
    rows: tuple[StopDelays, ...]
    latencies: tuple[float, ...]

    @property
    def bar(self) -> float:
        """The latest a stop may be issued [s]."""
        return BAR_S + self.period

    def markdown(self) -> str:
        """The table of the bars."""
        every = StopDelays(
            "all", [d for r in self.rows for d in r.delays], sum(r.early for r in self.rows)
        )
        lines = [
            "| fault | trials | median ms | p99 ms | p99.9 ms | worst ms | late | early stops |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for row in (*self.rows, every):
            times = " | ".join(f"{row.quantile(q) * 1e3:.2f}" for q in (0.5, 0.99, 0.999, 1.0))
            late = sum(delay > self.bar for delay in row.delays)
            lines.append(f"| {row.fault} | {len(row.delays)} | {times} | {late} | {row.early} |")
        middle, p99 = np.quantile(self.latencies or [np.nan], [0.5, 0.99]) * 1e3
        held = "holds" if every.quantile(0.999) <= self.bar else "missed"
        good = middle <= LATENCY_S * 1e3 and p99 <= self.period / 4 * 1e3
        return "\n".join(
            [
                *lines,
                f"stop issued within {self.bar * 1e3:.0f} ms at p99.9: {held}",
                f"policy to wire over {len(self.latencies)} setpoints: median {middle:.2f} ms "
                f"(at most {LATENCY_S * 1e3:.0f}), p99 {p99:.2f} ms (at most "
                f"{self.period / 4 * 1e3:.1f}): {'holds' if good else 'missed'}",
            ]
        )

    def as_json(self) -> dict[str, object]:
        """For the last line."""
        return asdict(self)


class FaultyPolicyProcess:
    """The faulty policy's process."""

    def __init__(self, folder: Path) -> None:
        """Start it; it waits to be told to go."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.faulty_policy", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def say(self, word: str) -> str:
        """What it answers to a word."""
        if self._process.stdin is None or self._process.stdout is None:
            raise SafetyError("the policy has no pipes")
        self._process.stdin.write(word + "\n")
        return self._process.stdout.readline().strip()

    def fail(self, kind: str) -> int:
        """Have it fail; returns when it did, monotonic ns."""
        if kind in FAULTS:
            return int(self.say(kind))
        now = time.monotonic_ns()
        self._process.send_signal(signal.SIGKILL if kind == KILLED else signal.SIGSTOP)
        return now

    def go_on(self) -> None:
        """After it was frozen."""
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.communicate()


def station(folder: Path, realtime: str = "") -> StationFile:
    """A checked station with mock arms, its file in `folder`; realtime: lines of that table."""
    path = folder / "mock.toml"
    path.write_text(f'driver = "mock"\nrobot = "yam"\n[realtime]\n{realtime}\n')
    loaded = load_station(path)
    check(loaded, build(loaded.driver, loaded.robot, time.monotonic_ns, loaded.site))
    write_passed(loaded, date.today(), ())
    return loaded


def measure(
    where: StationFile,
    trials: int,
    seconds: float,
    seed: int,
    tell: Callable[[str], None] = lambda line: None,
) -> Measured:
    """So many trials of each kind of fault in turn, after so many seconds without one.

    Interrupted, it returns what it has.
    """
    rng = np.random.default_rng(seed)
    latencies: list[float] = []
    rows = {kind: StopDelays(kind) for kind in KINDS}
    with Supervision(where, Permit.MOTION) as supervision:
        client = StationClient(supervision.folder)
        policies = _Policies(supervision.folder)
        try:
            latencies = _latencies(supervision, policies, seconds)
            for trial in range(trials):
                for kind in KINDS:
                    _try(supervision, client, policies, rows[kind], rng)
                if (trial + 1) % 10 == 0:
                    tell(f"{trial + 1} of {trials} trials of each fault")
        except KeyboardInterrupt:
            tell("interrupted: this is what was measured until then")
        finally:
            policies.end()
    return Measured(where.period, tuple(rows.values()), tuple(latencies))


class _Policies:
    """A policy at work, and one that is started already for when it is killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.working, self._spare = FaultyPolicyProcess(folder), FaultyPolicyProcess(folder)

    def renew(self) -> None:
        self.working.end()
        self.working, self._spare = self._spare, FaultyPolicyProcess(self._folder)

    def end(self) -> None:
        self.working.end()
        self._spare.end()


def _try(
    supervision: Supervision,
    client: StationClient,
    policies: _Policies,
    row: StopDelays,
    rng: np.random.Generator,
) -> None:
    """Trials of one kind until one counts."""
    counted = len(row.delays)
    while len(row.delays) == counted:
        _ready(supervision, client)
        said = policies.working.say("go")
        if not said:
            raise SafetyError("the policy has ended")
        if said != GOING:
            row.early += 1
            continue
        time.sleep(rng.uniform(*RUN_UP_S))
        if client.status().mode is not Mode.MOVING:
            row.early += 1
            continue
        failed = policies.working.fail(row.fault)
        stopped = next(s for s in _statuses(client) if s.stopped and s.mode not in _MOVES)
        if row.fault == KILLED:
            policies.renew()
        elif row.fault == FROZEN:
            policies.working.go_on()
        if stopped.stopped < failed or not stopped.rules & EXPECTED[row.fault]:
            row.early += 1
        else:
            row.delays.append((stopped.stopped - failed) * 1e-9)


_MOVES = (Mode.MOVING, Mode.ARMED)


def _statuses(client: StationClient) -> Iterator[SupervisorStatus]:
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        yield client.status()
        time.sleep(0.002)
    raise SafetyError("the supervisor did not do in time what was waited for")


def _ready(supervision: Supervision, client: StationClient) -> None:
    """Armed, from wherever the last trial left it."""
    supervision.ask("stop")  # also of a stream that was late to begin
    mode = next(s.mode for s in _statuses(client) if s.mode in (Mode.IDLE, Mode.HOLDING))
    supervision.ask("episode")
    for _ in _statuses(client):
        try:
            supervision.ask("arm" if mode is Mode.IDLE else "recover")
            break
        except SafetyError:  # still swinging
            continue
    epoch = int(str(supervision.ask("status")["epoch"]))
    next(s for s in _statuses(client) if s.epoch == epoch and s.mode is Mode.ARMED)


def _latencies(supervision: Supervision, policies: _Policies, seconds: float) -> list[float]:
    """Of undisturbed motion; begun anew where a stop came between."""
    client, found = StationClient(supervision.folder), list[float]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _ready(supervision, client)
        if policies.working.say("go") != GOING:
            continue
        next(s for s in _statuses(client) if s.mode is not Mode.ARMED)
        while time.monotonic() < end and client.status().mode is Mode.MOVING:
            time.sleep(0.02)
        found += [each * 1e-9 for each in json.loads(policies.working.say("rest"))]
    return found
