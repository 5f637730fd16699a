"""A world pack: the bench, its cameras and its light, as one MJCF file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from enpire.errors import PackError
from enpire.packs.finder import Pack
from enpire.packs.toml import Table


@dataclass(frozen=True, slots=True)
class World:
    """A world's MJCF model."""

    name: str
    description: str
    model: Path
    sha256: str


def load_world(pack: Pack) -> World:
    """Read `world.toml` of a world pack; raises PackError naming file and key."""
    table = Table.read(pack.folder / "world.toml")
    model = pack.folder / table.text("model")
    if not model.is_file():
        raise PackError(f"{pack.folder / 'world.toml'}: model {model.name} is not in the pack")
    return World(pack.name, table.text("description"), model, pack.sha256)
