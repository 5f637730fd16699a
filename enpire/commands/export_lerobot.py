"""`enpire export lerobot`: a run's episodes as a LeRobot dataset."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.commands.bars import leave_bars_out
from enpire.commands.graphics import choose_graphics
from enpire.commands.options import Parser
from enpire.errors import StoreError, UsageError
from enpire.packs.finder import GYM

if TYPE_CHECKING:
    from enpire.datasets import Layout
    from enpire.store import Run
    from enpire.types import Episode

DESCRIPTION = """\
Write the episodes of a run as a LeRobot dataset (v3), which its own tools load, show and train on:
states, actions, task, success, verdict, purpose, policy version, intervention and seed. Sealed
and void episodes stay out. With --pictures each is replayed on the twin and filmed; the episodes
are those of a fast reset then. Cut short, the same command goes on where it was."""

PURPOSES = ("demonstration", "collection", "evaluation")


def add_options(parser: Parser) -> None:
    """The options of `enpire export lerobot`."""
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("folder", type=Path, metavar="DIR", help="of the dataset; a new one")
    parser.add_argument(
        "--purpose",
        choices=PURPOSES,
        action="append",
        help="only these; may be given again (default all)",
    )
    parser.add_argument("--successes", action="store_true", help="only what the verifier passed")
    parser.add_argument(
        "--pictures", nargs="+", metavar="CAMERA", default=[], help="videos by these cameras"
    )
    parser.add_argument(
        "--size", type=size, default=(320, 240), metavar="WxH", help="of pictures (320x240)"
    )


def size(text: str) -> tuple[int, int]:
    """Width and height of `320x240`, even numbers, which video needs."""
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit()) or int(width) % 2 or int(height) % 2:
        raise ArgumentTypeError(f"{text!r} is no size in even pixels: write 320x240")
    return int(width), int(height)


def run(options: Namespace) -> int:
    """Write it."""
    choose_graphics()
    leave_bars_out()
    from enpire.datasets import export
    from enpire.datasets.columns import exportable
    from enpire.datasets.pictures import Shooting
    from enpire.store import Run
    from enpire.types import Purpose

    if options.folder.exists():
        raise StoreError(f"{options.folder} is there already: choose a new folder")
    with Run.open(options.run) as opened:
        chosen = opened.episodes([Purpose(p) for p in options.purpose or PURPOSES])
        episodes = [e for e in chosen if exportable(e) and (e.success or not options.successes)]
        task = task_of(opened)
    if not episodes:
        raise StoreError(f"{options.run} has no such episode: ask for more of them")
    layout = layout_of(task, episodes[0], options)
    shooting = None
    if options.pictures:
        if task.startswith(GYM):
            raise UsageError(f"--pictures is for a task pack, {task} has no twin of ours")
        shooting = Shooting(task, options.pictures, layout.height, layout.width)

    def say(done: int) -> None:
        print(f"{done} of {len(episodes)} episodes", flush=True)

    try:
        export(episodes, layout, options.folder, shooting, say)
    finally:
        if shooting is not None:
            shooting.close()
    frames = sum(map(len, episodes))
    print(f"{options.folder}: {len(episodes)} episodes, {frames} frames at {layout.fps} Hz")
    return 0


def task_of(run: Run) -> str:
    """That a run is of, as it was asked for; raises StoreError if its config does not say."""
    for table in ("loop", "import", "eval"):
        if task := run.config.get(table, {}).get("task"):
            return str(task)
    raise StoreError(f"{run.folder / 'config.toml'} names no task: is it a run's?")


def layout_of(task: str, episode: Episode, options: Namespace) -> Layout:
    """Of a run's episodes; an environment of somebody else's has no names for what it shows."""
    from enpire.datasets import Layout

    observed, acted = episode.observations.shape[1], episode.actions.shape[1]
    names = tuple(f"observation_{i}" for i in range(observed))
    told, robot = task.removeprefix(GYM), ""
    hz = 1.0 / (episode.stamps[1] - episode.stamps[0]) if len(episode) > 1 else 1.0
    if not task.startswith(GYM):
        from enpire.environment.loading import load_task
        from enpire.packs import find

        loaded = load_task(find("tasks", task))
        names, told, robot = loaded.observation_names, loaded.instruction, loaded.robot
        hz = loaded.control_hz
    if len(names) != observed:
        raise StoreError(
            f"episode {episode.id} has {observed} entries an observation, {task} has {len(names)}: "
            "the task has changed since"
        )
    width, height = options.size
    actions = tuple(f"action_{i}" for i in range(acted))
    cameras = tuple(options.pictures)
    return Layout(round(hz), told, robot, tuple(names), actions, cameras, height, width)
