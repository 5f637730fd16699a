"""Choosing OpenGL, before MuJoCo is imported for the first time."""

from __future__ import annotations

import os
from ctypes.util import find_library


def choose_graphics() -> None:
    """Render by EGL where there is one: no display is needed. A choice of the user's stays.

    MuJoCo does not even start where it is told to use an EGL that is missing.
    """
    if find_library("EGL"):
        os.environ.setdefault("MUJOCO_GL", "egl")
