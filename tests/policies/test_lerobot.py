"""Policies of LeRobot's: what goes in comes out, and they act as LeRobot has them act."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from enpire.environment import Controller, Job, Readings, build_stations
from enpire.environment.gym_bridge.gym_stations import GymStations
from enpire.errors import PolicyError
from enpire.policies import LeRobotPolicy, load, metadata
from enpire.policies.lerobot import find_folder, folder
from enpire.policies.lerobot.controller import LeRobotController
from enpire.policies.lerobot.model import LeRobotModel
from enpire.policies.lerobot.own_units import OwnUnits
from enpire.types import Episode, Float32Array, Purpose
from tests.environment.reach import reach_stations
from tests.policies.lerobots import changed, folder_of

pytestmark = pytest.mark.medium

KINDS = ["act", "diffusion", "smolvla"]
SEEN, DONE = 6, 3
TOLD = "pick up the cube"
SENSED = Readings(*(np.zeros((1, 0)) for _ in range(len(Readings.__slots__))))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("policies")
    return {kind: folder_of(kind, root / kind, SEEN, DONE) for kind in KINDS}


def seen(model: LeRobotModel, rows: int) -> Float32Array:
    shape = (rows, model.history, SEEN)
    return np.random.default_rng(3).normal(0, 0.5, shape).astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_kept_to_the_last_bit(
    kind: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    policy = LeRobotPolicy.read(folders[kind])
    assert (policy.spec.type, policy.spec.observation, policy.spec.action) == (kind, SEEN, DONE)
    again = load(metadata(policy), policy.tensors())
    assert again == policy
    policy.save(tmp_path / "out")
    for path in folders[kind].iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(PolicyError, match="not empty"):
        policy.save(tmp_path / "out")


def test_policies_of_others_are_looked_for_where_the_import_path_is_another(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, looked = LeRobotPolicy.read(folders["act"]).files, []
    look = "lerobot.utils.import_utils.register_third_party_plugins"
    monkeypatch.setattr(look, lambda: looked.append(1))
    for _ in range(2):
        monkeypatch.syspath_prepend(tmp_path)
        LeRobotModel.load(files)
        LeRobotModel.load(files)
    assert len(looked) == 2


def tampered(files: Mapping[str, bytes], processor: str, change: Change) -> dict[str, bytes]:
    """Files of a policy whose statistics, of one processor, are others."""
    from safetensors.torch import load, save

    said = json.loads(files[f"policy_{processor}.json"])
    (name,) = (step["state_file"] for step in said["steps"] if "state_file" in step)
    return {**files, name: save(change(load(files[name])))}


Tensors = dict[str, torch.Tensor]
Change = Callable[[Tensors], Tensors]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("processor", "change", "words"),
    [
        ("preprocessor", lambda _: {}, r"no statistics for observation\.\w+ .* but for nothing"),
        ("postprocessor", lambda _: {}, "no statistics for action .* but for nothing"),
        (
            "preprocessor",
            lambda t: {f"robot.{name}": value for name, value in t.items()},
            r"no statistics for observation\.\w+ .* but for robot\.action",
        ),
        (
            "preprocessor",
            lambda t: {n: v for n, v in t.items() if not n.startswith("observation.state")},
            r"no statistics for observation\.state",
        ),
        (
            "postprocessor",
            lambda t: {n: v for n, v in t.items() if n.rsplit(".")[-1] not in ("std", "max")},
            "no statistics for action",
        ),
        ("postprocessor", lambda t: {n: v * torch.nan for n, v in t.items()}, "no finite number"),
        (
            "postprocessor",
            lambda t: {n: v[:2] if v.ndim else v for n, v in t.items()},
            "of 2 entries, and action has 3",
        ),
    ],
)
def test_without_its_statistics_it_is_refused(
    kind: str, processor: str, change: Change, words: str, folders: dict[str, Path]
) -> None:
    files = LeRobotPolicy.read(folders[kind]).files
    with pytest.raises(PolicyError, match=words):
        LeRobotPolicy.of(tampered(files, processor, change))


@pytest.mark.parametrize(("data", "words"), [(b"", "cannot be read"), (None, "is missing")])
def test_a_file_of_statistics_that_is_none(
    data: bytes | None, words: str, folders: dict[str, Path]
) -> None:
    files = dict(LeRobotPolicy.read(folders["act"]).files)
    for name in [name for name in files if name.startswith("policy_preprocessor_step")]:
        del files[name]
        files |= {} if data is None else {name: data}
    with pytest.raises(PolicyError, match=words):
        LeRobotPolicy.of(files)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_are_lerobots_own(kind: str, folders: dict[str, Path]) -> None:
    """What `select_action` of LeRobot returns one by one, after the same seed."""
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    model = LeRobotModel.load(LeRobotPolicy.read(folders[kind]).files)
    history = seen(model, 1)
    chunk = model.chunks(history, TOLD, [7])[0, : model.execute]
    network = get_policy_class(kind).from_pretrained(folders[kind])
    before, after = make_pre_post_processors(network.config, str(folders[kind]))
    actions: list[Any] = []
    torch.manual_seed(7)
    for period in [*range(model.history - 1), *[-1] * model.execute]:
        batch = model.batch(torch.from_numpy(history[:, [period]]), TOLD)
        batch = {
            k: v[:, 0] if k in (folder.STATE, folder.ENVIRONMENT) and v.ndim == 3 else v
            for k, v in batch.items()
        }
        before_acting = torch.random.get_rng_state()
        action = network.select_action(before(batch))
        if period != -1:  # a history that is not whole yet: as if it had not been asked
            network._queues["action"].clear()
            torch.random.set_rng_state(before_acting)
            continue
        actions.append(after(action)[0].numpy())
    np.testing.assert_allclose(chunk, actions, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_the_same_whoever_else_asks(kind: str, folders: dict[str, Path]) -> None:
    model = LeRobotModel.load(LeRobotPolicy.read(folders[kind]).files)
    history = seen(model, 3)
    together = model.chunks(history, TOLD, [1, 2, 3])
    for row, seed in enumerate([1, 2, 3]):
        alone = model.chunks(history[row : row + 1], TOLD, [seed])
        np.testing.assert_array_equal(alone[0], together[row])
    assert together.shape[0] == 3
    assert together.shape[1] >= model.execute


def test_what_is_drawn_hangs_on_the_seed(folders: dict[str, Path]) -> None:
    model = LeRobotModel.load(LeRobotPolicy.read(folders["diffusion"]).files)
    history = seen(model, 1)
    state = torch.random.get_rng_state()
    one, same, other = (model.chunks(history, TOLD, [seed]) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    assert torch.equal(torch.random.get_rng_state(), state), "nobody else's draws are moved"


def test_the_spread_is_that_of_the_data(folders: dict[str, Path]) -> None:
    act = LeRobotModel.load(LeRobotPolicy.read(folders["act"]).files)  # by mean and deviation
    assert ((act.spread >= 0.3) & (act.spread <= 0.6)).all()
    files = dict(LeRobotPolicy.read(folders["act"]).files)
    name = folder.PROCESSORS[1]
    said = json.loads(files[name])
    said["steps"] = [s for s in said["steps"] if "unnormalizer" not in s["registry_name"]]
    files[name] = json.dumps(said).encode()
    config = json.loads(files[folder.CONFIG])  # which says that it is normalised
    config["normalization_mapping"]["ACTION"] = "IDENTITY"
    files[folder.CONFIG] = json.dumps(config).encode()
    assert LeRobotModel.load(files).spread.tolist() == [0.5] * DONE


def run(controller: Controller, stations: Any, seeds: list[int]) -> list[Episode]:
    done: list[Episode] = []
    waiting = [Job(seed, Purpose.COLLECTION, controller, "p", exploration=0.3) for seed in seeds]
    while waiting or stations.busy:
        while waiting and stations.idle:
            stations.begin(stations.idle[0], waiting.pop(0))
        done += stations.tick()
    return sorted(done, key=lambda episode: episode.seed)


@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_it_acts_on_stations_and_repeats(kind: str, tmp_path: Path) -> None:
    alone, some = reach_stations(1), reach_stations(3)
    where = folder_of(kind, tmp_path / kind, alone.observation_size, alone.action_size)
    policy = LeRobotPolicy.read(where)
    one = run(policy.controller(alone), alone, [1, 2, 3])
    three = run(policy.controller(some), some, [1, 2, 3])
    assert [len(episode) for episode in one] == [len(episode) for episode in three]
    for a, b in zip(one, three, strict=True):
        assert a.actions.tobytes() == b.actions.tobytes()


def test_temporal_ensembling_is_lerobots(folders: dict[str, Path], tmp_path: Path) -> None:
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    where = copy(folders["act"], tmp_path / "p", temporal_ensemble_coeff=0.1, n_action_steps=1)
    policy = LeRobotPolicy.read(where)
    model = LeRobotModel.load(policy.files)
    controller = LeRobotController(model, policy.spec, TOLD)
    network = get_policy_class("act").from_pretrained(where)
    before, after = make_pre_post_processors(network.config, str(where))
    for row in (0, 1):  # the second episode knows nothing of the first
        controller.begin(row, np.random.default_rng(row), 0.0)
        network.reset()
        for period in range(9):  # more than a chunk has
            history = np.full((1, 1, SEEN), 0.1 * period + row, np.float32)
            expected = after(network.select_action(before(model.batch(torch.tensor(history), ""))))
            rows = np.array([row])
            action = controller.act(rows, history[:, 0], SENSED)
            np.testing.assert_allclose(action, expected.numpy(), atol=1e-5)


# What is refused


def test_a_checkpoints_folder_will_do(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "pretrained_model").symlink_to(folders["act"])
    assert LeRobotPolicy.read(tmp_path) == LeRobotPolicy.read(folders["act"])
    assert find_folder(tmp_path / "elsewhere") is None


def copy(source: Path, target: Path, **values: Any) -> Path:
    LeRobotPolicy.read(source).save(target)
    return changed(target, **values)


def test_code_in_a_processor_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    where = copy(folders["act"], tmp_path / "p")
    path = where / "policy_preprocessor.json"
    said = json.loads(path.read_text())
    said["steps"].append({"class": "os.path.join", "config": {}})
    path.write_text(json.dumps(said))
    with pytest.raises(PolicyError, match=r"code of os\.path\.join"):
        LeRobotPolicy.read(where)


def test_a_folder_without_processors_says_so(folders: dict[str, Path], tmp_path: Path) -> None:
    where = copy(folders["act"], tmp_path / "p")
    (where / "policy_preprocessor.json").unlink()
    with pytest.raises(PolicyError, match=r"lacks policy_preprocessor\.json"):
        LeRobotPolicy.read(where)


def test_weights_that_do_not_fit_are_lerobots_to_refuse(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    where = copy(folders["act"], tmp_path / "p", dim_model=64)
    with pytest.raises(PolicyError, match="LeRobot cannot load"):
        LeRobotModel.load(LeRobotPolicy.read(where).files)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> LeRobotPolicy:
    """A policy of a hand's place and of an environment's state, as LeRobot's for PushT."""
    path = tmp_path_factory.mktemp("split") / "act"
    return LeRobotPolicy.read(folder_of("act", path, 1, 1, environment=2))


def test_an_environments_state_follows_the_state(split: LeRobotPolicy) -> None:
    assert split.spec.observation == 3
    model = LeRobotModel.load(split.files)
    batch = model.batch(torch.tensor([[[1.0, 2.0, 3.0]]]), TOLD)
    assert batch[folder.STATE].tolist() == [[1.0]]
    assert batch[folder.ENVIRONMENT].tolist() == [[2.0, 3.0]]
    assert model.familiar is not None
    assert [len(each) for each in model.familiar] == [3, 3]


def test_it_acts_where_an_environment_shows_both(
    split: LeRobotPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    stations = GymStations("gym:tests.environment.toy:toy/Split-v0", 1)
    stations.begin(0, Job(5, Purpose.EVALUATION, split.controller(stations), "policy"))
    while not (done := stations.tick()):
        pass
    (episode,) = done
    place, goal, near = episode.observations.T
    np.testing.assert_allclose(goal - place, near, atol=1e-6)
    stations.close()


def test_it_is_refused_where_a_task_shows_no_such_state(tmp_path: Path) -> None:
    stations = build_stations("pick_cube", 1, threads=1)
    size = stations.observation_size
    path = folder_of("act", tmp_path / "act", 2, stations.action_size, environment=size - 2)
    with pytest.raises(PolicyError, match=r"2 entries as observation\.state and"):
        LeRobotPolicy.read(path).controller(stations)


def test_it_is_refused_where_an_environment_shows_something_else(
    split: LeRobotPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    stations = GymStations("gym:tests.environment.toy:toy/Line-v0", 1)
    with pytest.raises(PolicyError, match=r"agent_pos and environment_state.* has goal, point"):
        split.controller(stations)
    stations.close()


@pytest.fixture(scope="module")
def in_pixels(split: LeRobotPolicy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, trained on actions from 0 to 512."""
    path = tmp_path_factory.mktemp("pixels") / "act"
    split.save(path)
    told = {"min": 0.0, "max": 512.0, "mean": 256.0, "std": 100.0}
    for statistics in path.glob("policy_*processor_step_*.safetensors"):
        known = load_file(statistics)
        told_of = {key: torch.full_like(known[f"action.{key}"], at) for key, at in told.items()}
        save_file(known | {f"action.{key}": value for key, value in told_of.items()}, statistics)
    return path


def test_actions_in_an_environments_own_units_are_scaled_and_that_is_told(
    in_pixels: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    stations = GymStations("gym:tests.environment.toy:toy/Pixels-v0", 1)
    policy = LeRobotPolicy.read(in_pixels).fitted(stations)
    assert (policy.spec.low, policy.spec.high) == ((0.0,), (512.0,))
    assert "from 0 to 512, so they are taken in the environment's own units" in caplog.text
    assert load(metadata(policy), policy.tensors()) == policy
    stations.begin(0, Job(5, Purpose.EVALUATION, policy.controller(stations), "policy"))
    while not (done := stations.tick()):
        pass
    moved = np.diff(done[0].observations[:, 0])
    theirs = OwnUnits((0.0,), (512.0,)).told(done[0].actions[:-1])[:, 0]
    np.testing.assert_allclose(moved, theirs * 0.4 / 512 - 0.2, atol=1e-5)
    assert 0 < theirs.min() < theirs.max() < 512
    stations.close()


def test_actions_within_one_are_shares_of_an_environments_bounds_and_that_is_told(
    split: LeRobotPolicy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    stations = GymStations("gym:tests.environment.toy:toy/Pixels-v0", 1)
    assert split.fitted(stations).spec.low == ()
    assert "from -1 to 1, so they are taken for shares" in caplog.text
    stations.close()


def test_own_units_there_and_back() -> None:
    units = OwnUnits((0.0, -2.0), (512.0, 2.0))
    shares = np.array([[-1.0, 1.0], [0.5, 0.0]], np.float32)
    np.testing.assert_allclose(units.told(shares), [[0.0, 2.0], [384.0, 0.0]])
    np.testing.assert_allclose(units.actions(units.told(shares)), shares)
    np.testing.assert_allclose(units.step, [2 / 512, 0.5])
