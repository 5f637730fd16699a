"""One recorded episode as an MCAP file: Foxglove opens it, and whatever else reads MCAP.

Messages are JSON. Pictures are `foxglove.CompressedImage` and the verdict is a `foxglove.Log`, by
Foxglove's own schemas; tracks of numbers, of which it has no schema, are objects with an entry for
each. Time is since the execution began, so that episodes lie side by side.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2

from enpire.errors import UsageError
from enpire.observe.episode_record import EpisodeRecord, Track, verdict_text
from enpire.store.durable import disk_errors
from enpire.types import Image

NS = 1_000_000_000
QUALITY = 90  # of JPEG
INFO, ERROR = 2, 4  # levels of a log
IMAGE, LOG = "foxglove.CompressedImage", "foxglove.Log"

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": ["number", "null"]}, {"type": "integer"}
TIME = {"type": "object", "title": "time", "properties": {"sec": WHOLE, "nsec": WHOLE}}
BYTES = {"type": "string", "contentEncoding": "base64"}
PREDICATE = {"name": TEXT, "value": NUMBER, "threshold": NUMBER, "margin": NUMBER, "unit": TEXT}

FIELDS: dict[str, Mapping[str, Any]] = {
    IMAGE: {"timestamp": TIME, "frame_id": TEXT, "data": BYTES, "format": TEXT},
    LOG: {
        "timestamp": TIME,
        "level": WHOLE,
        "message": TEXT,
        "name": TEXT,
        "file": TEXT,
        "line": WHOLE,
    },
    "enpire.Predicates": {
        "predicates": {
            "type": "array",
            "items": {"type": "object", "properties": {**PREDICATE, "state": TEXT}},
        },
    },
    "enpire.Chunk": {
        "number": WHOLE,
        "actions": {"type": "array", "items": {"type": "array", "items": NUMBER}},
    },
    "enpire.Policy": {},
}
"""Fields of a schema's messages, by its name; tracks bring their own."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message."""

    topic: str  # of its channel
    schema: str  # name of its schema
    stamp: float  # since the execution began [s]
    content: Mapping[str, Any]  # as JSON


@dataclass(slots=True)
class _McapFile:
    """A writer with the schemas and channels that it has registered so far."""

    writer: Any
    _schemas: dict[str, int] = field(default_factory=dict)
    _channels: dict[str, int] = field(default_factory=dict)

    def add(self, message: Message) -> None:
        if message.topic not in self._channels:
            schema = self._schema(message)
            self._channels[message.topic] = self.writer.register_channel(
                message.topic, "json", schema
            )
        at = round(message.stamp * NS)
        data = json.dumps(message.content, allow_nan=False).encode()
        self.writer.add_message(self._channels[message.topic], at, data, at)

    def _schema(self, message: Message) -> int:
        name = message.schema
        if name not in self._schemas:
            fields = FIELDS.get(name) or dict.fromkeys(message.content, NUMBER)
            text = json.dumps({"title": name, "type": "object", "properties": fields})
            number = self.writer.register_schema(name, "jsonschema", text.encode())
            self._schemas[name] = number
        return self._schemas[name]


def require_mcap() -> Any:
    """Return the writer's module; raises UsageError where it is not installed."""
    try:
        import mcap.writer
    except ImportError as error:
        raise UsageError("--mcap needs MCAP's library: pip install 'enpire[foxglove]'") from error
    return mcap.writer


def write_mcap(record: EpisodeRecord, path: Path) -> None:
    """Write all that is known of an episode to `path`, which is replaced."""
    library = require_mcap()
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            writer = library.Writer(file)
            writer.start(profile="", library="enpire")
            out = _McapFile(writer)
            for message in sorted(messages(record), key=lambda each: each.stamp):
                out.add(message)
            writer.add_metadata("episode", {"id": record.episode.id, **record.policy})
            writer.finish()


def messages(record: EpisodeRecord) -> Iterator[Message]:
    """Yield all that is known of an episode, each track in order of time."""
    for track in record.tracks:
        yield from _numbers(track)
    for number, chunk in enumerate(record.chunks):
        content = {"number": number, "actions": chunk.actions.tolist()}
        yield Message("/chunk", "enpire.Chunk", chunk.stamp, content)
    for picture in record.pictures:
        image = _image(_jpeg(picture.image), "jpeg", picture.camera, picture.stamp)
        yield Message(f"/{picture.camera}", IMAGE, picture.stamp, image)
    yield Message("/policy", "enpire.Policy", 0.0, dict(record.policy))
    yield from _verdict(record)


def _numbers(track: Track) -> Iterator[Message]:
    for stamp, row in zip(track.stamps.tolist(), track.values.tolist(), strict=True):
        yield Message(f"/{track.name}", f"enpire.{track.name}", stamp, _finite(track.entries, row))


def _verdict(record: EpisodeRecord) -> Iterator[Message]:
    verdict, end = record.episode.verdict, record.end
    log = {
        "timestamp": _time(end),
        "level": INFO if record.episode.success else ERROR,
        "message": verdict_text(record.episode),
        "name": "verdict",
        "file": "",
        "line": 0,
    }
    yield Message("/verdict", LOG, end, log)
    predicates = [
        {
            "name": each.name,
            "unit": each.unit,
            "state": str(each.state),
            **_finite(("value", "threshold", "margin"), (each.value, each.threshold, each.margin)),
        }
        for each in verdict.predicates
    ]
    yield Message("/verdict/predicates", "enpire.Predicates", end, {"predicates": predicates})
    for name, png in record.evidence.items():
        yield Message(f"/evidence/{name}", IMAGE, end, _image(png, "png", name, end))


def _image(data: bytes, format: str, frame: str, stamp: float) -> dict[str, Any]:
    coded = base64.b64encode(data).decode()
    return {"timestamp": _time(stamp), "frame_id": frame, "data": coded, "format": format}


def _jpeg(image: Image) -> bytes:
    bgr = image[..., ::-1]  # OpenCV takes blue first
    _, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return data.tobytes()


def _time(stamp: float) -> dict[str, int]:
    sec, nsec = divmod(round(stamp * NS), NS)
    return {"sec": sec, "nsec": nsec}


def _finite(names: Sequence[str], values: Sequence[float]) -> dict[str, float | None]:
    """Return values by name; JSON has no number that is not finite."""
    both = zip(names, values, strict=True)
    return {name: value if math.isfinite(value) else None for name, value in both}
