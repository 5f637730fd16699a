"""Campaigns side by side: one start, one budget, one set of sealed seeds, killed or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from enpire.environment import Job
from enpire.errors import UsageError
from enpire.evolution.ablation import ablation, comparison
from enpire.evolution.ablation.ablation import (
    AblationArm,
    AblationBench,
    AblationCell,
    CommonSeeds,
    carry_out,
    read_drawn,
)
from enpire.evolution.campaign import campaign as campaigns
from enpire.evolution.experiments import unbiased_estimate
from enpire.evolution.experiments.events import replay_events
from enpire.observe import overview
from enpire.policies import load
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.loop.budget import Budget
from enpire.store import EpisodeWriter, Run
from enpire.types import Purpose
from tests.environment.reach import reach_stations
from tests.evolution.moving import FAST, SLOW, TINY, Killed, Steps, go

pytestmark = pytest.mark.medium

PLANS: dict[str, dict[str, Sequence[float]]] = {
    "one": {"one": [SLOW]},
    "two": {"one": [FAST], "two": [-1.0]},
}


class Here:
    """Runs the parts of a bench in this process. left: what it may do before it is killed."""

    def __init__(self, left: int = 10**9, steps: int = 10**9) -> None:
        """left: parts; steps: of the campaign in which it is killed then."""
        self.left, self.steps = left, steps
        self.done: list[str] = []

    def _counted(self, part: str) -> Steps:
        self.done.append(part)
        self.left -= 1
        return Steps(self.steps) if self.left < 0 else Steps()

    def start(self, seed: int, run: Path) -> None:
        steps = self._counted("start")
        run.parent.mkdir(parents=True, exist_ok=True)
        self._campaign(run, {}, seed, steps, "no rounds asked for")

    def campaign(self, cell: AblationCell) -> None:
        steps = self._counted(cell.arm.name)
        self._campaign(cell.run, PLANS[cell.arm.name], cell.seed, steps, "all agents have ended")

    def _campaign(
        self, run: Path, plan: dict[str, Sequence[float]], seed: int, steps: Steps, end: str
    ) -> None:
        settings = TINY.but(seed=seed)
        done = go(run, plan, steps, settings, budget=Budget())
        with Run.open(run, writable=True) as opened:
            said = "reached" if done.state.reached else end
            opened.ledger.set_facts({"state": said, "wall_s": "7200.0"})

    def measure(self, cell: AblationCell, policy: str, drawn: CommonSeeds, folder: Path) -> bool:
        steps = self._counted(f"{cell.arm.name} sealed")
        with Run.open(cell.run) as run:
            tensors, said = run.load_policy(policy)
        stations = reach_stations(2)
        controller = load(said, tensors).controller(stations)
        jobs = (Job(seed, Purpose.EVALUATION, controller, policy) for seed in drawn.seeds)
        with Run.create(folder, {}) as run, EpisodeWriter(run) as writer:
            fleet = Fleet(stations, writer, Budget().spent, steps.step)
            list(fleet.run(jobs))
        return True

    def stop(self) -> None:
        self.done.append("stopped")


def bench(folder: Path, seeds: tuple[int, ...] = (1, 2), episodes: int = 10) -> AblationBench:
    arms = tuple(AblationArm(name, {"agents": name, "confinement": "none"}) for name in PLANS)
    said = {"settings": asdict(TINY), "budget": {"max_time": 60.0}}
    return AblationBench(folder / "bench", arms, seeds, episodes, said, ("enpire", "ablate"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unbiased_estimate, "ENOUGH", 8)
    monkeypatch.setattr(campaigns, "LOOK_S", 0.0)


def starts(asked: AblationBench, seed: int) -> list[set[str]]:
    """Ids of the episodes before any experiment, of the start and of each arm."""
    found: list[set[str]] = []
    for folder in (asked.start(seed), *(cell.run for cell in asked.cells(seed))):
        with Run.open(folder) as run:
            rows = run.ledger.episodes()
            found.append(
                {r.id for r in rows if not r.round and r.purpose is not Purpose.COLLECTION}
            )
    return found


def test_two_teams_twice_killed_and_gone_on_with(tmp_path: Path) -> None:
    asked = bench(tmp_path)
    for parts, steps in ((0, 3), (1, 4), (4, 5)):  # a start, an arm, and the next repeat's start
        with pytest.raises(Killed):
            carry_out(asked, Here(parts, steps), 1, lambda _: None)
    before = {path: path.read_text() for path in (tmp_path / "bench").rglob(ablation.SEALED)}
    last = Here()
    carry_out(asked, last, 1, lambda _: None)
    again = Here()
    carry_out(asked, again, 1, lambda _: None)
    assert again.done == []
    assert {path: path.read_text() for path in before} == before
    for seed in asked.seeds:
        start, *arms = starts(asked, seed)
        assert start
        assert all(start <= arm for arm in arms)
        for cell in asked.cells(seed):
            with Run.open(cell.run) as run:
                tried = [e.id for e in replay_events(run.ledger.events()).experiments]
                rows = run.ledger.episodes()
            plan = PLANS[cell.arm.name]
            assert sorted(tried) == sorted(f"{a}-{i}" for a in plan for i in range(len(plan[a])))
            assert len({row.id for row in rows}) == len(rows)
    first, second = comparison.lines(comparison.results(asked))
    assert [first.arm, second.arm] == ["one", "two"]
    assert {r.policy for r in second.results} == {"one-0"}
    assert second.sealed.rate == 1.0
    assert first.sealed.rate < 1.0
    assert sum(record.wins for record in second.pairs(first)) == 20 - first.sealed.successes
    assert [r.accounts.success is not None for r in second.results] == [True, True]


def test_the_sealed_seeds_are_common_and_drawn_once_all_arms_have_ended(tmp_path: Path) -> None:
    asked = bench(tmp_path, (1,))
    path = asked.folder / "1" / ablation.SEALED
    for left, there in ((2, False), (1, True)):  # the second arm; then the first to be measured
        with pytest.raises(Killed):
            carry_out(asked, Here(left, 3), 1, lambda _: None)
        assert path.exists() is there
    carry_out(asked, Here(), 1, lambda _: None)
    drawn = read_drawn(path)
    assert len(set(drawn.seeds)) == 10
    for cell in asked.cells(1):
        with Run.open(cell.sealed) as run:
            assert {row.seed for row in run.ledger.episodes()} == set(drawn.seeds)
        with Run.open(cell.run) as run:
            assert not {row.seed for row in run.ledger.episodes()} & set(drawn.seeds)
            assert run.config["campaign"]["command"] == ["enpire", "ablate"]
            name, sha256 = drawn.policies[cell.arm.name]
            row = run.ledger.policy(name)
            assert row is not None
            assert row.sha256 == sha256


def test_arms_at_the_same_time_come_to_the_same(tmp_path: Path) -> None:
    asked = bench(tmp_path, (1,))
    said: list[str] = []
    carry_out(asked, Here(), 2, said.append)
    one, two = comparison.results(asked)
    assert (one.arm, one.experiments, two.arm, two.experiments) == ("one", 1, "two", 2)
    assert (two.policy, two.kept) == ("one-0", 1)
    assert f"{asked.cells(1)[1]}: reached" in said
    with Run.open(asked.cells(1)[0].run, writable=True) as run:
        run.ledger.set_facts({"state": "failed: the disk is full"})
    assert overview.why_ended(asked.cells(1)[0].run)
    again = Here()  # what failed is taken up again, and nothing else
    carry_out(asked, again, 1, said.append)
    assert again.done == ["one"]


def test_more_repeats_go_on_and_anything_else_is_another_bench(tmp_path: Path) -> None:
    asked = bench(tmp_path, (1,))
    asked.begin()
    bench(tmp_path, (1, 2, 3)).begin()
    with pytest.raises(UsageError, match="other episodes"):
        bench(tmp_path, (1,), episodes=20).begin()
    with pytest.raises(UsageError, match="other budget"):
        replace(asked, said={**asked.said, "budget": {}}).begin()
    twins = (AblationArm("a b", {}), AblationArm("a/b", {}))
    with pytest.raises(UsageError, match="alike"):
        replace(asked, arms=twins).begin()
