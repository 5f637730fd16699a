"""A LeRobot dataset's folder (v3) as tables: its description, its episodes, their frames.

The files are read as they lie there, without LeRobot, which asks its hub for a file that is
missing. What does not fit together is an error that names file, episode, column and value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from enpire import git_lfs
from enpire.errors import StoreError
from enpire.json_text import parsed
from enpire.types import FloatArray

INFO, EPISODES = "meta/info.json", "meta/episodes"
NOWHERE = "is not there: a dataset of a hub is downloaded first"
VERSION = "v3."  # begins the `codebase_version` of what is read here
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
INDEX, FRAME, EPISODE, TIME = "index", "frame_index", "episode_index", "timestamp"
PLACES = (INDEX, FRAME, EPISODE, TIME)  # columns that say where a frame belongs
LONGEST_PATH = 1000  # letters
MISSING, UNEVEN = 0.5, 0.2  # of a frame that a time may be off: none is missing; all are even
FASTEST = 1e5  # frames a second that make sense, at most
# What a path of data may name, and how many digits wide: it comes from a file of somebody else's.
_FIELD = re.compile(r"\{(chunk_index|file_index)(:0?\d{0,2}d)?\}")
_CHUNK, _FILE, _FROM, _TO = (
    *("data/chunk_index", "data/file_index"),
    *("dataset_from_index", "dataset_to_index"),
)


@dataclass(frozen=True, slots=True)
class Description:
    """What `meta/info.json` says. features: of each column its dtype, shape and names.

    robot: what it was recorded with; empty if it does not say. tasks: how many it says there are.
    splits: its episodes for training and for tests, as it writes them.
    """

    fps: float
    features: dict[str, dict[str, Any]]
    episodes: int | None
    frames: int | None
    data_path: str
    robot: str = ""
    tasks: int | None = None
    splits: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extent:
    """The rows of all frames that an episode has, from `first` to before `end`, and their file."""

    index: int
    first: int
    end: int
    length: int
    file: Path


@dataclass(frozen=True, slots=True)
class Frames:
    """All frames of a dataset, with the episodes that they belong to, in the order of the rows."""

    folder: Path
    extents: tuple[Extent, ...]
    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def place(self, row: int) -> str:
        """The place of a row, for a person."""
        for extent in self.extents:
            if extent.first <= row < extent.end:
                return f"episode {extent.index}, frame {row - extent.first}"
        return f"row {row}"

    def at(self, numbers: Sequence[Sequence[int]]) -> Frames:
        """Some frames of each episode, by their numbers in it, in that order, as all there are."""
        rows: list[int] = []
        extents: list[Extent] = []
        for extent, mine in zip(self.extents, numbers, strict=True):
            first = len(rows)
            rows += [extent.first + number for number in mine]
            extents.append(Extent(extent.index, first, len(rows), len(mine), extent.file))
        return Frames(self.folder, tuple(extents), self.table.take(rows))

    def numbers(self, name: str) -> tuple[FloatArray, bool]:
        """A column as numbers, (frames, n), and whether they were integers.

        Raises:
            StoreError: it holds no numbers, or not the same count in each row.
        """
        column = _whole(self.table[name])
        self._require_full(name, column)
        kind, count = column.type, 1
        if _is_list(kind):
            lengths = np.asarray(column.value_lengths()) if not _is_fixed(kind) else None
            count = kind.list_size if lengths is None else int(lengths[0])
            if lengths is not None and (lengths != count).any():
                row = int(np.flatnonzero(lengths != count)[0])
                raise StoreError(
                    f"{self.folder}: {self.place(row)}: {name} has {lengths[row]} entries, "
                    f"{count} before"
                )
            column, kind = column.flatten(), kind.value_type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise StoreError(f"{self.folder}: {name} is of type {kind}: numbers are needed")
        if column.null_count:
            row = int(np.flatnonzero(np.asarray(column.is_null()))[0]) // max(count, 1)
            raise StoreError(f"{self.folder}: {self.place(row)}: {name} has an entry of no value")
        with np.errstate(over="ignore"):
            values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        return values.reshape(len(self), count), pa.types.is_integer(kind)

    def single(self, name: str) -> FloatArray:
        """A column of one number in each row, (frames,); raises StoreError for another count."""
        values, _ = self.numbers(name)
        if values.shape[1] != 1:
            raise StoreError(
                f"{self.folder}: {name} has {values.shape[1]} entries in each row, and one is due"
            )
        return values[:, 0]

    def flags(self, name: str) -> NDArray[np.bool_]:
        """A column of truth values, (frames,); as numbers they are 0 or 1.

        Raises:
            StoreError: another value.
        """
        column = _whole(self.table[name])
        self._require_full(name, column)
        if _is_list(column.type) and len(column.flatten()) == len(self):
            column = column.flatten()
            self._require_full(name, column)
        if pa.types.is_nested(column.type):
            raise StoreError(
                f"{self.folder}: {name} is of type {column.type}: true or false is needed, one in "
                "each row"
            )
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        if not pa.types.is_boolean(column.type):
            said = values.tolist()
            wrong = [row for row, value in enumerate(said) if value not in (0, 1)]
            if wrong:
                raise StoreError(
                    f"{self.folder}: {self.place(wrong[0])}: {name} is "
                    f"{said[wrong[0]]!r}: true or false is needed, or 1 or 0"
                )
        return values.astype(bool)

    def plain(self, name: str, row: int) -> Any:
        """What a column holds in one row, as Python has it."""
        value = self.table[name][row].as_py()
        return value[0] if isinstance(value, list) and len(value) == 1 else value

    def _require_full(self, name: str, column: Any) -> None:
        if column.null_count:
            row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
            raise StoreError(f"{self.folder}: {self.place(row)}: {name} has no value")


def describe(folder: Path) -> Description:
    """What a dataset says of itself.

    Raises:
        StoreError: there is none, of another version, or its description makes no sense.
    """
    path = folder / INFO
    if path.is_fifo():  # a pipe would be waited for
        raise StoreError(f"{path} cannot be read: it is no file")
    try:
        said = parsed(path.read_text("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        why = f"holds no LeRobot dataset ({INFO})" if folder.exists() else NOWHERE
        raise StoreError(f"{folder} {why}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    if not isinstance(said, dict) or not isinstance(said.get("features"), dict):
        raise StoreError(f"{path} describes no dataset: it has no table `features`")
    version = said.get("codebase_version")
    if not str(version).startswith(VERSION):
        raise StoreError(
            f"{path}: a dataset of version {version!r}; v3.0 is read: LeRobot's own "
            "convert_dataset_v21_to_v30 makes it of an older one"
        )
    fps: Any = said.get("fps")
    number = isinstance(fps, int | float) and not isinstance(fps, bool)
    if not number or not 0 < fps <= FASTEST:  # false of what is no number, too
        raise StoreError(
            f"{path}: fps is {fps!r:.40}: a number above 0 is needed, and {FASTEST:g} at most"
        )
    features = {str(name): about for name, about in said["features"].items()}
    wrong = [name for name, about in features.items() if not isinstance(about, dict)]
    if wrong:
        raise StoreError(f"{path}: the feature {wrong[0]} is {features[wrong[0]]!r}, and no table")
    shapes = {name: about.get("shape") for name, about in features.items()}
    odd = [n for n, shape in shapes.items() if not (shape is None or isinstance(shape, list))]
    if odd:
        raise StoreError(f"{path}: the feature {odd[0]} has shape {shapes[odd[0]]!r}, and no list")
    data_path = said.get("data_path") or DATA_PATH
    plain = isinstance(data_path, str) and len(data_path) <= LONGEST_PATH
    if not plain or set("{}\0") & set(_FIELD.sub("", data_path)):
        raise StoreError(f"{path}: data_path is {data_path!r:.80}, and names no file")
    if Path(data_path).is_absolute() or ".." in Path(data_path).parts:
        raise StoreError(f"{path}: data_path is {data_path!r:.80}: it leads out of the dataset")
    return Description(
        float(fps),
        features,
        _count(path, said, "total_episodes"),
        _count(path, said, "total_frames"),
        data_path,
        robot if isinstance(robot := said.get("robot_type"), str) else "",
        _count(path, said, "total_tasks"),
        splits if isinstance(splits := said.get("splits"), dict) else {},
    )


def columns_there(folder: Path, description: Description) -> tuple[str, ...]:
    """The columns of the first data file, whether the description has them or not.

    Raises:
        StoreError: that file is missing or broken, or no episode says which it is.
    """
    return columns_of(_extents(folder, description)[0].file)


def columns_of(path: Path) -> tuple[str, ...]:
    """The columns of one file; raises StoreError if it is missing or broken."""
    return tuple(schema_of(path).names)


def schema_of(path: Path) -> pa.Schema:
    """The columns of one file with their types; raises StoreError if it is missing or broken."""
    _require_file(path)
    try:
        return pq.read_schema(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def read_frames(
    folder: Path,
    description: Description,
    columns: Sequence[str],
    optional: Sequence[str] = (),
) -> Frames:
    """Some columns of all frames, where these belong being one another's proof.

    Args:
        folder: The dataset's.
        description: What it says of itself.
        columns: Each of them is needed.
        optional: Those of them are read, too, that every file has.

    Raises:
        StoreError: a file is missing or broken; episodes overlap, are empty, or their frames are
            not those that the frames themselves say.
    """
    extents = _extents(folder, description)
    files = tuple(dict.fromkeys(extent.file for extent in extents))
    everywhere = set.intersection(*(set(columns_of(path)) for path in files))
    more = [name for name in optional if name in everywhere - set(columns)]
    tables = [read_table(path, [*columns, *more, *PLACES]) for path in files]
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise StoreError(f"{folder}: its data files have columns of several types") from error
    frames = Frames(folder, extents, table)
    _require_apart(frames, description)
    _require_in_place(frames)
    return frames


def files_left_out(frames: Frames) -> tuple[Path, ...]:
    """The data files that none of the episodes has its frames in."""
    known = {extent.file.resolve() for extent in frames.extents}
    return tuple(p for p in parquet_files(frames.folder / "data") if p.resolve() not in known)


def require_paced(frames: Frames, rates: Sequence[float]) -> str:
    """Tell of frames that are early or late, though none is missing at one of these rates [Hz].

    Raises:
        StoreError: frames follow one another at none of them.
    """
    stamps = frames.single(TIME)
    found = [_out_of_pace(frames, stamps, rate, MISSING) for rate in rates]
    if all(found):
        raise StoreError(f"{frames.folder}: {found[0]}: a gap, or another rate")
    uneven = [_out_of_pace(frames, stamps, rate, UNEVEN) for rate in rates]
    return f"{uneven[0]}: frames are taken as evenly spaced" if all(uneven) else ""


def _out_of_pace(frames: Frames, stamps: FloatArray, rate: float, most: float) -> str:
    """Say which frame is off its time, by more than a share `most` of a frame; or nothing."""
    for extent in frames.extents:
        mine = stamps[extent.first : extent.end]
        due = mine[0] + np.arange(len(mine)) / rate
        off = ~(np.abs(mine - due) <= most / rate)  # true of what is no number, too
        if off.any():
            frame = int(np.argmax(off))
            return (
                f"episode {extent.index}, frame {frame}: its {TIME} is {mine[frame]:g} s where "
                f"{due[frame]:g} s was due at {rate:g} frames a second"
            )
    return ""


def _extents(folder: Path, description: Description) -> tuple[Extent, ...]:
    files = parquet_files(folder / EPISODES)
    if not files:
        raise StoreError(
            f"{folder / EPISODES} has no file: a dataset says there where episodes are"
        )
    names = (EPISODE, "length", _FROM, _TO, _CHUNK, _FILE)
    found: list[Extent] = []
    for path in files:
        for row in read_table(path, names).to_pylist():
            wrong = [n for n in names if not isinstance(row[n], int) or isinstance(row[n], bool)]
            if wrong:
                raise StoreError(f"{path}: {wrong[0]} is {row[wrong[0]]!r}, and no whole number")
            if row[EPISODE] < 0:
                raise StoreError(f"{path}: an episode is called {row[EPISODE]}: count from 0")
            data = description.data_path.format(chunk_index=row[_CHUNK], file_index=row[_FILE])
            place = row[EPISODE], row[_FROM], row[_TO], row["length"]
            found.append(Extent(*place, folder / data))
    if not found:
        raise StoreError(f"{folder} has no episode")
    return tuple(sorted(found, key=lambda extent: (extent.first, extent.end)))


def parquet_files(folder: Path) -> list[Path]:
    """The files of a folder of chunks, without hidden ones, as a Mac leaves them (`._file`)."""
    return sorted(p for p in folder.glob("*/*.parquet") if not p.name.startswith("."))


def _require_apart(frames: Frames, description: Description) -> None:
    """Episodes follow one another without gap or overlap, and are all that there is."""
    folder, at = frames.folder, 0
    seen: dict[int, Extent] = {}
    for extent in frames.extents:
        name, rows = f"episode {extent.index}", f"rows {extent.first} to {extent.end - 1}"
        if extent.index in seen:
            raise StoreError(f"{folder}: two episodes are called {extent.index}")
        seen[extent.index] = extent
        if extent.end <= extent.first or extent.length <= 0:
            raise StoreError(f"{folder}: {name} has no frames: delete it from the dataset")
        if extent.length != extent.end - extent.first:
            raise StoreError(f"{folder}: {name} has a length of {extent.length}, and {rows}")
        if extent.first != at:
            other = "overlaps the one before" if extent.first < at else "leaves some out"
            raise StoreError(f"{folder}: {name} has {rows}, where {at} was due: it {other}")
        at = extent.end
        if at > len(frames):
            raise StoreError(
                f"{folder}: {name} has {rows}, and the data end after {len(frames)} rows"
            )
    if at != len(frames):
        raise StoreError(f"{folder}: rows {at} to {len(frames) - 1} belong to no episode")
    counts = (("episodes", description.episodes, len(seen)), ("frames", description.frames, at))
    for what, told, there in counts:
        if told not in (None, there):
            raise StoreError(f"{folder / INFO}: total_{what} is {told}, and there are {there}")


def _require_in_place(frames: Frames) -> None:
    """Each row says itself that it is where its episode has it."""
    index, frame, episode = (frames.single(name) for name in (INDEX, FRAME, EPISODE))
    for extent in frames.extents:
        rows = np.arange(extent.first, extent.end)
        for name, values, due in (
            (EPISODE, episode[rows], np.full(len(rows), extent.index)),
            (FRAME, frame[rows], rows - extent.first),
            (INDEX, index[rows], rows),
        ):
            wrong = values != due
            if wrong.any():
                at = int(np.argmax(wrong))
                raise StoreError(
                    f"{frames.folder}: episode {extent.index}, frame {at}: its {name} is "
                    f"{values[at]:g} where {due[at]} was due: rows are shuffled or missing"
                )


def read_table(path: Path, columns: Sequence[str]) -> pa.Table:
    """Columns of one file; raises StoreError that names it, or the column it lacks."""
    _require_file(path)
    try:
        with pq.ParquetFile(path) as file:
            there = file.schema_arrow.names
            odd = [name for name in columns if there.count(name) != 1]
            if odd:
                how = "has two of" if odd[0] in there else "lacks"
                raise StoreError(f"{path} {how} the column {odd[0]}")
            return file.read(columns=list(columns))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise StoreError(f"{path} is missing")
    if git_lfs.points(path):
        raise StoreError(f"{path} {git_lfs.HINT}")


def _unreadable(path: Path, error: Exception) -> StoreError:
    return StoreError(f"{path} cannot be read: {str(error).splitlines()[0]}")


def _count(path: Path, said: dict[str, Any], name: str) -> int | None:
    value: int | None = said.get(name)
    if value is not None and (type(value) is not int or value < 0):
        raise StoreError(f"{path}: {name} is {value!r}, and no count")
    return value


def _whole(column: pa.ChunkedArray) -> Any:
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # of no rows, or too many for one array
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], column.type)
    if isinstance(whole.type, pa.FixedShapeTensorType):
        order = whole.type.permutation
        if order is not None and list(order) != sorted(order):
            raise StoreError(
                f"a column of tensors of shape {whole.type.shape}, stored in the order {order}: "
                "write it as plain lists of numbers"
            )
    return whole.storage if isinstance(whole, pa.ExtensionArray) else whole


def _is_fixed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_list(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or _is_fixed(kind))
