"""What control and sensing compute every period for the stations that are due, compiled.

Between two physics steps of a station there are some hundred numbers to gather and a small system
to solve for each arm. In NumPy that is dozens of calls on arrays of a few bytes, each dearer than
what it computes; here it is one call each. Every row is computed by itself, in a fixed order and
without fast-math, so a station's result does not depend on how many others are computed with it.

rows are the stations that are due, shape (m,); the twin's arrays have a row per station and the
names that MuJoCo gives them; tables have a row per arm and say where its quantities stand in these
arrays. Results are written to arrays that the caller brings (numba takes longer to hand one over
than to fill it).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enpire.twin.native import compiled, compiled_without_gil, mj_step
from enpire.types import Float32Array, FloatArray

Indices = NDArray[np.int64]
Arrays = tuple[FloatArray, ...]
Tables = tuple[Indices, ...]

DAMPING = 0.003  # of the least squares, in metres
ROTATION_LENGTH = 0.1  # metres that one radian weighs as much as
YIELD = 0.002  # how far a hand gives way in a control period at twice its force limit [m]


@compiled
def jacobian(
    rows: Indices,
    site_xpos: FloatArray,
    xanchor: FloatArray,
    xaxis: FloatArray,
    grasp: Indices,
    joints: Indices,
    result: FloatArray,
) -> None:
    """Geometric Jacobian of each grasp point, (m, arms, 6, dof), world frame.

    grasp: (arms,) sites; joints: (arms, dof).
    """
    arms, dof = joints.shape
    for i, row in enumerate(rows):
        for arm in range(arms):
            hand = site_xpos[row, grasp[arm]]
            for k in range(dof):
                axis, anchor = xaxis[row, joints[arm, k]], xanchor[row, joints[arm, k]]
                x, y, z = hand[0] - anchor[0], hand[1] - anchor[1], hand[2] - anchor[2]
                result[i, arm, 0, k] = axis[1] * z - axis[2] * y
                result[i, arm, 1, k] = axis[2] * x - axis[0] * z
                result[i, arm, 2, k] = axis[0] * y - axis[1] * x
                result[i, arm, 3, k] = axis[0]
                result[i, arm, 4, k] = axis[1]
                result[i, arm, 5, k] = axis[2]


@compiled
def wrist_force(
    rows: Indices,
    site_xmat: FloatArray,
    history: FloatArray,
    wrist: Indices,
    force: Indices,
    result: FloatArray,
) -> None:
    """What the wrists' sensors say, (m, arms, 3) newtons, in the world frame.

    wrist: (arms,) sites; force: (arms, samples, 3), where the samples stand in the history.
    """
    arms, samples, _ = force.shape
    result[...] = 0.0
    for i, row in enumerate(rows):
        for arm in range(arms):
            for b in range(3):
                total = 0.0
                for k in range(samples):
                    total += history[row, force[arm, k, b]]
                for a in range(3):
                    turn = site_xmat[row, wrist[arm], 3 * a + b]
                    result[i, arm, a] += turn * (total / samples)


@compiled
def lead(
    rows: Indices,
    qpos: FloatArray,
    setpoints: FloatArray,
    joint_qpos: Indices,
    J: FloatArray,
    result: FloatArray,
) -> None:
    """How far the hands' setpoints are ahead of the hands, (m, arms, 3) [m].

    setpoints: (stations, arms, dof) rad; joint_qpos: (arms, dof); J: `jacobian` of the same rows.
    """
    arms, dof = joint_qpos.shape
    result[...] = 0.0
    for i, row in enumerate(rows):
        for arm in range(arms):
            for k in range(dof):
                ahead = setpoints[row, arm, k] - qpos[row, joint_qpos[arm, k]]
                for axis in range(3):
                    result[i, arm, axis] += J[i, arm, axis, k] * ahead


@compiled
def small_rotation(vector: FloatArray, result: FloatArray) -> None:
    """Rotation matrix (3, 3) of a small rotation vector (3,), to second order [rad]."""
    x, y, z = vector
    result[0, 0], result[0, 1], result[0, 2] = 0.0, -z, y
    result[1, 0], result[1, 1], result[1, 2] = z, 0.0, -x
    result[2, 0], result[2, 1], result[2, 2] = -y, x, 0.0
    square = x * x + y * y + z * z
    for a in range(3):
        for b in range(3):
            result[a, b] += 0.5 * vector[a] * vector[b]
        result[a, a] += 1.0 - 0.5 * square


@compiled
def turn_between(now: FloatArray, before: FloatArray, result: FloatArray) -> None:
    """Small rotation vector (3,) that takes the frame `now` to the frame `before` [rad].

    Frames are rotation matrices, row by row, (9,). The vector is the skew part of before now^T:
    right to second order in the angle.
    """
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        lower, upper = 0.0, 0.0
        for k in range(3):
            lower += before[3 * c + k] * now[3 * b + k]
            upper += before[3 * b + k] * now[3 * c + k]
        result[a] = 0.5 * (lower - upper)


@compiled
def read(
    rows: Indices,
    now: Indices,
    setpoints: FloatArray,
    live: Arrays,
    tables: Tables,
    errors: Arrays,
    J: FloatArray,
    sensed: Arrays,
) -> None:
    """The `jacobian`, and all that is sensed, in the order and the shapes of `Readings`.

    now: (m,), which of the errors, (stations, periods, ...), is due; those of rotations are small
    rotation vectors in the world frame [rad]. setpoints: (stations, arms, dof) rad. The tare is
    (stations, arms, 3) N. The tracker is late by so many periods, late[:, 0]; late[:, 1] is the
    period that was read last, and past (stations, k, objects, 12) has the true poses of the last k
    periods, that one the last; late[:, 0] is at most k - 1. live, tables and errors: `Sensors` has
    them.
    """
    qpos, actuator_length, xanchor, xaxis, site_xpos, site_xmat, history = live
    joints, joint_qpos, gripper, grasp, wrist, force, tracked = tables
    joint_error, force_error, position_error, rotation_error, tare, late, past = errors
    angles, opening, hand_position, hand_rotation, felt, ahead, position, rotation = sensed
    arms, dof = joint_qpos.shape
    error, ago, newest = np.empty((3, 3)), np.empty(3), past.shape[1] - 1
    jacobian(rows, site_xpos, xanchor, xaxis, grasp, joints, J)
    wrist_force(rows, site_xmat, history, wrist, force, felt)
    lead(rows, qpos, setpoints, joint_qpos, J, ahead)
    for i, row in enumerate(rows):
        t = now[i]
        for arm in range(arms):
            opening[i, arm] = actuator_length[row, gripper[arm]]
            for k in range(dof):
                angles[i, arm, k] = qpos[row, joint_qpos[arm, k]] + joint_error[row, t, arm, k]
            for a in range(3):
                hand_position[i, arm, a] = site_xpos[row, grasp[arm], a]
                felt[i, arm, a] += force_error[row, t, arm, a] - tare[row, arm, a]
                for b in range(3):
                    hand_rotation[i, arm, a, b] = site_xmat[row, grasp[arm], 3 * a + b]
        if late[row, 1] != t:  # a period that waits for something is read again: nothing has moved
            late[row, 1] = t
            for k in range(newest):
                past[row, k] = past[row, k + 1]
            for k, site in enumerate(tracked):
                past[row, newest, k, :3] = site_xpos[row, site]
                past[row, newest, k, 3:] = site_xmat[row, site]
        whole = min(int(late[row, 0]), newest - 1)
        share = late[row, 0] - whole
        seen, older = past[row, newest - whole], past[row, newest - whole - 1]
        for k in range(len(tracked)):
            for a in range(3):
                here, before = seen[k, a], older[k, a]
                position[i, k, a] = here + share * (before - here) + position_error[row, t, k, a]
            turn_between(seen[k, 3:], older[k, 3:], ago)
            for a in range(3):
                ago[a] = share * ago[a] + rotation_error[row, t, k, a]
            small_rotation(ago, error)
            for a in range(3):
                for b in range(3):
                    turned = 0.0
                    for c in range(3):
                        turned += error[a, c] * seen[k, 3 + 3 * c + b]
                    rotation[i, k, a, b] = turned


@compiled
def yielding(move: FloatArray, force: FloatArray, push: float) -> FloatArray:
    """What is left of a translation (3,) against a contact force (3,), both in the world frame.

    The part along the force is scaled from 1 at half of `push` to 0 at `push`; above it the hand
    gives way, as an admittance does (Hogan 1985).
    """
    size = math.sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2])
    if size <= push / 2.0:
        return move.copy()
    pushed = max((move[0] * force[0] + move[1] * force[1] + move[2] * force[2]) / size, 0.0)
    held = min(2.0 * size / push - 1.0, 1.0)
    excess = min(max(size / push - 1.0, 0.0), 1.0)
    left = move.copy()
    for a in range(3):
        left[a] -= force[a] / size * (held * pushed + YIELD * excess)
    return left


@compiled
def least_squares(J: FloatArray, twist: FloatArray) -> FloatArray:
    """Joint increments (dof,) that move a hand by `twist` (6,), damped and weighted.

    With A = W J and b = W twist: Aᵀ (A Aᵀ + damping²)⁻¹ b, by Cholesky's decomposition.
    """
    dof = J.shape[1]
    A, x = np.empty((6, dof)), np.empty(6)
    for i in range(6):
        weight = 1.0 if i < 3 else ROTATION_LENGTH
        x[i] = weight * twist[i]
        for k in range(dof):
            A[i, k] = weight * J[i, k]
    L = np.empty((6, 6))
    for i in range(6):
        for j in range(i + 1):
            total = DAMPING**2 if i == j else 0.0
            for k in range(dof):
                total += A[i, k] * A[j, k]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(total) if i == j else total / L[j, j]
    for i in range(6):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]
    result = np.zeros(dof)
    for k in range(dof):
        for i in range(6):
            result[k] += A[i, k] * x[i]
    return result


@compiled
def stay_inside(way: FloatArray, hand: FloatArray, box: FloatArray) -> None:
    """Shorten `way`, whose first three are a hand's [m], so that `hand` (3,) stays in its box.

    One outside stays where it is, or comes back. box: (2, 3) [m].
    """
    for a in range(3):
        to_low, to_high = box[0, a] - hand[a], box[1, a] - hand[a]
        way[a] = min(max(way[a], min(to_low, 0.0)), max(to_high, 0.0))


@compiled
def share_allowed(
    way: FloatArray,
    setpoints: FloatArray,
    qpos: FloatArray,
    joint_qpos: Indices,
    lead: float,
    step: FloatArray,
) -> float:
    """Return how much of `way` (dof,) an arm's setpoints may go in one period, from 0 to 1.

    An arm is slowed as a whole, so its hand still moves in the same direction. No joint goes
    further than `step` (dof,), nor its setpoint more than `lead` ahead of it [rad].
    """
    share = 1.0
    for k in range(len(way)):
        held, measured = setpoints[k], qpos[joint_qpos[k]]
        if way[k] > 0.0:
            room = max(measured + lead, held) - held
        else:
            room = held - min(measured - lead, held)
        share = min(share, min(room, step[k]) / max(abs(way[k]), 1e-12))
    return share


@compiled
def set_arm(
    setpoints: FloatArray,
    way: FloatArray,
    gripper: float,
    joint_range: FloatArray,
    gripper_range: FloatArray,
) -> None:
    """Move an arm's `setpoints`, (dof + 1,), by `way` (dof,) within its range; set its gripper.

    gripper: an action's entry, from -1, closed, to 1. joint_range: (2, dof); gripper_range: (2,).
    """
    dof = len(way)
    for k in range(dof):
        setpoints[k] = min(max(setpoints[k] + way[k], joint_range[0, k]), joint_range[1, k])
    opening = 0.5 + 0.5 * min(max(gripper, -1.0), 1.0)
    setpoints[dof] = gripper_range[0] + opening * (gripper_range[1] - gripper_range[0])


@compiled
def move(
    rows: Indices,
    actions: Float32Array,
    J: FloatArray,
    force: FloatArray,
    qpos: FloatArray,
    site_xpos: FloatArray,
    ctrl: FloatArray,
    command: FloatArray,
    joint_qpos: Indices,
    grasp: Indices,
    limits: tuple[Any, ...],
) -> None:
    """Move the setpoints in `command` by `actions` (m, 7 arms) and write them to `ctrl`.

    J: `jacobian` of the same rows; force: (m, arms, 3) N, world frame. command: (stations, arms,
    dof + 1), and actuators, (arms, dof + 1), have the gripper last. Limits: scale, (arms, 6), of a
    full action [m], [rad]; box: (2, arms, 3) [m]; joint_range: (2, arms, dof), step: (dof,) [rad];
    gripper_range: (arms, 2).
    """
    actuators, scale, box, joint_range, step, gripper_range, lead, push, _ = limits
    arms, dof = joint_qpos.shape
    twist = np.empty(6)
    for i, row in enumerate(rows):
        for arm in range(arms):
            for k in range(6):
                twist[k] = scale[arm, k] * min(max(actions[i, 7 * arm + k], -1.0), 1.0)
            twist[:3] = yielding(twist[:3], force[i, arm], push)
            stay_inside(twist, site_xpos[row, grasp[arm]], box[:, arm])
            way = least_squares(J[i, arm], twist)
            way *= share_allowed(way, command[row, arm], qpos[row], joint_qpos[arm], lead, step)
            set_arm(
                command[row, arm],
                way,
                actions[i, 7 * arm + 6],
                joint_range[:, arm],
                gripper_range[arm],
            )
            for k in range(dof + 1):
                ctrl[row, actuators[arm, k]] = command[row, arm, k]


@compiled
def pressing_less(move: FloatArray, force: FloatArray, push: float, most: FloatArray) -> FloatArray:
    """What is left of a hand's way (3,) against a contact force (3,), both in the world frame.

    Against the force it goes no further than `yielding` leaves of a whole action, whose way is
    `most` (3,). What `yielding` has left of any action is left as it is.
    """
    left = move.copy()
    size = math.sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2])
    if size <= push / 2.0:
        return left
    along, whole = 0.0, 0.0
    for a in range(3):
        along += move[a] * force[a] / size
        whole += abs(most[a] * force[a]) / size
    held = min(2.0 * size / push - 1.0, 1.0)
    excess = min(max(size / push - 1.0, 0.0), 1.0)
    over = max(along - (whole * (1.0 - held) - YIELD * excess), 0.0)
    for a in range(3):
        left[a] -= force[a] / size * over
    return left


@compiled
def follow(
    rows: Indices,
    actions: Float32Array,
    J: FloatArray,
    force: FloatArray,
    qpos: FloatArray,
    site_xpos: FloatArray,
    ctrl: FloatArray,
    command: FloatArray,
    joint_qpos: Indices,
    grasp: Indices,
    limits: tuple[Any, ...],
) -> None:
    """Move the setpoints in `command` to where `actions`, (m, arms (dof + 1)), want them.

    They go as far in one period as the limits of `move` let them: an arm goes straight in its
    joints, all of them slowed alike. Where its hand would leave the box, or press too hard, it goes
    another way. Arguments are those of `move`. farthest, (arms,): of a hand in a period [m].
    """
    actuators, scale, box, joint_range, step, gripper_range, lead, push, farthest = limits
    arms, dof = joint_qpos.shape
    way, moved, twist = np.empty(dof), np.empty(3), np.zeros(6)
    for i, row in enumerate(rows):
        for arm in range(arms):
            first = (dof + 1) * arm
            for k in range(dof):
                part = 0.5 + 0.5 * min(max(actions[i, first + k], -1.0), 1.0)
                low, high = joint_range[0, arm, k], joint_range[1, arm, k]
                way[k] = low + part * (high - low) - command[row, arm, k]
            share = share_allowed(way, command[row, arm], qpos[row], joint_qpos[arm], lead, step)
            length = 0.0
            for a in range(3):
                moved[a] = 0.0
                for k in range(dof):
                    moved[a] += share * J[i, arm, a, k] * way[k]
                length += moved[a] * moved[a]
            length = math.sqrt(length)
            slower = min(farthest[arm] / max(length, 1e-12), 1.0)
            for k in range(dof):
                way[k] *= share * slower
            for a in range(3):
                moved[a] *= slower
            left = pressing_less(moved, force[i, arm], push, scale[arm, :3])
            stay_inside(left, site_xpos[row, grasp[arm]], box[:, arm])
            for a in range(3):
                twist[a] = left[a] - moved[a]
            if twist.any():
                otherwise = least_squares(J[i, arm], twist)
                for k in range(dof):
                    way[k] = min(max(way[k] + otherwise[k], -step[k]), step[k])
            set_arm(
                command[row, arm],
                way,
                actions[i, first + dof],
                joint_range[:, arm],
                gripper_range[arm],
            )
            for k in range(dof + 1):
                ctrl[row, actuators[arm, k]] = command[row, arm, k]


@compiled_without_gil
def carry_out(
    model: int,
    data: int,
    warning: NDArray[np.int32],
    substeps: int,
    plan: Float32Array,
    first: int,
    force_limit: float,
    command: FloatArray,
    ctrl: FloatArray,
    live: Arrays,
    tables: Tables,
    errors: Arrays,
    limits: tuple[Any, ...],
    to_joints: bool,
    J: FloatArray,
    sensed: Arrays,
    sent: FloatArray,
) -> int:
    """Fly a control period, and then those of a plan (k, act), one station alone.

    Between two periods it reads the sensors and moves the setpoints, as `read` and `move` do, or
    `follow` where actions are `to_joints`; what is read is returned for each of them. It goes no
    further than to where MuJoCo warns of something or a hand feels more than `force_limit` [N].

    model, data: addresses. first: the errors due in the first period of the plan. command, ctrl,
    live and errors are of the one station, (1, ...). limits: `CartesianControl` has them. sent: the
    setpoints of each period of the plan, (k, arms, dof + 1), come here.

    Returns:
        How many periods of the plan were carried out.
    """
    qpos, site_xpos, joint_qpos, grasp = live[0], live[4], tables[1], tables[3]
    setpoints = command[:, :, : joint_qpos.shape[1]]
    angles, opening, hand_position, hand_rotation, felt, ahead, position, rotation = sensed
    row, now = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for t in range(len(plan) + 1):
        for _ in range(substeps):
            mj_step(model, data)
        if t == len(plan) or warning.any():
            break
        now[0] = (first + t) % errors[0].shape[1]  # overtime sees the same white noise again
        here = slice(t, t + 1)
        seen = (
            angles[here],
            opening[here],
            hand_position[here],
            hand_rotation[here],
            felt[here],
            ahead[here],
            position[here],
            rotation[here],
        )
        read(row, now, setpoints, live, tables, errors, J, seen)
        for arm in range(len(felt[t])):
            if np.sqrt((felt[t, arm] ** 2).sum()) > force_limit:
                return t
        if to_joints:
            follow(
                row,
                plan[here],
                J,
                felt[here],
                qpos,
                site_xpos,
                ctrl,
                command,
                joint_qpos,
                grasp,
                limits,
            )
        else:
            move(
                row,
                plan[here],
                J,
                felt[here],
                qpos,
                site_xpos,
                ctrl,
                command,
                joint_qpos,
                grasp,
                limits,
            )
        sent[t] = command[0]
    return t
