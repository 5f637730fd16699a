"""The zip tie is one: a slot with a millimetre to spare, a ratchet that holds until released."""

from __future__ import annotations

import importlib
from functools import cache

import numpy as np
import pytest

from enpire.certification.grid import GRID
from enpire.environment import Demonstrations, Job, Readings, Stations, Task, build_stations
from enpire.environment.stations.stations import StationPhase
from enpire.types import Episode, FloatArray, Outcome, Purpose
from tests.packs.starting import Watching, finish, welds

ROW = np.array([0])
RIGHT = 1
STEP = 0.0024  # of a full action [m]


@cache
def task() -> Task:
    return build_stations("zip_tie", 1, 1).task


def module(name: str):  # type: ignore[no-untyped-def]
    package = type(task()).__module__.rpartition(".")[0]
    return importlib.import_module(f"{package}.{name}")


def tip(stations: Stations, row: int = 0) -> FloatArray:
    """Where the tip truly is, head frame [mm]."""
    twin, model = stations.twin, stations.twin.model
    head, end = model.site("task_head").id, model.site("task_tip").id
    frame = twin.site_xmat[row, head].reshape(3, 3)
    return 1e3 * frame.T @ (twin.site_xpos[row, end] - twin.site_xpos[row, head])


def fastened() -> Stations:
    """A station right after a success: the right hand has just let go."""
    stations = build_stations("zip_tie", 1, 1)
    demonstrations = Demonstrations(stations.task)
    for seed in range(5):
        stations.begin(0, Job(seed, Purpose.DEMONSTRATION, demonstrations, "d"))
        done: list[Episode] = []
        while stations.busy:
            done += stations.tick()
        if done[0].success:
            return stations
    pytest.fail("no demonstration in five succeeds")


def threaded() -> Stations:
    """A station whose right hand holds a tail that it has pulled through."""
    stations = build_stations("zip_tie", 1, 1)
    stations.begin(0, Job(0, Purpose.DEMONSTRATION, Demonstrations(stations.task), "d"))
    while stations.busy:
        stations.tick()
        if stations.phase(0) is StationPhase.EXECUTE and tip(stations)[0] > 25.0:
            return stations
    pytest.fail("the demonstration pulls no tail through")


def move(stations: Stations, speed: float, periods: int) -> None:
    """The right hand goes along the slot, hands shut [m/s]."""
    twin, control = stations.twin, stations.control
    along = twin.site_xmat[0, twin.model.site("task_head").id].reshape(3, 3)[:, 0]
    action = np.zeros((1, 14), dtype=np.float32)
    action[0, [6, 13]] = -1.0
    action[0, 7:10] = along * speed * stations.period / STEP
    for _ in range(periods):
        control.apply(ROW, action, control.jacobian(ROW), np.zeros((1, 2, 3)))
        twin.step(ROW, stations.substeps)


def test_the_ratchet_holds_until_the_pawls_tab_is_turned_up() -> None:
    held, released = threaded(), threaded()
    torque = released.twin.bind("qfrc_applied")
    pawl = released.twin.model.joint("task_pawl")
    before = tip(held)[0]
    for stations in (held, released):
        move(stations, -0.02, periods=5)
        assert tip(stations)[0] > before - 1.5, "4 mm of pull took it out"
    torque[0, pawl.dofadr[0]] = -0.06
    for stations in (held, released):
        move(stations, 0.01, periods=5)
        move(stations, -0.03, periods=35)
    assert tip(held)[0] > before - 4.0, "42 mm of pull took it out"
    assert tip(released)[0] < 6.0, "back in the slot, or out of it"


def test_the_truth_is_that_a_tail_holds_while_the_pawl_is_down() -> None:
    held, released = fastened(), fastened()
    pawl = released.twin.model.joint("task_pawl")
    released.twin.bind("qfrc_applied")[0, pawl.dofadr[0]] = -0.06
    before = held.twin.state.copy()
    assert all(p.holds for p in held.task.ground_truth(held.twin, 0))
    missed = [p.name for p in released.task.ground_truth(released.twin, 0) if not p.holds]
    assert "holds" in missed  # and by itself the loop may draw the tail out, once hands are off
    assert "loop_closed" not in missed
    np.testing.assert_array_equal(held.twin.state, before)


def test_the_pawl_leans_again_before_the_last_look() -> None:
    """It stood upright after the pull, for seconds, and sprang back: slippery straps got out."""
    slippery = next(point for point in GRID if point.name == "friction-x0.6")
    stations = build_stations("zip_tie", 4, 1, perturbation=slippery)
    angle = stations.twin.model.joint("task_pawl").qposadr[0]
    jobs = [Job(s, Purpose.EVALUATION, Demonstrations(stations.task), "d") for s in (7, 8, 13, 16)]
    leans: list[float] = []
    for row, job in enumerate(jobs):
        stations.begin(row, job)
    while stations.busy:
        before = stations.twin.qpos[:, angle].copy()
        leans += [float(before[e.station]) for e in stations.tick() if e.success]
    assert len(leans) >= 3
    assert max(leans) < 0.2, "it leans by -0.2 on a strap, and 0.52 is upright"


def test_the_strap_has_a_millimetre_to_spare_on_each_side() -> None:
    model = build_stations("zip_tie", 1, 1).twin.model

    def face(name: str, axis: int, side: int) -> float:
        geom = model.geom(f"task_{name}")
        return float(geom.pos[axis] + side * geom.size[axis])

    strap = model.geom("task_link14").size
    width = face("side_left", 1, -1) - face("side_right", 1, 1)
    height = face("roof", 2, -1) - face("floor", 2, 1)
    assert 1e3 * (width / 2 - strap[1]) == pytest.approx(1.0, abs=0.05)
    assert 1e3 * (height / 2 - strap[2]) == pytest.approx(1.0, abs=0.05)


class Beside:
    """Lines the tip up beside the slot and pushes."""

    def __init__(self, y: float, z: float) -> None:
        self.goal = np.array([-0.014, y, z])
        self.pushing = False

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        self.pushing = False

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> np.ndarray:
        seen, direction, side = (part[0] for part in module("frames").in_head(readings))
        frame = readings.rotation[0, 0]
        gap = self.goal - seen
        action = np.zeros((1, 14), dtype=np.float32)
        action[0, [6, 13]] = -1.0
        if self.pushing:
            steer = 0.2 if seen[0] < -0.003 else 0.0  # inside, the slot guides it
            step = np.array([0.0008, *np.clip(steer * gap[1:], -0.0006, 0.0006)])
        else:
            straight = np.linalg.norm(direction[1:]) < 0.06
            self.pushing = bool(np.linalg.norm(gap) < 0.0012 and straight)
            step = 0.2 * gap * min(1.0, 0.01 / np.linalg.norm(gap))
            turn = np.array([-side[2], direction[2], -direction[1]])
            action[0, 10:13] = frame @ (0.15 * turn) / 0.03
        action[0, 7:10] = frame @ step / STEP
        return action


def test_the_tail_goes_through_the_slot_only() -> None:
    offsets = [(0.0, 0.0), (0.008, 0.0), (-0.008, 0.0), (0.0, 0.0045)]
    stations = build_stations("zip_tie", len(offsets), 1)
    controllers = [Beside(*offset) for offset in offsets]
    for row, controller in enumerate(controllers):
        stations.begin(row, Job(row, Purpose.EVALUATION, controller, "beside"))
    done: dict[int, Episode] = {}
    while stations.busy:
        done |= {episode.station: episode for episode in stations.tick()}
        for row in set(range(len(offsets))) - set(done):
            x, y, z = tip(stations, row)
            if abs(x) < 5.0 and abs(y) < 7.5 and abs(z) < 5.1:  # 1 mm inside the head
                assert abs(y) < 5.3, (row, x, y, z)
                assert z > -2.0, (row, x, y, z)
                assert x > -1.0 or z < 2.0, (row, x, y, z)
    assert done[0].success, "the same push goes through where the slot is"
    for row in (1, 2, 3):
        assert controllers[row].pushing, "it never came to push"
        assert done[row].verdict.outcome is Outcome.FAILURE


def test_nothing_is_welded_while_a_policy_acts() -> None:
    stations = build_stations("zip_tie", 1, 1)
    watching = Watching(stations)
    stations.begin(0, Job(0, Purpose.DEMONSTRATION, watching, "d"))
    stations.tick()
    assert welds(stations).tolist() == [1.0, 1.0], "the reset holds things with them"
    finish(stations)
    assert len(watching.welded) > 20
    assert not any(watching.welded)
    assert not welds(stations).any()


def test_a_reset_leaves_the_strap_in_the_fingers_and_before_the_slot() -> None:
    stations = build_stations("zip_tie", 4, 1)
    for row in range(4):
        stations.begin(row, Job(row, Purpose.EVALUATION, Beside(0, 0), "p"))
    for _ in range(16):
        stations.tick()
    for row in range(4):
        x, y, z = tip(stations, row)
        assert -45 < x < -6, "not yet in the head"
        assert np.hypot(y, z) < 20
        right = stations.twin.scene.arms[RIGHT]
        assert stations.twin.actuator_length[row, right.gripper] > 0.0006
    assert np.ptp([tip(stations, row)[1] for row in range(4)]) > 0.5, "seeds differ"


@pytest.mark.parametrize("seed", [106, 107, 109, 118, 171])
def test_a_reset_leaves_the_loop_round_the_bundle(seed: int) -> None:
    """First tries of these seeds threw the strap off; nothing could have succeeded after."""
    stations = build_stations("zip_tie", 1, 1)
    stations.begin(0, Job(seed, Purpose.EVALUATION, Beside(0, 0), "p"))
    while stations.busy and not stations._running[0].execute:
        stations.tick()
    twin = stations.twin
    sites = [twin.model.site(name).id for name in stations.task.tracked]
    frames = twin.site_xmat[0, sites].reshape(-1, 3, 3)
    assert module("verify").turns(twin.site_xpos[0, sites], frames) > 0.75


@pytest.mark.parametrize("seed", [2068196532689859773, 2696442808161858125, 9126437516081767767])
def test_a_reset_leaves_the_tail_before_the_slot(seed: int) -> None:
    """First tries of these seeds left the loop buckled, the tail 25 mm beside the slot."""
    stations = build_stations("zip_tie", 1, 1)
    stations.begin(0, Job(seed, Purpose.EVALUATION, Beside(0, 0), "p"))
    while stations.busy and not stations._running[0].execute:
        stations.tick()
    assert stations._running[0].tries > 1
    assert abs(tip(stations)[1]) < 10.5
