"""Recipes that nobody has thought of: anything in one place of a good one; docs/inputs.md.

Each is refused with a sentence, or taken as it stands.
"""

from __future__ import annotations

import math
import tempfile
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.errors import RecipeError, UsageError
from enpire.improvement import recipe_finding as recipes
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.settings import defaults, described
from enpire.policies import ChunkPolicy
from tests.inputs.recipes import SPEC, text

MANY = settings(max_examples=60, deadline=None)
LEAST = -(2**63)
VALUES = st.one_of(
    st.floats().map(str),
    st.integers(-(10**30), 10**30).map(str),
    st.text(max_size=8),
    st.sampled_from(["", "nan", "-inf", "1e999", "None", "True", "[]", "--help", "1,2", "1 2"]),
)
SETTINGS = [
    (name, key)
    for name in ("bc", "residual_rl", "best_of_n")
    for key in defaults(recipes.find(name).recipe)
]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.lists(st.floats(), max_size=2),
    st.builds(object),
    st.complex_numbers(),
)


@MANY
@given(at=st.sampled_from(SETTINGS), value=VALUES)
def test_any_value_of_a_setting(at: tuple[str, str], value: str) -> None:
    name, key = at
    try:
        (made,) = recipes.schedule(name, {key: value})
    except UsageError as error:
        require_words(error, key, "choice")
        return
    found, usual = (attrgetter(key)(each) for each in (made.recipe, recipes.find(name).recipe))
    if isinstance(found, float):
        assert math.isfinite(found)
        assert found >= 0 or usual <= 0
        assert found == float(value)
    elif isinstance(found, bool) or found is None:
        assert str(found) == value
    elif isinstance(found, int):
        assert LEAST <= found == int(value)
    else:
        assert isinstance(found, str | tuple)
    for other in defaults(made.recipe).items() - defaults(recipes.find(name).recipe).items():
        assert other[0] == key, "nothing else has changed"


@MANY
@given(key=st.text(max_size=12), value=VALUES)
def test_any_name_of_a_setting(key: str, value: str) -> None:
    with pytest.raises(UsageError, match="no such setting"):
        recipes.schedule("bc", {f"{key}!": value})


@MANY
@given(data=st.data())
def test_bytes_of_a_file_that_are_lost_or_changed(data: st.DataObject) -> None:
    """Whatever a file then does while it is read is its own: only its last lines are changed."""
    whole = text().encode()
    first = whole.index(b"@dataclass")
    at = data.draw(st.integers(first, len(whole)))
    end = data.draw(st.integers(at, at + 12))
    changed = whole[:at] + data.draw(st.binary(max_size=2)) + whole[end:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.py"
        path.write_bytes(changed)
        try:
            (made,) = recipes.schedule(str(path), {})
            assert described(made.recipe)
        except UsageError as error:
            require_words(error, "mine.py", "cannot be settings")
            return
        assert callable(made.recipe.improve)


@MANY
@given(what=ANYTHING)
def test_anything_as_a_recipe(what: Any) -> None:
    with pytest.raises(UsageError, match="is no recipe"):
        recipes._recipe_of(SimpleNamespace(RECIPE=what), "mine.py")


def require_words(error: Exception, *words: str) -> None:
    """A sentence that names what it is about."""
    assert any(word in str(error) for word in words), error
    assert len(str(error)) < 1000


class Answers:
    """A recipe that answers with this."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def improve(self, given: RecipeInputs) -> Any:
        return self.answer


@MANY
@given(what=ANYTHING, place=st.sampled_from(["candidate", "policy", "numbers", "a number"]))
def test_anything_that_it_answers(what: Any, place: str) -> None:
    policy = ChunkPolicy(SPEC)
    answer = {
        "candidate": lambda: what,
        "policy": lambda: Candidate(what, {}),
        "numbers": lambda: Candidate(policy, what),
        "a number": lambda: Candidate(policy, {"loss": what}),
    }[place]()
    try:
        made = ConfiguredRecipe("mine", Answers(answer)).improve(RecipeInputs(SPEC, [], None, 1))
    except RecipeError as error:
        require_words(error, "mine", "candidate")
        return
    assert place == "a number"
    assert made.numbers == {"loss": float(what)}
    assert math.isfinite(made.numbers["loss"])
