"""Recorded episodes carried out again: to the bit, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from enpire.environment import Demonstrations, Job, Stations, build_stations
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.errors import StoreError, UsageError
from enpire.observe.filming import EpisodeReplay, TwinCamera, VideoFile, frames_at, recorded
from enpire.observe.picture import Viewpoint
from enpire.store import Run
from enpire.types import Episode, Purpose


def _demonstration(stations: Stations, seed: int) -> Episode:
    expert = Demonstrations(stations.task)
    stations.begin(0, Job(seed, Purpose.DEMONSTRATION, expert, "demonstrator"))
    done: list[Episode] = []
    while not done:
        done = stations.tick()
    return replace(done[0], packs=stations.packs)


@pytest.fixture(scope="module")
def episode() -> Episode:
    return _demonstration(build_stations("pick_cube", 1, 1), 4)


@pytest.fixture(scope="module")
def replay() -> EpisodeReplay:
    return EpisodeReplay("pick_cube")


def test_every_period_is_shown_and_the_verification_too(
    replay: EpisodeReplay, episode: Episode
) -> None:
    shown: list[int] = []
    places: list[np.ndarray] = []

    def shoot(at: int) -> None:
        shown.append(at)
        places.append(replay.stations.twin.qpos[0].copy())

    replay(episode, shoot)
    last = len(episode)
    assert shown[: last + 1] == list(range(last + 1))
    assert set(shown[last:]) == {last}, "what follows is the verification"
    assert len(shown) > last + 1, "the verifier shakes the hand"
    again: list[np.ndarray] = []
    replay(episode, lambda at: again.append(replay.stations.twin.qpos[0].copy()))
    np.testing.assert_array_equal(places, again)


def test_what_does_not_repeat_is_refused(replay: EpisodeReplay, episode: Episode) -> None:
    def nothing(at: int) -> None:
        pass

    other = replace(episode, actions=np.roll(episode.actions, 3, axis=0))
    with pytest.raises(StoreError, match="does not repeat"):
        replay(other, nothing)
    with pytest.raises(StoreError, match="tasks/pick_cube changed"):
        replay(replace(episode, packs=episode.packs | {"tasks/pick_cube": "0" * 64}), nothing)
    with pytest.raises(StoreError, match="several times"):
        replay(replace(episode, attempts=2), nothing)
    replay(episode, nothing)
    with pytest.raises(UsageError, match="no task pack"):
        EpisodeReplay("gym:CartPole-v1")


def test_a_recording_that_was_cut_short_is_shown_to_its_end(
    replay: EpisodeReplay, episode: Episode
) -> None:
    names = ("observations", "actions", "stamps", "rewards", "intervened", "rewound")
    arms = ("joints", "setpoints")
    cut = replace(episode, **{name: getattr(episode, name)[:10] for name in (*names, *arms)})
    shown: list[int] = []
    replay(cut, shown.append)
    assert shown == list(range(10))


def test_frames_and_a_video_show_what_happened(
    replay: EpisodeReplay, episode: Episode, tmp_path: Path
) -> None:
    try:
        camera = TwinCamera(replay.stations, Viewpoint(width=64, height=48))
    except NoGraphics as error:
        pytest.skip(str(error))
    path = tmp_path / "new" / "out.mp4"
    with camera:
        frames = frames_at(replay, camera, episode, [0, len(episode) // 2, len(episode)])
        assert [at for at, _ in frames] == [0, len(episode) // 2, len(episode)]
        first, middle, _ = (image.astype(int) for _, image in frames)
        assert np.abs(first - middle).mean() > 1.0, "the arm has moved"
        with VideoFile(path, 25.0, 64, 48) as video:
            for _, image in frames:
                video.add(image)
    with av.open(str(path)) as container:
        read = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(read) == 3
    assert np.abs(read[1].astype(int) - middle).mean() < 12.0


def test_an_episode_is_found_by_part_of_its_id(tmp_path: Path) -> None:
    from tests.store.samples import episode as sample

    with Run.create(tmp_path / "run", {}) as run:
        run.add_episodes([sample("evaluation-0-aa"), sample("evaluation-0-ab")])
        assert recorded(run, "ab").id == "evaluation-0-ab"
        with pytest.raises(StoreError, match="2 episodes are called 'evaluation'"):
            recorded(run, "evaluation")
        with pytest.raises(StoreError, match="no episode is called 'x'"):
            recorded(run, "x")
