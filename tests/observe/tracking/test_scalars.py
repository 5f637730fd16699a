"""Scalars that a run's record tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from enpire.observe.tracking.scalars import ScalarReader
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


def test_a_candidate_waits_until_its_last_episodes_are_recorded(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as run:
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
