"""`enpire replay RUN EPISODE`: a recorded episode, seen again."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.commands.graphics import choose_graphics
from enpire.commands.options import Parser, more_than_zero, positive
from enpire.errors import StoreError, UsageError

if TYPE_CHECKING:
    from enpire.observe.filming import EpisodeReplay
    from enpire.observe.picture import View
    from enpire.store import EpisodeRow, Run
    from enpire.types import Image

MOST = 60  # failures on one sheet, the latest
TILE = (320, 200)  # width and height of a picture on the sheet [px]
STILL = 0.6  # that the last picture of a video stays [s]
EVERY = 5  # control periods from one picture of a Rerun file to the next

DESCRIPTION = """\
A recorded episode of a twin, carried out again from its seed and actions, without a display. It is
held against what was recorded. --failures makes one sheet of all failures of a policy."""


def add_options(parser: Parser) -> None:
    """The options of `enpire replay`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run, running or not")
    parser.add_argument(
        "episode", nargs="?", metavar="EPISODE", help="its id, or the beginning or end of it"
    )
    parser.add_argument("--video", type=Path, metavar="OUT.mp4", help="a video of it")
    parser.add_argument(
        "--rerun",
        type=Path,
        metavar="OUT.rrd",
        help="everything that is known of it, for Rerun's viewer (needs rerun-sdk)",
    )
    parser.add_argument(
        "--failures",
        type=Path,
        metavar="OUT.png",
        help=f"one sheet of how evaluations of a policy failed, the {MOST} latest",
    )
    parser.add_argument("--policy", metavar="NAME", help="whose failures (default: the best one's)")
    parser.add_argument("--distance", type=more_than_zero, metavar="M", default=0.5)
    parser.add_argument("--azimuth", type=float, metavar="DEG", default=162.0)
    parser.add_argument("--elevation", type=float, metavar="DEG", default=-20.0)
    parser.add_argument("--width", type=positive, metavar="N", default=960)
    parser.add_argument("--height", type=positive, metavar="N", default=600)


def run(options: Namespace) -> int:
    """Write what was asked for."""
    _require(options)
    choose_graphics()
    from enpire.store import Run

    with Run.open(options.run) as opened:
        if options.failures is not None:
            _sheet(opened, options)
        else:
            _episode(opened, options)
    return 0


def _require(options: Namespace) -> None:
    """Raise UsageError where it is not clear what to write."""
    wanted = {"video": ".mp4", "rerun": ".rrd", "failures": ".png"}
    outputs = {name: path for name in wanted if (path := getattr(options, name)) is not None}
    for name, path in outputs.items():
        if path.suffix.lower() != wanted[name]:
            raise UsageError(f"--{name} {path}: give a name that ends in {wanted[name]}")
    if not outputs:
        raise UsageError("nothing to write: give --video OUT.mp4, --rerun OUT.rrd or --failures")
    if "failures" in outputs and (options.episode or len(outputs) > 1):
        raise UsageError("--failures is of a whole policy: give it without an episode")
    if "failures" not in outputs and not options.episode:
        raise UsageError(f"which episode? enpire report {options.run} names some")
    if options.policy and "failures" not in outputs:
        raise UsageError("--policy goes with --failures")
    if "video" in outputs and (options.width % 2 or options.height % 2):
        raise UsageError("a video needs an even --width and --height")


def _view(options: Namespace, width: int, height: int) -> View:
    from enpire.observe.picture import View

    return View("", options.distance, options.azimuth, options.elevation, width, height)


def _replay_of(run: Run) -> EpisodeReplay:
    from enpire.observe.filming import EpisodeReplay

    task = run.asked.get("task")
    if not task:
        raise StoreError(f"{run.folder} does not say which task it is of")
    return EpisodeReplay(task, run.asked.get("world", ""))


def _episode(run: Run, options: Namespace) -> None:
    """Write the video of one episode, or its Rerun file, or both."""
    from contextlib import ExitStack

    from enpire.observe.contact_sheet import captioned
    from enpire.observe.filming import TwinCamera, VideoFile, recorded
    from enpire.observe.rerun_log import require_rerun, write_rerun

    if options.rerun is not None:
        require_rerun()
    episode = recorded(run, options.episode)
    replay = _replay_of(run)
    task, period = replay.stations.task, replay.stations.period
    pictures: dict[float, Image] = {}
    count, width, height = len(episode), options.width, options.height
    with ExitStack() as stack:
        camera = stack.enter_context(TwinCamera(replay.stations, _view(options, width, height)))
        video = None
        if options.video is not None:
            video = stack.enter_context(VideoFile(options.video, task.control_hz, width, height))
        shown = 0

        def shoot(at: int) -> None:
            nonlocal shown
            if video is not None:
                doing = episode.policy if at < count else "verification"
                image = captioned(camera.picture(), f"{doing}, {shown * period:.1f} s")
                video.add(image)
            if options.rerun is not None and at < count and at % EVERY == 0:
                pictures[at * period] = camera.picture()
            shown += 1

        replay(episode, shoot)
        if video is not None:
            verdict = episode.verdict
            last = captioned(camera.picture(), f"{verdict.outcome}: {verdict.reason}".rstrip(": "))
            for _ in range(round(STILL * task.control_hz)):
                video.add(last)
    if options.rerun is not None:
        write_rerun(episode, options.rerun, task.observation_names, pictures)
    for path in (options.video, options.rerun):
        if path is not None:
            print(path)


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
    with TwinCamera(replay.stations, _view(options, 2 * TILE[0], 2 * TILE[1])) as camera:
        for row in rows[-MOST:]:
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
