"""Answers of policies' servers that nobody has thought of; docs/inputs.md."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.environment import Stations
from enpire.errors import PolicyError, ServerFault
from enpire.policies.remote import RemotePolicy, RemoteSpec
from enpire.policies.remote.wire import LONGEST, pack, unpack
from tests.environment.reach import reach_stations

msgpack = pytest.importorskip("msgpack")

MANY = settings(max_examples=200, deadline=None)
FLOATS = st.one_of(st.floats(), st.sampled_from([float("nan"), float("-inf"), 57.3, 1e300]))
ARRAYS = st.builds(
    lambda shape, kind, fill: np.full(shape, fill).astype(kind),
    st.lists(st.integers(0, 3), max_size=3),
    st.sampled_from(["f2", "f4", "f8", "i8", "?"]),
    st.one_of(FLOATS, st.just(0.5)),
)
PLAIN = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**63), FLOATS, st.text(max_size=4), ARRAYS
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)
ARRAY_KEYS = st.sampled_from([b"__ndarray__", b"__npgeneric__", b"data", b"dtype", b"shape", b"x"])


@pytest.fixture(scope="module")
def stations() -> Stations:
    return reach_stations(1)


@MANY
@given(
    answer=st.one_of(
        st.fixed_dictionaries({"actions": st.one_of(ARRAYS, PLAIN)}),
        st.dictionaries(st.text(max_size=4), PLAIN, max_size=3),
    )
)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
def test_any_answer_is_a_chunk_or_the_servers_fault(stations: Stations, answer: Any) -> None:
    controller = RemotePolicy(RemoteSpec("ws://h:1")).controller(stations)
    try:
        chunk = controller._actions_of(unpack(pack(answer)))
    except ServerFault:
        return
    assert chunk.ndim == 2
    assert chunk.shape[1] == stations.action_size
    assert len(chunk)
    assert np.isfinite(chunk).all()
    assert chunk.shape == answer["actions"].shape


@MANY
@given(data=st.one_of(st.binary(max_size=60), PLAIN.map(lambda v: msgpack.packb(plain(v)))))
def test_any_bytes_are_a_message_or_told(data: bytes) -> None:
    try:
        assert isinstance(unpack(data), dict)
    except PolicyError:
        return


@MANY
@given(
    said=st.dictionaries(
        ARRAY_KEYS,
        st.one_of(
            st.binary(max_size=16),
            st.sampled_from(["<f4", "|O", "V8", "<f8", "f", "M8[s]", ""]),
            st.lists(st.integers(-2, 4), max_size=3),
            st.booleans(),
        ),
        max_size=5,
    )
)
def test_any_array_is_one_of_numbers_or_told(said: dict[bytes, Any]) -> None:
    try:
        found = unpack(msgpack.packb({"actions": said}))["actions"]
    except PolicyError:
        return
    if isinstance(found, np.ndarray):
        assert found.dtype.kind in "biuf"
        assert found.nbytes <= LONGEST


def plain(value: Any) -> Any:
    """Without arrays, which msgpack by itself does not know."""
    if isinstance(value, np.ndarray):
        return value.astype(float).tolist()
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return min(value, 2**63) if isinstance(value, int) else value
