"""Policies of LeRobot's that see by cameras: as LeRobot has them act on the same pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from enpire.environment import Job, PolicyCameras, Stations
from enpire.errors import PolicyError
from enpire.observe import policy_loading
from enpire.policies import LeRobotPolicy, load, metadata
from enpire.policies.lerobot import folder
from enpire.policies.lerobot.controller import LeRobotController
from enpire.policies.lerobot.model import LeRobotModel
from enpire.policies.policy_runner import PolicyState
from enpire.types import Episode, Float32Array, Image, Purpose
from tests.environment.reach import reach_stations
from tests.policies.lerobots import changed, folder_of

KINDS = ["act", "diffusion", "smolvla"]
CAMERAS, SIZE, FELT = ("front", "side"), 64, (1,)
DONE = 7
TOLD = "pick up the cube"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("policies")
    return {k: folder_of(k, root / k, len(FELT), DONE, CAMERAS, SIZE) for k in KINDS}


class Snaps:
    """Pictures that follow from the number of a station's periods so far."""

    def __init__(self, stations: Stations, policy_cameras: PolicyCameras) -> None:
        self._stations, self.policy_cameras = stations, policy_cameras

    def begin(self, row: int, rng: np.random.Generator) -> None:
        pass

    def capture(self, row: int) -> Future[Image]:
        answer: Future[Image] = Future()
        answer.set_result(picture(len(self._stations._running[row].actions)))
        return answer


def picture(period: int) -> Image:
    """Of all three cameras; its first pixel tells the period, and which it is of."""
    drawn = np.random.default_rng(period).integers(0, 256, (3, SIZE, SIZE, 3), np.uint8)
    drawn[:, 0, 0, 0], drawn[:, 0, 0, 1] = period, [0, 1, 2]
    return drawn


SIGHT = PolicyCameras(("top", *CAMERAS), SIZE, FELT)


def seeing(count: int = 1, policy_cameras: PolicyCameras = SIGHT) -> Stations:
    stations = reach_stations(count)
    stations.frame_capture = Snaps(stations, policy_cameras)
    return stations


def run(stations: Stations, controller: Any, seeds: Sequence[int]) -> list[Episode]:
    done: list[Episode] = []
    waiting = [Job(seed, Purpose.COLLECTION, controller, "p") for seed in seeds]
    while waiting or stations.busy:
        while waiting and stations.idle:
            stations.begin(stations.idle[0], waiting.pop(0))
        done += stations.tick()
    return sorted(done, key=lambda episode: episode.seed)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_are_lerobots_own(kind: str, folders: dict[str, Path]) -> None:
    """What `select_action` of LeRobot returns one by one for the same pictures and seed."""
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    model = LeRobotModel.load(LeRobotPolicy.read(folders[kind]).files)
    rng = np.random.default_rng(3)
    history = rng.normal(0, 0.5, (1, model.history, len(FELT))).astype(np.float32)
    shape = 1, model.history, len(CAMERAS), SIZE, SIZE, 3
    pictures = rng.integers(0, 256, shape, np.uint8)
    chunk = model.chunks(history, TOLD, [7], pictures=pictures)[0, : model.execute]
    darker = model.chunks(history, TOLD, [7], pictures=pictures // 2)[0, : model.execute]
    assert np.abs(chunk - darker).max() > 1e-5, "it looks"
    network = get_policy_class(kind).from_pretrained(folders[kind])
    before, after = make_pre_post_processors(network.config, str(folders[kind]))
    actions: list[Any] = []
    torch.manual_seed(7)
    for period in [*range(model.history - 1), *[-1] * model.execute]:
        shown = torch.from_numpy(pictures[:, period]).permute(0, 1, 4, 2, 3) / 255
        batch: dict[str, Any] = {
            "task": [TOLD],
            "observation.state": torch.from_numpy(history[:, period]),
            **{f"observation.images.{name}": shown[:, i] for i, name in enumerate(CAMERAS)},
        }
        if kind == "smolvla":
            batch["observation.images.empty_camera_0"] = torch.zeros(1, 3, 480, 640)
            batch["observation.images.empty_camera_0_padding_mask"] = torch.zeros(1).bool()
        before_acting = torch.random.get_rng_state()
        action = network.select_action(before(batch))
        if period != -1:  # a history that is not whole yet: as if it had not been asked
            network._queues["action"].clear()
            torch.random.set_rng_state(before_acting)
            continue
        actions.append(after(action)[0].numpy())
    np.testing.assert_allclose(chunk, actions, atol=1e-6)


@pytest.mark.medium
@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_on_stations_it_sees_the_periods_that_it_was_trained_on(
    kind: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[int], list[int]]] = []
    inner = LeRobotController.shown

    def shown(self: LeRobotController, states: Sequence[PolicyState]) -> Image | None:
        pictures = inner(self, states)
        assert pictures is not None
        (one,) = pictures
        asked.append((one[:, 0, 0, 0, 0].tolist(), one[0, :, 0, 0, 1].tolist()))
        return pictures

    policy = LeRobotPolicy.read(folders[kind])
    stations = seeing()
    with monkeypatch.context() as patch:
        patch.setattr(LeRobotController, "shown", shown)
        (episode,) = run(stations, policy.controller(stations), [1])
    history = LeRobotModel.load(policy.files).history
    for turn, (periods, cameras) in enumerate(asked):
        assert periods == [max(4 * turn - ago, 0) for ago in reversed(range(history))]
        assert cameras == [1, 2], "its own cameras, by name"
    taken = set(episode.pictured.tolist())
    assert taken >= {period for periods, _ in asked for period in periods}
    assert {-period % 4 for period in taken} == set(range(history)), "and no others"
    three = run(seeing(3), policy.controller(seeing(3)), [1, 2, 3])
    assert three[0].actions.tobytes() == episode.actions.tobytes()


def test_a_long_chunk_shows_something_to_learn_from(tmp_path: Path) -> None:
    where = folder_of("act", tmp_path / "act", 1, DONE, CAMERAS, chunk_size=20, n_action_steps=20)
    stations = seeing()
    (episode,) = run(stations, LeRobotPolicy.read(where).controller(stations), [1])
    gaps = np.diff([*episode.pictured, len(episode)])
    assert gaps.max() <= 8
    assert episode.pictured[0] == 0


def test_what_it_sees_is_known_without_loading_it(folders: dict[str, Path]) -> None:
    policy = LeRobotPolicy.read(folders["act"])
    assert (policy.spec.cameras, policy.spec.size, policy.spec.observation) == (CAMERAS, SIZE, 1)
    assert policy_loading.images(policy) == SIZE
    assert load(metadata(policy), policy.tensors()) == policy
    policy_loading.require_fit(policy, seeing(), "p")
    with pytest.raises(PolicyError, match="--images 64"):
        policy_loading.require_fit(policy, reach_stations(), "p")
    with pytest.raises(PolicyError, match=r"maps 1 observations to 7 actions; .* has 2 and 7"):
        policy_loading.require_fit(
            policy, seeing(policy_cameras=PolicyCameras(CAMERAS, SIZE, (0, 1))), "p"
        )


def test_where_its_pictures_are_not_taken_it_says_so(folders: dict[str, Path]) -> None:
    policy = LeRobotPolicy.read(folders["act"])
    with pytest.raises(PolicyError, match="--images 64"):
        policy.controller(reach_stations())
    for policy_cameras in (
        PolicyCameras(CAMERAS, 32, FELT),
        PolicyCameras(("front", "top"), SIZE, FELT),
    ):
        with pytest.raises(
            PolicyError, match=f"pictures here have {policy_cameras.size} px and are of"
        ):
            policy.controller(seeing(policy_cameras=policy_cameras))


def with_inputs(source: Path, target: Path, **inputs: list[int]) -> Path:
    LeRobotPolicy.read(source).save(target)
    named = {
        f"observation.{name.replace('__', '.')}": {"type": "VISUAL", "shape": shape}
        for name, shape in inputs.items()
    }
    state = {"observation.state": {"type": "STATE", "shape": [1]}}
    return changed(target, input_features=state | named)


def test_other_pictures_than_stations_take_are_refused(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    source = folders["act"]
    wide = with_inputs(source, tmp_path / "wide", images__front=[3, 48, 64])
    two = with_inputs(source, tmp_path / "2", images__front=[3, 48, 48], images__side=[3, 64, 64])
    for where in (wide, two):
        with pytest.raises(PolicyError, match="as wide as high"):
            LeRobotPolicy.read(where)
    odd = with_inputs(source, tmp_path / "odd", image=[3, 48, 48])
    with pytest.raises(PolicyError, match="rename_map"):
        LeRobotPolicy.read(odd)
    both = LeRobotPolicy.read(source).files
    config = json.loads(both["config.json"])
    config["input_features"][folder.ENVIRONMENT] = {"type": "ENV", "shape": [1]}
    with pytest.raises(PolicyError, match="beside pictures"):
        LeRobotPolicy.of({**both, "config.json": json.dumps(config).encode()})


def test_inputs_may_have_a_policys_own_names(folders: dict[str, Path], tmp_path: Path) -> None:
    """As `lerobot-train --rename_map` leaves them."""
    own = folder_of("act", tmp_path / "own", 1, DONE, ("camera1", "camera2"), SIZE)
    name = folder.PROCESSORS[0]
    said = json.loads((own / name).read_text())
    renames = {
        f"observation.images.{a}": f"observation.images.camera{i + 1}"
        for i, a in enumerate(CAMERAS)
    }
    (step,) = [s for s in said["steps"] if s["registry_name"] == folder.RENAMES]
    step["config"]["rename_map"] = renames
    (own / name).write_text(json.dumps(said))
    policy = LeRobotPolicy.read(own)
    assert policy.spec.cameras == CAMERAS
    history: Float32Array = np.zeros((1, 1, 1), np.float32)
    pictures = picture(3)[None, None, 1:]
    plain = LeRobotModel.load(LeRobotPolicy.read(folders["act"]).files)
    chunks = LeRobotModel.load(policy.files).chunks(history, TOLD, [0], pictures=pictures)
    np.testing.assert_array_equal(chunks, plain.chunks(history, TOLD, [0], pictures=pictures))


def test_nothing_is_fetched_for_a_backbone_whose_weights_are_in_the_file(tmp_path) -> None:
    path = folder_of("act", tmp_path / "act", len(FELT), DONE, CAMERAS, SIZE)
    fetched = "ResNet18_Weights.NOT_THERE"  # by this name, were it looked for
    model = LeRobotModel.load(folder.read(changed(path, pretrained_backbone_weights=fetched)))
    assert json.loads(model.save()["config.json"])["pretrained_backbone_weights"] == fetched
