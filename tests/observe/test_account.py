"""What a run amounts to, from a ledger written by hand."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from enpire.observe import account
from enpire.observe.overview import overview
from enpire.observe.result import result
from enpire.store import Interval, Phase, RoundRow, Run, SealedRow
from enpire.types import Outcome, Predicate, Purpose, Verdict
from tests.store.samples import episode

SETTINGS = {"task": "zip_tie", "robots": 2, "seed": 7, "target": 0.9, "sealed_episodes": 10}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    failed = Verdict(
        Outcome.FAILURE,
        (Predicate("depth", 0.01, 0.015, "m"), Predicate("holds", 6.0, 5.0, "N")),
        stage="inserted",
    )
    first = {"policy": "policy-0", "round": 0, "purpose": Purpose.EVALUATION}
    episodes = [
        episode("a", **first),
        episode("b", **first, verdict=failed),
        episode("c", **first, verdict=Verdict(Outcome.ABORTED)),
        episode("d", **first | {"round": 1}),
        episode("e", policy="policy-0"),
        episode("f", policy="policy-0", purpose=Purpose.SEALED),
    ]
    with Run.create(tmp_path / "run", {"loop": SETTINGS}) as made:
        made.add_episodes(
            episodes,
            [Interval(0, Phase.EXECUTE, 0.0, 3.0, "a"), Interval(0, Phase.IDLE, 3.0, 4.0)],
        )
        yield made


def test_rates_are_over_judged_episodes(run: Run) -> None:
    start = account.start(run.ledger)
    assert (start.successes, start.trials) == (1, 2)
    everything = account.evaluations(run.ledger, "policy-0")
    assert (everything.successes, everything.trials) == (2, 3)


def test_sealed_robot_time_is_apart(run: Run) -> None:
    assert account.robot_seconds(run.ledger.episodes()) == (5 * 3.5, 3.5)


def test_mru_is_execution_over_all_time(run: Run) -> None:
    assert account.ledger_mru(run.ledger) == pytest.approx(0.75)


def test_at_work_is_apart_from_resets_and_from_being_aside() -> None:
    seconds = dict.fromkeys(Phase, 0.0)
    assert math.isnan(account.at_work(seconds))
    seconds |= {Phase.RESET: 100.0, Phase.ASIDE: 50.0}
    seconds |= {Phase.EXECUTE: 6.0, Phase.VERIFY: 3.0, Phase.IDLE: 1.0}
    assert account.at_work(seconds) == pytest.approx(0.9)


def test_failures_by_predicate_and_stage(run: Run) -> None:
    predicates, stages = account.failures(run.ledger, run.ledger.episodes())
    assert (dict(predicates), dict(stages)) == ({"depth": 1}, {"inserted": 1})


def test_incumbent_is_that_of_the_last_round(run: Run) -> None:
    assert account.incumbent(run.ledger) == ""
    run.ledger.put_round(RoundRow(1, "policy-0"))
    run.ledger.put_round(RoundRow(2, "policy-2"))
    assert account.incumbent(run.ledger) == "policy-2"


def test_only_a_whole_sealed_evaluation_at_the_target_counts(run: Run) -> None:
    run.ledger.put_round(RoundRow(1, "policy-0"))
    run.ledger.add_sealed(SealedRow(1, "policy-0", 1, 4, 4, 0.4, 1.0))  # cut short
    run.ledger.add_sealed(SealedRow(2, "policy-0", 2, 8, 10, 0.4, 1.0))  # below the target
    missed = result(run, "--max-rounds is used up")
    assert (missed["reached"], missed["final"]["sealed"], missed["final"]["n"]) == (False, False, 3)
    run.ledger.add_sealed(SealedRow(3, "policy-0", 3, 9, 10, 0.55, 0.99))
    reached = result(run, "reached")
    assert (reached["reached"], reached["sealed_attempts"]) == (True, 3)
    said = {"success": 0.9, "n": 10, "ci95": [0.55, 0.99], "sealed": True}
    assert reached["final"] == said | {"attempt": 3, "at_least": 0.55}, "by the rule of old runs"
    assert overview(run).sealed


def test_nothing_measured_is_no_rate(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"loop": SETTINGS}) as run:
        figures = result(run, "interrupted")
        assert math.isnan(figures["mru"])
    assert figures["start"] == {"success": None, "n": 0, "ci95": [0.0, 1.0]}
    assert account.text(figures["start"]) == "nothing measured"


def test_state_of_a_run_whose_process_is_gone(run: Run) -> None:
    run.ledger.set_facts({"state": "running"})
    assert overview(run).state == "running"
    run.close()
    (run.folder / "writer.lock").write_text(str(os.getpid()))  # a process of this number is there
    with Run.open(run.folder) as opened:
        assert overview(opened).state == "killed", "nobody holds its lock"


def test_a_station_that_fails_where_the_others_do_not_is_apart(tmp_path: Path) -> None:
    failed = Verdict(Outcome.FAILURE)
    rows = [
        episode(f"{station}-{i}", station=station, **({"verdict": failed} if bad else {}))
        for station in range(3)
        for i in range(30)
        for bad in [i % 10 == 0 or (station == 2 and i % 2 == 0)]
    ]
    with Run.create(tmp_path / "other", {"loop": SETTINGS}) as made:
        made.add_episodes(rows, [])
        found = account.stations(made.ledger.episodes())
        assert result(made, "done")["stations_apart"] == [2]
    assert [number for number, station in found.items() if station.apart] == [2]
    assert found[2].success.successes == 15
    assert found[2].expected == pytest.approx(30 * (27 + 27 + 15) / 90)
