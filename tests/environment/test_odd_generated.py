"""Environments that nobody has thought of: anything in what one returns; docs/inputs.md."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.environment.gym_bridge.gym_worker.environments import Single
from enpire.environment.gym_bridge.gym_worker.spaces import HZ, RATES, rate
from enpire.environment.gym_bridge.gym_worker.words import Unsuitable
from tests.environment.odd import Odd

MANY = settings(max_examples=150, deadline=None)
FLOATS = st.one_of(st.floats(), st.sampled_from([float("nan"), float("inf"), 1e308, 0.0, 1.0]))
ARRAYS = st.builds(
    lambda shape, kind, fill: np.full(shape, fill).astype(kind),
    st.sampled_from([(), (1,), (2,), (3,), (1, 2), (2, 1), (0,)]),
    st.sampled_from(["f4", "f8", "c16", "O", "U3", "?"]),
    FLOATS,
)
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    FLOATS,
    st.text(max_size=4),
    st.binary(max_size=4),
    ARRAYS,
    st.lists(FLOATS, max_size=3),
    st.dictionaries(st.text(max_size=3), FLOATS, max_size=2),
    st.builds(object),
    st.complex_numbers(),
    st.just(lambda: 1),
)
PLACES = ("observation", "reward", "terminated", "truncated", "info", "is_success")


class Anything(Odd):
    """Returns `value` in one place."""

    def __init__(self, place: str, value: Any) -> None:
        super().__init__()
        self.place, self.value = place, value

    def step(self, action: np.ndarray) -> Any:
        observation, reward, _, _, _ = super().step(action)
        found = {
            "observation": observation,
            "reward": reward,
            "terminated": False,
            "truncated": False,
            "info": {"is_success": False},
        }
        if self.place == "is_success":
            found["info"]["is_success"] = self.value
        else:
            found[self.place] = self.value
        return tuple(found.values())


def counts_as(value: Any) -> bool | None:
    """What a value is as a truth: only a bool, or a number 0 or 1, is one."""
    try:
        plain = np.asarray(value).reshape(()).item()
    except (ValueError, TypeError):
        return None
    return bool(plain) if isinstance(plain, bool | int | float) and plain in (0, 1) else None


@MANY
@given(place=st.sampled_from(PLACES), value=ANYTHING)
def test_whatever_it_returns_is_sound_or_told(place: str, value: Any) -> None:
    env = Single(Anything(place, value))
    env.tick({0: 3}, {})
    found, seen = env.tick({}, {0: np.zeros(1)})[0]
    assert seen.shape == (2,)
    assert np.isfinite(seen).all()
    if "wrong" in found:
        assert place in found["wrong"] or place == "info"
        return
    assert np.isfinite(found["reward"])
    assert {type(found["terminated"]), type(found["truncated"])} == {bool}
    if place == "is_success" and value is not None:
        assert found["success"] is counts_as(value)
        assert (found["success"] is None) is ("unclear" in found)
    if place == "observation":
        np.testing.assert_array_equal(seen, np.asarray(value, np.float64))
    if place in ("terminated", "truncated"):
        assert found[place] is counts_as(value)


@MANY
@given(value=ANYTHING)
def test_whatever_a_reset_returns(value: Any) -> None:
    env = Odd()
    single = Single(env)
    env.reset = lambda **_: value  # type: ignore[method-assign]
    found, seen = single.tick({0: 3}, {})[0]
    assert "wrong" in found
    assert np.isfinite(seen).all()


@MANY
@given(value=ANYTHING)
def test_whatever_rate_it_says(value: Any) -> None:
    try:
        hz = rate({"render_fps": value})
    except Unsuitable:
        return
    assert hz == (HZ if value is None else value)
    assert RATES[0] <= hz <= RATES[1]
