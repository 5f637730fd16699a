"""`enpire replay`: a video, a Rerun file and a sheet of failures."""

from __future__ import annotations

import json
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from enpire.cli import main
from enpire.environment import Job, build_stations
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.observe.filming import HoldStill, TwinCamera
from enpire.observe.picture import Viewpoint
from enpire.observe.report.reading import read_report
from enpire.observe.report.strips import FRAMES, with_strips
from enpire.store import Run
from enpire.types import Purpose
from tests.observe.idle_episodes import idle_episodes

LENGTH = 125  # periods of an execution that does nothing


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which a policy did nothing, twice: it failed at the time limit."""
    episodes = idle_episodes((3, 4), Purpose.EVALUATION, "policy-0")
    folder = tmp_path_factory.mktemp("runs") / "run"
    with Run.create(folder, {"loop": {"task": "pick_cube", "robots": 1}}) as made:
        made.add_episodes(episodes)
    return folder


@pytest.mark.medium
def test_a_video_shows_the_episode_and_its_verdict(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.mp4"
    size = ("--width", "96", "--height", "64")
    assert main(["replay", str(run), "0000000000000003", "--video", str(path), *size]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.width, stream.height, stream.average_rate) == (96, 64, 25)
        assert sum(1 for _ in container.decode(stream)) > LENGTH


def test_a_sheet_has_all_failures_of_a_policy(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    assert main(["replay", str(run), "--failures", str(path), "--policy", "policy-0"]) == 0
    sheet = cv2.imread(str(path))
    assert sheet is not None
    assert sheet.shape[1] > 2 * 320, "two pictures beside each other"


def test_a_report_has_a_strip_of_each_cluster(run: Path) -> None:
    with Run.open(run) as opened:
        report = with_strips(read_report(opened), opened, enough_s=60.0)
        (cluster,) = report.failures.clusters
        assert cluster.count == 2
        strip = report.strips[cluster.examples[0]]
        assert not with_strips(read_report(opened), opened, enough_s=-1.0).strips
    assert len(strip.pictures) == len(strip.times) == FRAMES
    assert strip.times[-1] == pytest.approx(LENGTH / 25)
    first = cv2.imdecode(np.frombuffer(strip.pictures[0], np.uint8), cv2.IMREAD_COLOR)
    assert first.shape == (240, 320, 3)
    assert first.std() > 10.0, "something is to be seen"


@pytest.mark.medium
def test_files_for_other_viewers_show_the_scene_and_the_twins_joints(
    run: Path, tmp_path: Path
) -> None:
    pytest.importorskip("rerun")
    pytest.importorskip("mcap")
    from mcap.reader import make_reader
    from rerun.chunk import RrdReader

    rrd, mcap = tmp_path / "out.rrd", tmp_path / "out.mcap"
    outputs = ("--rerun", str(rrd), "--mcap", str(mcap), "--width", "96", "--height", "64")
    assert main(["replay", str(run), "0000000000000003", *outputs]) == 0
    with Run.open(run) as opened:
        episode = opened.episodes()[0]
    with mcap.open("rb") as file:
        read = [(c.topic, json.loads(m.data)) for _, c, m in make_reader(file).iter_messages()]
    seen = [list(content.values()) for topic, content in read if topic == "/observation"]
    np.testing.assert_array_equal(np.array(seen, np.float32), episode.observations)
    joints = [content for topic, content in read if topic == "/joints"]
    assert len(joints) == len(episode)
    assert not any(name.isdigit() for name in joints[0]), "joints have names"
    scenes = sum(topic == "/scene" for topic, _ in read)
    assert scenes == -(-LENGTH // 5)
    chunks = RrdReader(rrd).stream().to_chunks()
    rows = {each.entity_path: 0 for each in chunks}
    for each in chunks:
        rows[each.entity_path] += each.num_rows
    assert rows["/scene"] == scenes
    assert rows["/joints"] > len(episode) - 1


def test_soft_light_blurs_shadows_and_keeps_the_picture() -> None:
    stations = build_stations("pick_cube", 1, 1)
    stations.begin(0, Job(3, Purpose.EVALUATION, HoldStill(stations.task.actions.size), "p"))
    stations.tick()
    stations.wait()
    images = []
    for samples in (1, 6):
        try:
            with TwinCamera(stations, Viewpoint(width=160, height=100), samples) as camera:
                images.append(camera.picture().astype(int))
        except NoGraphics as error:
            pytest.skip(str(error))
    plain, soft = images
    assert np.abs(plain - soft).mean() < 25, "it is the same scene"
    edges = [np.sort(np.abs(np.diff(image, axis=1)).sum(axis=2), axis=None) for image in images]
    hardest = [steps[-100:].mean() for steps in edges]
    assert hardest[1] < 0.9 * hardest[0], "with softer edges"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "which episode"),
        (["x", "--live"], "without an episode"),
        (["--live", "--rerun", "out.rrd"], "alone or with --video"),
        (["x", "--station", "1"], "--live"),
        (["x", "--video", "out.avi"], ".mp4"),
        (["--video", "out.mp4"], "which episode"),
        (["x", "--failures", "out.png"], "without an episode"),
        (["x", "--loop", "out.webp"], "without an episode"),
        (["--loop", "out.gif"], ".webp"),
        (["x", "--video", "out.mp4", "--policy", "p"], "--failures"),
        (["x", "--video", "out.mp4", "--width", "95"], "even"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_read(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "nowhere", *options]) == 2
    assert words in capsys.readouterr().err


def test_without_a_display_an_episode_has_no_window(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert main(["replay", str(run), "0000000000000003"]) == 2
    assert "--video OUT.mp4" in capsys.readouterr().err


def test_a_run_that_has_ended_cannot_be_watched(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(run), "--live"]) == 2
    assert "no loop runs there" in capsys.readouterr().err


def test_a_policy_without_failures_has_no_sheet(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", str(run), "--failures", str(tmp_path / "x.png"), "--policy", "policy-9"]
    assert main(arguments) == 1
    assert "failed in none of 0 evaluations" in capsys.readouterr().err
