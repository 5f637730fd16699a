"""Pictures of a printed board by a camera of known lens and place, without OpenGL."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.calibration.board import CharucoBoard
from enpire.calibration.poses import inverse, of_vector, wrists
from enpire.calibration.shots import write_shot
from enpire.packs import Robot
from enpire.types import FloatArray, Image

WIDTH, HEIGHT = 480, 360
MATRIX = np.array([[460.0, 0, 245.0], [0, 462.0, 175.0], [0, 0, 1]])
BENT = np.array([0.08, -0.15, 0.001, -0.0015, 0.0])
FINE = 2  # samples a pixel, each way
TEXTURE = 2000.0  # pixels a metre
BOARD = CharucoBoard(8, 6, 0.025, 0.018)


class Photographer:
    """Renders a board seen from camera_board, by one camera."""

    def __init__(self, matrix: FloatArray = MATRIX, bent: FloatArray = BENT) -> None:
        self.matrix, self.bent = matrix, bent
        x = (np.arange(WIDTH * FINE) - (FINE - 1) / 2) / FINE
        y = (np.arange(HEIGHT * FINE) - (FINE - 1) / 2) / FINE
        pixels = np.stack(np.meshgrid(x, y), -1).reshape(-1, 1, 2)
        straight = cv2.undistortPoints(pixels, matrix, bent)[:, 0]
        self._rays = np.concatenate([straight, np.ones((len(straight), 1))], 1, dtype=np.float32)
        self._print = cv2.copyMakeBorder(
            BOARD.picture(TEXTURE), 80, 80, 80, 80, cv2.BORDER_CONSTANT, value=255
        )

    def picture(self, camera_board: FloatArray) -> Image:
        """RGB; a board that is looked at from behind would be mirrored: nobody does."""
        board_camera = inverse(camera_board).astype(np.float32)
        rays = self._rays @ board_camera[:3, :3].T
        way = -board_camera[2, 3] / rays[:, 2]
        hit = board_camera[:3, 3] + way[:, None] * rays
        texture = (hit[:, :2] * TEXTURE + 80 - 0.5).astype(np.float32)
        texture[way <= 0] = -1e4
        seen = cv2.remap(
            self._print,
            texture.reshape(HEIGHT * FINE, WIDTH * FINE, 2),
            None,
            cv2.INTER_LINEAR,
            None,
            cv2.BORDER_CONSTANT,
            90,
        )
        seen = cv2.resize(seen, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
        return cv2.cvtColor(seen, cv2.COLOR_GRAY2RGB).astype(np.uint8)

    def shows(self, camera_board: FloatArray) -> bool:
        """Whether the whole board is in the picture, and not too slanted."""
        corners = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.15, 0], [0.2, 0.15, 0]])
        seen = corners @ camera_board[:3, :3].T + camera_board[:3, 3]
        if (seen[:, 2] < 0.1).any() or camera_board[2, 2] < 0.5:
            return False
        pixels = (seen / seen[:, 2:]) @ self.matrix.T
        inside = (pixels[:, :2] > 10) & (pixels[:, :2] < [WIDTH - 10, HEIGHT - 10])
        return bool(inside.all())


def looking(position: tuple[float, ...], at: tuple[float, ...]) -> FloatArray:
    """world_camera of a camera that looks at a point, upright."""
    forward = np.array(at) - position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0, 0, 1.0])
    right /= np.linalg.norm(right)
    result = np.eye(4)
    result[:3, :3] = np.stack([right, np.cross(forward, right), forward], 1)
    result[:3, 3] = position
    return result


def shoot(
    folder: Path,
    robot: Robot,
    camera: FloatArray,
    board: FloatArray,
    on_wrist: bool,
    count: int,
    spread: float = 0.35,
    noise: float = 0.0,
    seed: int = 0,
) -> Path:
    """Record `count` pictures around home; spread [rad] of joints, noise [rad] of their readings.

    camera, board: their poses, each in the frame that it stands still in.
    """
    rng, photographer = np.random.default_rng(seed), Photographer()
    home, opened = np.array(robot.arms[0].home), robot.arms[0].gripper_range[1]
    positions = np.append(home, opened) + np.zeros((4000, 1))
    positions[:, :-1] += rng.uniform(-spread, spread, (4000, len(home)))
    for position, wrist in zip(
        positions, wrists(robot, robot.arms[0].name, positions), strict=True
    ):
        frame = inverse(wrist) if on_wrist else wrist
        seen = inverse(camera) @ frame @ board
        if not photographer.shows(seen):
            continue
        told = position + np.append(rng.normal(0, noise, len(home)), 0.0)
        write_shot(folder, photographer.picture(seen), told.tolist())
        count -= 1
        if not count:
            return folder
    raise ValueError("the board is hardly ever in the picture")


def apart(a: FloatArray, b: FloatArray) -> tuple[float, float]:
    """By how much two poses differ: [m], [rad]."""
    turn = Rotation.from_matrix(a[:3, :3].T @ b[:3, :3]).magnitude()
    return float(np.linalg.norm(a[:3, 3] - b[:3, 3])), float(turn)


def _pose(columns: list[list[float]], position: list[float]) -> FloatArray:
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = np.array(columns).T, position
    return result


# For the UR5e at home, whose hand hangs down with its x forward.
IN_HAND = _pose([[0, -1, 0], [0, 0, 1], [-1, 0, 0]], [0.02, 0.1, 0.125])
"""wrist_board of a board held in the gripper, its face forward."""
BEFORE = looking((0.87, 0.08, 0.30), (0.45, 0.0, 0.2))
"""world_camera of a camera before the arm."""
ON_BENCH = _pose([[1, 0, 0], [0, -1, 0], [0, 0, -1]], [0.40, 0.075, 0.0])
"""world_board of a board on the bench."""
ON_WRIST = of_vector(np.array([0.05, -0.1, 0.4, 0.06, 0.01, 0.03]))
"""wrist_camera of a camera on the wrist."""
