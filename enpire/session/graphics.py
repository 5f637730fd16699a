"""Choosing OpenGL, before MuJoCo is imported for the first time."""

from __future__ import annotations

import os
from ctypes.util import find_library

from enpire.errors import UsageError

OFF = ("disable", "disabled", "off", "false", "0")
KNOWN = ("", "egl", "osmesa", "glfw", "glx", "wgl", "cgl", "enable", "enabled", "on", "true", "1")


def choose_graphics() -> None:
    """Render by EGL where there is one: no display is needed. A choice of the user's stays.

    MuJoCo does not even start where it is told to use an EGL that is missing.
    """
    if find_library("EGL"):
        os.environ.setdefault("MUJOCO_GL", "egl")


def require_graphics() -> None:
    """Raise UsageError for a `MUJOCO_GL` that MuJoCo would not start with."""
    said = os.environ.get("MUJOCO_GL", "")
    if said.lower().strip() not in (*OFF, *KNOWN):
        raise UsageError(
            f"the environment variable MUJOCO_GL is {said!r}: set it to egl, osmesa, glfw or off, "
            "or not at all"
        )
