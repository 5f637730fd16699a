"""Intrinsics after Zhang 2000, hand-eye after Park and Martin 1994, refined by reprojection.

The refinement is the bundle adjustment of robot-world hand-eye calibration (Tabb and Ahmad Yousef
2017): camera and board stand still in two frames that the arm moves against each other, and both
poses together must put every corner where it was seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from enpire.calibration.camera import LEAST_PICTURES, CameraCalibration
from enpire.calibration.poses import inverse, of_vector, pose, to_vector
from enpire.errors import SafetyError
from enpire.types import FloatArray

HELD_OUT = 4  # every so many pictures one is held out of the hand-eye fit
MOST = 50  # steps of a fit; what needs more has no answer
SINGULAR = 1e12  # condition of the fit above which its pose is unknown in some direction


@dataclass(frozen=True, slots=True, eq=False)
class BoardView:
    """One picture of the board."""

    points: FloatArray  # corners in the board's frame, (n, 3) [m]
    pixels: FloatArray  # where they were seen, (n, 2)
    world_wrist: FloatArray  # of the arm that moves camera or board, (4, 4)


@dataclass(frozen=True, slots=True)
class Bars:
    """Above what a calibration is refused: rms [px], standard deviations [m], [rad]."""

    intrinsics_rms: float = 1.0
    hand_eye_rms: float = 2.0  # also of pictures held out
    position_deviation: float = 0.005
    angle_deviation: float = 0.01


def calibrate(
    views: Sequence[BoardView], width: int, height: int, mount: str, on_wrist: bool, bars: Bars
) -> CameraCalibration:
    """What the views say of the camera.

    on_wrist: the camera moves with the wrist, and the board stands still; or the other way round.
    mount: what the camera's pose is told in, see `CameraCalibration`. Raises SafetyError if there
    are too few views, they leave the pose open, or an error is above `bars`.
    """
    if len(views) < LEAST_PICTURES:
        raise SafetyError(
            f"the board was found in {len(views)} pictures: it takes {LEAST_PICTURES} or more"
        )
    lens = _lens(views, width, height)
    frames = [_frame(view.world_wrist, on_wrist) for view in views]
    fitted = [i for i in range(len(views)) if i % HELD_OUT != HELD_OUT - 1]
    held = [i for i in range(len(views)) if i % HELD_OUT == HELD_OUT - 1]
    start = _start([frames[i] for i in fitted], [lens.boards[i] for i in fitted])

    def missed(
        both: FloatArray, chosen: Sequence[int], numbers: FloatArray = lens.numbers
    ) -> FloatArray:
        camera, board = of_vector(both[:6]), of_vector(both[6:])
        return np.concatenate(
            [_missed(views[i], frames[i], camera, board, numbers) for i in chosen]
        )

    part = least_squares(missed, start, args=(fitted,), max_nfev=MOST)
    whole = least_squares(missed, part.x, args=(range(len(views)),), max_nfev=MOST)
    by_lens = np.stack(
        [
            (missed(whole.x, range(len(views)), lens.numbers + step) - whole.fun)
            for step in np.diag(lens.deviations)
        ],
        1,
    )
    position_deviation, angle_deviation = _deviations(whole.jac, whole.fun, by_lens)
    camera = of_vector(whole.x[:6])
    w, x, y, z = Rotation.from_matrix(camera[:3, :3]).as_quat(scalar_first=True).tolist()
    found = CameraCalibration(
        mount=mount,
        width=width,
        height=height,
        focal=tuple(lens.numbers[:2].tolist()),
        centre=tuple(lens.numbers[2:4].tolist()),
        distortion=tuple(lens.numbers[4:].tolist()),
        position=tuple(camera[:3, 3].tolist()),
        quaternion=(w, x, y, z),
        pictures=len(views),
        intrinsics_rms=lens.rms,
        hand_eye_rms=_rms(whole.fun),
        held_out_rms=_rms(missed(part.x, held)),
        position_deviation=position_deviation,
        angle_deviation=angle_deviation,
    )
    _hold_against(found, bars)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Lens:
    """numbers: focal lengths, centre, distortion, (9,), with deviations; boards: camera_board."""

    rms: float
    numbers: FloatArray
    deviations: FloatArray
    boards: list[FloatArray]


def _lens(views: Sequence[BoardView], width: int, height: int) -> _Lens:
    rms, matrix, bent, turns, places, deviations, _, _ = cv2.calibrateCameraExtended(
        [view.points.astype(np.float32) for view in views],
        [view.pixels.astype(np.float32) for view in views],
        (width, height),
        np.eye(3),
        np.zeros(5),
        flags=cv2.CALIB_FIX_K3,  # for wide lenses alone, and badly known without many pictures
    )
    boards = [
        pose(Rotation.from_rotvec(np.ravel(turn)), np.ravel(place))
        for turn, place in zip(turns, places, strict=True)
    ]
    (fx, _, cx), (_, fy, cy) = np.asarray(matrix, np.float64)[:2]
    numbers = np.array([fx, fy, cx, cy, *np.ravel(bent)[:5]])
    return _Lens(float(rms), numbers, np.ravel(deviations)[:9].astype(np.float64), boards)


def _frame(world_wrist: FloatArray, on_wrist: bool) -> FloatArray:
    """The pose that leads from the board's fixed frame to the camera's."""
    return inverse(world_wrist) if on_wrist else world_wrist


def _start(frames: Sequence[FloatArray], boards: Sequence[FloatArray]) -> FloatArray:
    """Camera's and board's pose, each in its own frame, as vectors, (12,)."""
    moved = [inverse(frame) for frame in frames]
    turn, place = cv2.calibrateHandEye(
        [m[:3, :3] for m in moved],
        [m[:3, 3] for m in moved],
        [b[:3, :3] for b in boards],
        [b[:3, 3] for b in boards],
        method=cv2.CALIB_HAND_EYE_PARK,
    )
    if not (np.isfinite(place).all() and np.allclose(turn @ turn.T, np.eye(3), atol=1e-3)):
        raise SafetyError(
            "the pictures leave the camera's pose open: turn the wrist, about two axes"
        )
    if not np.linalg.det(np.asarray(turn, np.float64)) > 0:  # a mirror image, and no turn
        raise SafetyError(
            "no one place of the board explains the pictures: are positions of other pictures, in "
            "another order or unit, or is the camera on the wrist (--on-wrist) and said not to be?"
        )
    camera = pose(Rotation.from_matrix(turn), np.ravel(place))
    board = inverse(frames[0]) @ camera @ boards[0]
    return np.concatenate([to_vector(camera), to_vector(board)])


def _missed(
    view: BoardView,
    frame: FloatArray,
    camera: FloatArray,
    board: FloatArray,
    lens: FloatArray,
) -> FloatArray:
    """By how much each corner is missed, (2 n,) [px]."""
    matrix = np.array([[lens[0], 0.0, lens[2]], [0.0, lens[1], lens[3]], [0.0, 0.0, 1.0]])
    seen = to_vector(inverse(camera) @ frame @ board)
    pixels, _ = cv2.projectPoints(view.points, seen[:3], seen[3:], matrix, lens[4:])
    result: FloatArray = (pixels[:, 0] - view.pixels).ravel()
    return result


def _rms(missed: FloatArray) -> float:
    """Distance from where a corner was seen, root mean square [px]."""
    return float(np.sqrt(2 * (missed**2).mean())) if len(missed) else 0.0


def _deviations(
    jacobian: FloatArray, missed: FloatArray, by_lens: FloatArray
) -> tuple[float, float]:
    """Standard deviation of the camera's place [m] and turn [rad], in the worst direction.

    by_lens: how `missed` changes with one standard deviation of each number of the lens: a centre
    that is a pixel off turns the camera by as much.
    """
    information = jacobian.T @ jacobian
    if np.linalg.cond(information) > SINGULAR:
        return float("inf"), float("inf")
    variance = (missed**2).sum() / max(len(missed) - jacobian.shape[1], 1)
    turned = np.linalg.solve(information, jacobian.T @ by_lens)
    covariance = variance * np.linalg.inv(information) + turned @ turned.T
    worst = [float(np.sqrt(np.linalg.eigvalsh(covariance[s, s])[-1])) for s in (_PLACE, _TURN)]
    return worst[0], worst[1]


_TURN, _PLACE = slice(0, 3), slice(3, 6)


def _hold_against(found: CameraCalibration, bars: Bars) -> None:
    if found.folds:
        raise SafetyError(
            "refused: the lens that was found brings two rays to one pixel of the picture; take "
            "more pictures, with the board in its corners, too"
        )
    held = (
        ("intrinsics_rms", bars.intrinsics_rms, "px"),
        ("hand_eye_rms", bars.hand_eye_rms, "px"),
        ("held_out_rms", bars.hand_eye_rms, "px"),
        ("position_deviation", bars.position_deviation, "m"),
        ("angle_deviation", bars.angle_deviation, "rad"),
    )
    for name, bar, unit in held:
        value = getattr(found, name)
        if not value <= bar:
            raise SafetyError(
                f"refused: {name} is {value:.3g} {unit}, above {bar:g} {unit}; {_HELP}"
            )
    if found.held_out_rms > bars.hand_eye_rms:
        raise SafetyError(
            f"refused: pictures held out are missed by {found.held_out_rms:.3g} px, above "
            f"{bars.hand_eye_rms:g} px; {_HELP}"
        )


_HELP = (
    "is the board flat, its squares as long as said, and fixed? Take more pictures, near and far, "
    "with the wrist turned about every axis"
)
