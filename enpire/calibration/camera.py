"""A calibrated camera, as a station's file keeps it in `[calibration.NAME]`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tomli_w

from enpire.errors import PackError
from enpire.packs.toml import Table
from enpire.types import FloatArray, Image

WORLD = "world"


@dataclass(frozen=True, slots=True)
class CameraCalibration:
    """One camera, and how well it is known.

    mount: `world`, or the arm on whose wrist it sits. width, height, focal (x, y), centre (x, y):
    pixels. distortion: k1, k2, p1, p2, k3 of OpenCV's model. position [m] and quaternion (w x y z)
    take points from the camera to the frame of its mount: the world, or that arm's site `wrist`.

    pictures: of how many it is made. intrinsics_rms, hand_eye_rms: of what was fitted, and
    held_out_rms: of pictures that the hand-eye fit has not seen [px]. position_deviation [m] and
    angle_deviation [rad]: standard deviations of the pose, the largest over all directions.
    """

    mount: str
    width: int
    height: int
    focal: tuple[float, ...]
    centre: tuple[float, ...]
    distortion: tuple[float, ...]
    position: tuple[float, ...]
    quaternion: tuple[float, ...]
    pictures: int
    intrinsics_rms: float
    hand_eye_rms: float
    held_out_rms: float
    position_deviation: float
    angle_deviation: float

    @property
    def matrix(self) -> FloatArray:
        """OpenCV's camera matrix, (3, 3)."""
        (fx, fy), (cx, cy) = self.focal, self.centre
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])

    def straightener(self, focal: float, width: int, height: int) -> Callable[[Image], Image]:
        """Makes of its pictures those of a pinhole without distortion in the same place.

        focal [px]; the principal point is in the middle of the `width` by `height` pixels.
        """
        import cv2

        middle = np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1.0]])
        bent, size = np.array(self.distortion), (width, height)
        maps = cv2.initUndistortRectifyMap(self.matrix, bent, np.eye(3), middle, size, cv2.CV_32FC1)

        def straighten(image: Image) -> Image:
            return cv2.remap(image, *maps, cv2.INTER_LINEAR).astype(np.uint8)

        return straighten


def read_cameras(table: Table, arms: tuple[str, ...]) -> dict[str, CameraCalibration]:
    """Read the table `[calibration]` of a station with these arms; raises PackError."""
    return {name: _camera(table.table(name), arms) for name in table.names}


def written(text: str, name: str, camera: CameraCalibration) -> str:
    """A station file's text with this camera in it, in place of an older one; the rest as it was.

    Raises PackError if the text is no TOML, or says `calibration` in a way this cannot replace.
    """
    before = _parsed(text)
    others = before.get("calibration", {})
    values = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(camera).items()}
    header = f"[calibration.{name}]"
    block = f"{header}\n{_rounded(values)}"
    pattern = rf"^{re.escape(header)}\n(?:[a-z_]+ = [^\n]*(?:\n|\Z))*"
    kept = re.sub(pattern, "", text, flags=re.MULTILINE).rstrip("\n")
    result = f"{kept}\n\n{block}"
    after = _parsed(result)
    expected = {**before, "calibration": {**others, name: values}}
    if _without(after, name) != _without(expected, name):
        raise PackError(f"{header} cannot be put into the station's file: take the old one out")
    return result


def _without(said: dict[str, Any], name: str) -> dict[str, Any]:
    cameras = said.get("calibration", {})
    rest = {k: v for k, v in cameras.items() if k != name} if isinstance(cameras, dict) else cameras
    return {**said, "calibration": rest}


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PackError(f"the station's file does not parse: {error}") from error


def _rounded(values: dict[str, Any]) -> str:
    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(each) for each in value]
        return float(f"{value:.8g}") if isinstance(value, float) else value

    lines = [
        tomli_w.dumps({key: short(value)}).strip().replace("\n", "").replace(",]", "]")
        for key, value in values.items()
    ]
    return "\n".join(re.sub(r"\[\s+", "[", re.sub(r",\s+", ", ", line)) for line in lines) + "\n"


def _camera(table: Table, arms: tuple[str, ...]) -> CameraCalibration:
    odd = set(table.names) - set(CameraCalibration.__dataclass_fields__)
    if odd:
        raise PackError(f"{table.where}: {sorted(odd)[0]} means nothing here")
    mount = table.text("mount")
    if mount not in (WORLD, *arms):
        raise PackError(f"{table.where}: mount is {mount!r}: {WORLD}, or one of {', '.join(arms)}")
    quaternion = table.numbers("quaternion", 4)
    if not np.isclose(np.linalg.norm(quaternion), 1.0, atol=1e-3):
        raise PackError(f"{table.where}: quaternion has not the length one")
    return CameraCalibration(
        mount=mount,
        width=int(table.number("width")),
        height=int(table.number("height")),
        focal=table.numbers("focal", 2),
        centre=table.numbers("centre", 2),
        distortion=table.numbers("distortion", 5),
        position=table.numbers("position", 3),
        quaternion=quaternion,
        pictures=int(table.number("pictures")),
        intrinsics_rms=table.number("intrinsics_rms"),
        hand_eye_rms=table.number("hand_eye_rms"),
        held_out_rms=table.number("held_out_rms"),
        position_deviation=table.number("position_deviation"),
        angle_deviation=table.number("angle_deviation"),
    )
