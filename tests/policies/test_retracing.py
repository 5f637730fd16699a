"""Going back to a better place on the way that an episode came."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.policies.retracing import PACE, Path, attempts, taken_back
from enpire.types import Float32Array

MOTIONS = (0, 1)
CHUNK = np.array([[0.1, -0.8, 1.0], [0.2, 0.3, -1.0]], np.float32)


def path() -> Path:
    return Path(MOTIONS)


def gone(to: Path, *parts: float) -> list[Float32Array]:
    return [to.go(np.float32(part) * CHUNK) for part in parts]


def back(way: Path, to: int) -> list[Float32Array]:
    """The chunks of a whole way back."""
    way.turn_back(to)
    return [way.go_back() for _ in range(len(way.back))]


def moved(chunks: list[Float32Array]) -> Float32Array:
    return np.concatenate(chunks)[:, list(MOTIONS)].sum(axis=0)


def test_a_way_back_takes_back_what_motions_added_up_to() -> None:
    way = path()
    done = gone(way, 1.0, 4.0, 2.0, -0.5)
    led = back(way, 1)
    np.testing.assert_allclose(moved(done[1:]) + moved(led), 0.0, atol=1e-6)
    assert [chunk is done[0] for chunk in way.chunks] == [True], "what came after is forgotten"
    np.testing.assert_allclose(way.places[-1], moved(done[:1]), atol=1e-6)


def test_who_moves_to_and_fro_is_led_straight_back() -> None:
    way = path()
    gone(way, 3.0, *[1.0, -1.0] * 20)
    assert len(back(way, 0)) == 1, "not twenty times to and fro"


def test_a_way_back_is_no_faster_than_its_pace_and_even() -> None:
    way = path()
    gone(way, *[4.0] * 5)
    led = np.concatenate(back(way, 0))[:, list(MOTIONS)]
    assert (led == led[0]).all()
    assert abs(led).max() <= PACE
    assert abs(led).max() > PACE / 2, "and hardly slower"


def test_a_gripper_is_what_it_was_newest_first() -> None:
    way = path()
    gone(way, 6.0, 8.0)
    assert [chunk[:, 2].tolist() for chunk in back(way, 0)] == [
        [-8.0, 8.0],
        [-8.0, 8.0],
        [-6.0, 6.0],
        [-6.0, 6.0],
    ]


def test_what_was_expected_is_forgotten_with_the_chunks_before_which_it_was() -> None:
    way = path()
    for expected in (0.5, 0.25, 0.1):
        way.go(CHUNK, np.full(2, expected, np.float32))
    back(way, 1)
    assert [value.tolist() for value in way.values] == [[0.5, 0.5]]
    assert way.ahead == 0


@pytest.mark.parametrize("after", [0.75, 1.5])
def test_what_was_taken_back_is_told_from_the_way_that_led_on(after: float) -> None:
    way, rest = path(), np.zeros((2, 3), np.float32)
    done = gone(way, 1.0, 0.25, 0.5)
    done += [*back(way, 1), *gone(way, after), rest, rest]
    flags = taken_back(np.concatenate([*done, CHUNK[:1]]), 2, MOTIONS)
    assert flags.reshape(-1)[::2].tolist() == [False, *3 * [True], *4 * [False]]


def test_attempts_lie_between_the_ways_back() -> None:
    way, rest = path(), np.zeros((2, 3), np.float32)
    done = gone(way, 1.0, 4.0, 2.0)
    led = back(way, 0)
    done += [*led, *gone(way, 0.75), rest]
    done += back(way, 0)
    actions = np.concatenate([*done, CHUNK[:1]])
    on = 6 + 2 * len(led)
    assert len(led) > 1
    assert attempts(actions, 2, MOTIONS) == [(0, 6), (on, on + 4), (on + 6, on + 7)], (
        "who waits goes on"
    )
    assert attempts(actions[:on], 2, MOTIONS) == [(0, 6)], "it ended on the way back"
    assert attempts(actions[: on - 2], 2, MOTIONS) == [(0, 6)], "and in the middle of it"
    assert attempts(actions[:4], 2, MOTIONS) == [(0, 4)]


def test_somebody_who_moves_evenly_does_not_go_back() -> None:
    even = np.tile(np.float32([0.3, -0.2, 1.0]), (40, 1))
    assert attempts(even, 2, MOTIONS) == [(0, 40)]
    assert not taken_back(even, 2, MOTIONS).any()
