"""Controllers as bytes: what acts in an episode, carried to the station that runs it.

A controller is made of plain arrays, numbers and, for a script, the task. The task is not carried:
a station has its own, of the same pack to the bit (`survey.py`), and that is put in its place.

The bytes are a pickle, and to load one runs code. So does every message of Ray, among machines that
trust one another; nothing of the kind is ever in a run's folder.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import pickle  # noqa: TID251  see above
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any

from enpire.environment import Controller, Job, Task
from enpire.errors import PolicyError

TASK = "task"  # stands for the task of whoever unpacks
KEPT = 64  # controllers that are remembered; the others are packed or unpacked again


@dataclass(frozen=True, slots=True)
class PackedController:
    """A controller as it was when it was packed; sha256: of its bytes."""

    sha256: str
    data: bytes


def pack(controller: Controller) -> PackedController:
    """A controller in bytes, as it is now.

    Raises:
        PolicyError: it is made of something that no other machine has, such as an open device.
    """
    cloudpickle: Any = importlib.import_module("ray.cloudpickle")

    class Packer(cloudpickle.CloudPickler):  # type: ignore[misc]
        def persistent_id(self, found: object) -> str | None:
            return TASK if isinstance(found, Task) else None

    file = io.BytesIO()
    own = [module for module in _modules(controller) if _is_file_of_its_own(module)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        Packer(file).dump(controller)
    except Exception as error:
        raise PolicyError(
            f"{type(controller).__name__} cannot be carried to another machine: {error}"
        ) from error
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
    data = file.getvalue()
    return PackedController(hashlib.sha256(data).hexdigest(), data)


def unpack(version: PackedController, task: Task | None) -> Controller:
    """The controller, with `task` where it had its own.

    Raises:
        PolicyError: it cannot be made here; the message says why.
    """

    class Unpacker(pickle.Unpickler):
        def persistent_load(self, name: Any) -> Task:
            if name != TASK or task is None:
                raise PolicyError(f"it is made for stations with a {name}, which these lack")
            return task

    try:
        controller: Controller = Unpacker(io.BytesIO(version.data)).load()
    except Exception as error:
        raise PolicyError(f"it cannot be loaded: {type(error).__name__}: {error}") from error
    return controller


def settings_of(job: Job) -> dict[str, Any]:
    """All of a job but its controller, for `Job(controller=..., **settings)`."""
    return {f.name: getattr(job, f.name) for f in fields(Job) if f.name != "controller"}


class RecentCache[K, V]:
    """What was made last, by key, so that it is made once."""

    def __init__(self, make: Callable[[K], V]) -> None:
        """Make what is not known by `make`."""
        self._make = make
        self._known: OrderedDict[object, tuple[K, V]] = OrderedDict()

    def get(self, of: K, key: object) -> V:
        """What is made of `of`, which `key` stands for."""
        if key not in self._known:
            self._known[key] = of, self._make(of)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key][1]


def _modules(controller: Controller) -> set[ModuleType]:
    """The modules in which a controller, and what it is directly made of, are written."""
    parts = [controller, *getattr(controller, "__dict__", {}).values()]
    return {sys.modules[m] for p in parts if (m := type(p).__module__) in sys.modules}


def _is_file_of_its_own(module: ModuleType) -> bool:
    """Whether it was imported from a recipe's file, which other machines do not have."""
    return "@" in module.__name__
