"""Campaigns side by side that differ in one thing: who proposes, by what recipes, prompts or tools.

    repeat   start: demonstrations, first policy, how good it is     once, for all arms
             arm: a campaign from there, under the same budget       one after the other
             sealed: each arm's best policy is frozen, then seeds are drawn, and all run on them

A repeat has a seed of its own. What is common to its arms is so by construction: the start is one
run that each arm's is branched from, and the sealed seeds are drawn once all arms have ended. Where
a run is, its folder says, so a bench that was killed anywhere goes on by the same command.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from enpire.errors import UsageError
from enpire.evolution.experiments.accounts import best
from enpire.json_text import loads
from enpire.observe import overview
from enpire.rollout.evaluation.seeds import fresh_entropy, stream
from enpire.store import Run, branch
from enpire.store.durable import disk_errors, make_folder, publish_file, publish_folder

BENCH, SEALED, LOG = "bench.json", "sealed.json", "log.txt"
START = "start"  # of a repeat
UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class AblationArm:
    """One of what is compared. campaign: what its campaigns' configs say of it."""

    name: str
    campaign: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """The folder of its runs, in a repeat's."""
        return UNSAFE.sub("_", self.name)


@dataclass(frozen=True, slots=True)
class AblationCell:
    """One campaign of a bench. sealed: the run of its best policy on the common seeds."""

    arm: AblationArm
    seed: int
    folder: Path

    @property
    def run(self) -> Path:
        """The cell's own run."""
        return self.folder / "run"

    @property
    def sealed(self) -> Path:
        """There once all its episodes are."""
        return self.folder / "sealed"

    @property
    def ended(self) -> bool:
        """Whether it has come to an end of its own; what failed is to be taken up again."""
        return _has_ended(self.run)

    def __str__(self) -> str:
        return f"{self.arm.name}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class AblationBench:
    """What is asked for."""

    folder: Path
    arms: tuple[AblationArm, ...]  # the first is what others are held against
    seeds: tuple[int, ...]  # a repeat each
    episodes: int  # on the common sealed seeds
    said: Mapping[str, Any]  # what must be the same when it goes on
    command: tuple[str, ...] = ()  # that began it, for the reports

    def begin(self) -> None:
        """Write down what it is, or check that it is what was begun here.

        Raises:
            UsageError: another one was.
        """
        arms = {arm.name: dict(arm.campaign) for arm in self.arms}
        if len({arm.folder for arm in self.arms}) < len(self.arms):
            raise UsageError(f"arms are alike: {', '.join(arm.name for arm in self.arms)}")
        whole = {**self.said, "episodes": self.episodes, "arms": arms}
        text = json.dumps(whole, indent=1, sort_keys=True)
        path = self.folder / BENCH
        with disk_errors(path):
            make_folder(self.folder)
            before = path.read_text(encoding="utf-8") if path.exists() else ""
        if not before:
            publish_file(path, text.encode())
        elif before != text:
            was, now = loads(before), loads(text)
            changed = sorted(k for k in was.keys() | now.keys() if was.get(k) != now.get(k))
            raise UsageError(
                f"{path} is of a bench with other {', '.join(changed)}: ask for the same again, "
                "which goes on with it, or for another folder"
            )

    def start(self, seed: int) -> Path:
        """The run that all arms of a repeat begin with."""
        return self.folder / str(seed) / START / "run"

    def cells(self, seed: int) -> list[AblationCell]:
        """The cells of a repeat."""
        return [AblationCell(arm, seed, self.folder / str(seed) / arm.folder) for arm in self.arms]


@dataclass(frozen=True, slots=True)
class CommonSeeds:
    """The common sealed seeds of a repeat, and the policies that were frozen before."""

    entropy: int
    episodes: int
    policies: Mapping[str, tuple[str, str]]  # name and sha256, by arm

    @property
    def seeds(self) -> list[int]:
        """All of them, in their order: those of `enpire eval --seed`."""
        return list(islice(stream(self.entropy, "eval"), self.episodes))


class BenchRunner(Protocol):
    """What runs the parts of a bench; each goes on with what is there, as far as time allows."""

    def start(self, seed: int, run: Path) -> None:
        """Have a first policy, and how good it is."""

    def campaign(self, cell: AblationCell) -> None:
        """Have a cell's campaign go on to its end."""

    def measure(self, cell: AblationCell, policy: str, drawn: CommonSeeds, folder: Path) -> bool:
        """Run a policy on the common seeds, into a new run; whether all of it is there."""

    def stop(self) -> None:
        """Have whatever is under way end soon."""


def carry_out(
    bench: AblationBench, runner: BenchRunner, jobs: int, say: Callable[[str], None]
) -> None:
    """Run what is missing, repeat by repeat. jobs: campaigns at one time.

    Raises:
        StoreError, UsageError: a part cannot be begun.
    """
    bench.begin()
    for seed in bench.seeds:
        start, cells = bench.start(seed), bench.cells(seed)
        if not _has_ended(start):
            runner.start(seed, start)
        if not _has_ended(start):
            continue
        for cell in cells:
            if not cell.run.exists():
                branched(cell, start, bench.command)

        def to_its_end(cell: AblationCell) -> None:
            if cell.ended:
                return
            say(f"{cell}: {cell.run}")
            runner.campaign(cell)
            if cell.ended:
                say(f"{cell}: {overview.why_ended(cell.run)}")

        _for_each(to_its_end, cells, jobs, runner)
        if not all(cell.ended for cell in cells):
            continue
        drawn = seal(bench, seed)

        def measured(cell: AblationCell, drawn: CommonSeeds = drawn) -> None:
            part, policy = cell.folder / "sealed.part", drawn.policies[cell.arm.name][0]
            if cell.sealed.exists():
                return
            with disk_errors(part):
                shutil.rmtree(part, ignore_errors=True)  # of one that was killed: the same seeds
            if runner.measure(cell, policy, drawn, part):
                publish_folder(part, cell.sealed)

        _for_each(measured, cells, jobs, runner)


def branched(cell: AblationCell, start: Path, command: Sequence[str]) -> None:
    """Have a cell's run begin where the start of its repeat has ended.

    Raises:
        StoreError: the disk does not take it.
    """
    with Run.open(start) as run:
        config = dict(run.config)
    config["campaign"] = {**cell.arm.campaign, "command": list(command)}
    config["budget"] = {}  # that of the start was to end there
    branch(start, cell.run, config, {"state": overview.INTERRUPTED})


def seal(bench: AblationBench, seed: int) -> CommonSeeds:
    """Freeze the best policy of each arm of a repeat, then draw the seeds; once, for good.

    Call it when all arms have ended.
    """
    path = bench.folder / str(seed) / SEALED
    if not path.exists():
        frozen: dict[str, tuple[str, str]] = {}
        for cell in bench.cells(seed):
            with Run.open(cell.run) as run:
                name = best(run)
                row = run.ledger.policy(name)
                frozen[cell.arm.name] = (name, row.sha256 if row else "")
        drawn = {"policies": frozen, "episodes": bench.episodes, "entropy": fresh_entropy()}
        publish_file(path, json.dumps(drawn, indent=1).encode())
    return read_drawn(path)


def read_drawn(path: Path) -> CommonSeeds:
    """What `seal` wrote."""
    with disk_errors(path):
        said = loads(path.read_text(encoding="utf-8"))
    policies = {arm: (name, sha256) for arm, (name, sha256) in said["policies"].items()}
    return CommonSeeds(said["entropy"], said["episodes"], policies)


def _for_each(
    do: Callable[[AblationCell], None],
    cells: Iterable[AblationCell],
    jobs: int,
    runner: BenchRunner,
) -> None:
    """Do it for each cell, so many at one time; the first error ends all."""
    with ThreadPoolExecutor(jobs) as pool:
        under_way = [pool.submit(do, cell) for cell in cells]
        try:
            for each in under_way:
                each.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runner.stop()
            raise


def _has_ended(run: Path) -> bool:
    said = overview.why_ended(run)
    return bool(said) and not said.startswith("failed")
