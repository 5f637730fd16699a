"""`enpire replay RUN EPISODE`: a recorded episode, seen again."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser
from enpire.cli.options.view import add_view, view_of
from enpire.errors import StoreError, UsageError
from enpire.option_values import any_number, natural
from enpire.session.graphics import choose_graphics
from enpire.session.progress_bar import counted, progress_bar

if TYPE_CHECKING:
    from enpire.observe.filming import EpisodeReplay
    from enpire.store import EpisodeRow, Run
    from enpire.types import Episode

MOST = 60  # failures on one sheet, the latest
TILE = (320, 240)  # width and height of a picture on the sheet [px]
SAMPLES = 4  # of soft light in each picture of a video
EVERY = 3  # control periods from one frame of a loop's picture to the next
SPEED = 1.5  # of a loop's picture, to what happened
STILL = 0.6  # that the last picture of a video stays [s]

DESCRIPTION = """\
Carry a recorded episode of a twin out again from its seed and actions, and show it: in MuJoCo's
viewer, or without a display with any of the following. It is held against what was recorded.
--rerun and --mcap take any episode: one that cannot be carried out again has no pictures of the
scene. --failures makes one sheet of all failures of a policy. --loop makes a moving picture of the
loop: the same scenes under its first policy and its best. --live watches a station of a loop that
runs."""


def add_options(parser: Parser) -> None:
    """The options of `enpire replay`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run, running or not")
    parser.add_argument(
        "episode",
        nargs="?",
        metavar="EPISODE",
        help="id of the episode, or the beginning or the end of the id",
    )
    parser.add_argument(
        "--video", type=Path, metavar="OUT.mp4", help="write a video of the episode"
    )
    parser.add_argument(
        "--rerun",
        type=Path,
        metavar="OUT.rrd",
        help="write all that is known of the episode, for Rerun's viewer (extra: rerun)",
    )
    parser.add_argument(
        "--mcap",
        type=Path,
        metavar="OUT.mcap",
        help="write the same for Foxglove, with its own schemas (extra: foxglove)",
    )
    parser.add_argument(
        "--failures",
        type=Path,
        metavar="OUT.png",
        help=f"write one sheet of how evaluations of a policy failed, the {MOST} latest",
    )
    parser.add_argument(
        "--loop",
        type=Path,
        metavar="OUT.webp",
        help="write a moving picture of the whole loop, from the first policy to the last",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="watch a station of a loop that runs: in the viewer, or with --video until Ctrl-C",
    )
    parser.add_argument(
        "--station",
        type=natural,
        default=0,
        metavar="N",
        help="number of the station that --live watches (default 0)",
    )
    parser.add_argument(
        "--policy",
        metavar="NAME",
        help="policy whose failures --failures shows (default: the best one)",
    )
    add_view(parser, 0.5, 960, 600)
    parser.add_argument(
        "--lift",
        type=any_number,
        metavar="M",
        default=0.04,
        help="height above the tracked objects at which the camera looks [m] (default 0.04)",
    )


def run(options: Namespace) -> int:
    """Write what was asked for."""
    _require(options)
    choose_graphics()
    from enpire.store import Run

    with Run.open(options.run) as opened:
        if options.failures is not None:
            _sheet(opened, options)
        elif options.loop is not None:
            _loop(opened, options)
        elif options.live:
            _live(opened, options)
        else:
            _episode(opened, options)
    return 0


def _require(options: Namespace) -> None:
    """Raise UsageError where it is not clear what to write."""
    wanted = {"video": ".mp4", "rerun": ".rrd", "mcap": ".mcap"}
    wanted |= {"failures": ".png", "loop": ".webp"}
    outputs = {name: path for name in wanted if (path := getattr(options, name)) is not None}
    for name, path in outputs.items():
        if path.suffix.lower() != wanted[name]:
            raise UsageError(f"--{name} {path}: give a name that ends in {wanted[name]}")
    if options.live and (options.episode or outputs.keys() - {"video"}):
        raise UsageError("--live is of a loop that runs: without an episode, alone or with --video")
    if options.station and not options.live:
        raise UsageError("--station goes with --live")
    whole = {"failures": "a whole policy", "loop": "a whole run"}
    for name, what in whole.items():
        if name in outputs and (options.episode or len(outputs) > 1):
            raise UsageError(f"--{name} is of {what}: give it alone, without an episode")
    if not (whole.keys() & outputs.keys()) and not options.episode and not options.live:
        raise UsageError(f"which episode? enpire report {options.run} names some")
    if options.policy and "failures" not in outputs:
        raise UsageError("--policy goes with --failures")
    if "video" in outputs and (options.width % 2 or options.height % 2):
        raise UsageError("a video needs an even --width and --height")


def _replay_of(run: Run) -> EpisodeReplay:
    from enpire.observe.filming import EpisodeReplay

    task = run.asked.get("task")
    if not task:
        raise StoreError(f"{run.folder} does not say which task it is of")
    return EpisodeReplay(task, run.asked.get("world", ""))


def _episode(run: Run, options: Namespace) -> None:
    """Show one episode: in a window, as a video, as files for other viewers."""
    from enpire.observe.filming import recorded
    from enpire.observe.mcap_log import require_mcap, write_mcap
    from enpire.observe.rerun_log import require_rerun, write_rerun

    writers = []
    if options.rerun is not None:
        require_rerun()
        writers.append((options.rerun, write_rerun))
    if options.mcap is not None:
        require_mcap()
        writers.append((options.mcap, write_mcap))
    episode = recorded(run, options.episode)
    if options.video is not None:
        _video(run, episode, options)
        print(options.video)
    elif not writers:
        _window(run, episode, options)
    if writers:
        from enpire.observe.episode_record import read_record

        view = view_of(options)
        with progress_bar("carrying the episode out again"):
            record = read_record(run, episode, view)
        for path, write in writers:
            write(record, path)
            print(path)
        if record.without:
            print(f"without pictures of the scene: {record.without}", file=sys.stderr)


def _video(run: Run, episode: Episode, options: Namespace) -> None:
    """Write the video of one episode."""
    from contextlib import ExitStack

    from enpire.observe.contact_sheet import captioned
    from enpire.observe.filming import TwinCamera, VideoFile

    replay = _replay_of(run)
    task, period = replay.stations.task, replay.stations.period
    count, width, height = len(episode), options.width, options.height
    with ExitStack() as stack:
        camera = stack.enter_context(TwinCamera(replay.stations, view_of(options), SAMPLES))
        video = stack.enter_context(VideoFile(options.video, task.control_hz, width, height))
        shown = 0
        advance = stack.enter_context(progress_bar("control periods", count))

        def shoot(at: int) -> None:
            nonlocal shown
            doing = episode.policy if at < count else "verification"
            video.add(captioned(camera.picture(), f"{doing}, {shown * period:.1f} s"))
            shown += 1
            advance()

        replay(episode, shoot)
        verdict = episode.verdict
        last = captioned(camera.picture(), f"{verdict.outcome}: {verdict.reason}".rstrip(": "))
        for _ in range(round(STILL * task.control_hz)):
            video.add(last)


def _window(run: Run, episode: Episode, options: Namespace) -> None:
    """Show one episode in MuJoCo's viewer, as fast as it happened, until the window is closed."""
    from contextlib import suppress

    from enpire.observe.viewer import TwinViewer, WindowClosed

    replay = _replay_of(run)
    period = replay.stations.period
    viewer: TwinViewer | None = None
    try:
        with suppress(WindowClosed):

            def shoot(at: int) -> None:
                nonlocal viewer
                viewer = viewer or TwinViewer(replay.stations, view_of(options))
                viewer.show(period)

            replay(episode, shoot)
            verdict = episode.verdict
            print(f"{verdict.outcome}: {verdict.reason or verdict.stage}".rstrip(": "))
            while viewer is not None:
                viewer.show(period)
    finally:
        if viewer is not None:
            viewer.close()


def _live(run: Run, options: Namespace) -> None:
    """Show a station of a loop that runs, in a window or as a video."""
    from enpire.observe.watch import watch_live

    view = view_of(options)
    with progress_bar(f"watching station {options.station}; Ctrl-C ends it") as advance:
        watch_live(run, options.station, view, options.video, advance)
    if options.video is not None:
        print(options.video)


def _sheet(run: Run, options: Namespace) -> None:
    """Write the sheet of a policy's failures."""
    import cv2
    import numpy as np

    from enpire.observe.contact_sheet import SheetTile, contact_sheet
    from enpire.observe.filming import TwinCamera, frames_at, of_row
    from enpire.store.durable import disk_errors, publish_file

    policy = options.policy or _best(run)
    rows = _failed(run, policy)
    replay = _replay_of(run)
    tiles, refused = [], []
    view = replace(view_of(options), width=2 * TILE[0], height=2 * TILE[1])
    with TwinCamera(replay.stations, view) as camera:
        for row in counted(rows[-MOST:], "failures"):
            try:
                episode = of_row(run, row)
                ((_, image),) = frames_at(replay, camera, episode, [len(episode)])
            except StoreError as error:
                refused.append(str(error))
                continue
            small = np.asarray(cv2.resize(image, TILE, interpolation=cv2.INTER_AREA), np.uint8)
            missed = ", ".join(p.name for p in run.ledger.predicates(row.id) if not p.holds)
            lines = (f"{row.stage or 'no stage'}: {missed or row.reason}", row.id[-40:])
            tiles.append(SheetTile(small, lines))
    if not tiles:
        raise StoreError(f"none of {len(rows)} failures can be carried out again: {refused[0]}")
    title = f"{policy}: {len(tiles)} of {len(rows)} failures, each at the end of its verification"
    _, png = cv2.imencode(".png", contact_sheet(tiles, title)[..., ::-1])
    with disk_errors(options.failures):
        options.failures.parent.mkdir(parents=True, exist_ok=True)
    publish_file(options.failures, png.tobytes())
    print(options.failures)
    if refused:
        print(f"left out: {len(refused)}; {refused[0]}")


def _loop(run: Run, options: Namespace) -> None:
    """Write the moving picture of a loop."""
    from enpire.observe import loop_film
    from enpire.observe.filming import TwinCamera

    acts = loop_film.loop_acts(run)
    replay = _replay_of(run)
    width, height = loop_film.TILE
    view = replace(view_of(options), width=width, height=height)
    with TwinCamera(replay.stations, view, loop_film.SAMPLES) as camera:
        task, target = replay.stations.name, run.asked.get("target")
        frames = loop_film.film_loop(acts, replay, camera, task, target, EVERY)
        taken = list(counted(frames, "frames"))
    loop_film.write_webp(taken, options.loop, EVERY * replay.stations.period / SPEED)
    print(options.loop)


def _best(run: Run) -> str:
    """The policy of the last sealed evaluation that passed, or the incumbent."""
    from enpire.observe import account
    from enpire.observe.overview import sealed_of

    passing = sealed_of(run).passing
    policy = passing[-1].policy if passing else account.incumbent(run.ledger)
    if not policy:
        raise UsageError(f"{run.folder} has no best policy yet: say whose failures by --policy")
    return policy


def _failed(run: Run, policy: str) -> list[EpisodeRow]:
    """Failures of a policy's evaluations, sealed ones included.

    Raises:
        StoreError: there is none.
    """
    from enpire.types import Outcome, Purpose

    rows = run.ledger.episodes({Purpose.EVALUATION, Purpose.SEALED}, {policy})
    failed = [row for row in rows if row.outcome is Outcome.FAILURE]
    if not failed:
        raise StoreError(f"{policy} has failed in none of {len(rows)} evaluations of {run.folder}")
    return failed
