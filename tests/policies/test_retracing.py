"""Going back the way an episode came."""

from __future__ import annotations

import numpy as np

from enpire.policies.retracing import Path, attempts, taken_back, undone

CHUNK = np.array([[0.1, -0.8, 1.0], [0.2, 0.3, -1.0]], np.float32)


def test_motions_are_taken_back_twice_as_fast_and_a_gripper_is_what_it_was() -> None:
    back = undone(CHUNK, (0, 1))
    np.testing.assert_allclose(back, [[-0.4, -0.6, -1.0], [-0.2, 1.0, 1.0]], atol=1e-7)
    assert CHUNK[0, 0] == np.float32(0.1), "what was carried out stays as it was"


def test_a_path_goes_back_newest_chunk_first_and_forgets_it() -> None:
    path = Path()
    for part in (1.0, 0.25):
        assert path.go(part * CHUNK) is path.chunks[-1]
    path.left = 2
    np.testing.assert_array_equal(path.go_back((0, 1)), undone(0.25 * CHUNK, (0, 1)))
    np.testing.assert_array_equal(path.go_back((0, 1)), undone(CHUNK, (0, 1)))
    assert (path.chunks, path.left) == ([], 0)


def test_what_was_taken_back_is_told_from_the_way_that_led_on() -> None:
    path, rest = Path(), np.zeros((2, 3), np.float32)
    done = [path.go(part * CHUNK) for part in (1.0, 0.25, 0.5)]
    path.left = 2
    done += [path.go_back((0, 1)), path.go_back((0, 1)), path.go(0.75 * CHUNK), rest, rest]
    flags = taken_back(np.concatenate([*done, CHUNK[:1]]), 2, (0, 1))
    assert flags.reshape(-1)[::2].tolist() == [False, *4 * [True], *4 * [False]]


def test_attempts_lie_between_the_ways_back() -> None:
    path, rest = Path(), np.zeros((2, 3), np.float32)
    done = [path.go(part * CHUNK) for part in (1.0, 0.25, 0.5)]
    done += [path.go_back((0, 1)), path.go_back((0, 1)), path.go(0.75 * CHUNK), rest]
    done += [path.go_back((0, 1))]
    actions = np.concatenate([*done, CHUNK[:1]])
    assert attempts(actions, 2, (0, 1)) == [(0, 6), (10, 17)], "who waits does not go back"
    assert attempts(actions[:9], 2, (0, 1)) == [(0, 6), (8, 9)]
    assert attempts(actions[:8], 2, (0, 1)) == [(0, 6)], "it ended on the way back"
    assert attempts(actions[:4], 2, (0, 1)) == [(0, 4)]


def test_what_was_expected_is_forgotten_with_the_chunk_before_which_it_was() -> None:
    path = Path()
    for expected in (0.5, 0.25):
        path.go(CHUNK, np.full(2, expected, np.float32))
    path.go_back((0, 1))
    assert [value.tolist() for value in path.values] == [[0.5, 0.5]]
