"""Compiled code, and MuJoCo's own step in it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import llvmlite.binding
import mujoco
import numba
from numba import types


def compiled[F: Callable[..., Any]](function: F) -> F:
    """Compile at the first call; later processes load what that one compiled.

    Machine code is kept beside the function's file, or in the user's cache where that is not
    writable; it does not follow changes in another file, so what is compiled calls nothing that is
    compiled in another one.
    """
    return cast(F, _cached(numba.njit(function)))


def compiled_without_gil[F: Callable[..., Any]](function: F) -> F:
    """The same; other Python threads run meanwhile."""
    return cast(F, _cached(numba.njit(function, nogil=True)))


def _cached(kernel: Any) -> Any:
    with suppress(RuntimeError):  # nowhere to keep it: every process compiles for itself
        kernel.enable_caching()
    return kernel


_library = ctypes.CDLL(mujoco._functions.__file__)  # through it, MuJoCo's own
llvmlite.binding.add_symbol("mj_step", ctypes.cast(_library.mj_step, ctypes.c_void_p).value)
mj_step: Any = types.ExternalFunction("mj_step", types.void(types.uintp, types.uintp))
"""For compiled code: steps the model and the data at these addresses, once.

What MuJoCo itself takes for fatal (its memory for a step is too small) ends the process: Python's
`mujoco.mj_step`, which every station's reset takes, raises it.
"""
