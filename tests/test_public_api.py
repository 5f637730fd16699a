"""What `import enpire` promises: which names there are, and that it costs nothing."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import pytest

import enpire

NAMES = [
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


def test_these_are_the_public_names() -> None:
    assert enpire.__all__ == NAMES
    assert set(NAMES) <= set(dir(enpire))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "__version__"])
def test_each_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(enpire, name)
    assert inspect.getdoc(found)
    assert getattr(enpire, name) is found


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'improv'"):
        enpire.improv  # noqa: B018


def test_importing_it_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import enpire; print(*set(sys.modules) - before)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-S", "-c", code]
    loaded = subprocess.check_output(command, text=True, env=environment).split()
    assert [name for name in loaded if name.startswith("enpire")] == ["enpire"]
    assert not {"numpy", "torch", "mujoco", "rich"} & set(loaded)


def test_reading_a_run_imports_no_simulator() -> None:
    code = (
        "import sys, enpire; enpire.Run; print(*{'torch', 'mujoco', 'pandas'} & set(sys.modules))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert not subprocess.check_output(
        [sys.executable, "-c", code], text=True, env=environment
    ).split()
