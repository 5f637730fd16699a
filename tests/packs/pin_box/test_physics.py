"""The pin box is one: holes 0.3 mm wider than the pins, walls that hold, fingers that grip."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from enpire.environment import Demonstrations, Job, Readings, Stations, build_stations
from enpire.environment.stations.episode_state import StationPhase
from enpire.types import Episode, FloatArray, Outcome, Purpose
from tests.packs.starting import Watching, finish, welds

from .samples import from_tray, module, task


def run(stations: Stations, seed: int, controller: object) -> Episode:
    stations.begin(0, Job(seed, Purpose.DEMONSTRATION, controller, "d"))  # type: ignore[arg-type]
    return finish(stations)


def pins(stations: Stations, row: int = 0) -> tuple[FloatArray, FloatArray]:
    """Where the pins' ends truly are, each in its hole's frame [mm], and their tilts [rad]."""
    twin = stations.twin
    ids = [twin.model.site(name).id for name in task().tracked]
    frames = twin.site_xmat[row, ids].reshape(-1, 3, 3)
    ends = (twin.site_xpos[row, ids[1:]] - twin.site_xpos[row, ids[0]]) @ frames[0]
    axes = frames[1:, :, 2] @ frames[0]
    tilts = np.arctan2(np.linalg.norm(axes[:, :2], axis=1), axes[:, 2])
    return 1e3 * (ends - module("parts").HOLES), tilts


def deepest(stations: Stations) -> float:
    """How deep a pin is in a wall at this moment [mm]."""
    model, data = stations.twin.simulation(0)
    depth = 0.0
    for contact in data.contact:
        names = {model.geom(i).name for i in contact.geom}
        if not any(name.startswith("arm_") for name in names):
            depth = max(depth, -1e3 * contact.dist)
    return depth


@pytest.mark.parametrize("angle", np.radians([0, 20, 45, 70, 90, 180, 225, 300]))
def test_a_hole_is_three_tenths_of_a_millimetre_wider_than_a_pin(angle: float) -> None:
    """A pin pushed sideways in its hole goes 0.15 mm from the middle, whichever way."""
    model = build_stations("pin_box", 1, 1).twin.model
    data = mujoco.MjData(model)
    start = model.body("task_box").pos + module("parts").HOLES[0] - (0, 0, 0.01399)
    data.joint("task_pin0").qpos[:3] = start
    push = 0.2 * np.array([np.cos(angle), np.sin(angle), 0.0])
    in_the_hole = np.cross((0, 0, -0.009), push)  # so that it goes through what is in the hole
    data.body("task_pin0").xfrc_applied[:] = np.concatenate([push, in_the_hole])
    mujoco.mj_step(model, data, 250)
    moved = np.linalg.norm(data.joint("task_pin0").qpos[:2] - start[:2])
    assert 1e3 * moved == pytest.approx(0.157, abs=0.012)


class Beside:
    """Lines a pin up upright beside its hole, knowing where it truly is, and pushes it down."""

    def __init__(self, stations: Stations, x: float, y: float) -> None:
        self.stations = stations
        self.goal = np.array([x, y, 0.002])
        self.pushing = False
        self.lowest = 0.0

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> np.ndarray:
        end = 1e-3 * pins(self.stations, rows[0])[0][-1]
        self.lowest = min(self.lowest, end[2])
        seen = module("frames").View.of(readings)
        gap, turn = self.goal - end, np.array([seen.direction[1], -seen.direction[0], 0.0])
        near = np.linalg.norm(gap) < 0.0002 and np.linalg.norm(turn) < 0.02
        self.pushing = self.pushing or bool(near)
        move = np.array([0.0, 0.0, -0.0008]) if self.pushing else np.clip(0.2 * gap, -1e-3, 1e-3)
        turn = seen.box_frame @ turn * (0.0 if self.pushing else 0.15)
        move = seen.box_frame @ move + np.cross(turn, seen.hand - seen.at)
        action = np.concatenate([move, turn]) / task().actions.scale[0]
        return np.append(action, -1.0)[None].astype(np.float32)


def test_a_pin_goes_into_its_hole_and_nowhere_else() -> None:
    offsets = [(0.0, 0.0), (0.003, 0.0), (-0.003, 0.0), (0.0, 0.003), (0.002, -0.003), (0.008, 0.0)]
    stations = build_stations("pin_box", len(offsets), 1)
    controllers = [Beside(stations, *offset) for offset in offsets]
    for row, controller in enumerate(controllers):
        stations.begin(row, Job(row, Purpose.EVALUATION, controller, "beside"))
    for _ in range(140):  # a soft arm takes its time
        stations.tick()
    assert all(controller.pushing for controller in controllers)
    lowest = [1e3 * controller.lowest for controller in controllers]
    assert lowest[0] == pytest.approx(-14.0, abs=0.2), "the same push goes in where the hole is"
    assert min(lowest[1:]) > -0.3


def test_nothing_is_welded_while_a_policy_acts() -> None:
    stations = build_stations("pin_box", 1, 1)
    watching = Watching(stations)
    stations.begin(0, Job(0, Purpose.DEMONSTRATION, watching, "d"))
    stations.tick()
    assert welds(stations).tolist() == [1.0]
    finish(stations)
    assert len(watching.welded) > 20
    assert not any(watching.welded)


def test_walls_hold_and_a_success_is_one() -> None:
    stations = build_stations("pin_box", 1, 1)
    controller = Demonstrations(stations.task)
    for seed in range(3):
        stations.begin(0, Job(seed, Purpose.DEMONSTRATION, controller, "d"))
        done: list[Episode] = []
        worst = 0.0
        while stations.busy:
            done += stations.tick()
            stations.wait()
            worst = max(worst, deepest(stations))
        assert worst < 0.15, "of the 0.15 mm that a pin is clear"
        assert done[0].success, done[0].verdict.reason
        ends, tilts = pins(stations)
        assert ends[:, 2] == pytest.approx(-14.0, abs=0.2)
        assert np.linalg.norm(ends[:, :2], axis=1).max() < 0.3
        assert tilts.max() < 0.03


class Still:
    """Holds still; the gripper as told."""

    def __init__(self, gripper: float) -> None:
        self.gripper = gripper

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> np.ndarray:
        actions = np.zeros((len(rows), 7), dtype=np.float32)
        actions[:, 6] = self.gripper
        return actions


def test_a_reset_leaves_the_last_pin_in_the_fingers_over_its_hole() -> None:
    stations = build_stations("pin_box", 8, 1)
    for row in range(8):
        stations.begin(row, Job(row, Purpose.EVALUATION, Still(-1.0), "p"))
    for _ in range(14):
        stations.tick()
    stations.wait()
    seen = []
    for row in range(8):
        ends, tilts = pins(stations, row)
        assert ends[:-1, 2] == pytest.approx(-14.0, abs=0.2)
        assert 3.0 < ends[-1, 2] < 20.0
        assert abs(ends[-1, :2]).max() < 14.0
        assert tilts[-1] < 0.5
        assert stations.twin.actuator_length[row, stations.control.arms[0].gripper] > 0.003
        seen.append(ends[-1])
    assert np.ptp(seen, axis=0).min() > 2.0, "seeds differ"


def test_an_open_hand_drops_the_pin_which_stays_in_the_tray() -> None:
    stations = build_stations("pin_box", 1, 1)
    for seed in range(3):
        assert run(stations, seed, Still(0.0)).verdict.outcome is Outcome.FAILURE
        ends, _ = pins(stations)
        last = ends[-1] + 1e3 * module("parts").HOLES[-1]
        assert module("parts").in_tray(1e-3 * last)


@pytest.mark.medium
def test_from_the_tray_the_pins_are_picked_up_one_by_one() -> None:
    stations = from_tray()
    rng = np.random.default_rng(0)
    draw = stations.task.sample(rng)
    assert draw.shape == (len(stations.task.variation_names),)
    stations.begin(0, Job(1000, Purpose.DEMONSTRATION, Still(-0.4), "p"))
    for _ in range(12):
        stations.tick()
    stations.wait()
    ends, tilts = pins(stations)
    assert tilts == pytest.approx(np.pi / 2, abs=0.05)
    assert ends[:, 2] == pytest.approx(1e3 * module("parts").TRAY + 2.0, abs=0.5)
    stations.abort("seen")
    assert run(stations, 1000, Demonstrations(stations.task)).success


def test_a_fast_reset_holds_the_pin_as_it_was_drawn() -> None:
    """A weld that hangs through would leave it lower in the hand than skills can put it.

    That is until the policy's first action: as the hand starts off, the pads' rubber gives way.
    """
    stations = build_stations("pin_box", 1, 1)
    stations.begin(0, Job(3, Purpose.EVALUATION, Still(-1.0), "p"))
    (rng, *_) = np.random.default_rng(3).spawn(4)
    start = module("start").Start.of(stations.task.sample(rng))
    drawn = start.hand_frame.T @ (start.end - start.hand)
    twin, grasp = stations.twin, stations.control.arms[0].grasp
    pin, weld = twin.model.site("task_pin2").id, twin.model.equality("reset_pin").id
    off = []
    while stations.phase(0) is StationPhase.RESET:
        held = twin.site_xmat[0, grasp].reshape(3, 3).T @ (
            twin.site_xpos[0, pin] - twin.site_xpos[0, grasp]
        )
        off.append(1e3 * np.abs(held - drawn).max())
        stations.tick()
        stations.wait()
    assert twin.eq_active[0, weld] == 0.0, "by the fingers alone"
    assert 0.0 < off[-1] < 0.02


def test_no_pin_begins_where_it_would_fall_in() -> None:
    stations = build_stations("pin_box", 1, 1)
    names = list(stations.task.variation_names)
    x, y = names.index("pin_x"), names.index("pin_y")
    rng = np.random.default_rng(0)
    drawn = np.array([stations.task.sample(rng) for _ in range(500)])
    assert np.hypot(drawn[:, x], drawn[:, y]).min() > 0.004
    assert abs(drawn[:, [x, y]]).max() < 0.012
