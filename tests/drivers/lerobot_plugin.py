"""Makes the plugin package beside this file one that is installed, for this process and others."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "plugin" / "lerobot_robot_twin"
SO101 = Path(__file__).parents[2] / "robots" / "so101"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into `folder`, as an installer would: the package, and the metadata it is found by."""
    shutil.copytree(SOURCE, folder / SOURCE.name, dirs_exist_ok=True)
    metadata = folder / "lerobot_robot_twin-0.1.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: lerobot_robot_twin\nVersion: 0.1\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


def pack(folder: Path) -> Path:
    """A robot pack that is the SO-101's, but for the plugin's type of robot."""
    made = folder / "robots" / "so101_twin"
    shutil.copytree(SO101, made, dirs_exist_ok=True)
    said = (made / "drivers.toml").read_text()
    axes = said[said.index("[[lerobot.axes]]") :]
    (made / "drivers.toml").write_text(
        f'[lerobot]\ntype = "twin"\n[lerobot.config]\nid = "a"\n'
        f'calibration_dir = "{folder / "calibration"}"\n{axes}'
    )
    return made


def station(folder: Path, more: str = "") -> Path:
    """The file of a station whose arm is the plugin's; more: below `[lerobot.config]`."""
    path = folder / "lab.toml"
    path.write_text(f'driver = "lerobot"\nrobot = "{pack(folder)}"\n[lerobot.config]\n{more}\n')
    return path
