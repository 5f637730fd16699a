"""Hands: what is held moves, what is hit is said once, and who is not heard of holds nothing."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.people import hands as module
from enpire.people.hands import FINE, HOLD, Hands
from enpire.people.operator_command import OperatorCommand


def test_what_is_held_moves_until_it_is_let_go() -> None:
    hands = Hands()
    hands.hear(["KeyW", "KeyF"])
    np.testing.assert_array_equal(hands.twist(), [1, 0, -1, 0, 0, 0])
    np.testing.assert_array_equal(hands.twist(), [1, 0, -1, 0, 0, 0])
    hands.hear(["KeyW", "ShiftLeft"])
    np.testing.assert_array_equal(hands.twist(), [FINE, 0, 0, 0, 0, 0])
    hands.hear([])
    assert not hands.twist().any()
    assert not hands.touched


def test_a_tap_between_two_periods_is_not_lost() -> None:
    hands = Hands()
    hands.hear(["KeyA"])
    hands.hear([])
    assert hands.touched
    assert hands.twist()[1] == 1.0
    assert not hands.twist().any()


def test_commands_are_said_once_however_long_the_key_is_held() -> None:
    hands = Hands()
    for _ in range(3):
        hands.hear(["Space"])
    assert hands.was_given(OperatorCommand.GRIPPER)
    assert not hands.was_given(OperatorCommand.GRIPPER)
    assert not hands.was_given(OperatorCommand.DONE)
    hands.hear([])
    hands.hear(["Space"])
    hands.forget()
    assert not hands.was_given(OperatorCommand.GRIPPER)


def test_sticks_move_and_rest_in_the_middle() -> None:
    hands = Hands()
    hands.hear([], [0.0, -1.0, 0.1, 0.5])
    np.testing.assert_allclose(hands.twist(), [1, 0, -0.5, 0, 0, 0], atol=1e-12)
    hands.hear([], [0.1, 0.1, 0.0, 0.0])
    assert not hands.touched


def test_who_lets_go_of_the_held_button_gives_back() -> None:
    hands = Hands()
    hands.hear([HOLD])
    assert hands.touched
    assert not hands.was_given(OperatorCommand.GIVE_BACK)
    hands.hear([])
    assert hands.was_given(OperatorCommand.GIVE_BACK)


def test_hands_that_are_not_heard_of_hold_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands()
    hands.hear(["KeyW"], [1.0, 0.0, 0.0, 0.0])
    hands.twist()
    now = module.time.monotonic() + module.FRESH_S
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 0.1)
    assert not hands.twist().any()
    assert not hands.touched
