"""One recorded episode as a file of Rerun's, with everything that the run knows of it.

`rerun FILE.rrd` shows it. The library is heavy and only used here: it is imported when asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from enpire.errors import UsageError
from enpire.observe.episode_record import EpisodeRecord, verdict_text
from enpire.store.durable import disk_errors

TIMELINE = "time"  # since the execution began
QUALITY = 90  # of JPEG


def require_rerun() -> Any:
    """Return the library; raises UsageError where it is not installed."""
    try:
        import rerun
    except ImportError as error:
        raise UsageError("--rerun needs Rerun's library: pip install 'enpire[rerun]'") from error
    return rerun


def write_rerun(record: EpisodeRecord, path: Path) -> None:
    """Write all that is known of an episode to `path`, which is replaced."""
    rr = require_rerun()
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    stream = rr.RecordingStream("enpire", recording_id=record.episode.id)
    stream.save(str(path))
    stream.send_recording_name(record.episode.id)
    for track in record.tracks:
        stream.log(track.name, rr.SeriesLines(names=list(track.entries)), static=True)
        stream.send_columns(
            track.name,
            indexes=[rr.TimeColumn(TIMELINE, duration=track.stamps)],
            columns=rr.Scalars.columns(scalars=track.values),
        )
    for number, chunk in enumerate(record.chunks):
        stream.set_time(TIMELINE, duration=chunk.stamp)
        stream.log("chunk/number", rr.Scalars(float(number)))
        stream.log("chunk/actions", rr.Tensor(chunk.actions, dim_names=("step", "entry")))
    for picture in record.pictures:
        stream.set_time(TIMELINE, duration=picture.stamp)
        image = rr.Image(picture.image).compress(jpeg_quality=QUALITY)
        stream.log(picture.camera, image)
    _write_verdict(rr, stream, record)
    stream.flush()
    stream.disconnect()


def _write_verdict(rr: Any, stream: Any, record: EpisodeRecord) -> None:
    """Write who acted, and what the verdict rests on, at the time when it was there."""
    policy = "\n".join(f"{name}: {value}" for name, value in record.policy.items())
    stream.log("policy", rr.TextDocument(policy), static=True)
    stream.log("verdict", rr.TextDocument(verdict_text(record.episode)), static=True)
    stream.set_time(TIMELINE, duration=record.end)
    for predicate in record.episode.verdict.predicates:
        numbers = [predicate.value, predicate.threshold, predicate.margin]
        entity = f"verdict/{predicate.name}"
        names = [f"value [{predicate.unit}]", "threshold", "margin"]
        stream.log(entity, rr.SeriesPoints(names=names), static=True)
        stream.log(entity, rr.Scalars(numbers))
    for name, png in record.evidence.items():
        picture = rr.EncodedImage(contents=png, media_type="image/png")
        stream.log(f"evidence/{name}", picture)
