"""Scalars that a run's record tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from enpire.observe.tracking.scalars import ScalarReader
from enpire.store import LogEntry, RoundRow
from enpire.types import Purpose
from tests.observe.tracking.made_run import begin, episodes, go_on

START_S, COLLECTED_S, CANDIDATE_S = 100, 1100, 1700


def _told(reader: ScalarReader, last: bool = False) -> dict[tuple[str, int], float]:
    scalars = reader.read(last)
    told = {(scalar.name, scalar.step): scalar.value for scalar in scalars}
    assert len(told) == len(scalars), "one value for each name and step"
    return told


def test_each_number_is_told_once_with_its_robot_time(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as run:
        reader = ScalarReader(run)
        first = _told(reader)
        assert first["success/incumbent", START_S] == 0.4
        assert first["training-0/policy/loss", 100] == float(np.float32(1.0 / 103))
        go_on(run)
        then = _told(reader) | _told(reader)
        assert not first.keys() & then.keys()
    assert then["collection/success", COLLECTED_S] == 0.6
    assert then["collection/staleness", COLLECTED_S] == 0.5
    assert then["run/robot_hours", COLLECTED_S] == COLLECTED_S / 3600
    assert then["run/episodes", COLLECTED_S] == 110
    assert then["run/executing", COLLECTED_S] == 0.5
    assert then["success/candidate", CANDIDATE_S] == 0.9
    assert then["success/incumbent", CANDIDATE_S] == 0.9
    assert then["success/incumbent_low", CANDIDATE_S] == 0.6
    assert then["success/sealed", CANDIDATE_S] == 0.95
    assert then["success/sealed_high", CANDIDATE_S] == 0.99
    assert then["learner-1/online/value", 3] == 0.75


def test_another_start_tells_the_same(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as run:
        reader = ScalarReader(run)
        piecemeal = _told(reader)
        go_on(run)
        piecemeal |= _told(reader)
        piecemeal |= _told(reader, last=True)
        assert _told(ScalarReader(run), last=True) == piecemeal
        assert _told(reader, last=True) == {}


def test_the_first_policy_is_told_as_it_began_however_often_it_is_measured(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as run:
        run.add_episodes(episodes(Purpose.EVALUATION, "policy-0", 0, 20, 30)[10:])
        told = _told(ScalarReader(run), last=True)
    steps = [step for name, step in told if name == "success/incumbent"]
    assert steps == [START_S]


def test_a_candidate_is_told_once_however_it_is_measured_after_its_decision(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as run:
        reader = ScalarReader(run)
        run.save_policy("policy-1", {"w": np.ones(3)}, {"kind": "chunk"}, round=1)
        evaluations = episodes(Purpose.EVALUATION, "policy-1", 1, 9, 40)
        run.add_episodes(evaluations[:10])
        run.ledger.add_decision(LogEntry(1, "kept", "", "policy-0", "policy-1"))
        piecemeal = _told(reader) | _told(reader)
        run.add_episodes(evaluations[10:20])  # it may reach the target all the same
        piecemeal |= _told(reader) | _told(reader)
        assert not [name for name, _ in piecemeal if name.startswith("success/candidate")]
        run.ledger.put_round(RoundRow(1, "policy-0", 4, 10, 0.1, 0.7, START_S + 200.0, 60.0))
        piecemeal |= _told(reader)
        run.add_episodes(evaluations[20:])  # as the incumbent, say
        piecemeal |= _told(reader) | _told(reader, last=True)
        assert _told(ScalarReader(run), last=True) == piecemeal
    told = {step: v for (name, step), v in piecemeal.items() if name == "success/candidate"}
    assert told == {START_S + 200: 9 / 20}


def test_a_candidate_of_a_campaign_waits_until_its_last_episodes_are_recorded(
    tmp_path: Path,
) -> None:
    with begin(tmp_path / "run", {"campaign": {}}) as run:
        reader = ScalarReader(run)
        go_on(run)
        assert not [name for name, _ in _told(reader) if name.startswith("success/candidate")]
        late = episodes(Purpose.EVALUATION, "policy-1", 1, 10, 20)[10:]
        run.add_episodes(late)
        told = _told(reader)
        assert told["success/candidate", CANDIDATE_S + 100] == 9 / 20


def test_an_incumbent_that_is_measured_further_is_told_at_the_end(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as run:
        go_on(run)
        run.add_episodes(episodes(Purpose.EVALUATION, "policy-1", 1, 12, 30)[10:])
        told = _told(ScalarReader(run), last=True)
        assert told["success/incumbent", CANDIDATE_S] == 0.9
        assert told["success/incumbent", CANDIDATE_S + 200] == 11 / 30
