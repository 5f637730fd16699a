"""Episodes for tests: a plain one, and any."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from enpire.types import Episode, Outcome, Predicate, Purpose, Times, Verdict


def episode(id: str = "e1", length: int = 5, **changes: Any) -> Episode:
    """A successful episode of `length` rows; its numbers follow from its id."""
    rng = np.random.default_rng(list(id.encode()))
    values: dict[str, Any] = {
        "id": id,
        "task": "zip_tie",
        "seed": 2**63 - 1,
        "purpose": Purpose.COLLECTION,
        "policy": "p0",
        "round": 1,
        "station": 0,
        "verdict": Verdict(
            Outcome.SUCCESS,
            (Predicate("gap", 0.001, 0.002, "m", at_least=False),),
            1.0,
            "done",
            "ok",
        ),
        "times": Times(1.0, 2.0, 0.5),
        "observations": rng.standard_normal((length, 6), dtype=np.float32),
        "actions": rng.standard_normal((length, 3), dtype=np.float32),
        "stamps": np.arange(length) * 0.02,
        "rewards": np.zeros(length, np.float32),
        "packs": {"task": "ab" * 32},
    }
    return Episode(**values | changes)


def same(a: Any, b: Any) -> bool:
    """Equality to the last bit, NaN equal to itself, through dataclasses and containers."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a)
        )
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


_verdicts = st.builds(
    Verdict,
    st.sampled_from(Outcome),
    st.lists(
        st.builds(Predicate, st.text(), st.floats(), st.floats(), st.text(), st.booleans()),
        max_size=4,
    ).map(tuple),
    st.floats(),
    st.text(),
    st.text(),
)


@st.composite
def batches(draw: st.DrawFn) -> list[Episode]:
    """One to four episodes with ids of their own, of equal widths and any lengths."""
    widths = draw(st.tuples(st.integers(0, 5), st.integers(0, 4)))
    seconds = st.floats(0, 1e6)
    made = []
    for number in range(draw(st.integers(1, 4))):
        length = draw(st.integers(0, 6))
        shapes = {
            "observations": (np.float32, (length, widths[0])),
            "actions": (np.float32, (length, widths[1])),
            "stamps": (np.float64, (length,)),
            "rewards": (np.float32, (length,)),
        }
        made.append(
            episode(
                f"{number}-{draw(st.text())}",
                seed=draw(st.integers(0, 2**63 - 1)),
                purpose=draw(st.sampled_from(Purpose)),
                policy=draw(st.text()),
                round=draw(st.integers(0, 2**31)),
                station=draw(st.integers(0, 99)),
                verdict=draw(_verdicts),
                times=draw(st.builds(Times, seconds, seconds, seconds)),
                exploration=draw(st.floats()),
                packs=draw(st.dictionaries(st.text(), st.text(), max_size=3)),
                **{name: draw(arrays.arrays(*kind)) for name, kind in shapes.items()},
            )
        )
    return made
