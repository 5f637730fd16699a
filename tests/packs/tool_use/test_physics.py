"""The strap parts between the blades, for good, and by nothing else; the cutter is free."""

from __future__ import annotations

import importlib
from functools import cache

import numpy as np
import pytest

from enpire.environment import Demonstrations, Job, Readings, Stations, Task, build_stations
from enpire.types import Episode, FloatArray, Purpose
from tests.packs.starting import Watching, finish, welds

STEP = 0.004  # of a full action [m]


@cache
def task() -> Task:
    return build_stations("tool_use", 1, 1).task


def module(name: str):  # type: ignore[no-untyped-def]
    package = type(task()).__module__.rpartition(".")[0]
    return importlib.import_module(f"{package}.{name}")


def whole(stations: Stations) -> bool:
    return bool(stations.twin.eq_active[0, stations.twin.model.equality("task_strap").id])


def gap(stations: Stations) -> float:
    """Between the strap's ends, truly [mm]."""
    twin, model = stations.twin, stations.twin.model
    ends = twin.site_xpos[0, [model.site("task_end_a").id, model.site("task_end_b").id]]
    return float(1e3 * np.linalg.norm(ends[0] - ends[1]))


class Still:
    """Holds the cutter and does nothing."""

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> np.ndarray:
        action = np.zeros((len(rows), 14), dtype=np.float32)
        action[:, [6, 13]] = module("demonstrator").HOLD
        return action


def begun(controller: object = None, seed: int = 0) -> Stations:
    """A station whose policy has just begun to act."""
    stations = build_stations("tool_use", 1, 1)
    stations.begin(0, Job(seed, Purpose.EVALUATION, controller or Still(), "p"))
    while not stations._running[0].execute:
        stations.tick()
    stations.wait()
    return stations


@pytest.mark.parametrize(
    ("one", "other", "parts"),
    [
        (1.05, -1.05, True),
        (-1.05, 1.05, True),
        (0.95, -2.0, False),
        (2.0, -0.95, False),
        (2.0, 2.0, False),
        (2.0, 0.0, False),
    ],
)
def test_it_takes_enough_force_of_both_blades_from_opposite_sides(
    one: float, other: float, parts: bool
) -> None:
    stations = begun()
    pack, twin = stations.task, stations.twin
    for at, force in zip(pack._bites, (one, other), strict=True):
        pack._felt[0, at : at + 3] = force * pack._strength[0] * pack._across[0]
    pack.after_step(twin, 0)
    assert whole(stations) is not parts


def test_a_force_along_the_strap_is_no_cut() -> None:
    stations = begun()
    pack, twin = stations.task, stations.twin
    along = np.cross(pack._across[0], (0.0, 0.0, 1.0))
    for at, force in zip(pack._bites, (500.0, -500.0), strict=True):
        pack._felt[0, at : at + 3] = force * along
    pack.after_step(twin, 0)
    assert whole(stations)


def pulled(stations: Stations, force: float) -> None:
    """Pulls the strap's two halves apart for half a second [N]."""
    applied = stations.twin.bind("qfrc_applied")
    for name in ("task_tension_a", "task_tension_b"):
        applied[0, stations.twin.model.joint(name).dofadr[0]] = force
    for _ in range(12):
        stations.tick()
    stations.wait()


def test_pulling_does_not_part_it() -> None:
    stations = begun()
    pulled(stations, 60.0)
    assert whole(stations)
    assert gap(stations) < 1.0


def demonstrated(strength: float, seed: int) -> tuple[Stations, Episode]:
    """A demonstration on a strap of this strength [N]."""
    stations = build_stations("tool_use", 1, 1)
    stations.begin(0, Job(seed, Purpose.DEMONSTRATION, Demonstrations(stations.task), "d"))
    done: list[Episode] = []
    while stations.busy:
        stations.task._strength[0] = strength
        done += stations.tick()
    return stations, done[0]


def test_a_strap_stronger_than_the_squeeze_stays_whole() -> None:
    stations, episode = demonstrated(400.0, seed=1)
    assert whole(stations)
    assert episode.verdict.failed[0] == "parted"


def test_a_cut_strap_gapes_and_stays_cut() -> None:
    stations, episode = demonstrated(60.0, seed=1)
    assert episode.success, episode.verdict.reason
    assert not whole(stations)
    assert gap(stations) > 4.0
    stations.begin(0, Job(1, Purpose.EVALUATION, Still(), "p"))
    while not stations._running[0].execute:
        stations.tick()
    assert whole(stations), "the reset supplies a new tie"
    strap = stations.twin.model.equality("task_strap").id
    stations.twin.eq_active[0, strap] = 0.0
    pulled(stations, -2.5)  # pressed together again
    assert not whole(stations)


def test_nothing_is_welded_while_a_policy_acts() -> None:
    stations = build_stations("tool_use", 1, 1)
    watching = Watching(stations)
    stations.begin(0, Job(2, Purpose.DEMONSTRATION, watching, "d"))
    stations.tick()
    assert welds(stations).tolist() == [1.0], "the reset holds the cutter with it"
    finish(stations)
    assert len(watching.welded) > 50
    assert not any(watching.welded)


class Opening(Still):
    """Lets the cutter fall."""

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> np.ndarray:
        action = super().act(rows, observations, readings)
        action[:, 13] = 1.0
        return action


def height(stations: Stations) -> float:
    return float(stations.twin.site_xpos[0, stations.twin.model.site("task_cutter").id, 2])


def test_the_fingers_alone_hold_the_cutter() -> None:
    held, dropped = begun(), begun(Opening())
    before: FloatArray = np.array([height(held), height(dropped)])
    for stations in (held, dropped):
        for _ in range(25):
            stations.tick()
        stations.wait()
    assert abs(height(held) - before[0]) < 0.003
    assert height(dropped) < before[1] - 0.02


def test_a_push_at_the_bundle_is_seen_afterwards() -> None:
    """Its clamp holds it by dry friction of 10 N: below, it stays; above, it is moved for good."""
    shifts = []
    for force in (7.0, 14.0):
        stations = begun()
        twin, model = stations.twin, stations.twin.model
        applied = twin.bind("qfrc_applied")
        dof = model.joint("task_bundle_y").dofadr[0]
        applied[0, dof] = force
        for _ in range(8):
            stations.tick()
        stations.wait()
        applied[0, dof] = 0.0
        shifts.append(abs(float(twin.qpos[0, model.joint("task_bundle_y").qposadr[0]])))
    assert shifts[0] < 0.0005
    assert shifts[1] > 0.003


def test_the_truth_of_a_cut_and_of_what_lacks_something() -> None:
    stations, episode = demonstrated(60.0, seed=1)
    stations.wait()
    assert episode.success
    twin, model = stations.twin, stations.twin.model
    stood = twin.state[0].copy()
    cutter, bundle = (model.joint(f"task_{n}").qposadr[0] for n in ("cutter", "bundle_x"))

    def missed() -> set[str]:
        return {p.name for p in stations.task.ground_truth(twin, 0) if not p.holds}

    assert not missed()
    np.testing.assert_array_equal(twin.state[0], stood)  # it was tried on a copy
    twin.eq_active[0, model.equality("task_strap").id] = 1.0
    assert missed() == {"cut"}
    twin.state[0] = stood
    twin.qpos[0, bundle] = 0.004
    assert missed() == {"bundle_moved"}
    twin.state[0] = stood
    twin.qpos[0, cutter + 2] += 0.010  # in the air it falls
    assert missed() == {"tips_over_floor", "stays_without_hands"}
    twin.state[0] = stood
    twin.qpos[0, cutter] += 0.05  # beside the stand it falls too
    assert {"tips_beside_pocket", "stays_without_hands"} <= missed()
    twin.state[0] = stood
    twin.qpos[0, cutter + 3 : cutter + 7] = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    assert "tips_along_pocket" in missed()
    twin.state[0] = stood
    fakes, layout = module("fakes"), module("layout")
    scene = fakes.SceneWriter(twin, stations.control, 0)
    at = scene.place + np.array([-0.020, 0.0, layout.GRIP])
    scene.hands(right=fakes.HandPose(at, fakes.FORWARD, fakes.WIDE, fakes.WIDE))
    assert missed() == {"hands_near"}


def test_all_of_the_cutter_touches_what_it_falls_on() -> None:
    stations = build_stations("tool_use", 1, 1)
    twin, model = stations.twin, stations.twin.model
    stations.set_initial_state(0, stations.task.sample(np.random.default_rng(0)))
    twin.forward(0)
    twin.eq_active[0, model.equality("reset_cutter").id] = 0.0
    bundle = twin.site_xpos[0, model.site("task_bundle_tag0").id]
    at = model.joint("task_cutter").qposadr[0]
    half = np.sqrt(0.5)
    # On its side, the bundle's end between pivot and handles, 5 mm below.
    pivot = (bundle[0] - 0.0112 - 0.022, bundle[1], bundle[2] + 0.026)
    twin.qpos[0, at : at + 7] = (*pivot, half, 0.0, half, 0.0)
    low = []
    for _ in range(20):
        twin.advance(0, 4)
        low.append(twin.qpos[0, at + 2])
    assert min(low[:15]) > bundle[2] + 0.005, "its shanks do not fall through"


def test_there_is_no_gap_between_pivot_and_jaws_for_a_strap_to_be_caught_in() -> None:
    model = build_stations("tool_use", 1, 1).twin.model
    boss = model.geom("task_boss")
    for name in ("edge_a", "jaw_a", "edge_b", "jaw_b"):
        geom = model.geom(f"task_{name}")
        assert geom.pos[2] + geom.size[2] > -0.5 * boss.size[0]
