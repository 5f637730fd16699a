"""What a report reads from a ledger, held against what was written there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enpire.observe.report.conditions import ConditionMap, chance_of
from enpire.observe.report.experiments import ExperimentNode, tree_rows
from enpire.observe.report.reading import RunReport, read_report
from enpire.observe.report.success import MeasurementKind
from enpire.observe.report.utilisation import occupancy
from enpire.observe.report.verifier import read_audits
from enpire.store import Phase, Run
from enpire.store.stress import keep_stress
from enpire.types import Outcome, Purpose

from .ledgers import STATIONS, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with write_run(tmp_path_factory.mktemp("runs") / "run") as made:
        yield made


@pytest.fixture(scope="module")
def report(run: Run) -> RunReport:
    return read_report(run, "enpire loop --task pick_cube")


def test_the_answer_is_the_sealed_evaluation_that_passed(report: RunReport) -> None:
    summary = report.summary
    assert summary.reached
    assert summary.sealed
    assert (summary.policy, summary.final.successes, summary.final.trials) == ("policy-1", 25, 26)
    assert summary.start.trials == 10
    assert (summary.episodes, summary.rounds, summary.robots) == (100, 2, STATIONS)
    assert [step.policy for step in summary.lineage] == ["policy-0", "policy-1"]
    assert summary.lineage[1].text == "better on 9 of 12 seeds"


def test_sealed_robot_time_moves_no_point(report: RunReport, run: Run) -> None:
    curve = report.success
    first, *rounds = curve.of(MeasurementKind.INCUMBENT)
    assert first.policy == "policy-0"
    assert [point.robot_s for point in rounds] == [row.robot_s for row in run.ledger.rounds()]
    (sealed,) = curve.of(MeasurementKind.SEALED)
    assert sealed.passed
    assert sealed.robot_s == pytest.approx(report.summary.robot_s)
    (candidate,) = curve.of(MeasurementKind.CANDIDATE)
    assert (candidate.policy, candidate.success.trials) == ("policy-2", 10)


def test_versions_of_an_online_learner_are_told_in_windows(report: RunReport) -> None:
    (window,) = report.success.versions
    assert (window.first, window.last, window.success.trials) == ("policy-1.0", "policy-1.1", 30)


def test_occupancy_is_the_covered_share_of_each_column() -> None:
    shares = occupancy(np.array([[0.0, 1.0], [1.5, 3.0]]), 4.0, 4)
    np.testing.assert_allclose(shares, [1.0, 0.5, 1.0, 0.0])


def test_every_second_of_every_station_is_in_its_timeline(report: RunReport, run: Run) -> None:
    utilisation = report.utilisation
    assert [station.number for station in utilisation.stations] == list(range(STATIONS))
    total = run.ledger.robot_seconds()
    for phase in (Phase.RESET, Phase.EXECUTE, Phase.VERIFY, Phase.IDLE):
        seconds = sum(s.seconds[phase] for s in utilisation.stations)
        assert seconds == pytest.approx(total[phase])
        shown = sum(s.shares[phase].mean() * utilisation.end_s for s in utilisation.stations)
        assert shown == pytest.approx(total[phase])


def test_failures_are_clustered_by_stage_and_predicates(report: RunReport, run: Run) -> None:
    failures = report.failures
    rows = [
        row
        for row in run.ledger.episodes({Purpose.EVALUATION, Purpose.SEALED})
        if row.outcome is Outcome.FAILURE
    ]
    assert failures.failures == sum(one.count for one in failures.clusters) == len(rows)
    assert failures.final_failures == sum(row.policy == "policy-1" for row in rows)
    by_stage = {one.stage: one for one in failures.clusters}
    assert by_stage["in_hand"].predicates == ("lifted",)
    assert by_stage["on_bench"].predicates == ("lifted", "in_hand")
    lifted, held = by_stage["on_bench"].margins
    assert held.margins == (-4.0,) * by_stage["on_bench"].count
    assert max(lifted.margins) < -30.0
    assert list(lifted.margins) == sorted(lifted.margins)


def test_safety_events_are_decisions_of_their_kinds(report: RunReport) -> None:
    assert dict(report.incidents.counts) == {"stop": 1}
    assert report.incidents.incidents[0].text == "station 2: a wrist felt 48 N"


def test_an_entry_matters_if_success_differs_between_its_parts() -> None:
    rng = np.random.default_rng(1)
    place = rng.random((400, 2))
    won = place[:, 0] > 0.3
    assert chance_of(place[:, 0], won) < 1e-6
    assert chance_of(place[:, 1], won) > 1e-3
    assert chance_of(place[:, 0], np.ones(400, bool)) == 1.0
    assert chance_of(np.zeros(400), won) == 1.0


def test_a_map_is_of_the_initial_conditions_that_seeds_give(report: RunReport) -> None:
    conditions = report.conditions
    assert not conditions.missing
    assert conditions.places.shape == (len(conditions.won), 2)
    assert len(set(conditions.names)) == 2


def test_there_is_no_map_of_a_task_that_changed(run: Run) -> None:
    run.ledger.set_facts({"packs": '{"tasks/pick_cube": "0000"}'})
    conditions: ConditionMap = read_report(run).conditions
    assert "changed since" in conditions.missing
    run.ledger.set_facts({"packs": "{}"})


def test_stress_tests_tell_the_verifier_s_errors(tmp_path: Path) -> None:
    point = {"point": "none", "audited": 10, "true_failures": 4} | {
        "false_successes": 1,
        "false_failures": 2,
    }
    with write_run(tmp_path / "run") as run:
        same = {"task": "pick_cube", "sha256": "", "packs": {}, "verified_by": "sensors only"}
        keep_stress(run.folder, "policy-1", same | {"points": [point]})
        (audit,) = read_audits(run)
    known = audit.confusion
    assert (known.trials, known.successes, known.failures, known.agreed) == (10, 6, 4, 7)


def _node(id: str, base: str) -> ExperimentNode:
    return ExperimentNode(id, base, "a", "bc", "", "kept", "", 0.1, 0.0, 0.2, 10, 60.0)


def test_a_tree_writes_each_experiment_below_what_it_builds_on() -> None:
    nodes = [_node("a", "policy-0"), _node("b", "policy-0"), _node("c", "a"), _node("d", "a")]
    rows = tree_rows(nodes)
    assert [(row.node.id, row.depth, row.last) for row in rows] == [
        ("a", 0, False),
        ("c", 1, False),
        ("d", 1, True),
        ("b", 0, True),
    ]
    assert rows[1].open == (True,)
    assert len(tree_rows([replace(nodes[0], base="a")])) == 0, "who builds on itself is left out"
