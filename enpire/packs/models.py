"""Which files the models of packs are made of: all of them have to be the packs' own."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from enpire.errors import PackError

if TYPE_CHECKING:
    import mujoco

MARKERS = ("robot.toml", "world.toml")
ADDRESSES = ("mesh_pathadr", "tex_pathadr", "hfield_pathadr", "skin_pathadr")
NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity|0x\S*)", re.IGNORECASE)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
DIRECTORIES = {"mesh": "meshdir", "skin": "meshdir", "hfield": "meshdir", "texture": "texturedir"}


def require_own_files(folder: Path) -> None:
    """Raise PackError for a model of a pack that names a file elsewhere, or has no number for one.

    What is elsewhere is in no pack's hash, and is not there on another machine. A link that lies in
    the pack is followed by the hash. MuJoCo reads NaN as if nothing stood there, and 0x10 as 16. A
    model that does not parse is MuJoCo's to refuse.
    """
    folder = Path(os.path.normpath(folder))
    for path in sorted(folder.rglob("*.xml")):
        try:
            elements = list(ElementTree.parse(path).iter())
        except (ElementTree.ParseError, OSError, ValueError, LookupError):
            continue
        _require_numbers(path, elements)
        said = {key: value for e in elements if e.tag == "compiler" for key, value in e.items()}
        for element in elements:
            beside = said.get(DIRECTORIES.get(element.tag, ""), "")
            if element.tag in DIRECTORIES and not beside:
                beside = said.get("assetdir", "")
            for key, value in element.items():
                if not key.startswith("file"):
                    continue
                named = os.path.normpath(path.parent / beside / value)
                if not Path(named).is_relative_to(folder):
                    raise PackError(f"{path}: {element.tag} {value} leads out of the pack: {named}")


def _require_numbers(path: Path, elements: Sequence[ElementTree.Element]) -> None:
    """Raise PackError for an attribute of numbers of which one is none, or is not in decimals."""
    names = {e.get(key, "") for e in elements for key in ("name", "class")}
    for element in elements:
        for key, value in element.items() if element.tag != "text" else ():
            parts = value.split()
            none = [part for part in parts if NO_NUMBER.fullmatch(part)]
            numbers = all(NUMBER.fullmatch(part) for part in parts if part not in none)
            if none and numbers and value not in names:
                called = f"{element.tag} {element.get('name', '')}".strip()
                raise PackError(
                    f"{path}: {key} of {called} is {value!r:.80}: {none[0]:.20} is no number in "
                    f"decimals: write one, or leave {key} out"
                )


def require_files_of(scene: mujoco.MjModel, task: Path, models: Sequence[Path]) -> None:
    """Raise PackError for a compiled scene with a mesh or a picture that lies in none of its packs.

    A task's own code may add one from anywhere.

    Args:
        scene: Of a task's objects and these models.
        task: The folder of the task's pack.
        models: The world's, and then those of arms.
    """
    own = [Path(os.path.normpath(folder)) for folder in (task, *map(_folder_of, models))]
    for field in ADDRESSES:
        for address in filter(lambda at: at >= 0, getattr(scene, field)):
            name = os.fsdecode(scene.paths[address:].partition(b"\0")[0])
            path = Path(os.path.normpath(models[0].parent / name))
            if not any(path.is_relative_to(folder) for folder in own):
                raise PackError(
                    f"{path} is part of the scene, and lies in none of its packs: no hash has it. "
                    f"Put it in {task}"
                )


def _folder_of(model: Path) -> Path:
    """The folder of the pack that a model is of; of a model of others', where it lies."""
    above = (folder for folder in model.parents if any((folder / m).is_file() for m in MARKERS))
    return next(above, model.parent)
