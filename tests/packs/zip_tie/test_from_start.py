"""The task from its beginning: the tie hangs before the bundle, both hands are open before it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import numpy as np
import pytest

from enpire.certification.controllers import Nothing
from enpire.environment import Demonstrations, Readings, Stations, build_stations
from enpire.environment.stations.stations import StationPhase
from enpire.policies.skill import SkillController
from enpire.types import Float32Array, FloatArray, Outcome
from tests.packs.starting import Watching, begin, finish, wait

from .test_physics import tip

BUNDLE_END = 0.385  # where it is free [m]


@pytest.fixture(scope="module")
def stations() -> Iterator[Stations]:
    made = build_stations("zip_tie@start", 1, 1)
    yield made
    made.wait()


def head(stations: Stations) -> FloatArray:
    """Its position [m]."""
    twin = stations.twin
    return twin.site_xpos[0, twin.model.site("task_head").id].copy()


def hanging(stations: Stations) -> FloatArray:
    """Which lines hold the tie."""
    return stations.twin.expand("tendon_stiffness")[0, lines(stations)] > 0


def lines(stations: Stations) -> list[int]:
    model = stations.twin.model
    return [model.tendon(f"task_line_{name}").id for name in ("head_near", "head_far", "tail")]


class Pulling(Watching):
    """Looks, too, whether anything but physics moves the tie."""

    def __init__(self, stations: Stations) -> None:
        super().__init__(stations)
        self.applied: list[bool] = []

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> Float32Array:
        self.applied.append(bool(self.stations.twin.bind("qfrc_applied")[0].any()))
        return super().act(rows, observations, readings)


def test_both_hands_take_the_tie_bring_it_round_the_bundle_and_fasten_it(
    stations: Stations,
) -> None:
    watching = Pulling(stations)
    begin(stations, 0, watching)
    assert head(stations)[0] < BUNDLE_END - 0.005, "it is before the bundle's free end"
    assert hanging(stations).all()
    episode = finish(stations)
    assert episode.verdict.outcome is Outcome.SUCCESS, episode.verdict.reason
    assert all(p.holds for p in stations.task.ground_truth(stations.twin, 0))
    assert head(stations)[0] > BUNDLE_END + 0.015
    assert not hanging(stations).any()
    assert not any(watching.welded)
    assert not any(watching.applied)
    assert max(watching.felt) < 12.0


def test_the_skill_script_takes_the_tie_too(stations: Stations) -> None:
    plain = {p.name: p.plain for p in stations.parameters}
    begin(stations, 2, SkillController(stations.task, plain))
    episode = finish(stations)
    assert episode.verdict.outcome is Outcome.SUCCESS, episode.verdict.reason


def test_a_tie_that_nobody_takes_hangs_still(stations: Stations) -> None:
    begin(stations, 1, Nothing(stations.control))
    before = head(stations), tip(stations)
    wait(stations, 25)
    assert stations.phase(0) is StationPhase.EXECUTE
    np.testing.assert_allclose(head(stations), before[0], atol=5e-4)
    np.testing.assert_allclose(tip(stations), before[1], atol=0.5)
    assert hanging(stations).all()
    stations.abort("enough")


def test_a_line_that_is_pulled_too_hard_comes_off_for_good(stations: Stations) -> None:
    begin(stations, 1, Nothing(stations.control))
    twin = stations.twin
    pulled = twin.bind("qfrc_applied")[0]
    down = twin.model.joint("task_head").dofadr[0] + 2
    pulled[down] = -1.0  # on two lines
    wait(stations, 15)
    assert hanging(stations).all()
    pulled[down] = -3.0
    wait(stations, 3)
    assert not hanging(stations)[:2].any()
    pulled[down] = 0.0
    wait(stations, 25)
    assert not hanging(stations)[:2].any(), "for good"
    assert head(stations)[2] < 0.15, "the tie has fallen"
    stations.abort("enough")
    begin(stations, 1, Nothing(stations.control))
    assert hanging(stations).all(), "until the next reset"
    stations.abort("enough")


def test_the_hands_begin_open_before_the_tie_each_time_elsewhere(stations: Stations) -> None:
    places = []
    for seed in (2, 3):
        begin(stations, seed, Nothing(stations.control))
        twin = stations.twin
        hands = twin.site_xpos[0, [arm.grasp for arm in stations.control.arms]]
        opening = twin.actuator_length[0, [arm.gripper for arm in stations.control.arms]]
        assert (opening > 0.035).all()
        before = head(stations)[0] - hands[:, 0]
        assert ((before > 0.03) & (before < 0.07)).all()
        places.append(np.concatenate([head(stations), hands.ravel()]))
        stations.abort("enough")
    assert abs(places[0] - places[1]).max() > 0.003


def test_a_tie_that_is_closed_before_the_bundle_is_none(
    stations: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Head, strap and tip go once round the bundle's axis all the same."""
    taking = importlib.import_module(f"{type(stations.task).__module__.rpartition('.')[0]}.taking")
    go = taking.Taker._to

    def fed_at_once(self: object, step: object) -> None:
        go(self, taking.Step.FEED if step is taking.Step.CARRY else step)

    monkeypatch.setattr(taking.Taker, "_to", fed_at_once)
    begin(stations, 0, Demonstrations(stations.task))
    episode = finish(stations)
    assert episode.verdict.failed == ("loop_closed", "on_bundle")
    assert head(stations)[0] < BUNDLE_END
    failed = [p.name for p in stations.task.ground_truth(stations.twin, 0) if not p.holds]
    assert failed == ["loop_closed"]


def test_it_is_reset_fast_only(stations: Stations) -> None:
    assert stations.task.target_names == ()
