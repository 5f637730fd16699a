"""The newest whole message, whatever the writer does."""

from __future__ import annotations

import numpy as np

from enpire.drivers.mailbox import BODY, SLOT, Beats, Mailbox
from enpire.safety.machine import Mode
from enpire.safety.messages import SetpointRequest, SupervisorStatus, TimedSetpoint
from enpire.safety.rules import GateRule


def pair(tmp_path):
    path = tmp_path / "box"
    Mailbox.make(path)
    return path, Mailbox(path), Mailbox(path)


def test_the_newest_is_read_and_numbers_go_on_with_a_new_writer(tmp_path) -> None:
    path, writer, reader = pair(tmp_path)
    assert reader.newest() is None
    for body in (b"one", b"", b"x" * BODY):
        writer.put(body)
        assert reader.newest()[1] == body
    assert reader.newest()[0] == 3
    Mailbox(path).put(b"four")
    assert reader.newest() == (4, b"four")


def test_a_box_may_be_made_for_long_messages_and_tells_of_new_ones_unread(tmp_path) -> None:
    Mailbox.make(tmp_path / "box", 100_000)
    writer, reader = Mailbox(tmp_path / "box"), Mailbox(tmp_path / "box")
    assert (reader.body, reader.number()) == (100_000, 0)
    for number in (1, 2, 3):
        writer.put(bytes([number]) * 100_000)
        assert reader.number() == number
        assert reader.newest() == (number, bytes([number]) * 100_000)


def test_a_torn_message_does_not_count_and_the_one_before_does(tmp_path) -> None:
    path, writer, reader = pair(tmp_path)
    writer.put(b"whole, and first")
    writer.put(b"torn")
    with path.open("r+b") as file:  # the second is in slot 0
        file.seek(16)
        file.write(b"?")
    assert reader.newest() == (1, b"whole, and first")
    with path.open("r+b") as file:
        file.seek(SLOT)
        file.write(np.random.default_rng(0).bytes(SLOT))
    assert reader.newest() is None


def test_messages_come_back_as_they_were() -> None:
    wanted = SetpointRequest.decoded(
        SetpointRequest(7, -3, np.array([1.0, np.nan]), True).encoded()
    )
    assert wanted is not None
    assert (wanted.epoch, wanted.stamp, wanted.rest) == (7, -3, True)
    assert wanted.setpoint[0] == 1.0
    assert SetpointRequest.decoded(b"short") is None
    assert SetpointRequest.decoded(b"x" * 27) is None
    axes = np.arange(3.0)
    status = SupervisorStatus(
        *(1, 2, 3, Mode.PARKING, GateRule.LAG | GateRule.JUMP, 4, -1, 2),
        *(axes, axes + 1, axes + 2, axes[None] + 3, 5),
    )
    again = SupervisorStatus.decoded(status.encoded())
    assert (again.mode, again.rules, again.latency) == (
        Mode.PARKING,
        GateRule.LAG | GateRule.JUMP,
        -1,
    )
    assert again.sent.tolist() == [2, 3, 4]
    assert (again.force.tolist(), again.read) == ([[3, 4, 5]], 5)
    knot = TimedSetpoint.decoded(TimedSetpoint(7, 8, 0.04, axes).encoded())
    assert (knot.epoch, knot.stamp, knot.seconds) == (7, 8, 0.04)
    assert knot.setpoint.tolist() == axes.tolist()


def test_beats(tmp_path) -> None:
    Beats.make(tmp_path / "beats", 2)
    ours, theirs = Beats(tmp_path / "beats", 2), Beats(tmp_path / "beats", 2)
    theirs.beat(1, 12345)
    assert [ours.stamp(0), ours.stamp(1)] == [0, 12345]
