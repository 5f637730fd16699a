"""Film strips of failures: one example of each cluster, carried out again.

How much of that there is time for is counted in processor time, so that a machine with other work
has the same report, only later.
"""

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

FRAMES = 6
SIZE = (320, 240)  # of a frame, width and height [px]; drawn twice as large, and made small
QUALITY = 80  # of JPEG
DISTANCE, LIFT = 0.42, 0.04  # of the camera from what is tracked; above it, for the hand [m]
ENOUGH_S = 2.5  # of processor time: no other strip is begun then, and a report takes below 5 s
GRACE_S = 1.0  # that the one which is under way may take then
PATIENCE_S = 20.0  # on the clock, however busy the machine is


class StripAllowance:
    """Time for strips: of the processor, and on the clock."""

    def __init__(self, processor_s: float) -> None:
        """It begins now; processor_s: of the processor [s]."""
        self._processor = time.process_time() + processor_s
        self._clock = time.monotonic() + PATIENCE_S

    def used_up(self, grace_s: float = 0.0) -> bool:
        """Whether it is; grace_s: more time on both [s]."""
        return (
            time.process_time() >= self._processor + grace_s
            or time.monotonic() >= self._clock + grace_s
        )


def with_strips(report: RunReport, run: Run, enough_s: float = ENOUGH_S) -> RunReport:
    """Return the report with frames of failures, and with the reason why some have none.

    enough_s: processor time after which no other strip is begun [s].
    """
    if not report.failures.clusters:
        return report
    allowed = StripAllowance(enough_s)
    if run.asked.get("reset") == "physical":
        return replace(report, no_strips="skills put the scenes back, so no episode repeats alone")
    wanted = {cluster.examples[0] for cluster in report.failures.clusters}
    rows = {row.id: row for row in run.ledger.episodes(ids=wanted)}
    strips: dict[str, FilmStrip] = {}
    why = ""
    try:
        replay = EpisodeReplay(report.summary.task, run.asked.get("world", ""))
        view = Viewpoint(distance=DISTANCE, width=2 * SIZE[0], height=2 * SIZE[1], lift=LIFT)
        with TwinCamera(replay.stations, view) as camera:
            for cluster in report.failures.clusters:
                if allowed.used_up():
                    why = why or "there was no time for them"
                    break
                try:
                    episode = of_row(run, rows[cluster.examples[0]])
                    strips[episode.id] = film_strip(replay, camera, episode, allowed)
                except StoreError as error:
                    why = str(error)
    except (EnpireError, *GRAPHICS_ERRORS) as error:
        why = str(error)
    return replace(report, strips=strips, no_strips=why)


def film_strip(
    replay: EpisodeReplay, camera: TwinCamera, episode: Episode, allowed: StripAllowance
) -> FilmStrip:
    """Return some frames of an episode, from its first period to the end of its verification.

    Raises:
        StoreError: it does not repeat, or there is no time for it.
    """
    moments = np.linspace(0, len(episode), FRAMES).round().astype(int).tolist()
    frames = frames_at(replay, camera, episode, moments, lambda: allowed.used_up(GRACE_S))
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
