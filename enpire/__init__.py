"""enpire: policies that improve themselves, on real arms and on their MuJoCo twins.

    import enpire

    result = enpire.improve(task="pick_cube", robots=4, max_rounds=2)
    print(result.success, result.robot_hours, result.reached)
    print(enpire.evaluate(result, episodes=100).success)
    frame = enpire.Run(result.run.folder).episodes_frame()

Whatever a name stands for is imported when it is first asked for: `import enpire` costs nothing.
docs/library.md says more, and examples/ goes through it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enpire.environment import Task
    from enpire.errors import EnpireError, UsageError
    from enpire.improvement.recipe import Candidate, Recipe, RecipeInputs
    from enpire.policies import Policy
    from enpire.session.api import Improvement, evaluate, improve
    from enpire.session.evaluation import Evaluation
    from enpire.session.recorded_run import RecordedRun as Run
    from enpire.types import Episode, Estimate
    from enpire.version import __version__

__all__ = [
    "Candidate",
    "EnpireError",
    "Episode",
    "Estimate",
    "Evaluation",
    "Improvement",
    "Policy",
    "Recipe",
    "RecipeInputs",
    "Run",
    "Task",
    "UsageError",
    "__version__",
    "evaluate",
    "improve",
]

_MODULES = {
    "Candidate": "enpire.improvement.recipe",
    "EnpireError": "enpire.errors",
    "Episode": "enpire.types",
    "Estimate": "enpire.types",
    "Evaluation": "enpire.session.evaluation",
    "Improvement": "enpire.session.api",
    "Policy": "enpire.policies",
    "Recipe": "enpire.improvement.recipe",
    "RecipeInputs": "enpire.improvement.recipe",
    "Run": "enpire.session.recorded_run",
    "Task": "enpire.environment",
    "UsageError": "enpire.errors",
    "__version__": "enpire.version",
    "evaluate": "enpire.session.api",
    "improve": "enpire.session.api",
}
_ORIGINAL = {"Run": "RecordedRun"}  # what a name is called where it is defined, if otherwise


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_MODULES[name])
    globals()[name] = found = getattr(module, _ORIGINAL.get(name, name))
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
