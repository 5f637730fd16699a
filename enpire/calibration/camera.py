"""A calibrated camera, as a station's file keeps it in `[calibration.NAME]`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tomli_w

from enpire.errors import PackError
from enpire.packs.toml import Table
from enpire.pinhole import folds, in_picture
from enpire.types import Flags, FloatArray, Image

WORLD = "world"
MIDDLE = 0.1  # share of a picture at either edge that no lens's centre is in
SHORTEST, LONGEST = 0.1, 100.0  # a lens is, in the picture's longer side
ASIDE, CENTRAL = 0.12, 0.07  # from the middle: farther than most lenses, and as near as they are
LEAST_PICTURES = 8  # that a calibration is made of
SQUEEZED = 1.5  # pixels may be wider than high, where a picture was squeezed to another shape
BENT, ASKEW = 50.0, 0.1  # the k3 of a wide lens, and any p, at most
RMS, OFF, TURNED = 5.0, 0.1, 0.2  # of what is no calibration any more [px, m, rad]


@dataclass(frozen=True, slots=True)
class CameraCalibration:
    """One camera, and how well it is known."""

    mount: str  # `world`, or the arm on whose wrist it sits
    width: int  # [px]
    height: int  # [px]
    focal: tuple[float, ...]  # x, y [px]
    centre: tuple[float, ...]  # x, y [px]
    distortion: tuple[float, ...]  # k1, k2, p1, p2, k3 of OpenCV's model
    # Position [m] and quaternion (w x y z) take points from the camera to its mount's frame: the
    # world, or that arm's site `wrist`.
    position: tuple[float, ...]
    quaternion: tuple[float, ...]
    pictures: int  # of how many it is made
    intrinsics_rms: float  # of what was fitted [px]
    hand_eye_rms: float  # of what was fitted [px]
    held_out_rms: float  # of pictures that the hand-eye fit has not seen [px]
    # Standard deviations of the pose, the largest over all directions.
    position_deviation: float  # [m]
    angle_deviation: float  # [rad]

    @property
    def matrix(self) -> FloatArray:
        """OpenCV's camera matrix, (3, 3)."""
        (fx, fy), (cx, cy) = self.focal, self.centre
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])

    def shows(self, places: FloatArray) -> Flags:
        """Whether each of these places (n, 3) of its mount's frame [m] is in its picture (n,)."""
        from scipy.spatial.transform import Rotation

        turn = Rotation.from_quat(self.quaternion, scalar_first=True)
        return in_picture(turn.inv().apply(places - np.array(self.position)), *self.edges)

    @property
    def edges(self) -> tuple[FloatArray, FloatArray]:
        """Tangents of the angles to its picture's left and upper, and right and lower edge."""
        centre, focal = np.array(self.centre), np.array(self.focal)
        return -centre / focal, (np.array([self.width, self.height]) - centre) / focal

    @property
    def folds(self) -> bool:
        """Whether its lens brings two rays to one place of its picture, as no lens does."""
        return folds(self.distortion, *self.edges)

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
    size = table.natural("width", 1), table.natural("height", 1)
    centre, focal = table.numbers("centre", 2), table.numbers("focal", 2)
    if not all(size[k] * MIDDLE < at < size[k] * (1 - MIDDLE) for k, at in enumerate(centre)):
        raise PackError(
            f"{table.where}: centre must be in px, off the edges of its "
            f"{size[0]} by {size[1]}; found {centre[0]:g}, {centre[1]:g}"
        )
    if not all(max(size) * SHORTEST <= each <= max(size) * LONGEST for each in focal):
        raise PackError(
            f"{table.where}: focal must be in px, no mm: {SHORTEST:g} to {LONGEST:g} times the "
            f"picture's {max(size)}; found {focal[0]:g}, {focal[1]:g}"
        )
    if max(focal) > SQUEEZED * min(focal):
        raise PackError(
            f"{table.where}: focal is {focal[0]:g}, {focal[1]:g}: no lens "
            "differs so much between x and y"
        )
    if _off_middle(centre, size) > ASIDE and _off_middle(centre, size[::-1]) < CENTRAL:
        raise PackError(
            f"{table.where}: centre is {centre[0]:g}, {centre[1]:g} of a picture of {size[0]} by "
            f"{size[1]} (width, height): are two of them exchanged?"
        )
    distortion = table.numbers("distortion", 5)
    table.require_within("distortion", distortion, BENT, "(k1, k2, p1, p2, k3)")
    table.require_within("distortion's p1 and p2", distortion[2:4], ASKEW, "(k1, k2, p1, p2, k3)")
    found = CameraCalibration(
        mount=mount,
        width=size[0],
        height=size[1],
        focal=focal,
        centre=centre,
        distortion=distortion,
        position=table.place("position"),
        quaternion=table.quaternion("quaternion"),
        pictures=table.natural("pictures", LEAST_PICTURES),
        intrinsics_rms=_deviation(table, "intrinsics_rms", RMS, "px"),
        hand_eye_rms=_deviation(table, "hand_eye_rms", RMS, "px"),
        held_out_rms=_deviation(table, "held_out_rms", RMS, "px"),
        position_deviation=_deviation(table, "position_deviation", OFF, "m, no mm"),
        angle_deviation=_deviation(table, "angle_deviation", TURNED, "rad, no degrees"),
    )
    if found.folds:
        raise PackError(
            f"{table.where}: distortion (k1, k2, p1, p2, k3) folds the picture: two places would "
            "be seen in one of its pixels. Are its numbers in OpenCV's order? Calibrate again, "
            "with the board in the picture's corners, too"
        )
    return found


def _off_middle(centre: Sequence[float], size: Sequence[int]) -> float:
    """How far a lens's centre is from the middle of a picture, in shares of its sides."""
    return max(abs(at / side - 0.5) for at, side in zip(centre, size, strict=True))


def _deviation(table: Table, key: str, most: float, unit: str) -> float:
    value = table.number(key)
    if not 0.0 <= value <= most:
        raise PackError(f"{table.where}: {key} must be 0 to {most:g} {unit}; found {value:g}")
    return value
