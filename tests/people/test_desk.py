"""One helper: first come, first served; a touch takes over what is shown."""

from __future__ import annotations

import pytest

from enpire.people import Hands, OneHelper
from enpire.people import hands as module
from enpire.people.hands import AWAY_S


def test_stations_are_served_in_the_order_in_which_they_asked() -> None:
    desk = OneHelper()
    for row in (2, 0, 1, 0):
        desk.ask(row)
    assert desk.waiting == 2
    served = []
    while desk.served is not None:
        served.append(desk.served)
        assert [row for row in range(3) if desk.serves(row)] == served[-1:]
        desk.leave(desk.served)
    assert served == [2, 0, 1]


def test_who_does_not_wait_any_more_is_passed_over() -> None:
    desk = OneHelper()
    desk.ask(0)
    desk.ask(1)
    desk.ask(2)
    desk.leave(1)
    desk.leave(0)
    assert desk.served == desk.shown == 2


def test_a_touch_takes_over_the_station_shown_and_no_other() -> None:
    hands = Hands()
    desk = OneHelper(hands)
    hands.hear(["KeyG"])  # for nobody
    hands.hear(["KeyW"])
    desk.show_next(3)
    assert not desk.takes(0)
    assert desk.takes(1)
    assert desk.serves(1)
    assert not desk.gives_back(1)
    hands.hear(["KeyG"])
    assert desk.gives_back(1)


def test_nobody_is_taken_over_while_another_is_served() -> None:
    hands = Hands()
    desk = OneHelper(hands)
    desk.ask(1)
    hands.hear(["KeyW"])
    assert not desk.takes(0)
    assert not desk.takes(1)
    desk.show_next(2)
    assert desk.shown == 1


def test_keys_hit_for_one_station_are_not_for_the_next() -> None:
    hands = Hands()
    desk = OneHelper(hands)
    desk.ask(0)
    desk.ask(1)
    hands.hear(["KeyG"])
    desk.leave(0)
    assert desk.serves(1)
    assert not desk.gives_back(1)


def test_who_has_left_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands()
    desk, always = OneHelper(hands, leaves=True), OneHelper(hands)
    assert always.open
    assert OneHelper(leaves=True).open, "a script does not leave"
    assert not desk.open
    hands.greet()
    assert desk.open
    now = module.time.monotonic() + AWAY_S
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 1.0)
    assert not desk.open
    hands.hear(["KeyW"])
    assert desk.open, "who touches something is there"
