"""Any batch of episodes that may be stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import DTypeLike

from enpire.types import Episode, Outcome, Predicate, Purpose, Times, Verdict

from .samples import episode

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


def _array(dtype: DTypeLike, shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    return arrays.arrays(np.dtype(dtype), shape)


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
        purpose = draw(st.sampled_from(Purpose))
        if purpose not in (Purpose.EVALUATION, Purpose.SEALED):
            shapes["intervened"] = (np.bool_, (length,))
            shapes["rewound"] = (np.bool_, (length,))
        made.append(
            episode(
                f"{number}-{draw(st.text())}",
                seed=draw(st.integers(0, 2**63 - 1)),
                purpose=purpose,
                policy=draw(st.text()),
                round=draw(st.integers(0, 2**31)),
                station=draw(st.integers(0, 99)),
                verdict=draw(_verdicts),
                times=draw(st.builds(Times, seconds, seconds, seconds)),
                exploration=draw(st.floats()),
                variant=draw(st.integers(0, 99)),
                forked=draw(st.integers(0, 99)),
                attempts=draw(st.integers(1, 99)),
                packs=draw(st.dictionaries(st.text(), st.text(), max_size=3)),
                **{name: draw(_array(*kind)) for name, kind in shapes.items()},
            )
        )
    return made
