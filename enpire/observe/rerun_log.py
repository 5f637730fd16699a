"""One recorded episode as a file of Rerun's, with everything that the run knows of it.

`rerun FILE.rrd` shows it. The library is heavy and only used here: it is imported when asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from enpire.errors import UsageError
from enpire.store.durable import disk_errors
from enpire.types import Episode, FloatArray, Image

TIMELINE = "time"  # since the execution began


def require_rerun() -> Any:
    """Return the library; raises UsageError where it is not installed."""
    try:
        import rerun
    except ImportError as error:
        raise UsageError("--rerun needs Rerun's library: pip install rerun-sdk") from error
    return rerun


def write_rerun(
    episode: Episode, path: Path, names: tuple[str, ...], pictures: dict[float, Image]
) -> None:
    """Write an episode to `path`: actions, observations, arms, pictures and the verdict.

    Args:
        episode: that is written.
        path: of the file, which is replaced.
        names: of the observations' entries; numbers stand in where they do not fit.
        pictures: of the scene, by the time since the execution began [s].
    """
    rr = require_rerun()
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    stream = rr.RecordingStream("enpire", recording_id=episode.id)
    stream.save(str(path))
    columns = {
        "action": (episode.actions, ()),
        "observation": (episode.observations, names),
        "joints": (episode.joints, ()),
        "setpoints": (episode.setpoints, ()),
        "reward": (episode.rewards[:, None], ("reward",)),
        "intervened": (episode.intervened[:, None], ("intervened",)),
    }
    stamps: FloatArray = episode.stamps
    for name, (values, entries) in columns.items():
        if not values.shape[1]:
            continue
        known = list(entries) if len(entries) == values.shape[1] else None
        words = known or [str(at) for at in range(values.shape[1])]
        stream.log(name, rr.SeriesLines(names=words), static=True)
        stream.send_columns(
            name,
            indexes=[rr.TimeColumn(TIMELINE, duration=stamps)],
            columns=rr.Scalars.columns(scalars=values.astype(float)),
        )
    for at, row in enumerate(episode.pictured.tolist()):
        stream.set_time(TIMELINE, duration=float(stamps[min(row, len(stamps) - 1)]))
        for camera, image in enumerate(episode.pictures[at]):
            stream.log(f"policy_camera/{camera}", rr.Image(image).compress(jpeg_quality=90))
    for moment, image in pictures.items():
        stream.set_time(TIMELINE, duration=moment)
        stream.log("scene", rr.Image(image).compress(jpeg_quality=90))
    stream.log("verdict", rr.TextDocument(verdict_text(episode)), static=True)
    stream.flush()
    stream.disconnect()


def verdict_text(episode: Episode) -> str:
    """Return who acted, how it ended and every predicate with its margin, for a person."""
    verdict = episode.verdict
    lines = [
        f"{episode.id}",
        f"policy {episode.policy}, seed {episode.seed}, station {episode.station}",
        f"{verdict.outcome}: {verdict.reason or verdict.stage}",
        *(
            f"{p.name}: {p.value:.4g} {p.unit}, threshold {p.threshold:g}, margin {p.margin:.4g}, "
            f"{p.state}"
            for p in verdict.predicates
        ),
    ]
    return "\n".join(lines)
