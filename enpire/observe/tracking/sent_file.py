"""A file of what a tracker was told: for trackers that cannot be asked what they hold."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from enpire.json_text import loads
from enpire.observe.tracking.scalars import Key


class SentFile:
    """Lines of JSON, name and step of a scalar each."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> set[Key]:
        """Return what is in it; a last line that a kill has cut short is left out."""
        if not self._path.exists():
            return set()
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            self._path.write_bytes(whole)
        return {Key(str(name), int(step)) for name, step in map(loads, whole.splitlines())}

    def add(self, keys: Iterable[Key]) -> None:
        """Append what a tracker has taken."""
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(list(key)) + "\n" for key in keys)
