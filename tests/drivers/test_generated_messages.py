"""Messages of ROS 2 that nobody has thought of: sound, or counted as none."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.drivers.ros2.messages import Names, objects_of, picture_of
from enpire.errors import DriverError

MANY = settings(max_examples=300, deadline=None)
HEADER = SimpleNamespace(frame_id="world")
FLOATS = st.one_of(st.floats(), st.sampled_from([float("nan"), float("inf"), 0.0, 1.0]))
SEVERAL = st.lists(FLOATS, max_size=5)


@MANY
@given(
    names=st.lists(st.sampled_from(["a", "b", "c", "手", ""]), max_size=5),
    position=SEVERAL,
    velocity=SEVERAL,
    effort=SEVERAL,
)
def test_any_joint_state(
    names: list[str], position: list[float], velocity: list[float], effort: list[float]
) -> None:
    state = SimpleNamespace(name=names, position=position, velocity=velocity, effort=effort)
    try:
        found = Names(["a", "b"]).ordered(state)
    except DriverError:
        return
    assert names.count("a") == names.count("b") == 1
    assert len(position) == len(names)
    assert found[0].tolist() == [position[names.index("a")], position[names.index("b")]]
    assert np.isfinite(found[0]).all()
    assert np.isfinite(found[1]).all()
    assert [len(each) for each in found] == [2, 2, 2]


@MANY
@given(numbers=st.lists(st.lists(FLOATS, min_size=7, max_size=7), max_size=2))
def test_any_poses(numbers: list[list[float]]) -> None:
    poses = [
        SimpleNamespace(
            position=SimpleNamespace(x=x, y=y, z=z),
            orientation=SimpleNamespace(w=w, x=a, y=b, z=c),
        )
        for x, y, z, w, a, b, c in numbers
    ]
    try:
        found = objects_of(SimpleNamespace(header=HEADER, poses=poses), 7)
    except DriverError:
        return
    assert np.isfinite(found.position).all()
    assert np.isfinite(found.rotation).all()


@MANY
@given(
    encoding=st.sampled_from(["rgb8", "bgr8", "mono8", ""]),
    height=st.integers(0, 5),
    width=st.integers(0, 5),
    step=st.integers(0, 20),
    data=st.binary(max_size=100),
    whole=st.booleans(),
)
def test_any_picture(
    encoding: str, height: int, width: int, step: int, data: bytes, whole: bool
) -> None:
    data = data.ljust(height * step, b"\0")[: height * step] if whole else data
    message = SimpleNamespace(encoding=encoding, height=height, width=width, step=step, data=data)
    try:
        found = picture_of(message)
    except DriverError:
        return
    assert found.shape == (height, width, 3)
    assert found.size


@MANY
@given(data=st.one_of(st.binary(max_size=80), st.binary(max_size=40).map(lambda d: PNG + d)))
def test_any_compressed_picture(data: bytes) -> None:
    try:
        found = picture_of(SimpleNamespace(format="jpeg", data=data))
    except DriverError:
        return
    assert found.ndim == 3


PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
