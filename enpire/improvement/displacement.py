"""Moments as a hand elsewhere would have shown them, and the way back from there.

Corrective labels, as in CCIL (Ke et al. 2023, arXiv 2310.12972). Where they learn a model of what
an action changes, a pack says it: in the air what a hand holds goes where the hand goes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from enpire.environment import (
    UPRIGHT,
    Displacement,
    Face,
    MovedHand,
    ObservedYaw,
    RelativePlace,
    Symmetry,
)
from enpire.improvement.scene_symmetry import TINY, angle_of, take_back

DISPLACED = 0.5  # share of examples in which a hand is elsewhere, where it can be
HELD_BACK = 0.5  # share of examples before a face that show a hand which it holds back
LET_GO = 0.3  # share of what a setpoint is ahead then that each action of a chunk takes back
PACE = 0.8  # of whole actions, at which it goes back
GRIPPER, ARM = 6, 7  # place among an arm's entries of an action; how many these are


def displaced(
    symmetry: Symmetry, history: Tensor, actions: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return both as if a hand had been elsewhere: it goes back first, and then on as it did.

    Args:
        symmetry: what the task's pack says; where it names no such hand, all stays as it is.
        history: observations (batch, history, obs) of the task.
        actions: (batch, chunk, act), in [-1, 1].
        generator: of how far each row's hand is from where it was, and of whether it is.
    """
    said = symmetry.displaced
    if said is None:
        return history, actions
    by = said.hand.by * (2.0 * torch.rand(len(history), 3, generator=generator) - 1.0)
    drawn = torch.rand(len(history), 1, generator=generator) < DISPLACED
    by, drawn = by.to(history.device), drawn.to(history.device)
    seen = seen_elsewhere(said, history, by)
    chosen = drawn & _within(said, history) & _within(said, seen)
    by = torch.where(chosen, by, torch.zeros_like(by))
    seen = torch.where(chosen[..., None], seen, history)
    done = back_first(said.hand, actions, by)
    if said.face is None:
        return seen, done
    done = out_first(said.hand, said.face, seen, done, by)
    drawn = torch.rand(len(history), 1, generator=generator) < HELD_BACK
    ahead = said.face.ahead * drawn * torch.rand(len(history), 1, generator=generator)
    near = _depth(said.face, seen) > said.face.out
    ahead = ahead.to(history.device) * (near & _within(said, seen))
    return held_back(said.hand, said.face, seen, done, ahead)


def seen_elsewhere(said: Displacement, history: Tensor, by: Tensor) -> Tensor:
    """Return observations (batch, history, obs) with the hand elsewhere by (batch, 3) [m]."""
    seen, by = history.clone(), by[:, None]
    for point in said.points:
        seen[..., list(point.entries)] += by[..., : len(point.entries)] / point.unit
    for place in said.relative:
        along = (by[..., None, :] @ _axes(place, history))[..., 0, :]
        seen[..., list(place.entries)] += along / place.unit
    for each in said.enlarged:
        seen[..., each.entry] = ((seen[..., each.of] - each.at) / each.near).tanh()
    return seen


def out_first(hand: MovedHand, face: Face, history: Tensor, actions: Tensor, by: Tensor) -> Tensor:
    """Return chunks (batch, chunk, act) that leave a face first where a hand is elsewhere.

    Who moves aside while he pushes is held by friction. history: as it is shown, (batch, history,
    obs). actions: with the way back from `by` (batch, 3) [m].
    """
    axes = _axes(face.place, history)[:, -1]
    aside = (by[:, None] @ axes)[:, 0, 1:].abs().amax(dim=1, keepdim=True)
    depth = _depth(face, history)
    way = (depth - face.out) * ((depth > face.near) & (aside > face.aside))
    return back_first(hand, actions, way * axes[..., 0])


def held_back(
    hand: MovedHand, face: Face, history: Tensor, actions: Tensor, ahead: Tensor
) -> tuple[Tensor, Tensor]:
    """Return both as if a face had held a hand back, so its setpoint is further ahead.

    ahead: by how much, (batch, 1) [m]. Each action of a chunk takes back a share of it.
    """
    seen, done = history.clone(), actions.clone()
    further = ahead * way_to(face, history)
    for each in face.felt:
        seen[..., list(each.entries)] += each.by * further[:, None] / each.unit
    take_back(done, hand, further, LET_GO)
    return seen, done


def back_first(hand: MovedHand, actions: Tensor, by: Tensor) -> Tensor:
    """Return chunks (batch, chunk, act) that begin with the way back from `by` (batch, 3) [m].

    It takes whole periods, in which nothing else moves and grippers stay; what was done comes so
    much later.
    """
    step = torch.tensor(hand.step, dtype=by.dtype, device=by.device)
    periods = (by.abs() / (PACE * step)).amax(dim=1).ceil()[:, None]
    at = torch.arange(actions.shape[1], device=actions.device)[None]
    begun = (at - periods).clamp(min=0).long()
    done = actions.gather(1, begun[..., None].expand_as(actions))
    back = done.clone()
    back[..., [i for i in range(actions.shape[2]) if i % ARM != GRIPPER]] = 0.0
    back[..., list(hand.actions)] = (-by / step / periods.clamp(min=1))[:, None]
    return torch.where((at < periods)[..., None], back, done)


def way_to(face: Face, history: Tensor) -> Tensor:
    """Return the direction that leads to a face, as it was seen last, (batch, 3), in the world."""
    return _axes(face.place, history)[:, -1, :, 0]


def _depth(face: Face, history: Tensor) -> Tensor:
    """Return how far what a hand holds was seen last along the way to a face, (batch, 1) [m]."""
    entry = face.place.entries[0]
    return history[:, -1, [entry]] * face.place.unit


def _within(said: Displacement, history: Tensor) -> Tensor:
    """Whether a hand may be elsewhere where that is observed last, (batch, 1)."""
    now = history[:, -1]
    free = torch.ones(len(now), 1, dtype=torch.bool, device=now.device)
    for each in said.within:
        value = now[:, each.entry, None]
        free &= (value > each.low) & (value < each.high)
    return free


def _axes(place: RelativePlace, history: Tensor) -> Tensor:
    """Return the axes that a place is seen along, as columns, (batch, history, 3, 3)."""
    of, upright = place.axes, history.new_tensor(UPRIGHT)
    if isinstance(of, ObservedYaw):
        yaw = angle_of(history[..., of.entry] * of.unit, of.sines)
        return _turn(upright.expand(*yaw.shape, 3), yaw + place.yaw)
    vector = history[..., list(of.entries)] * of.unit
    length = vector.norm(dim=-1)
    turned = _turn(vector / length[..., None].clamp_min(TINY), angle_of(length, of.sines))
    return turned @ _turn(upright, upright.new_tensor(place.yaw))


def _turn(axis: Tensor, angle: Tensor) -> Tensor:
    """Return the matrices (..., 3, 3) that turn about unit axes (..., 3) by angles (...) [rad].

    By Rodrigues' formula.
    """
    x, y, z = axis.unbind(dim=-1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).reshape(*x.shape, 3, 3)
    one = torch.eye(3, dtype=axis.dtype, device=axis.device)
    sin, cos = angle.sin()[..., None, None], angle.cos()[..., None, None]
    turned: Tensor = one + sin * cross + (1.0 - cos) * cross @ cross
    return turned
