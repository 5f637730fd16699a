"""Moments as they would have been, had the whole scene been turned, shifted or mirrored.

Augmentation by a known symmetry, here of the plane: what is learned at one place holds at others,
so that demonstrations need not be shown at each. Networks that are equivariant by construction come
to the same, and need layers of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from enpire.environment import (
    Heading,
    Mirror,
    MovedHand,
    ObservedLead,
    ObservedPoint,
    ObservedRotation,
    RelativeTarget,
    Symmetry,
)
from enpire.improvement.data import Examples
from enpire.policies.heading import actions_along, history_along, turn_plane
from enpire.policies.relative import ways_of

MIRRORED = 0.5  # share of examples that are seen in the mirror, where there is one
LED = 0.5  # share of examples that show setpoints further ahead than they were
TAKEN_BACK = 0.2  # share of what is too far ahead that each action of a chunk takes back
TINY = 1e-9  # of a rotation [rad]: no axis can be told from it


@dataclass(frozen=True, slots=True)
class Scales:
    """Mean and standard deviation of observations (obs,), and of actions (act,)."""

    mean: Tensor
    std: Tensor
    action_mean: Tensor
    action_std: Tensor


def scales(
    data: Examples, heading: Heading | None = None, relative: tuple[RelativeTarget, ...] = ()
) -> Scales:
    """Return those of examples as who learns from them is shown them.

    Where they have a symmetry, each is at a place of its own; the places are always the same.
    heading: of the object that who learns sees and acts along. relative: targets that are learned
    as ways, which are longer the later in a chunk.
    """
    if data.symmetry is None:
        rows = data.rows
        if not relative:
            return Scales(*_spread(rows), data.action_mean, data.action_std)
        newest = data.rows[data.window[:, -1:]]
        ways = ways_of(relative, newest, data.actions)[data.valid]
        return Scales(*_spread(rows), ways.mean(dim=0), ways.std(dim=0))
    rows, actions = data.rows[data.window[:, -1:]], data.actions[:, :1]
    rows, actions = moved(data.symmetry, rows, actions, torch.Generator().manual_seed(0))
    rows, actions = history_along(heading, rows), actions_along(heading, rows, actions)
    rows, actions = rows[:, 0], actions[:, 0]
    return Scales(*_spread(rows), actions.mean(dim=0), actions.std(dim=0))


def _spread(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation, (obs,), of observations (N, obs).

    Where some are NaN, 0 and 1: nobody tracked anything there, and who sees by cameras, for whom
    such episodes are, is not shown that entry.
    """
    known = rows.isfinite().all(dim=0)
    mean, deviation = rows.mean(dim=0), rows.std(dim=0)
    return mean.where(known, torch.zeros(())), deviation.where(known, torch.ones(()))


def moved(
    symmetry: Symmetry, history: Tensor, actions: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return both as another place would have shown them, each row at a place of its own.

    Args:
        symmetry: what moves, and how far it may.
        history: observations (batch, history, obs) of the task.
        actions: (batch, chunk, act), in [-1, 1]; some that are returned are beyond.
        generator: of the turn and the shift of each row, and of whether it is mirrored.
    """
    drawn = 2.0 * torch.rand(4, len(history), 1, generator=generator) - 1.0
    limits = torch.tensor(symmetry.shift)[:, None, None]
    turn, shift = drawn[0] * symmetry.turn, drawn[1:] * limits
    where = history.device
    history, actions = moved_by(symmetry, history, actions, turn.to(where), shift.to(where))
    if symmetry.mirror is None:
        return history, actions
    chosen = (torch.rand(len(history), generator=generator) < MIRRORED).to(where)
    seen, done = mirrored(symmetry, symmetry.mirror, history, actions)
    chosen = chosen[:, None, None]
    return torch.where(chosen, seen, history), torch.where(chosen, done, actions)


def mirrored(
    symmetry: Symmetry, mirror: Mirror, history: Tensor, actions: Tensor
) -> tuple[Tensor, Tensor]:
    """Return both as a mirror would have shown them.

    A hand that turns about an axis turns about the mirrored one the other way round.
    """
    cos, sin = math.cos(2.0 * mirror.axis), math.sin(2.0 * mirror.axis)
    seen, done = history.clone(), actions.clone()
    seen[..., list(mirror.signs)] *= -1.0
    for plane in symmetry.vectors:
        _reflect_plane(seen, plane, cos, sin)
    for at, plane in enumerate(symmetry.actions):
        turns = bool(at % 2)  # of each arm, those that move it come first
        _reflect_plane(done, plane, -cos if turns else cos, -sin if turns else sin)
        if turns:
            done[..., plane[1] + 1] *= -1.0
    return seen, done


def moved_by(
    symmetry: Symmetry, history: Tensor, actions: Tensor, turn: Tensor, shift: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the same for given places: turn (batch, 1) [rad], shift (3, batch, 1) [m]."""
    cos, sin = turn.cos(), turn.sin()
    seen, done = history.clone(), actions.clone()
    for plane in symmetry.vectors:
        turn_plane(seen, plane, cos, sin)
    for point in symmetry.points:
        _move_point(seen, point, symmetry.points[0].centre, cos, sin, shift)
    for rotation in symmetry.rotations:
        entries = list(rotation.entries)
        seen[..., entries] = _turned(history[..., entries], rotation, turn)
    for yaw in symmetry.yaws:
        angle = turn + angle_of(history[..., yaw.entry] * yaw.unit, yaw.sines)
        seen[..., yaw.entry] = (angle.sin() if yaw.sines else angle) / yaw.unit
    for plane in symmetry.actions:
        turn_plane(done, plane, cos, sin)
    return seen, done


def led_further(
    symmetry: Symmetry, history: Tensor, actions: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return both as if setpoints had been further ahead of hands, and the chunk took that back.

    Where a hand meets something, an arm that gives way is wound up: each action moves the setpoint
    on, and the hand stays. A network that saw no such lead goes on as it pleases; one that was
    shown this lets go. Arguments are those of `moved`. What no pack names stays as it is.
    """
    if not symmetry.leads:
        return history, actions
    seen, done = history.clone(), actions.clone()
    for lead in symmetry.leads:
        further = lead.by * torch.randn(len(history), 3, generator=generator)
        further *= torch.rand(len(history), 1, generator=generator) < LED
        seen[..., list(lead.entries)] += (further[:, None] / lead.unit).to(seen.device)
        take_back(done, lead, further.to(done.device), TAKEN_BACK)
    return seen, done


def take_back(
    actions: Tensor, moved: ObservedLead | MovedHand, further: Tensor, share: float
) -> None:
    """Have chunks (batch, chunk, act), where they are, take back what a setpoint is too far ahead.

    further: by how much, (batch, 3) [m]. share: of what is left, that each action takes back.
    """
    at = torch.arange(actions.shape[1], dtype=actions.dtype, device=actions.device)
    shares = share * (1.0 - share) ** at
    step = torch.tensor(moved.step, dtype=actions.dtype, device=actions.device)
    actions[..., list(moved.actions)] -= shares[None, :, None] * further[:, None] / step


def angle_of(value: Tensor, sines: bool) -> Tensor:
    """Return angles [rad] that are observed as they are, or as their sines."""
    return value.clamp(-1.0, 1.0).asin() if sines else value


def _reflect_plane(values: Tensor, plane: tuple[int, int], cos: float, sin: float) -> None:
    """Reflect entries x and y of `values` (batch, rows, n) where they are.

    cos, sin: of twice the angle from x of the line that stays.
    """
    x, y = values[..., plane[0]].clone(), values[..., plane[1]].clone()
    values[..., plane[0]] = cos * x + sin * y
    values[..., plane[1]] = sin * x - cos * y


def _move_point(
    seen: Tensor,
    point: ObservedPoint,
    pivot: tuple[float, ...],
    cos: Tensor,
    sin: Tensor,
    shift: Tensor,
) -> None:
    """Turn a place about the vertical through `pivot` [m] and shift it [m], where it is seen."""
    x, y = point.entries[:2]
    turn_plane(seen, (x, y), cos, sin)
    right, ahead = (point.centre[axis] - pivot[axis] for axis in range(2))
    seen[..., x] += (cos * right - sin * ahead - right + shift[0]) / point.unit
    seen[..., y] += (sin * right + cos * ahead - ahead + shift[1]) / point.unit
    for z in point.entries[2:]:
        seen[..., z] += shift[2] / point.unit


def _turned(values: Tensor, rotation: ObservedRotation, turn: Tensor) -> Tensor:
    """Return rotation vectors (batch, rows, 3), in their unit, after a turn (batch, 1)."""
    vector = values * rotation.unit
    length = vector.norm(dim=-1, keepdim=True)
    angle = angle_of(length, rotation.sines)
    imaginary = vector / length.clamp_min(TINY) * (angle / 2).sin()
    real = (angle / 2).cos()
    # The quaternion of the turn, times that of the rotation.
    half = turn[..., None] / 2
    up = torch.tensor(rotation.up, dtype=values.dtype, device=values.device)
    axis = up * half.sin()
    product = half.cos() * imaginary + real * axis + torch.linalg.cross(axis, imaginary)
    whole = half.cos() * real - (axis * imaginary).sum(dim=-1, keepdim=True)
    size = product.norm(dim=-1, keepdim=True)
    angle = 2.0 * torch.atan2(size, whole.abs())
    length = angle.sin() if rotation.sines else angle
    turned: Tensor = product / size.clamp_min(TINY) * whole.sign() * length / rotation.unit
    return turned
