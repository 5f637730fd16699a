"""The same checks for every pack that comes with the harness."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from enpire.cli import main
from enpire.cli.task.task import NAMES
from enpire.environment import Demonstrations, Job, Stations, build_stations
from enpire.errors import ResetFailed
from enpire.packs import available, find, load_robot, load_world
from enpire.twin import compose
from enpire.types import FloatArray, Outcome, Purpose
from tests.packs.truths import imported

# What a truth may go by: the simulator, and numbers. All else is the verifier's, or may come to be.
TRUTH_IMPORTS = {
    *("__future__", "collections.abc", "copy", "enpire.twin", "enpire.types"),
    *("mujoco", "numpy", "numpy.typing"),
}
# Without cameras, which has 21 scenes rendered: see tests/certification.
CHECKED = [name for name in NAMES if name not in ("cameras", "fakes")]
FEW = [name for name in CHECKED if name != "nothing"]  # as `test_doing_nothing_fails` has it
# What is checked, by how many episodes of each kind. Each seed of fakes writes and renders some ten
# states: a certificate has three, each pack's own tests have one, and the slow lane has two more.
COUNTED = [
    pytest.param(FEW, 2, id="few"),
    pytest.param(CHECKED, 5, id="more", marks=pytest.mark.slow),
    pytest.param(["fakes"], 2, id="fakes", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=available("tasks"))
def stations(request: pytest.FixtureRequest) -> Stations:
    return build_stations(request.param, 2, threads=1)


@pytest.mark.parametrize("world", available("sim"))
@pytest.mark.parametrize("robot", available("robots"))
def test_every_robot_stands_in_every_world(robot: str, world: str) -> None:
    loaded = load_robot(find("robots", robot))
    scene = compose(load_world(find("sim", world)), loaded, lambda spec: None)
    model, data = scene.model, mujoco.MjData(scene.model)
    for index, arm in zip(scene.arms, loaded.arms, strict=True):
        assert (model.jnt_range[index.joints, 0] <= arm.home).all()
        assert (arm.home <= model.jnt_range[index.joints, 1]).all()
        assert np.linalg.norm(arm.quaternion) == pytest.approx(1)
        closed, opened = arm.gripper_range
        low, high = model.actuator_ctrlrange[index.gripper]
        assert low - 1e-4 <= closed < opened <= high + 1e-4
        data.qpos[index.qpos] = arm.home
        data.ctrl[index.actuators] = arm.home
    mujoco.mj_step(model, data, 250)
    hands = data.site_xpos[[index.grasp for index in scene.arms]]
    assert (hands >= loaded.limits.workspace_low).all()
    assert (hands <= loaded.limits.workspace_high).all()
    held = [data.qpos[index.qpos] for index in scene.arms]
    np.testing.assert_allclose(held, [arm.home for arm in loaded.arms], atol=0.05)
    assert not data.warning.number.any()
    assert 0 < loaded.limits.cartesian_speed <= 1.0
    assert min(loaded.limits.joint_speed) > 0


def test_a_skill_script_has_plain_values_within_its_bounds(stations: Stations) -> None:
    parameters = stations.parameters
    assert len({p.name for p in parameters}) == len(parameters)
    for p in parameters:
        assert p.low <= p.plain <= p.high
        assert p.low < p.high
    if parameters:
        stations.task.skill({p.name: p.plain for p in parameters})


def test_names_sizes_and_limits_agree(stations: Stations) -> None:
    task = stations.task
    assert len(task.actions.arms) == len(stations.twin.scene.arms)
    assert len(set(task.observation_names)) == len(task.observation_names)
    assert len(set(task.variation_names)) == len(task.variation_names)
    assert task.instruction.endswith(".")
    assert min(task.time_limit, task.probe_limit, task.settle_limit, task.force_limit) > 0
    assert stations.substeps * stations.twin.model.opt.timestep == pytest.approx(stations.period)


def test_variation_is_drawn_from_the_generator_alone(stations: Stations) -> None:
    def draws() -> np.ndarray:
        rng = np.random.default_rng(7)
        return np.array([stations.task.sample(rng) for _ in range(200)])

    first = draws()
    assert first.shape == (200, len(stations.task.variation_names))
    np.testing.assert_array_equal(first, draws())
    assert np.isfinite(first).all()
    assert (np.ptp(first, axis=0) > 0).all(), "something never varies"
    assert (abs(first) < 10).all(), "SI units and radians"


def test_resets_are_within_reach(stations: Stations) -> None:
    """Joints of twenty placed scenes are within their ranges, and nothing moves fast."""
    rng = np.random.default_rng(8)
    model = stations.twin.model
    for _ in range(20):
        variation = stations.task.sample(rng)
        stations.set_initial_state(0, variation)
        joints = stations.control.measured(np.array([0]))[0]
        ranges = np.array([model.jnt_range[arm.joints] for arm in stations.control.arms])
        assert (joints >= ranges[..., 0] - 1e-6).all()
        assert (joints <= ranges[..., 1] + 1e-6).all()
        np.testing.assert_allclose(stations.control.setpoints[0], joints, atol=1e-9)


def settled(stations: Stations, variation: FloatArray) -> bool:
    """Whether a scene that is placed in the first station settles; it has then."""
    stations.set_initial_state(0, variation)
    periods, row = 0, np.array([0])
    try:
        while stations.task.settle(stations.twin, stations.control, 0, periods * stations.period):
            stations.twin.step(row, stations.substeps)
            periods += 1
    except ResetFailed:
        return False
    return True


def test_skills_are_told_what_they_can_bring_about(stations: Stations) -> None:
    """A scene that a fast reset made is in place; another is not; posture and setpoints agree.

    In these scenes no strap turns what a hand holds. It turns 1 of 75 heads of `zip_tie`.
    """
    task = stations.task
    chosen = [task.variation_names.index(name) for name in task.target_names]
    rng, row, missed, made = np.random.default_rng(10), np.array([0]), 0, 0
    while chosen and made < 5:
        variation, other = task.sample(rng), task.sample(rng)
        if not settled(stations, variation):
            continue
        made += 1
        stations.sensors.begin(0, rng)
        seen = [stations.sensors.read(row, [i])[0] for i in range(5)]
        skills = task.restorer(rng, variation[chosen])
        assert all(p.holds for p in skills.in_place(seen)), skills.in_place(seen)
        start = skills.posture[0] + skills.bearing
        np.testing.assert_allclose(stations.control.setpoints[0], start, atol=1e-12)
        np.testing.assert_allclose(stations.control.gripper[0], skills.posture[1])
        elsewhere = task.restorer(rng, other[chosen]).in_place(seen)
        missed += not all(p.holds for p in elsewhere)
    assert missed >= 4 or not chosen


def test_what_skills_do_not_bring_about_is_not_placed(stations: Stations) -> None:
    task, rng = stations.task, np.random.default_rng(10)
    if not task.target_names:
        return
    variation, other = task.sample(rng), task.sample(rng)
    stations.set_initial_state(0, variation)
    expected = stations.twin.variation(0)
    stations.set_initial_state(0, other)
    stations.set_initial_state(0, variation, other)
    for name, values in stations.twin.variation(0).items():
        if name == "eq_data":  # a weld that holds something as it is placed, until fingers do
            continue
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


@pytest.mark.medium
def test_the_demonstrator_mostly_succeeds_and_is_seen_to(stations: Stations) -> None:
    task = stations.task
    waiting, done = list(range(5)), []
    controller = Demonstrations(task)
    while waiting or stations.busy:
        for row in stations.idle:
            if waiting:
                seed = waiting.pop()
                stations.begin(row, Job(seed, Purpose.DEMONSTRATION, controller, "d"))
        done += stations.tick()
    assert sum(e.success for e in done) >= 4, [e.verdict.reason for e in done]
    for episode in done:
        assert episode.verdict.outcome in (Outcome.SUCCESS, Outcome.FAILURE)
        assert episode.observations.shape == (len(episode), len(task.observation_names))
        assert np.isfinite(episode.observations).all()
        assert abs(episode.actions).max() <= 1.0
        assert episode.times.execute <= task.time_limit + stations.period
        if episode.success:
            assert not episode.verdict.failed
            assert episode.verdict.score == 1.0
    typical = np.abs(np.concatenate([e.observations for e in done])).mean()
    assert 0.05 < typical < 10, "observations are about of size one"


class Nothing:
    """Holds still, hands shut."""

    def __init__(self, size: int) -> None:
        self.size = size

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: object) -> np.ndarray:
        actions = np.zeros((len(rows), self.size), dtype=np.float32)
        actions[:, 6::7] = -1.0
        return actions


def test_doing_nothing_fails(stations: Stations) -> None:
    for row in range(2):
        job = Job(row, Purpose.EVALUATION, Nothing(stations.task.actions.size), "nothing")
        stations.begin(row, job)
    done = []
    while stations.busy:
        done += stations.tick()
    for episode in done:
        assert episode.verdict.outcome is Outcome.FAILURE
        assert episode.verdict.failed
        assert episode.verdict.reason
        assert episode.verdict.score < 1.0


@pytest.mark.parametrize("task", available("tasks"))
def test_a_truth_imports_nothing_of_its_pack(task: str) -> None:
    """So it shares no measure, and no threshold, with the verifier that it audits."""
    names = imported(task)
    assert names, "its imports were read"
    assert names <= TRUTH_IMPORTS


@pytest.mark.medium
@pytest.mark.parametrize(("checks", "seeds"), COUNTED)
@pytest.mark.parametrize("task", available("tasks"))
def test_the_checks_of_a_task_hold(
    task: str, checks: list[str], seeds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """`enpire task check` at counts that CI has time for; a bar that is missed fails."""
    asked = ["task", "check", task, "--seeds", str(seeds), "--checks", ",".join(checks)]
    assert main(asked) == 0, capsys.readouterr().out
