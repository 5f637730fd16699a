"""The tables that a dataset's frames point into: `task_index` is a row of `meta/tasks.parquet`.

LeRobot names such a column `X_index` and its table `meta/Xs.parquet`. An index that no row has
stands for nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.types as kinds

from enpire.datasets.folder import (
    EPISODES,
    INFO,
    PLACES,
    Description,
    Frames,
    columns_of,
    columns_there,
    parquet_files,
    read_table,
)
from enpire.errors import StoreError
from enpire.types import FloatArray

ENDING, TASK = "_index", "task_index"
TEXTS = "task", "__index_level_0__"  # columns of a task's words; the second as pandas writes it
OF_EPISODE = "tasks"  # its column in the episodes' table
SHOWN = 5  # rows of a table in a message


def pointing_columns(folder: Path, description: Description) -> list[str]:
    """The columns that point into a table, of those that the first data file has.

    Args:
        folder: The dataset's.
        description: What its `meta/info.json` says.

    Returns:
        Their names; `task_index` with them where only `total_tasks` says what there is.
    """
    names = [
        name
        for name in columns_there(folder, description)
        if name.endswith(ENDING) and name not in PLACES
    ]
    counted = [TASK] if description.tasks is not None else []
    return [name for name in names if name in counted or _path(folder, name).is_file()]


def require_pointed(frames: Frames, description: Description, columns: list[str]) -> None:
    """See whether each frame's index is a row of the table that it points into.

    Args:
        frames: All frames, with these columns.
        description: What `meta/info.json` says of them.
        columns: As `pointing_columns` gives them.

    Raises:
        StoreError: an index is no row of its table, or a table has two rows of one index.
    """
    for name in columns:
        path = _path(frames.folder, name)
        if path.is_file():
            known, where = _rows(path, name), str(path)
        else:
            known = np.arange(description.tasks or 0, dtype=np.float64)
            where = f"{frames.folder / INFO} (total_tasks {description.tasks})"
        values = frames.single(name)
        lost = ~np.isin(values, known)
        if lost.any():
            row = int(np.argmax(lost))
            raise StoreError(
                f"{frames.folder}: {frames.place(row)}: its {name} is {values[row]:g}, and {where} "
                f"has {_shown(known)}: correct the one or the other"
            )


def task_texts(folder: Path) -> dict[int, str]:
    """The tasks of a dataset in words, by `task_index`; none if no table says them.

    Raises:
        StoreError: The table cannot be read.
    """
    path = _path(folder, TASK)
    if not path.is_file():
        return {}
    name = next((name for name in TEXTS if name in columns_of(path)), None)
    if name is None:
        return {}
    rows = read_table(path, [TASK, name]).to_pylist()
    return {row[TASK]: row[name] for row in rows if isinstance(row[name], str)}


def episode_texts(folder: Path) -> set[str]:
    """The tasks in words that the episodes' own table says (`tasks`); none if it says none."""
    files = [path for path in parquet_files(folder / EPISODES) if OF_EPISODE in columns_of(path)]
    rows = [row[OF_EPISODE] for path in files for row in read_table(path, [OF_EPISODE]).to_pylist()]
    lists = [row if isinstance(row, list) else [row] for row in rows]
    return {text for row in lists for text in row if isinstance(text, str)}


def _path(folder: Path, column: str) -> Path:
    return folder / "meta" / f"{column.removesuffix(ENDING)}s.parquet"


def _rows(path: Path, column: str) -> FloatArray:
    """The indices that a table has rows for; raises StoreError if these are none, or twice."""
    found = read_table(path, [column])[column]
    if not len(found):
        return np.zeros(0)
    if found.null_count or not kinds.is_integer(found.type):
        raise StoreError(f"{path}: {column} is not a whole number in each row")
    values = np.asarray(found.to_pylist(), np.float64)
    there, counts = np.unique(values, return_counts=True)
    if (counts > 1).any():
        raise StoreError(f"{path}: two rows have {column} {there[int(np.argmax(counts > 1))]:g}")
    return values


def _shown(known: FloatArray) -> str:
    names = ", ".join(f"{value:g}" for value in known[:SHOWN])
    return f"{names} and {len(known) - SHOWN} more" if len(known) > SHOWN else names or "none"
