"""LeRobot datasets: what goes out comes in again to the last bit, also in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enpire.datasets import Layout, Shown, TaskInterface, demonstrations, export, exporting
from enpire.environment import PolicyCameras
from enpire.environment.cameras.camera import Camera
from enpire.environment.core.policy_cameras import EVERY
from enpire.errors import StoreError
from enpire.types import Episode, Image, Outcome, Purpose, Verdict
from tests.store.samples import episode

OBSERVATION, ACTION = tuple(f"seen_{i}" for i in range(6)), tuple(f"done_{i}" for i in range(3))
LAYOUT = Layout(25, "do it", "arm", OBSERVATION, ACTION)
WANTED = TaskInterface("zip_tie", OBSERVATION, ACTION, 25.0)


def some(count: int) -> list[Episode]:
    made = []
    for i in range(count):
        each = episode(f"e{i}", 3 + i, purpose=Purpose.DEMONSTRATION, seed=2**62 + i)
        rewards = np.zeros(len(each), np.float32)
        outcome = Outcome.FAILURE if i == 1 else Outcome.SUCCESS
        rewards[-1] = outcome is Outcome.SUCCESS
        helped = np.arange(len(each)) < i
        made.append(
            replace(
                each,
                verdict=Verdict(outcome),
                rewards=rewards,
                actions=each.actions.clip(-1, 1),
                intervened=helped,
                stamps=(1 / 25) * np.arange(len(each)),
            )
        )
    return made


def require_same(there: Sequence[Episode], back: Sequence[Episode]) -> None:
    assert len(there) == len(back)
    for a, b in zip(there, back, strict=True):
        for name in ("observations", "actions", "stamps", "rewards", "intervened"):
            one, other = getattr(a, name), getattr(b, name)
            assert one.dtype == other.dtype, name
            assert one.tobytes() == other.tobytes(), name
        assert (a.seed, a.policy, a.success) == (b.seed, b.policy, b.success)


@pytest.mark.medium
@pytest.mark.parametrize("part", [50, 2])
def test_there_and_back(tmp_path: Path, part: int) -> None:
    there = some(5)
    said: list[int] = []
    export(there, LAYOUT, tmp_path / "set", say=said.append, part=part)
    assert said[-1] == 5
    assert [p.name for p in tmp_path.iterdir()] == ["set"], "the parts are gone"
    require_same(there, demonstrations(tmp_path / "set", WANTED).episodes)


def test_lerobot_reads_it(tmp_path: Path) -> None:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset
    from lerobot.utils.feature_utils import dataset_to_policy_features

    there = some(3)
    export(there, LAYOUT, tmp_path / "set")
    ahead = {"action": [0.0, 1 / 25]}
    dataset = LeRobotDataset("set", tmp_path / "set", delta_timestamps=ahead, video_backend="pyav")
    assert (dataset.num_episodes, dataset.num_frames, dataset.fps) == (3, 12, 25)
    last = dataset[len(there[0]) - 1]
    np.testing.assert_array_equal(last["observation.state"], there[0].observations[-1])
    np.testing.assert_array_equal(last["observation.environment_state"], there[0].observations[-1])
    assert last["action_is_pad"].tolist() == [False, True]
    assert (last["next.done"].item(), last["next.success"].item()) == (True, True)
    assert (last["task"], last["verdict"], last["policy"]) == ("do it", "success", "p0")
    assert dataset.meta.names["observation.state"] == list(LAYOUT.observation)
    kinds = {
        name: ft.type.name for name, ft in dataset_to_policy_features(dataset.features).items()
    }
    assert kinds == {
        "observation.state": "STATE",
        "observation.environment_state": "ENV",
        "action": "ACTION",
    }, "what a policy of LeRobot's takes and gives, and nothing else"


def test_cut_short_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, written = some(5), []
    inner = exporting._write

    def dies(episodes: list[Episode], *rest: object) -> None:
        written.append([e.id for e in episodes])
        if len(written) == 2:
            raise KeyboardInterrupt
        inner(episodes, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(exporting, "_write", dies)
    with pytest.raises(KeyboardInterrupt):
        export(there, LAYOUT, tmp_path / "set", part=2)
    assert not (tmp_path / "set").exists()
    export(there, LAYOUT, tmp_path / "set", part=2)
    assert written == [["e0", "e1"], ["e2", "e3"], ["e2", "e3"], ["e4"]]
    require_same(there, demonstrations(tmp_path / "set", WANTED).episodes)


def test_what_was_begun_for_another_is_not_taken(tmp_path: Path) -> None:
    others = exporting._part_name(0, some(2), LAYOUT)
    assert others != exporting._part_name(0, some(3), LAYOUT)
    assert others != exporting._part_name(0, some(2), replace(LAYOUT, told="another"))


def shades(one: Episode) -> Image:
    """Of two cameras, one twice as dark as the other."""
    down, across = np.mgrid[:64, :64]
    taken = [np.stack([down * 2, across * 2, down + 20 * at], -1) for at in range(len(one))]
    return np.stack([np.stack([each, each // 2]) for each in taken]).astype(np.uint8)


@pytest.mark.parametrize(("video", "off"), [(False, 0.0), (True, 6.0)])
def test_pictures_are_what_was_seen(tmp_path: Path, video: bool, off: float) -> None:
    """To the last bit, or within a codec; beside them the state is what an arm feels."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset
    from lerobot.utils.feature_utils import dataset_to_policy_features

    layout = replace(
        LAYOUT, policy_cameras=PolicyCameras(("front", "side"), 64, (1, 4)), video=video
    )
    there = some(3)
    export(there, layout, tmp_path / "set", shades, part=2)
    dataset = LeRobotDataset("set", tmp_path / "set", video_backend="pyav")
    features = dataset_to_policy_features(dataset.features)
    assert {name: feature.shape for name, feature in features.items()} == {
        "observation.state": (2,),
        "observation.images.front": (3, 64, 64),
        "observation.images.side": (3, 64, 64),
        "action": (3,),
    }, "what a tracker says is no input"
    assert dataset.meta.names["observation.state"] == ["seen_1", "seen_4"]
    at = 0
    for one in there:
        for row, pictures in enumerate(shades(one)):
            seen = dataset[at]
            np.testing.assert_array_equal(seen["observation.state"], one.observations[row, [1, 4]])
            for camera, picture in zip(("front", "side"), pictures, strict=True):
                read = seen[f"observation.images.{camera}"].permute(1, 2, 0).numpy() * 255
                assert np.abs(read.round() - picture).mean() <= off
            at += 1
    require_same(there, demonstrations(tmp_path / "set", WANTED).episodes)


def test_pictures_of_ours_come_in_again(tmp_path: Path) -> None:
    """As they are, one in so many periods, as a run has them."""
    seen = PolicyCameras(("front", "side"), 64, (1, 4))
    there = some(3)
    export(there, replace(LAYOUT, policy_cameras=seen), tmp_path / "set", shades)
    nowhere = Camera("", np.zeros(3), np.eye(3), 1.0, 640, 480)
    cameras = tuple(replace(nowhere, name=name) for name in seen.cameras)
    shown = Shown(seen, cameras, np.zeros((8, 3)), "bench")
    back = demonstrations(tmp_path / "set", WANTED, shown=shown)
    require_same(there, back.episodes)
    assert "cameras front by front, side by side" in back.said
    for one, other in zip(there, back.episodes, strict=True):
        assert other.pictured.tolist() == list(range(0, len(one), EVERY))
        np.testing.assert_array_equal(other.pictures, shades(one)[other.pictured])


def test_messages_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no episode"):
        export([], LAYOUT, tmp_path / "set")
    export(some(1), LAYOUT, tmp_path / "set")
    with pytest.raises(StoreError, match="already"):
        export(some(1), LAYOUT, tmp_path / "set")
    other = TaskInterface("pick_cube", ("x",) * 13, ("x",) * 7, 25.0)
    with pytest.raises(StoreError, match=r"observation\.state of shape \(6,\); pick_cube has 13"):
        demonstrations(tmp_path / "set", other)
    with pytest.raises(StoreError, match="no LeRobot dataset"):
        demonstrations(tmp_path, other)
    narrow = replace(LAYOUT, observation=LAYOUT.observation[:5])
    with pytest.raises(StoreError, match="export them apart"):
        list(narrow.frames(some(1)[0]))
