"""A world pack: bench, cameras and light as one MJCF file, and what the arms there are like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.packs.finder import Pack, file_in
from enpire.packs.models import require_own_files
from enpire.packs.toml import Table

if TYPE_CHECKING:
    from enpire.packs.dynamics import Dynamics


@dataclass(frozen=True, slots=True)
class World:
    """A world's MJCF model; dynamics: of the arms of a station that was identified, or None."""

    name: str
    description: str
    model: Path
    sha256: str
    dynamics: Dynamics | None = None


def load_world(pack: Pack) -> World:
    """Read `world.toml` of a world pack; raises PackError naming file and key."""
    table = Table.read(pack.folder / "world.toml")
    table.require_known("name", "description", "source", "model", "dynamics")
    where = str(pack.folder / "world.toml")
    require_own_files(pack.folder)
    model = file_in(pack.folder, table.text("model"), f"{where}: model")
    dynamics = None
    if table.has("dynamics"):
        from enpire.packs.dynamics import read_dynamics  # NumPy: not for `--help`

        file = file_in(pack.folder, table.text("dynamics"), f"{where}: dynamics")
        dynamics = read_dynamics(file)
    return World(pack.name, table.text("description"), model, pack.sha256, dynamics)
