"""The zip tie in pictures of the twin: what is seen of it, and when nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.types import Outcome, PredicateState
from tests.packs import looking
from tests.packs.looking import GREY

from .conftest import Bench, Shot
from .test_physics import module


def test_a_fastened_zip_tie_is_a_success_without_a_tracker(fastened: Shot) -> None:
    verdict = fastened.judge()
    assert verdict.outcome is Outcome.SUCCESS, verdict.reason
    assert verdict.stage == "fastened"
    through, in_slot, loop, pull, off, on_bundle = verdict.predicates
    assert through.value == pytest.approx(fastened.truth[0] - 6.0, abs=through.accuracy)
    assert in_slot.value < in_slot.threshold - in_slot.accuracy
    assert off.value == pytest.approx(5.0, abs=0.1)
    assert on_bundle.value < on_bundle.threshold - on_bundle.accuracy
    assert through.accuracy < 1.2
    assert loop.value > 0.8
    assert 5.0 < pull.value < 9.0
    looking.require_overlays(verdict)


def test_a_tail_before_the_slot_is_a_failure_beyond_doubt(apart: Shot) -> None:
    verdict = apart.judge()
    assert apart.truth[0] < -6.0
    assert verdict.outcome is Outcome.FAILURE
    assert not verdict.undecided
    assert "holds_pull" in verdict.failed


@pytest.mark.medium
def test_the_tail_is_found_wherever_it_stands(bench: Bench) -> None:
    """Demonstrations that are stopped sooner and later, of other seeds: depth within accuracy."""
    seen = 0
    for seed, periods in ((1, 20), (2, 30), (3, 1000)):
        shot = bench.after(seed, periods)
        through = shot.judge().predicates[0]
        if through.state is not PredicateState.UNSURE:
            seen += 1
            assert abs(through.value - (shot.truth[0] - 6.0)) < through.accuracy, seed
    assert seen >= 2


@pytest.mark.parametrize("camera", [0, 1])
def test_one_view_is_not_enough(fastened: Shot, camera: int) -> None:
    looking.require_two_views(fastened, camera, "unsure", "through unsure")


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("place", ["label", "tip"])
def test_what_hides_it_leaves_more_open_and_is_never_believed(
    fastened: Shot, camera: int, place: str
) -> None:
    """A board from the left, further and further before label or tip in one view."""
    look = module("look")
    view = fastened.views[camera]
    (seen,) = look.colours([view], view.stamp)
    x = getattr(seen, place).points[:, 0]
    depth = fastened.truth[0] - 6.0
    states = []
    for edge in np.linspace(x.min(), x.max() + 1, 6).astype(int):
        image = view.image.copy()
        image[:, int(x.min()) - 30 : edge] = GREY
        through = fastened.judge(fastened.painted(camera, image)).predicates[0]
        states.append(through.state)
        if through.state is PredicateState.PASS:
            assert abs(through.value - depth) < through.accuracy
    assert states[-1] is PredicateState.UNSURE


@pytest.mark.parametrize("pitch", [-0.6, -0.4, 0.4])
def test_a_head_that_has_tipped_over_between_the_pads_is_found(
    bench: Bench, fastened: Shot, pitch: float
) -> None:
    """From upright alone the fit ends at a head that lies on its side."""
    model, qpos = bench.stations.twin.model, fastened.qpos.copy()
    at = model.joint("task_head").qposadr[0]
    look = module("look")
    hand, frame = look.lies(fastened.readings[-1])
    tipped = Rotation.from_matrix(frame @ look.IN_HAND) * Rotation.from_euler("y", pitch)
    qpos[at + 3 : at + 7] = tipped.as_quat(scalar_first=True)
    head = look.find_head(look.colours(bench.look(qpos), 0.0), hand, frame)
    assert head is not None
    off = Rotation.from_matrix(tipped.as_matrix().T @ head.frame).magnitude()
    assert off < 0.2
    assert abs(head.middle - qpos[at : at + 3]).max() < 0.0007


@pytest.mark.parametrize(
    ("turn", "place"),
    [
        ((-0.165, -0.386, -0.691), (1.2, -5.7, 1.6)),
        ((0.114, -0.859, 0.478), (-6.7, 3.7, 2.6)),
    ],
)
def test_no_head_is_believed_that_cannot_be_so(
    bench: Bench, fastened: Shot, turn: tuple[float, ...], place: tuple[float, ...]
) -> None:
    """Fits of these two, seen after success, came to poses that no head between pads has."""
    look = module("look")
    hand, frame = look.lies(fastened.readings[-1])
    nominal = frame @ look.IN_HAND
    true = nominal @ Rotation.from_rotvec(turn).as_matrix()
    qpos = fastened.qpos.copy()
    at = bench.stations.twin.model.joint("task_head").qposadr[0]
    qpos[at : at + 3] = hand + nominal @ (1e-3 * np.array(place))
    qpos[at + 3 : at + 7] = Rotation.from_matrix(true).as_quat(scalar_first=True)
    head = look.find_head(look.colours(bench.look(qpos), 0.0), hand, frame)
    assert head is not None
    assert Rotation.from_matrix(true.T @ head.frame).magnitude() < 0.2


@pytest.mark.parametrize("roll", [-0.3, -0.1, 0.1, 0.3])
def test_a_tip_that_has_rolled_against_the_head_is_one(fastened: Shot, roll: float) -> None:
    look = module("look")
    seen = look.colours(fastened.views, 0.0)
    head = look.find_head(seen, *look.lies(fastened.readings[-1]))
    rolled = Rotation.from_euler("x", roll).as_matrix()
    assert look.find_tip(seen, replace(head, frame=head.frame @ rolled)) is not None


def test_a_speck_above_the_strap_is_none(fastened: Shot) -> None:
    """Red beside blue is magenta where a pixel shows some of both."""
    look = module("look")
    seen = look.colours(fastened.views, 0.0)
    head = look.find_head(seen, *look.lies(fastened.readings[-1]))
    above = head.middle + head.frame @ np.array([look.BEFORE, 0.0, 0.008])
    spoilt = []
    for one in seen:
        mask = one.strap.mask.copy()
        x, y = one.strap.view.camera.project(above).round().astype(int)
        mask[y, x] = True
        spoilt.append(replace(one, strap=replace(one.strap, mask=mask)))
    tip = look.find_tip(seen, head)
    heights, unsure = look.passes(seen, head, tip)
    assert (look.passes(spoilt, head, tip)[0] == heights).all()
    assert look.passes(spoilt, head, tip)[1] == unsure


def test_a_head_lies_on_the_lower_pad_of_a_hand_that_has_let_go(fastened: Shot) -> None:
    """By 17 mm lower than that has held it."""
    look, last = module("look"), fastened.readings[-1]
    place, frame = look.lies(last)
    at = fastened.stations.twin.model.joint("task_head").qposadr[0]
    head = fastened.qpos[at : at + 3]
    assert abs((head - place) @ frame)[0] < 0.005, "along the hand's opening"
    assert ((last.hand_position[0, 0] - place) @ frame)[0] == pytest.approx(0.0174, abs=1e-4)
    held = replace(last, gripper=np.array([[0.0096, 0.0012]]))
    np.testing.assert_array_equal(look.lies(held)[0], last.hand_position[0, 0])


@pytest.mark.parametrize(
    ("wide", "unsure"),
    [
        ((1.0, 1.0), (0.0, 0.0)),
        ((1.6, 1.0), (0.0, 0.0)),
        ((1.6, 1.8), (0.6, 0.8)),
        ((0.5, 2.5), (0.5, 1.5)),
        ((2.5, 2.5), ()),
    ],
)
def test_a_strap_that_looks_wider_or_narrower_than_it_is_is_known_less_well(
    fastened: Shot,
    monkeypatch: pytest.MonkeyPatch,
    wide: tuple[float, float],
    unsure: tuple[float, ...],
) -> None:
    """Unless one view has it as it is. wide: in each, of its width; unsure: of half of that.

    The view that is sure of it counts, in millimetres.
    """
    look = module("look")
    seen = look.colours(fastened.views, 0.0)
    head = look.find_head(seen, *look.lies(fastened.readings[-1]))
    tip = look.find_tip(seen, head)
    halves = []
    for one in seen:
        along = head.frame.T @ (head.middle - one.tip.view.camera.position)
        halves.append(look.strap.WIDTH / 2 * abs(along[2] / along[1]) + look.strap.THICKNESS / 2)

    def highest(one: object, head: object, along: float, aside: float) -> tuple[float, float]:
        i = [view is one for view in seen].index(True)
        half = halves[i] * (wide[i] if along == look.BEFORE else 1.0)
        return -half, half

    monkeypatch.setattr(look, "_highest", highest)
    heights, accuracy = look.passes(seen, head, tip)
    if not unsure:
        assert np.isnan(heights).all()
        return
    entry = (-look.strap.SLOT_END - look.BEFORE) / (look.BEYOND - look.BEFORE)
    odd = min(share * half for share, half in zip(unsure, halves, strict=True))
    assert accuracy == pytest.approx(1e-3 * look.FACES + (1 - entry) * odd)
    assert abs(heights).max() < 1e-9


def test_a_hand_that_has_not_let_go_holds_the_tail_itself(fastened: Shot) -> None:
    opened = module("verify").OPENED
    shut = [i for i, r in enumerate(fastened.readings) if r.gripper[0, 1] < opened]
    assert {"holds_pull", "hands_off"} <= set(fastened.judge(probed=len(shut)).failed)
    weak = [replace(r, wrist_force=0.5 * r.wrist_force) for r in fastened.readings]
    assert replace(fastened, readings=weak).judge().failed == ("holds_pull",)


def test_a_head_that_is_not_in_the_hand_is_not_the_one(fastened: Shot) -> None:
    """As when a picture shows another moment: the hand is 20 mm from where it is seen."""
    moved = [
        replace(r, hand_position=r.hand_position + np.array([0, 0.020, 0]))
        for r in fastened.readings
    ]
    assert replace(fastened, readings=moved).judge().undecided


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_camera_that_was_moved_is_noticed(fastened: Shot, camera: int, axis: int) -> None:
    looking.require_calibration(fastened, camera, axis, 0.005)


def test_a_picture_of_success_deceives_one_camera_and_not_two(fastened: Shot, apart: Shot) -> None:
    looking.require_two_pictures(apart, fastened)


def test_every_hostile_scene_that_is_drawn_leaves_a_failure_a_failure(
    fastened: Shot, apart: Shot
) -> None:
    looking.require_undeceived(apart, fastened, "task_head")


def test_the_colours_are_the_ties(fastened: Shot) -> None:
    looking.require_colours(fastened)


def test_looking_takes_less_than_the_time_there_is(fastened: Shot) -> None:
    looking.require_haste(fastened)
