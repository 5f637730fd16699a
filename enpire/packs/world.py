"""A world pack: bench, cameras and light as one MJCF file, and what the arms there are like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.errors import PackError
from enpire.packs.finder import Pack
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
    model = pack.folder / table.text("model")
    if not model.is_file():
        raise PackError(f"{pack.folder / 'world.toml'}: model {model.name} is not in the pack")
    dynamics = None
    if table.has("dynamics"):
        from enpire.packs.dynamics import read_dynamics  # NumPy: not for `--help`

        dynamics = read_dynamics(pack.folder / table.text("dynamics"))
    return World(pack.name, table.text("description"), model, pack.sha256, dynamics)
