"""What was hidden in a twin is found again, and what was not shown is said not to be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enpire.errors import UsageError
from enpire.identification.arms import ArmsModel
from enpire.identification.fit import ParameterFit, errors, fit
from enpire.identification.play import ArmNoise, play
from enpire.identification.recording import Recording
from enpire.identification.servo import beginning

from .conftest import HIDDEN, NAMES

TRUE = np.array([HIDDEN[name] for name in NAMES])


def test_arms_respond_as_mujoco_s_own_delay_has_them(scene, moved, arms) -> None:
    silent = ArmNoise(0.0, 0.0, 0.0)
    exact = play(scene, HIDDEN, moved.stamps, moved.sent, silent, np.random.default_rng(0))
    response = arms.respond(TRUE[None], exact)
    begun = exact.stamps > 0.2
    assert abs(response.position[0] - exact.position)[begun].max() < 2e-5
    effort = (response.effort[0] - exact.effort)[begun][:, arms.joint_axes]
    assert abs(effort).max() < 0.02


def test_a_later_latency_is_a_later_response(moved, recording, arms) -> None:
    late = TRUE.copy()
    late[NAMES.index("arm/latency")] += 0.003
    sooner, later = arms.respond(np.stack([TRUE, late]), recording).position
    speed = np.gradient(sooner[:, 0], recording.stamps)
    shift = (sooner - later)[:, 0]
    assert shift @ speed / (speed @ speed) == pytest.approx(0.003, rel=0.05)


@pytest.fixture(scope="module")
def found(arms: ArmsModel, recording: Recording) -> ParameterFit:
    return fit(arms, [recording])


def test_hidden_parameters_are_found_with_their_intervals(
    arms: ArmsModel, recording, found
) -> None:
    assert found.shown.all()
    assert abs(found.values / TRUE - 1.0).max() < 0.05
    inside = (found.low <= TRUE) & (found.high >= TRUE)
    assert inside.mean() > 0.7
    assert ((found.high - found.low) < 0.2 * TRUE).all()
    before, after = (errors(arms, [recording], v).position[0] for v in (arms.nominal, found.values))
    assert after < 2e-4 < before / 5


@pytest.mark.medium
def test_without_efforts_it_says_what_is_not_shown(arms: ArmsModel, recording, found) -> None:
    blind = replace(
        recording,
        effort=np.full_like(recording.effort, np.nan),
        velocity=np.full_like(recording.velocity, np.nan),
    )
    guessed = fit(arms, [blind])
    assert beginning(arms, [blind]) == {}
    latency, kp = NAMES.index("arm/latency"), NAMES.index("arm/joint1/kp")
    assert abs(guessed.values[latency] / TRUE[latency] - 1.0) < 0.05
    wide, narrow = (np.log(each.high / each.low)[kp] for each in (guessed, found))
    assert wide > 3 * narrow


@pytest.mark.medium
def test_rows_in_which_something_was_touched_are_left_out(arms: ArmsModel, recording) -> None:
    position = recording.position.copy()
    position[200:230, 0] += 0.02
    robust = fit(arms, [replace(recording, position=position)])
    assert 30 <= robust.rows[1] < 60
    assert abs(robust.values / TRUE - 1.0).max() < 0.08


def test_recordings_of_other_arms_are_refused(arms: ArmsModel, recording: Recording) -> None:
    with pytest.raises(UsageError, match="nothing to fit"):
        fit(arms, [])
    columns = ("sent", "position", "velocity", "effort")
    narrow = replace(recording, **{name: getattr(recording, name)[:, :3] for name in columns})
    with pytest.raises(UsageError, match="other arms"):
        fit(arms, [narrow])
