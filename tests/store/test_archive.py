"""An archive gives back what it was given, opens with other programs, and no byte of it may change.

That no byte may change is what makes a hash over its files one over the whole of it.
"""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enpire.store.archive import first, pack, unpack

FILES = {"zarr.json": b"{}", "actions/zarr.json": b'{"a": 1}', "actions/c.0.0": bytes(range(40))}
NAMES = st.text("abz/._é", min_size=1, max_size=9)


@given(st.dictionaries(NAMES, st.binary(max_size=40), max_size=5))
def test_what_was_packed_comes_back_in_its_order(files: dict[str, bytes]) -> None:
    data = pack(files)
    assert list(unpack(data).items()) == list(files.items())
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        assert found.testzip() is None
        assert {name: found.read(name) for name in found.namelist()} == files


def test_the_first_file_is_read_alone() -> None:
    assert first(io.BytesIO(pack(FILES))) == b"{}"
    for cut in (b"", b"PK", pack({"zarr.json": bytes(99)})[:90]):
        with pytest.raises(ValueError, match="cut off"):
            first(io.BytesIO(cut))


def test_every_bit_counts() -> None:
    data = pack(FILES)
    for bit in range(len(data) * 8):
        other = bytearray(data)
        other[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match=r"."):
            unpack(bytes(other))


def test_what_is_cut_off_or_goes_on_is_none() -> None:
    data = pack(FILES)
    for size in range(len(data)):
        with pytest.raises(ValueError, match=r"."):
            unpack(data[:size])
    for more in (b"\0", b"PK\3\4", data):
        with pytest.raises(ValueError, match=r"."):
            unpack(data + more)


def test_what_another_program_packed_is_none() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as other:
        other.writestr("zarr.json", "{}")
    with pytest.raises(ValueError, match=r"not what was written|cut off"):
        unpack(stream.getvalue())
