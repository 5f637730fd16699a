"""Pictures that the verifier's cameras took of a station's last episode."""

from __future__ import annotations

import re
from pathlib import Path

from enpire.dashboard.watched_run import WatchedRun
from enpire.store import EpisodeRow
from enpire.store.layout import EVIDENCE

NAME = re.compile(r"(\d{8}-\d+)-([A-Za-z0-9_.-]+)\.png")
LOOKED_AT = 64  # files, to learn what the cameras are called


class EvidencePictures:
    """The pictures of one run. What its cameras are called is learned once."""

    def __init__(self, run: WatchedRun) -> None:
        """Nothing is looked at yet."""
        self._run = run
        self._cameras: list[str] = []

    def names(self, row: EpisodeRow) -> list[str]:
        """Return the files with pictures of an episode."""
        folder = self._run.folder / EVIDENCE
        if not self._cameras and folder.is_dir():
            self._cameras = _cameras(folder)
        stem = f"{Path(row.path).name}-{row.index}"
        names = [f"{stem}-{camera}.png" for camera in self._cameras]
        return [name for name in names if (folder / name).is_file()]

    def path(self, name: str) -> Path | None:
        """Return where a picture is; None for what is no name of one, or is not there."""
        if NAME.fullmatch(name) is None:
            return None
        path = self._run.folder / EVIDENCE / name
        return path if path.is_file() and not path.is_symlink() else None


def _cameras(folder: Path) -> list[str]:
    found = set()
    for number, path in enumerate(folder.iterdir()):
        if number >= LOOKED_AT:
            break
        if match := NAME.fullmatch(path.name):
            found.add(match[2])
    return sorted(found)
