"""The verdict on a pin box, from made-up evidence: each condition fails alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Evidence, Readings
from enpire.types import Outcome, Verdict

from .samples import module, task

PERIOD = 0.04
LAST = -1


def readings(
    pin: int = LAST,
    depth: float = 0.014,
    off: float = 0.0,
    tilt: float = 0.0,
    away: float = 0.040,
    gripper: float = 0.022,
    yaw: float = 0.3,
) -> Readings:
    """A full box, or one whose `pin` lacks something.

    depth of its end in its hole and its distance off the axis [m], tilt [rad]; how far the hand is
    from the last pin's grip [m], its opening [m].
    """
    frames, parts = module("frames"), module("parts")
    turn = Rotation.from_euler("z", yaw).as_matrix()
    ends = parts.HOLES - (0.0, 0.0, 0.014)
    ends[pin] = parts.HOLES[pin] + (0.0, off, -depth)
    rotations = np.array([turn] * (parts.PINS + 1))
    rotations[1:][pin] = turn @ Rotation.from_euler("x", tilt).as_matrix()
    position = np.concatenate([[frames.BOX_AT], frames.BOX_AT + ends @ turn.T])
    hand = frames.hand_rotation(0.0, yaw)
    grip = frames.BOX_AT + turn @ (parts.HOLES[-1] - (0, 0, 0.014 - frames.GRIP))
    return Readings(
        joints=np.zeros((1, 1, 6)),
        gripper=np.full((1, 1), gripper),
        hand_position=(grip - away * hand[:, 2])[None, None],
        hand_rotation=hand[None, None],
        wrist_force=np.zeros((1, 1, 3)),
        lead=np.zeros((1, 1, 3)),
        position=position[None],
        rotation=rotations[None],
    )


def judge(*seen: Readings) -> Verdict:
    return task().verify(Evidence(seen, PERIOD))


def test_a_full_box_is_a_success() -> None:
    verdict = judge(*[readings()] * 10)
    assert verdict.outcome is Outcome.SUCCESS
    assert verdict.score == 1.0
    assert verdict.stage == "3 of 3"
    assert not verdict.reason


@pytest.mark.parametrize("pin", [0, 1, 2])
@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({"depth": 0.0115}, ("seated",)),
        ({"depth": -0.002}, ("seated",)),
        ({"off": 0.003}, ("in_line",)),
        ({"off": -0.018}, ("in_line",)),
        ({"tilt": 0.12}, ("upright",)),
        ({"tilt": np.pi}, ("upright",)),
    ],
)
def test_each_condition_fails_alone_for_whichever_pin(
    pin: int, wrong: dict[str, float], names: tuple[str, ...]
) -> None:
    verdict = judge(*[readings(pin, **wrong)] * 10)
    assert verdict.outcome is Outcome.FAILURE
    assert set(names) <= set(verdict.failed) <= {*names, "let_go"}
    assert verdict.reason
    assert verdict.score == pytest.approx(2 / 3)
    assert verdict.stage == "2 of 3"


def test_a_pin_that_is_not_seen_is_not_seated() -> None:
    lost = readings(1, off=float("nan"))
    assert judge(*[lost] * 10).outcome is Outcome.FAILURE
    assert not task().ready(lost)[0]


def test_a_pin_still_in_the_hand_is_not_let_go() -> None:
    assert judge(*[readings(away=0.007)] * 10).failed == ("let_go",)


def test_a_pin_that_lies_in_the_tray_is_outside() -> None:
    verdict = judge(*[readings(1, depth=0.2, off=0.05, tilt=np.pi / 2)] * 10)
    assert set(verdict.failed) == {"in_line", "upright"}


def test_what_counts_is_how_it_ends() -> None:
    out, full = readings(depth=0.0), readings()
    last = module("verify").LAST
    assert judge(*[out] * 5, *[full] * last).outcome is Outcome.SUCCESS
    assert judge(*[full] * 9, out).failed == ("seated",)


def test_ready_needs_all_pins_seated_and_the_fingers_open() -> None:
    seen = [
        readings(),
        readings(gripper=0.004),
        readings(0, depth=0.011),
        readings(2, tilt=0.2),
        readings(1, off=0.004),
        readings(depth=0.2, off=0.05),
    ]
    joined = Readings(
        *(np.concatenate([getattr(r, name) for r in seen]) for name in Readings.__slots__)
    )
    assert list(task().ready(joined)) == [True, False, False, False, False, False]


def test_the_probe_lets_go_backs_off_and_looks() -> None:
    seen = [readings(away=0.007)]
    actions = []
    while (action := task().verification_action(Evidence(seen, PERIOD))) is not None:
        actions.append(action)
        seen.append(readings(away=0.007))
    moves = np.array(actions)[:, :3] @ seen[0].hand_rotation[0, 0]
    assert (np.array(actions)[:, 6] > -0.7).all(), "open throughout"
    assert not moves[0].any(), "first the fingers open"
    assert moves[:, 2].sum() * task().actions.scale[0, 0] < -0.020
    assert not moves[-LAST:].any() or not moves[-1].any(), "then it holds still"
    assert len(actions) * PERIOD < task().probe_limit


def test_an_observation_is_of_the_pin_that_is_next() -> None:
    names = task().observation_names
    full = dict(zip(names, task().observe(readings())[0], strict=True))
    assert full["pin_from_hole_z"] == pytest.approx(-1.4, abs=1e-4), "all done: the last"
    first = dict(zip(names, task().observe(readings(0, depth=-0.01))[0], strict=True))
    assert first["pin_from_hole_z"] == pytest.approx(1.0, abs=1e-4)
    assert first["pin_near_z"] > 0.99, "10 mm are far, larger"
    assert first["box_yaw"] == pytest.approx(3.0, abs=1e-4)
    held = dict(zip(names, task().observe(readings(away=0.007))[0], strict=True))
    assert held["pin_from_hand_z"] == pytest.approx(0.0, abs=1e-4)
    assert held["pin_from_hand_y"] == pytest.approx(0.0, abs=1e-4)


def test_a_lying_pin_is_next_though_it_is_deep_below_its_hole() -> None:
    lying = readings(0, depth=0.196, off=0.05, tilt=np.pi / 2)
    assert list(module("frames").active(lying)) == [0]
    assert list(module("frames").active(readings())) == [2]
