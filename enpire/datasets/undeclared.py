"""Columns that a dataset's description leaves out, and columns that it has and no file does."""

from __future__ import annotations

from enpire.datasets.columns import ENVIRONMENT, STANDARD, WHOLE
from enpire.datasets.folder import INFO, PLACES, Description, Frames, columns_of
from enpire.datasets.tables import TASK
from enpire.errors import StoreError

SHOWN = 4  # names in a message
OF_THE_FORMAT = {*PLACES, TASK}  # every dataset has them, described or not
COUNTING = {*STANDARD, WHOLE, ENVIRONMENT}  # what is learned would be another, were these read


def told_columns(frames: Frames, description: Description) -> str:
    """Tell of columns that only the files have, or only the description.

    Args:
        frames: All frames of the dataset.
        description: What its `meta/info.json` says of them.

    Returns:
        What is told; empty where the two agree.

    Raises:
        StoreError: A column that says what an episode is worth is not described, or some data files
            lack it.
    """
    files = tuple(dict.fromkeys(extent.file for extent in frames.extents))
    there = [set(columns_of(file)) for file in files]
    whole, said = set[str]().union(*there), set(description.features)
    more = sorted(whole - said - OF_THE_FORMAT)
    path = frames.folder / INFO
    if counting := [name for name in more if name in COUNTING]:
        raise StoreError(
            f"{path}: features lack {counting[0]}, a column of {files[0].name}: describe it there, "
            "or take it out of the data"
        )
    films = {name for name, about in description.features.items() if about.get("dtype") == "video"}
    lost = sorted(name for name in said - films if not all(name in each for each in there))
    return "; ".join(
        text
        for text in (
            more and f"columns that {INFO} does not describe: {_listed(more)}, not read",
            lost and f"no column for what {INFO} describes: {_listed(lost)}",
        )
        if text
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(name[:80] for name in names[:SHOWN])}{more}"
