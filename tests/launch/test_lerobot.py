"""The plugins: built as packages, found by LeRobot itself, and what they do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.environment.core.policy_cameras import TwinFrameCapture
from enpire.environment.loading import load_task
from enpire.packs import find
from tests.policies.lerobots import folder_of

PLUGINS = Path(__file__).parents[2] / "launch" / "lerobot"
SEEN, DONE = 16, 7  # of pick_cube


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as an installation leaves it, with both."""
    wheels, folder = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    for project in ("lerobot_env_enpire", "lerobot_robot_enpire"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
        subprocess.run(command, cwd=PLUGINS / project, check=True, capture_output=True)
    for wheel in wheels.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder)
    return folder


@pytest.fixture
def _found(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LeRobot has looked for them, by its own rule."""
    from lerobot.utils.import_utils import register_third_party_plugins

    monkeypatch.syspath_prepend(installed)
    register_third_party_plugins()


@pytest.mark.usefixtures("_found")
def test_the_environment_is_what_a_policy_sees() -> None:
    from lerobot.envs.factory import make_env, make_env_config
    from lerobot.envs.utils import (
        NEW_ROLLOUT_OPTION,
        env_to_policy_features,
        preprocess_observation,
    )

    config = make_env_config("enpire", task="pick_cube")
    assert config.fps == 25
    features = {name: (f.type.name, f.shape) for name, f in env_to_policy_features(config).items()}
    assert features == {
        "action": ("ACTION", (DONE,)),
        "observation.state": ("STATE", (SEEN,)),
        "observation.environment_state": ("ENV", (SEEN,)),
    }
    envs = make_env(config, n_envs=2)["enpire"][0]
    task = load_task(find("tasks", "pick_cube"))
    assert envs.call("task_description") == (task.instruction,) * 2
    assert envs.call("_max_episode_steps") == (round(task.time_limit * task.control_hz),) * 2
    seen, _ = envs.reset(seed=[3, 4], options={NEW_ROLLOUT_OPTION: True})
    shown = preprocess_observation(seen)
    assert {name: tuple(values.shape) for name, values in shown.items()} == {
        "observation.state": (2, SEEN),
        "observation.environment_state": (2, SEEN),
    }
    envs.close()


@pytest.mark.usefixtures("_found")
def test_success_is_in_the_final_info() -> None:
    """One station is driven by a demonstrator's recorded actions, the other stands still."""
    from lerobot.envs.factory import make_env, make_env_config
    from lerobot.envs.utils import NEW_ROLLOUT_OPTION

    from enpire.environment import Demonstrations, Job, build_stations
    from enpire.types import Purpose

    stations = build_stations("pick_cube", 1, 1)
    shown: list[Any] = []
    seed = 10
    while not shown or not shown[-1].success:
        seed += 1
        expert = Demonstrations(stations.task)
        stations.begin(0, Job(seed, Purpose.DEMONSTRATION, expert, "demonstrator"))
        while not (done := stations.tick()):
            pass
        shown += done
    envs = make_env(make_env_config("enpire", task="pick_cube"), n_envs=2)["enpire"][0]
    envs.reset(seed=[seed, 3], options={NEW_ROLLOUT_OPTION: True})
    most = envs.call("_max_episode_steps")[0]
    over, success = np.zeros(2, bool), np.zeros(2, bool)
    for at in range(most):
        actions = np.zeros((2, DONE), np.float32)
        actions[0] = shown[-1].actions[min(at, len(shown[-1]) - 1)]
        _, _, terminated, truncated, info = envs.step(actions)
        if "final_info" in info:
            success |= np.asarray(info["final_info"]["is_success"], bool)
        over |= terminated | truncated
        if over.all():
            break
    assert over.all(), "no episode is longer than LeRobot is told"
    assert success.tolist() == [True, False]
    envs.close()


@pytest.mark.medium
@pytest.mark.usefixtures("_found")
def test_the_environment_shows_what_stations_show_a_policy() -> None:
    """The first picture and what is felt then: those of the same seed's episode."""
    from lerobot.envs.factory import make_env, make_env_config
    from lerobot.envs.utils import env_to_policy_features, preprocess_observation

    from enpire.environment import Demonstrations, Job, build_stations
    from enpire.types import Purpose

    config = make_env_config("enpire", task="pick_cube", images=48, width=64, height=32)
    try:
        stations = build_stations("pick_cube", 1, 1, images=48)
    except NoGraphics as error:
        pytest.skip(str(error))
    policy_cameras = stations.policy_cameras
    assert policy_cameras is not None
    features = {name: (f.type.name, f.shape) for name, f in env_to_policy_features(config).items()}
    assert features == {
        "action": ("ACTION", (DONE,)),
        "observation.state": ("STATE", (len(policy_cameras.felt),)),
        **{
            f"observation.images.{name}": ("VISUAL", (3, 48, 48)) for name in policy_cameras.cameras
        },
    }
    expert = Demonstrations(stations.task)
    stations.begin(0, Job(1, Purpose.DEMONSTRATION, expert, "demonstrator"))
    while not (done := stations.tick()):
        pass
    assert isinstance(stations.frame_capture, TwinFrameCapture)
    stations.frame_capture.close()
    envs = make_env(config, n_envs=1)["enpire"][0]
    seen, _ = envs.reset(seed=[1])
    shown = preprocess_observation(seen)
    felt = done[0].observations[:1, list(policy_cameras.felt)]
    np.testing.assert_array_equal(shown["observation.state"], felt)
    for i, name in enumerate(policy_cameras.cameras):
        np.testing.assert_array_equal(seen["pixels"][name][0], done[0].pictures[0, i])
    assert envs.envs[0].render().shape == (32, 64, 3)
    envs.close()


@pytest.mark.usefixtures("_found")
def test_a_twin_is_a_robot() -> None:
    import lerobot_robot_enpire as plugin
    from lerobot.robots.utils import make_robot_from_config
    from lerobot.utils.errors import DeviceNotConnectedError

    made = make_robot_from_config(plugin.EnpireTwinConfig(id="twin", task="pick_cube"))
    assert isinstance(made, plugin.EnpireTwin)
    assert list(made.action_features)[:2] == ["shoulder_pan.pos", "shoulder_lift.pos"]
    assert list(made.action_features)[-1] == "gripper.pos"
    with pytest.raises(DeviceNotConnectedError):
        made.get_observation()
    now = [0.0]
    twin = plugin.EnpireTwin(plugin.EnpireTwinConfig(task="pick_cube"), clock=lambda: now[0])
    twin.connect()
    before = twin.get_observation()
    wanted = {**before, "shoulder_pan.pos": before["shoulder_pan.pos"] + 10, "gripper.pos": 200.0}
    sent = twin.send_action(wanted)
    assert sent["shoulder_pan.pos"] == pytest.approx(wanted["shoulder_pan.pos"])
    assert sent["gripper.pos"] == pytest.approx(100.0), "no further than it opens"
    assert twin.get_observation() == before, "no time has passed"
    for _ in range(40):
        now[0] += 0.05
        after = twin.get_observation()
    assert after["shoulder_pan.pos"] == pytest.approx(wanted["shoulder_pan.pos"], abs=1.0)
    assert after["gripper.pos"] == pytest.approx(100.0, abs=2.0)
    twin.disconnect()
    twin.connect()
    assert twin.get_observation() != before, "the next scene"
    twin.disconnect()


@pytest.mark.usefixtures("_found")
def test_several_arms_have_names() -> None:
    import lerobot_robot_enpire as plugin

    twin = plugin.EnpireTwin(plugin.EnpireTwinConfig(task="zip_tie"))
    assert list(twin.action_features)[:1] == ["left_joint1.pos"]
    assert list(twin.action_features)[-1] == "right_gripper.pos"
    assert len(twin.action_features) == 14


@pytest.mark.slow
def test_lerobot_eval_runs_our_tasks(installed: Path, tmp_path: Path) -> None:
    policy = folder_of("act", tmp_path / "act", SEEN, DONE)
    command = [
        *(sys.executable, "-m", "lerobot.scripts.lerobot_eval", "--env.type=enpire"),
        *("--env.task=pick_cube", f"--policy.path={policy}", "--policy.device=cpu"),
        *("--eval.n_episodes=2", "--eval.batch_size=2", "--eval.use_async_envs=false"),
        f"--output_dir={tmp_path / 'out'}",
    ]
    path = os.pathsep.join([str(installed), str(PLUGINS.parents[1])])
    env = os.environ | {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run(command, env=env, check=True, cwd=tmp_path)
    said = json.loads((tmp_path / "out" / "eval_info.json").read_text())
    assert said["overall"]["n_episodes"] == 2
    assert said["overall"]["pc_success"] == 0.0, "its weights are random"
