"""Pictures of a LeRobot dataset, as policies that see are shown a task's bench.

A square picture of the size that is asked for is taken as it is: an export of ours has such ones.
Any other is a camera's whole picture, and is cut as a station's are: to the square in which hands
may go, by where the world has the camera of that name.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from enpire.datasets.columns import PICTURES
from enpire.datasets.folder import (
    EPISODE,
    EPISODES,
    TIME,
    Extent,
    Frames,
    parquet_files,
    read_table,
)
from enpire.environment import PolicyCameras, Stations
from enpire.environment.cameras.camera import Camera
from enpire.environment.cameras.twin_cameras import HEIGHT, WINDOW, calibrated
from enpire.environment.core.policy_cameras import boxes, policy_cameras_of
from enpire.environment.hardware.policy_cameras import Crop
from enpire.environment.hardware.verifier_cameras import Lens
from enpire.errors import StoreError
from enpire.types import FloatArray, Image

BACKEND = "pyav"  # LeRobot's other one needs libraries of FFmpeg that not every machine has
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
FLAT = 8  # levels of 256 that videos may make of pictures that are the same
ASPECT = 0.01  # share by which a picture's width may be another than the world's camera's


@dataclass(frozen=True, slots=True)
class Shown:
    """What policies are shown of a task's bench.

    policy_cameras: by name, and their size. cameras: those of the world. corners: (8, 3) [m], of
    the box about all in which hands may go. world: its name.
    """

    policy_cameras: PolicyCameras
    cameras: tuple[Camera, ...]
    corners: FloatArray
    world: str


def shown_of(stations: Stations, size: int) -> Shown:
    """What policies see of these stations' world, in pictures of `size` [px]; renders nothing."""
    task, scene = stations.task, stations.twin.scene
    return Shown(
        policy_cameras_of(task, stations.sensors, size),
        tuple(calibrated(scene.model)),
        boxes(task.actions, scene.robot),
        scene.world.name,
    )


def shows_nothing(film: Sequence[Image]) -> str:
    """What is wrong with a camera that was covered, or that stood still; empty if nothing is.

    film: pictures of each episode, (k, size, size, 3) each.
    """
    if not any(map(len, film)):
        return ""
    if all(int(each.max(initial=0)) - int(each.min(initial=255)) < FLAT for each in film):
        return "shows one colour in all its pictures"
    still = all((np.ptp(each, axis=0) < FLAT).all() for each in film if len(each) > 1)
    if still and max(map(len, film), default=0) > 1:
        return "shows the same picture all through each episode"
    return ""


class CameraColumns:
    """The columns of pictures that are a task's cameras, ready to be read.

    columns: of each camera, in their order. cut: whether their pictures are cut by the world.
    """

    def __init__(
        self, folder: Path, features: Mapping[str, Any], shown: Shown, rename: Mapping[str, str]
    ) -> None:
        """rename: what the dataset calls a camera, and what the world does.

        Raises:
            StoreError: the dataset lacks a camera, or its pictures have another shape than the
                world's camera.
        """
        self._folder, self._shown = folder, shown
        there = {
            name.removeprefix(PICTURES): name for name in features if name.startswith(PICTURES)
        }
        by_name = {rename.get(name, name): column for name, column in there.items()}
        names = shown.policy_cameras.cameras
        if missing := [name for name in names if name not in by_name]:
            raise StoreError(
                f"{folder} has no camera {missing[0]}: policies see by {', '.join(names)}, and it "
                f"has {', '.join(there) or 'none'}. --rename THEIRS=OURS,... says which is which; "
                "--world NAME has a bench with other cameras"
            )
        self.columns = tuple(by_name[name] for name in names)
        self._dtypes = {name: str(features[name].get("dtype")) for name in self.columns}
        size = shown.policy_cameras.size
        self._crops: dict[str, Callable[[Image], Image] | None] = {}
        for camera in shown.cameras:
            if camera.name in names:
                column = by_name[camera.name]
                shape = tuple(_sides(features[column]))
                self._crops[column] = (
                    None if shape == (size, size) else self._crop(column, camera, shape)
                )
        self.cut = any(self._crops.values())

    @property
    def said(self) -> str:
        """What was assumed, for a person."""
        names = self._shown.policy_cameras.cameras
        pairs = zip(names, self.columns, strict=True)
        by = ", ".join(f"{name} by {column.removeprefix(PICTURES)}" for name, column in pairs)
        if not self.cut:
            return f"cameras {by}"
        return f"cameras {by}, cut as if they stood where the world {self._shown.world} has them"

    def read(self, frames: Frames, chosen: Sequence[Sequence[int]]) -> list[Image]:
        """Pictures of some frames of each episode, (k, cameras, size, size, 3) each.

        chosen: numbers of frames within each episode, rising.

        Raises:
            StoreError: a file is missing or broken, a picture has another shape than it should, or
                a camera shows nothing.
        """
        films = [self._film(frames, column, chosen) for column in self.columns]
        for column, film in zip(self.columns, films, strict=True):
            if why := shows_nothing(film):
                raise StoreError(f"{self._folder}: {column} {why}: leave it out, or record again")
        for (one, film), (other, same) in combinations(zip(self.columns, films, strict=True), 2):
            if all(np.array_equal(a, b) for a, b in zip(film, same, strict=True)):
                raise StoreError(
                    f"{self._folder}: {one} and {other} have the same pictures: one camera's stand "
                    "for both"
                )
        return [np.stack(each, axis=1) for each in zip(*films, strict=True)]

    def _crop(
        self, column: str, camera: Camera, shape: tuple[int, ...]
    ) -> Callable[[Image], Image]:
        height, width = shape if len(shape) == 2 else (0, 0)
        due = camera.width / camera.height
        if not height or abs(width / height / due - 1.0) > ASPECT:
            raise StoreError(
                f"{self._folder}: {column} has {width} x {height} pixels, and the world "
                f"{self._shown.world} has camera {camera.name} with {camera.width} x "
                f"{camera.height} of them, or that shape: another camera? --rename, or a world "
                "that has it (--world)"
            )
        focal = camera.focal * height * WINDOW / HEIGHT
        lens = Lens(replace(camera, focal=focal, width=width, height=height), lambda image: image)
        return Crop(lens, self._shown.corners, self._shown.policy_cameras.size).of

    def _film(self, frames: Frames, column: str, chosen: Sequence[Sequence[int]]) -> list[Image]:
        video = self._dtypes[column] == "video"
        whole = (
            self._videos(frames, column, chosen) if video else self._images(frames, column, chosen)
        )
        crop, size = self._crops[column], self._shown.policy_cameras.size
        found: list[Image] = []
        for extent, pictures in zip(frames.extents, whole, strict=True):
            film = np.empty((len(pictures), size, size, 3), np.uint8)
            for at, picture in enumerate(pictures):
                small = picture if crop is None else crop(picture)
                if small.shape != film.shape[1:]:
                    raise StoreError(
                        f"{frames.folder}: episode {extent.index}: a picture of {column} has "
                        f"shape {picture.shape}, and not the one that meta/info.json says"
                    )
                film[at] = small
            found.append(film)
        return found

    def _images(
        self, frames: Frames, column: str, chosen: Sequence[Sequence[int]]
    ) -> list[list[Image]]:
        found: list[list[Image]] = []
        path, first = Path(), 0
        table: Any = None
        for extent, numbers in zip(frames.extents, chosen, strict=True):
            if extent.file != path:
                path, first = extent.file, extent.first
                table = read_table(path, [column])[column]
            rows = [extent.first - first + number for number in numbers]
            values = [table[row].as_py() for row in rows]
            pairs = zip(numbers, values, strict=True)
            found.append([_decoded(frames, extent, number, value) for number, value in pairs])
        return found

    def _videos(
        self, frames: Frames, column: str, chosen: Sequence[Sequence[int]]
    ) -> list[list[Image]]:
        from lerobot.datasets.video_utils import decode_video_frames

        places = _video_places(frames.folder, column)
        stamps = frames.single(TIME)
        _require_apart(frames, places, stamps)
        found: list[list[Image]] = []
        for extent, numbers in zip(frames.extents, chosen, strict=True):
            path, begins = places[extent.index]
            rows = [extent.first + number for number in numbers]
            apart = _spacing(stamps[extent.first : extent.end])
            try:
                film = decode_video_frames(
                    path,
                    [begins + float(stamps[row]) for row in rows],
                    apart / 2,
                    BACKEND,
                    return_uint8=True,
                )
            except Exception as error:  # FFmpeg's errors are of many kinds
                there = _frames_between(path, begins - apart / 2, extent.length * apart)
                if 0 < there < extent.length:
                    raise _too_short(path, extent, there) from error
                raise StoreError(
                    f"{path}: episode {extent.index} cannot be read from it: "
                    f"{str(error).splitlines()[0] if str(error) else type(error).__name__}"
                ) from error
            found.append(list(film.movedim(1, -1).numpy()))
        return found


def _sides(feature: Mapping[str, Any]) -> Sequence[int]:
    """Height and width that a feature of pictures says, whichever way round its axes are."""
    shape = [side for side in feature.get("shape") or () if isinstance(side, int)]
    return shape[1:] if len(shape) == 3 and shape[0] == 3 and shape[2] != 3 else shape[:2]


def _decoded(frames: Frames, extent: Extent, number: int, value: Any) -> Image:
    data = value.get("bytes") if isinstance(value, dict) else None
    try:
        with Pillow.open(io.BytesIO(data)) as picture:  # type: ignore[arg-type]  # None: an error
            return np.asarray(picture.convert("RGB"))
    except (OSError, TypeError, ValueError) as error:
        raise StoreError(
            f"{frames.folder}: episode {extent.index}, frame {number}: its picture cannot be read"
        ) from error


def _spacing(stamps: FloatArray) -> float:
    """The time from one frame of an episode to the next [s]; 1 where there is one frame alone."""
    return float(np.diff(stamps).min()) if len(stamps) > 1 else 1.0


def _require_apart(
    frames: Frames, places: Mapping[int, tuple[Path, float]], stamps: FloatArray
) -> None:
    """See whether each episode's video goes on for as long as the episode does.

    places: as `_video_places` gives them. stamps: of all frames [s].

    Raises:
        StoreError: another episode's begins before, whose pictures would stand for this one's.
    """
    extents = {extent.index: extent for extent in frames.extents}
    ordered = sorted(extents, key=lambda index: (str(places[index][0]), places[index][1]))
    for index, after in pairwise(ordered):
        (path, begins), (other, ends) = places[index], places[after]
        extent = extents[index]
        there = round((ends - begins) / _spacing(stamps[extent.first : extent.end]))
        if path == other and there < extent.length - 1:  # writers round by one
            raise _too_short(path, extent, there)


def _frames_between(path: Path, begins: float, duration: float) -> int:
    """How many frames a video has from a time on, and for so long [s]; 0 if it cannot be read."""
    import av

    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            scale = float(stream.time_base or 0)
            times = [each.pts * scale for each in container.demux(stream) if each.pts is not None]
    except (av.FFmpegError, OSError, IndexError):
        return 0
    return sum(begins <= time < begins + duration for time in times)


def _too_short(path: Path, extent: Extent, there: int) -> StoreError:
    return StoreError(
        f"{path}: episode {extent.index} cannot be read from it: it needs {extent.length} frames, "
        f"and the video has {there}: copy or record it again, or delete that episode"
    )


def _video_places(folder: Path, column: str) -> dict[int, tuple[Path, float]]:
    """The file of each episode's video, and when in it the episode begins [s]."""
    chunk, file, begin = (
        f"videos/{column}/{n}" for n in ("chunk_index", "file_index", "from_timestamp")
    )
    found: dict[int, tuple[Path, float]] = {}
    for path in parquet_files(folder / EPISODES):
        try:
            for row in read_table(path, [EPISODE, chunk, file, begin]).to_pylist():
                place = VIDEO_PATH.format(
                    video_key=column, chunk_index=int(row[chunk]), file_index=int(row[file])
                )
                found[row[EPISODE]] = folder / place, float(row[begin])
        except Exception as error:  # Arrow's own, an OSError, a value that is none
            raise StoreError(f"{path} does not say where the videos of {column} are") from error
    for index, (path, _) in found.items():
        if not path.is_file():
            raise StoreError(f"{path} is missing, the video of {column} of episode {index}")
    return found
