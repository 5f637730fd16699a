"""Which files the MJCF of a pack names: all of them have to be the pack's own."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

from enpire.errors import PackError

DIRECTORIES = {"mesh": "meshdir", "skin": "meshdir", "hfield": "meshdir", "texture": "texturedir"}


def require_own_files(folder: Path) -> None:
    """Raise PackError for a model of a pack that names a file elsewhere.

    What is elsewhere is in no pack's hash, and is not there on another machine. A link that lies in
    the pack is followed by the hash. A model that does not parse is MuJoCo's to refuse.
    """
    folder = Path(os.path.normpath(folder))
    for path in sorted(folder.rglob("*.xml")):
        try:
            elements = list(ElementTree.parse(path).iter())
        except (ElementTree.ParseError, OSError, ValueError, LookupError):
            continue
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
