"""MuJoCo Menagerie's model of an arm in place of the pack's own, where the user has it.

`--menagerie DIR`, kept in the environment for the processes that a command starts, names its
folder, or says `package`: then the library `mujoco-menagerie` finds a model, and downloads it when
it is first asked for. The pack's `menagerie.toml` says what its own names are there. Menagerie's
folder and that file are then in the robot's hash: it is another twin.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from enpire.errors import PackError
from enpire.packs.finder import MENAGERIE, content_hash
from enpire.packs.toml import Table

VARIABLE = "ENPIRE_MENAGERIE"
PACKAGE = "package"  # in place of a folder: the library's models


@dataclass(frozen=True, slots=True)
class Menagerie:
    """Another model of an arm."""

    model: Path
    joints: tuple[str, ...]  # its names of joint1 and so on
    base: tuple[float, ...]  # quaternion (w x y z) from our base's frame to its model's
    flange: str  # its body that our `hand` goes on, at position [m] and quaternion in its frame
    position: tuple[float, ...]
    quaternion: tuple[float, ...]
    sha256: str


def of_pack(folder: Path, joints: int) -> Menagerie | None:
    """The other model of a robot pack's arm; None where nobody asked, or the pack names none.

    Raises:
        PackError: it is not where it is said to be, or `menagerie.toml` is wrong.
    """
    root, names = os.environ.get(VARIABLE, ""), folder / MENAGERIE
    if not root or not names.is_file():
        return None
    table = Table.read(names)
    table.require_known("model", "joints", "base", "flange", "position", "quaternion")
    model = _model(root, table.text("model"))
    if not model.is_file():
        raise PackError(
            f"{model} is not there: --menagerie takes the folder of a checkout of MuJoCo Menagerie"
        )
    called = table.texts("joints")
    if len(called) != joints:
        raise PackError(f"{names}: joints are {len(called)}, the arm has {joints}")
    if len(set(called)) != len(called):
        raise PackError(f"{names}: joints has a name twice")
    sealed = content_hash(model.parent).encode() + names.read_bytes()
    return Menagerie(
        model=model,
        joints=called,
        base=table.quaternion("base"),
        flange=table.text("flange"),
        position=table.place("position"),
        quaternion=table.quaternion("quaternion"),
        sha256=hashlib.sha256(sealed).hexdigest(),
    )


def _model(root: str, name: str) -> Path:
    """Return the file of a model; name: as in a checkout, `franka_fr3/fr3.xml`.

    Raises:
        PackError: the library is not installed, or does not get the model.
    """
    if root != PACKAGE:
        return Path(root) / name
    robot, _, rest = name.partition("/")
    try:
        import mujoco_menagerie
    except ImportError as error:
        raise PackError(
            f"--menagerie {PACKAGE} needs mujoco-menagerie: pip install 'enpire[menagerie]'"
        ) from error
    try:
        folder: Path = mujoco_menagerie.get(robot).path()
    except mujoco_menagerie.MenagerieError as error:
        raise PackError(f"MuJoCo Menagerie's {robot} cannot be had: {error}") from error
    return folder / rest
