"""enpire: policies that improve themselves, on real arms and on their MuJoCo twins.

    import enpire

    run = enpire.Run("runs/20260101-pick_cube-1")  # read what was recorded

Whatever a name stands for is imported when it is first asked for: `import enpire` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enpire.errors import EnpireError
    from enpire.session.recorded_run import RecordedRun as Run

__version__ = "0.1.0"

__all__ = ["EnpireError", "Run", "__version__"]

_PUBLIC = {
    "EnpireError": ("enpire.errors", "EnpireError"),
    "Run": ("enpire.session.recorded_run", "RecordedRun"),
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _PUBLIC[name]
    globals()[name] = found = getattr(importlib.import_module(module), original)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
