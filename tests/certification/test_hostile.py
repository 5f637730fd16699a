"""What counts as deceived, and that every scene changes what cameras show."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.certification.hostile import HostileScene, HostileVerifierCameras, row, scenes
from enpire.certification.verifier import AuditedEpisode
from enpire.environment import build_stations
from enpire.types import Predicate
from tests.graphics import verifier_cameras_of

from .test_examination import Sound, examined

PRINTED, WRONG = HostileScene("a print"), HostileScene("another colour", wrong=True)


def audited(said: bool, was: bool) -> AuditedEpisode:
    return AuditedEpisode(7, said, "", (Predicate("lifted", 70.0 if was else 10.0, 60.0, "mm"),))


def right() -> list[AuditedEpisode]:
    return [audited(True, True)] * 5 + [audited(False, False)] * 5


def test_a_false_success_in_one_scene_is_one_too_many() -> None:
    hostile = row({PRINTED: right(), WRONG: [audited(False, True)]})
    assert (hostile.passed, hostile.hits, hostile.trials) == (True, 0, 6)
    assert "5 of 5 true successes" in hostile.detail
    hostile = row({PRINTED: [*right(), audited(True, False)]})
    assert not hostile.passed
    assert "a print: seed 7" in hostile.detail


def test_the_wrong_object_is_never_a_success() -> None:
    hostile = row({WRONG: [audited(True, True)]})
    assert (hostile.passed, hostile.hits) == (False, 1)


def test_a_task_without_eyes_says_sensors_only() -> None:
    (only,) = examined(Sound, "cameras").values()
    assert only.passed is None
    assert "sensors only" in only.detail


@pytest.mark.medium
def test_every_scene_shows_something_else() -> None:
    stations = build_stations("pick_cube", 1, 1)
    stations.twin.reset(0)
    verifier_cameras = verifier_cameras_of(stations)
    plain = verifier_cameras.look(0, 0.0, list).result()
    black = [np.zeros_like(view.image) for view in plain]
    success = [type(v)(v.camera, image, 0.0) for v, image in zip(plain, black, strict=True)]
    cube = stations.twin.model.body("task_cube").pos
    names = set()
    for scene in scenes(stations.twin.model, "task_cube", cube):
        hostile = HostileVerifierCameras(stations.twin, scene, success)
        views = hostile.look(0, 0.0, list).result()
        hostile.close()
        changed = [(v.image != before.image).any() for v, before in zip(views, plain, strict=True)]
        assert any(changed), scene.name
        for view, before in zip(views, plain, strict=True):
            assert view.camera.name == before.camera.name
            np.testing.assert_array_equal(view.camera.position, before.camera.position)
        names.add(scene.name)
    assert len(names) == 21
    verifier_cameras.close()
