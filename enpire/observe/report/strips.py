"""Film strips of failures: one example of each of the largest clusters, carried out again."""

from __future__ import annotations

import time
from dataclasses import replace

import cv2
import numpy as np

from enpire.environment.cameras.twin_cameras import GRAPHICS_ERRORS
from enpire.errors import EnpireError, StoreError
from enpire.observe.filming import EpisodeReplay, TwinCamera, frames_at, of_row
from enpire.observe.picture import Viewpoint
from enpire.observe.report.reading import FilmStrip, RunReport
from enpire.store import Run
from enpire.types import Episode, Image

CLUSTERS, FRAMES = 3, 6
SIZE = (320, 240)  # of a frame, width and height [px]; drawn twice as large, and made small
QUALITY = 80  # of JPEG
DISTANCE, LIFT = 0.42, 0.04  # of the camera from what is tracked; above it, for the hand [m]
ENOUGH_S = 2.5  # after so long no other strip is begun: the whole report takes less than 5 s
GRACE_S = 1.0  # that the one which is under way may take then


def with_strips(report: RunReport, run: Run, enough_s: float = ENOUGH_S) -> RunReport:
    """Return the report with frames of failures, or with the reason why there are none.

    enough_s: time after which no other strip is begun [s].
    """
    if not report.failures.clusters:
        return report
    began = time.monotonic()
    if run.asked.get("reset") == "physical":
        return replace(report, no_strips="skills put the scenes back, so no episode repeats alone")
    rows = {row.id: row for row in run.ledger.episodes()}
    strips: dict[str, FilmStrip] = {}
    why = ""
    try:
        replay = EpisodeReplay(report.summary.task, run.asked.get("world", ""))
        view = Viewpoint(distance=DISTANCE, width=2 * SIZE[0], height=2 * SIZE[1], lift=LIFT)
        with TwinCamera(replay.stations, view) as camera:
            for cluster in report.failures.clusters[:CLUSTERS]:
                if time.monotonic() - began > enough_s:
                    why = why or "there was no time for them"
                    break
                try:
                    episode = of_row(run, rows[cluster.examples[0]])
                    until = began + enough_s + GRACE_S
                    strips[episode.id] = film_strip(replay, camera, episode, until)
                except StoreError as error:
                    why = str(error)
    except (EnpireError, *GRAPHICS_ERRORS) as error:
        why = str(error)
    return replace(report, strips=strips, no_strips="" if strips else why)


def film_strip(
    replay: EpisodeReplay, camera: TwinCamera, episode: Episode, until: float
) -> FilmStrip:
    """Return some frames of an episode, from its first period to the end of its verification.

    Raises:
        StoreError: it does not repeat, or is not over at the monotonic time `until` [s].
    """
    moments = np.linspace(0, len(episode), FRAMES).round().astype(int).tolist()
    frames = frames_at(replay, camera, episode, moments, until)
    period = replay.stations.period
    return FilmStrip(
        episode.id,
        tuple(at * period for at, _ in frames),
        tuple(jpeg(image) for _, image in frames),
    )


def jpeg(image: Image) -> bytes:
    """Return a picture made small, as a JPEG file."""
    small = cv2.resize(image, SIZE, interpolation=cv2.INTER_AREA)
    _, data = cv2.imencode(".jpg", small[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return bytes(data.tobytes())
