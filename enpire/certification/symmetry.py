"""Whether a pack's `symmetry.toml` is true: a wrong one teaches policies what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy.spatial.transform import Rotation
from torch import Tensor

from enpire.certification.mirror import MirroredScene
from enpire.environment import (
    Displacement,
    Face,
    Heading,
    Readings,
    Stations,
    Symmetry,
    Task,
    read_symmetry,
)
from enpire.environment.core.answers import drawn_of
from enpire.errors import PackError
from enpire.improvement.displacement import held_back, seen_elsewhere, way_to
from enpire.improvement.scene_symmetry import mirrored, moved_by
from enpire.packs.finder import SYMMETRY
from enpire.policies.heading import turn_plane
from enpire.types import Float32Array, FloatArray

STARTS = 4  # initial conditions that are looked at
TURN = 0.4  # or the most that the pack allows, where that is less [rad]
FORCE, LEAD = 3.0, 0.005  # that hands are said to feel and to lead by [N], [m]
CLOSE = 0.02  # of what is observed, besides a share of it: small rotations are to second order


def require_symmetry(stations: Stations) -> None:
    """Raise PackError unless a moved scene is observed as the task's pack says, if it says so.

    So must be a hand elsewhere, with what it holds.
    """
    task = stations.task
    symmetry = read_symmetry(task)
    if symmetry is None:
        return
    rng = np.random.default_rng(0)
    turn = min(TURN, symmetry.turn)
    shift = 0.5 * np.array(symmetry.shift)
    pivot = np.zeros(3)  # the turn is about the first point's centre
    if symmetry.points:
        pivot[:2] = symmetry.points[0].centre[:2]
    if symmetry.heading is not None:
        _require_heading(stations, symmetry.heading)
    mirror = None if symmetry.mirror is None else MirroredScene(stations, symmetry.mirror)
    for _ in range(STARTS):
        readings = _start(stations, rng)
        seen = task.observe(readings)
        expected = task.observe(_carried(readings, turn, shift, pivot))
        said = _transformed_observation(symmetry, seen, turn, shift)
        where = f"the scene is turned by {turn:.2f} rad and shifted by {shift.tolist()} m"
        _require_alike(task, where, seen, said, expected)
        if mirror is not None:
            _require_mirror(task, symmetry, mirror, mirror.apart(readings, rng))
        if symmetry.displaced is None:
            continue
        by = rng.uniform(-1.0, 1.0, 3) * symmetry.displaced.hand.by
        expected = task.observe(_elsewhere(readings, symmetry.displaced, by))
        history, away = torch.from_numpy(seen)[:, None], torch.tensor(by, dtype=torch.float32)
        said = seen_elsewhere(symmetry.displaced, history, away[None])[:, 0].numpy()
        where = f"hand {symmetry.displaced.hand.arm} is elsewhere by {by.round(4).tolist()} m"
        _require_alike(task, where, seen, said, expected)
        if (face := symmetry.displaced.face) is not None:
            _require_face(task, symmetry.displaced, face, readings, history)


def _require_mirror(
    task: Task, symmetry: Symmetry, scene: MirroredScene, readings: Readings
) -> None:
    """Raise PackError unless a mirrored scene is observed as the pack says."""
    seen = task.observe(readings)
    history = torch.from_numpy(seen)[:, None]
    actions = torch.zeros(1, 1, task.actions.size)
    said, _ = mirrored(symmetry, scene.mirror, history, actions)
    expected = task.observe(scene.mirrored(readings))
    _require_alike(task, "the scene is mirrored", seen, said[:, 0].numpy(), expected)


def _require_heading(stations: Stations, heading: Heading) -> None:
    """Raise PackError unless cosine, sine and vectors turn with the whole scene.

    Some vectors are places, from a point that the pack does not name: how they differ between two
    scenes turns, too.
    """
    task, rng, still = stations.task, np.random.default_rng(0), np.zeros(3)
    starts = [_start(stations, rng) for _ in range(STARTS)]
    seen, expected = (
        np.concatenate([task.observe(each) for each in scenes])
        for scenes in (starts, [_carried(each, TURN, still, still) for each in starts])
    )
    length = np.hypot(seen[:, heading.cosine], seen[:, heading.sine])
    if abs(length - 1.0).max() > CLOSE:
        names = [task.observation_names[at] for at in (heading.cosine, heading.sine)]
        raise PackError(
            f"{task.folder / SYMMETRY} [heading]: {' and '.join(names)} are no cosine and sine: "
            f"their length is {length.min():.3f} to {length.max():.3f}"
        )
    turned = torch.from_numpy(seen)[:, None]
    turn = torch.full((len(seen), 1), TURN)
    for plane in ((heading.cosine, heading.sine), *heading.seen):
        turn_plane(turned, plane, turn.cos(), turn.sin())
    said = expected.copy()
    own = [heading.cosine, heading.sine]
    said[:, own] = turned[:, 0].numpy()[:, own]
    vectors = [entry for plane in heading.seen for entry in plane]
    off = turned[:, 0].numpy()[:, vectors] - expected[:, vectors]
    said[:, vectors] += off - off[0]
    for before, row, after in zip(seen, said, expected, strict=True):
        where = f"the scene is turned by {TURN:.2f} rad"
        _require_alike(task, where, before[None], row[None], after[None])


def _require_face(
    task: Task, displacement: Displacement, face: Face, readings: Readings, history: Tensor
) -> None:
    """Raise PackError unless a hand that a face holds back is observed as the pack says."""
    (forward,) = way_to(face, history).numpy()
    lead, force = readings.lead.copy(), readings.wrist_force.copy()
    for each in face.felt:
        felt = lead if each.of == "lead" else force
        felt[:, each.arm] += each.by * face.ahead * forward
    expected = task.observe(replace(readings, lead=lead, wrist_force=force))
    actions = torch.zeros(1, 1, 1 + max(displacement.hand.actions))
    ahead = torch.tensor([[face.ahead]], dtype=torch.float32)
    said, _ = held_back(displacement.hand, face, history, actions, ahead)
    where = f"a face holds hand {displacement.hand.arm} back by {face.ahead:g} m"
    _require_alike(task, where, history[:, 0].numpy(), said[:, 0].numpy(), expected)


def _require_alike(
    task: Task, where: str, seen: Float32Array, said: Float32Array, expected: Float32Array
) -> None:
    wrong = abs(said - expected)[0] > CLOSE * (1.0 + abs(expected[0]))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise PackError(
            f"{task.folder / SYMMETRY}: where {where}, {task.observation_names[at]} is observed as "
            f"{expected[0, at]:.3f}; the file makes {said[0, at]:.3f} of {seen[0, at]:.3f}"
        )


def _start(stations: Stations, rng: np.random.Generator) -> Readings:
    """Return the readings (1 row) of an initial condition in which hands feel and lead."""
    stations.set_initial_state(0, drawn_of(stations.task, rng))
    stations.sensors.begin(0, rng)
    readings, _ = stations.sensors.read(np.array([0]), [0])
    force, lead = (rng.normal(0.0, size, readings.lead.shape) for size in (FORCE, LEAD))
    return replace(readings, wrist_force=force, lead=lead)


def _carried(readings: Readings, turn: float, shift: FloatArray, pivot: FloatArray) -> Readings:
    """Return the readings of a scene that was turned about the vertical by `pivot`, and shifted."""
    z = Rotation.from_rotvec([0.0, 0.0, turn]).as_matrix()
    to = shift + pivot - z @ pivot
    return replace(
        readings,
        hand_position=readings.hand_position @ z.T + to,
        hand_rotation=z @ readings.hand_rotation,
        wrist_force=readings.wrist_force @ z.T,
        lead=readings.lead @ z.T,
        position=readings.position @ z.T + to,
        rotation=z @ readings.rotation,
    )


def _elsewhere(readings: Readings, said: Displacement, by: FloatArray) -> Readings:
    """Return the readings with a hand and what it holds elsewhere by (3,) [m]."""
    hands, objects = readings.hand_position.copy(), readings.position.copy()
    hands[:, said.hand.arm] += by
    objects[:, list(said.held)] += by
    return replace(readings, hand_position=hands, position=objects)


def _transformed_observation(
    symmetry: Symmetry, seen: Float32Array, turn: float, shift: FloatArray
) -> Float32Array:
    """Return what the pack makes of observations (1, obs)."""
    history = torch.from_numpy(seen)[:, None]
    actions = torch.zeros(1, 1, 1 + max(map(max, symmetry.actions)))
    by = torch.tensor(shift, dtype=torch.float32)[:, None, None]
    moved, _ = moved_by(symmetry, history, actions, torch.tensor([[turn]]), by)
    result: Float32Array = moved[:, 0].numpy()
    return result
