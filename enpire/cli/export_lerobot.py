"""`enpire export lerobot`: a run's episodes as a LeRobot dataset."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser, add_trust
from enpire.errors import StoreError, UsageError
from enpire.option_values import natural
from enpire.packs.finder import GYM
from enpire.session.graphics import choose_graphics

if TYPE_CHECKING:
    from enpire.datasets import Layout
    from enpire.store import Run
    from enpire.types import Episode

DESCRIPTION = """\
Write the episodes of a run as a LeRobot dataset (v3), which its own tools load, show and train on:
states, actions, task, success, verdict, purpose, policy version, intervention and seed. Sealed
and void episodes stay out. Of a run whose policies see by cameras it has what they see: each is
replayed on the twin for that; the episodes are those of a fast reset then. Cut short, the same
command goes on where it was."""

PURPOSES = ("demonstration", "collection", "evaluation")


def add_options(parser: Parser) -> None:
    """The options of `enpire export lerobot`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run to export")
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the dataset; a new one")
    parser.add_argument(
        "--purpose",
        choices=PURPOSES,
        action="append",
        help="export only episodes of this purpose; may be given again (default all)",
    )
    parser.add_argument(
        "--successes", action="store_true", help="export only episodes that the verifier passed"
    )
    parser.add_argument(
        "--images",
        type=natural,
        metavar="N",
        help="width and height of the camera pictures that policies see [px]; 0: none "
        "(default: the run's)",
    )
    parser.add_argument(
        "--video",
        action="store_true",
        help="write pictures as videos, which are smaller and not quite what was seen",
    )
    add_trust(parser)


def run(options: Namespace) -> int:
    """Write it."""
    choose_graphics()
    os.environ.setdefault("TQDM_DISABLE", "1")  # no bars of LeRobot's, which is imported next
    from dataclasses import replace

    from enpire.datasets import export
    from enpire.datasets.columns import exportable
    from enpire.datasets.pictures import Shooting
    from enpire.environment.core.policy_cameras import require_size
    from enpire.observe.trust import require_trusted
    from enpire.store import Run
    from enpire.types import Purpose

    require_size(options.images or 0)
    if os.path.lexists(options.folder):
        raise StoreError(f"{options.folder} is there already: choose a new folder")
    with Run.open(options.run) as opened:
        require_trusted(opened, options.trust)
        chosen = opened.episodes([Purpose(p) for p in options.purpose or PURPOSES])
        episodes = [e for e in chosen if exportable(e) and (e.success or not options.successes)]
        task, world = task_of(opened), str(opened.asked.get("world", ""))
    if not episodes:
        raise StoreError(f"{options.run} has no such episode: ask for more of them")
    images = images_of(episodes) if options.images is None else options.images
    layout, shooting = layout_of(task, episodes[0]), None
    if images:
        if task.startswith(GYM):
            raise UsageError(f"--images is for a task pack, {task} has no twin of ours")
        shooting = Shooting(task, images, world)
        layout = replace(layout, policy_cameras=shooting.policy_cameras, video=options.video)

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


def images_of(episodes: Sequence[Episode]) -> int:
    """Width and height of the pictures that episodes have [px]; 0 without any."""
    return next((one.pictures.shape[2] for one in episodes if len(one.pictures)), 0)


def task_of(run: Run) -> str:
    """That a run is of, as it was asked for; raises StoreError if its config does not say."""
    if task := run.asked.get("task"):
        return str(task)
    raise StoreError(f"{run.folder / 'config.toml'} names no task: is it a run's?")


def layout_of(task: str, episode: Episode) -> Layout:
    """The layout of a run's episodes; somebody else's environment names nothing that it shows."""
    from enpire.datasets import Layout

    observed, acted = episode.observations.shape[1], episode.actions.shape[1]
    names = tuple(f"observation_{i}" for i in range(observed))
    told, robot, motors = task.removeprefix(GYM), "", None
    hz = 1.0 / (episode.stamps[1] - episode.stamps[0]) if len(episode) > 1 else 1.0
    if not task.startswith(GYM):
        from enpire.environment.core.motors import Motors
        from enpire.environment.loading import load_task
        from enpire.packs import find

        loaded = load_task(find("tasks", task))
        names, told, robot = loaded.observation_names, loaded.instruction, loaded.robot
        hz, motors = loaded.control_hz, Motors.of(loaded)
    if len(names) != observed:
        raise StoreError(
            f"episode {episode.id} has {observed} entries an observation, {task} has {len(names)}: "
            "the task has changed since"
        )
    actions = tuple(f"action_{i}" for i in range(acted))
    return Layout(round(hz), told, robot, tuple(names), actions, motors=motors)
