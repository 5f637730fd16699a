"""Columns that nothing reads, that a description leaves out or calls otherwise than they are."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.types as kinds

from enpire.datasets.columns import ENVIRONMENT, OBSERVED, STANDARD, WHOLE
from enpire.datasets.folder import INFO, PLACES, Description, Frames, columns_of, schema_of
from enpire.datasets.tables import TASK
from enpire.errors import StoreError

SHOWN = 4  # names in a message
OF_THE_FORMAT = {*PLACES, TASK}  # every dataset has them, described or not
COUNTING = {*STANDARD, WHOLE, ENVIRONMENT}  # what is learned would be another, were these read
TYPES = {
    "bool": kinds.is_boolean,
    "string": kinds.is_string,
    "float": kinds.is_floating,
    "int": kinds.is_integer,
}


def told_columns(frames: Frames, description: Description) -> list[str]:
    """Tell of columns that only the files have, or only the description, and of those unread.

    Args:
        frames: All frames of the dataset.
        description: What its `meta/info.json` says of them.

    Returns:
        What is told; empty where the two agree, and all is read.

    Raises:
        StoreError: A column that says what an episode is worth is not described.
    """
    files = tuple(dict.fromkeys(extent.file for extent in frames.extents))
    there = [set(columns_of(file)) for file in files]
    whole, said = set[str]().union(*there), set(description.features)
    hidden = whole - said - OF_THE_FORMAT
    if counting := sorted(hidden & COUNTING):
        raise StoreError(
            f"{frames.folder / INFO}: features lack {counting[0]}, a column of {files[0].name}: "
            "describe it there, or take it out of the data"
        )
    films = {name for name, about in description.features.items() if about.get("dtype") == "video"}
    known = OF_THE_FORMAT | COUNTING | set(frames.table.column_names)
    observed = {name for name in said if name.startswith(OBSERVED)}  # told elsewhere
    told = {
        f"columns that {INFO} does not describe, and nothing reads": hidden,
        "columns that nothing reads": (whole & said) - known - observed,
        f"no column for what {INFO} describes": {
            name for name in said - films if not all(name in each for each in there)
        },
        f"columns of another type than {INFO} says": _of_other_types(files[0], description),
    }
    return [f"{what}: {_listed(sorted(names))}" for what, names in told.items() if names]


def _of_other_types(file: Path, description: Description) -> set[str]:
    """Name the columns of whole numbers, say, that are described as fractions."""
    schema, found = schema_of(file), set[str]()
    for name, about in description.features.items():
        said = re.match(r"u?(bool|string|float|int)(8|16|32|64)?$", str(about.get("dtype")))
        there = _kind(schema.field(name).type) if name in schema.names else ""
        if said and said[1] == "bool":  # flags may be 1 and 0, and are looked at one by one
            continue
        if "dtype" in about and there and (not said or there != said[1]):
            found.add(name)
    return found


def _kind(of: pa.DataType) -> str:
    """Say what a column holds, as a description begins its type; nothing for another one."""
    if isinstance(of, pa.BaseExtensionType):
        of = of.storage_type
    while kinds.is_list(of) or kinds.is_large_list(of) or kinds.is_fixed_size_list(of):
        of = of.value_type
    return next((name for name, is_it in TYPES.items() if is_it(of)), "")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(name[:80] for name in names[:SHOWN])}{more}"
