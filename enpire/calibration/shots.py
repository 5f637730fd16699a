"""Recorded pictures with where the arms were: a folder with `shots.json` and a PNG each.

`shots.json` is a list of {"picture": "000.png", "position": [...]}: positions of all axes as a
driver reads them, arm after arm, joints [rad] and then the gripper.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from enpire.errors import UsageError
from enpire.json_text import parsed
from enpire.store.durable import publish_file
from enpire.types import FloatArray, Image

LIST = "shots.json"
TURNED = 40.0  # that no axis is farther than [rad, m]: six turns
SHOWN = 80  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture's file name, and positions of all axes when it was taken."""

    picture: str
    position: tuple[float, ...]


def read_shots(folder: Path, axes: int) -> list[tuple[Image, FloatArray]]:
    """Pictures, RGB, and positions, (axes,); raises UsageError naming the file."""
    path = folder / LIST
    try:
        shots = [Shot(**row) for row in parsed(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} holds no recorded pictures: {error}") from error
    found = []
    for shot in shots:
        _require_sound(path, shot, axes)
        if [each.picture for each in shots].count(shot.picture) > 1:
            raise UsageError(f"{path} has {shot.picture} twice: one picture was taken at one place")
        image = cv2.imread(str(folder / shot.picture), cv2.IMREAD_COLOR)
        if image is None:
            raise UsageError(f"{folder / shot.picture} is no picture")
        rgb = cv2.cvtColor(image, cv2.COLOR_BGR2RGB).astype(np.uint8)
        found.append((rgb, np.array(shot.position, np.float64)))
    return found


def _require_sound(path: Path, shot: Shot, axes: int) -> None:
    """Raise UsageError for a picture that lies elsewhere, or was taken where no arm is."""
    name: Any = shot.picture
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise UsageError(f"{path}: a picture is {name!r:.80}: a file in its folder is needed")
    position: Any = shot.position
    if not isinstance(position, list) or len(position) != axes:
        found = f"{len(position)} axes" if isinstance(position, list) else repr(position)[:SHOWN]
        raise UsageError(f"{path}: {name} has {found}, not {axes}")
    for value in position:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not abs(value) <= TURNED:
            raise UsageError(
                f"{path}: {name} was taken at {value!r:.40}, where no axis is: rad or m are "
                "needed, no degrees"
            )


def write_shot(folder: Path, image: Image, position: Sequence[float]) -> Path:
    """Add a picture, RGB, to a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LIST
    shots = parsed(path.read_text(encoding="utf-8")) if path.is_file() else []
    name = f"{len(shots):03d}.png"
    _, data = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    publish_file(folder / name, data.tobytes())
    shots.append(asdict(Shot(name, tuple(float(value) for value in position))))
    publish_file(path, json.dumps(shots, indent=1).encode())
    return folder / name
