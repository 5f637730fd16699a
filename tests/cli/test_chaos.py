"""A night in ten minutes: what runs is killed at random, and started again as a supervisor would.

A loop, its trainer and learner, a campaign and a dashboard. The loop still comes to the end of one
that nothing disturbs.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest

from enpire.rollout.loop.round_decisions import DECIDED
from enpire.store import Run
from enpire.store.layout import LEDGER
from enpire.types import Purpose
from tests.processes import below, words_of

SECONDS, SEED = 600.0, 1
BETWEEN_S = 5.0, 40.0  # two kills
GONE_S = 20.0  # in which all ends that a killed process had started
STARTS_S = 60.0  # of a dashboard, on a busy machine
LEARNS_S = 15.0  # of a learner before it is killed
CHILDREN = ("enpire.improvement.online_worker", "enpire.improvement.worker")
REACHED, OUT_OF_BUDGET = 0, 3  # exit codes
SMALL = ["--task=pick_cube", "--robots=8", "--seed=3", "--target=1"]
SMALL += ["--demonstrations=20", "--start-episodes=24", "--collect=64"]
LOOP = [*SMALL, "--first-recipe.training.steps=400", "--recipe.steps=0.25"]


@dataclass
class Service:
    """A verb of `enpire` that is kept running. run: its folder, if it has one; begin: its words."""

    place: Path
    begin: list[str]
    run: Path | None = None
    recorded: dict[str, str] = field(default_factory=dict)
    child_killed: bool = False  # of this start: a training's second kill is an end of its own

    def start(self, *budget: str) -> None:
        """Start it, or go on with what it has recorded."""
        words = self.begin
        if self.run is not None and (self.run / LEDGER).exists():
            words = [self.begin[0], "--resume", str(self.run)]
        elif self.run is not None:  # it was not created yet
            shutil.rmtree(self.run, ignore_errors=True)
        self.process = enpire(self.place, *words, *budget)
        self.child_killed = False

    def kill(self) -> None:
        """Kill it: what it had started ends by itself, and nothing recorded is lost or doubled."""
        below_it = [pid for pid, _ in below(self.process.pid)]
        assert self.process.poll() is None, f"{self.begin[:3]} has ended: {self.process.returncode}"
        self.process.kill()
        self.process.wait()
        until = time.monotonic() + GONE_S
        while left := [words for pid in below_it if (words := words_of(pid))]:
            assert time.monotonic() < until, left
            time.sleep(0.1)
        if self.run is not None and (self.run / LEDGER).exists():
            self.recorded = held(self.run, self.recorded)

    def children(self) -> list[int]:
        """Those that train or learn for it, unless one was killed already."""
        found = below(self.process.pid) if not self.child_killed else ()
        return [pid for pid, words in found if any(name in words for name in CHILDREN)]


def enpire(place: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the command line; what it says is kept."""
    paths = os.pathsep.join(sys.path)
    environment = os.environ | {"TMPDIR": str(place / "tmp"), "PYTHONPATH": paths}
    command = [sys.executable, "-m", "enpire.cli", *words]
    with (place / "said.txt").open("ab") as said:
        started.append(subprocess.Popen(command, stdout=said, stderr=said, env=environment))
    return started[-1]


started: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """A test that fails leaves nothing running."""
    yield
    while started:
        process = started.pop()
        process.kill()
        process.wait()


def held(run: Path, before: dict[str, str]) -> dict[str, str]:
    """The hashes of a run's episodes by id; those of before are among them, and none is double."""
    with Run.open(run) as opened:
        rows = opened.ledger.episodes()
    now = {row.id: row.sha256 for row in rows}
    assert len(now) == len(rows)
    assert before.items() <= now.items()
    return now


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def answers(url: str) -> bool:
    """Whether a page is there, soon: what serves it may have been started just now."""
    until = time.monotonic() + STARTS_S
    while time.monotonic() < until:
        with suppress(URLError), urllib.request.urlopen(url, timeout=STARTS_S) as page:
            return bool(page.status == 200)
        time.sleep(0.5)
    return False


def in_shared_memory() -> set[str]:
    """What lies there, but for files that the tracing of ROS 2 makes once a machine."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("lttng-ust-")}


def came_of(run: Path) -> tuple[object, ...]:
    """What a loop has learned and decided, but for what its sealed seeds alone say."""
    with Run.open(run) as opened:
        ledger = opened.ledger
        fixed = [e for p in (Purpose.DEMONSTRATION, Purpose.COLLECTION) for e in opened.episodes(p)]
        return (
            [(row.name, row.sha256) for row in ledger.policies()],
            [(row.number, row.policy) for row in ledger.rounds()],
            [note.text for note in ledger.decisions() if note.kind in DECIDED],
            {e.id: (e.verdict.outcome, e.actions.tobytes()) for e in fixed},
        )


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_what_is_killed_through_a_night_goes_on_and_loses_nothing(tmp_path: Path) -> None:
    rng, shared = np.random.default_rng(SEED), in_shared_memory()
    (tmp_path / "tmp").mkdir()
    runs, port = tmp_path / "runs", free_port()
    runs.mkdir()
    loop_run, campaign_run = runs / "loop", runs / "campaign"
    loop = Service(tmp_path, ["loop", "--run", str(loop_run), *LOOP], loop_run)
    agents = ["--agents", "tuner:2", "--run", str(campaign_run)]
    campaign = Service(tmp_path, ["campaign", *agents, *SMALL], campaign_run)
    dash = Service(tmp_path, ["dash", str(runs), "--port", str(port)])
    services = {"loop": loop, "campaign": campaign, "dashboard": dash}
    for service in services.values():
        service.start()

    kills, until = Counter[str](), time.monotonic() + SECONDS
    while time.monotonic() < until:
        time.sleep(rng.uniform(*BETWEEN_S))
        name = str(rng.choice([*services, "a child"]))
        if name in services:
            services[name].kill()
            services[name].start()
        else:
            parents = [each for each in (loop, campaign) if each.children()]
            if not parents:
                continue
            parent = parents[rng.integers(len(parents))]
            os.kill(parent.children()[-1], signal.SIGKILL)
            parent.child_killed = True
        kills[name] += 1
    print(dict(kills), flush=True)

    assert answers(f"http://127.0.0.1:{port}/")
    for service in services.values():
        service.kill()
    with Run.open(loop_run) as run:
        rounds = ["--max-rounds", str(len(run.ledger.rounds()) + 1)]
    for service, budget in ((loop, rounds), (campaign, ["--max-experiments", "1"])):
        service.start(*budget)
        assert service.process.wait() in (REACHED, OUT_OF_BUDGET)
        assert service.run is not None
        held(service.run, service.recorded)
        assert enpire(tmp_path, "fsck", str(service.run)).wait() == 0
        Run.open(service.run, writable=True).close()
    assert enpire(tmp_path, "campaign", "audit", str(campaign_run)).wait() == 0
    whole = tmp_path / "whole"
    undisturbed = enpire(tmp_path, "loop", "--run", str(whole), *LOOP, *rounds)
    assert undisturbed.wait() == loop.process.returncode
    assert came_of(loop_run) == came_of(whole)
    left = [path.name for path in (tmp_path / "tmp").iterdir()]
    assert not [name for name in left if not name.startswith("torchinductor")]  # torch's own
    assert in_shared_memory() <= shared


def learners_killed(place: Path, run: Path, times: int, rounds: int) -> list[str]:
    """Run a loop to its end and kill the first learners that it has; the kinds of its notes."""
    loop, seen = Service(place, ["loop", "--run", str(run), *LOOP], run), dict[int, float]()
    loop.start("--max-rounds", str(rounds))
    while loop.process.poll() is None:
        time.sleep(0.2)
        found = [pid for pid, words in below(loop.process.pid) if CHILDREN[0] in words]
        for pid in found:
            learns = time.monotonic() - seen.setdefault(pid, time.monotonic())
            if learns > LEARNS_S and pid in list(seen)[:times]:
                os.kill(pid, signal.SIGKILL)
    assert loop.process.returncode == OUT_OF_BUDGET
    assert len(seen) == times + 1
    with Run.open(run) as opened:
        assert opened.ledger.rounds()[0].policy == "policy-0"
        return [note.kind for note in opened.ledger.decisions() if note.round == 1]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_learner_killed_once_is_begun_again_and_killed_twice_costs_its_round(
    tmp_path: Path,
) -> None:
    (tmp_path / "tmp").mkdir()
    whole, once, twice = (tmp_path / name for name in ("whole", "once", "twice"))
    assert "retried" not in learners_killed(tmp_path, whole, 0, 1)
    assert learners_killed(tmp_path, once, 1, 1).count("retried") == 1
    assert came_of(once) == came_of(whole)
    notes = learners_killed(tmp_path, twice, 2, 2)
    assert (notes.count("retried"), notes.count("rejected")) == (1, 1)
