"""`enpire station calibrate` finds the lens and the place of a camera that is known here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.calibration.board import CharucoBoard
from enpire.calibration.camera import CameraCalibration
from enpire.calibration.poses import pose
from enpire.cli import main
from enpire.errors import UsageError
from enpire.packs import find, load_robot
from enpire.safety.station import load_station
from tests.calibration import printed

ROBOT = load_robot(find("robots", "ur5e"))
FILE = """\
# The cell by the window.
driver = "mock"
robot = "ur5e"
[[keep_out]] # the window
name = "window"
low = [0.0, 1.0, 0.0]
high = [1.0, 1.1, 1.0]
"""


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures by a camera before the arm, of a board in its hand."""
    folder = tmp_path_factory.mktemp("fixed")
    return printed.shoot(folder, ROBOT, printed.BEFORE, printed.IN_HAND, False, 13)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    path = tmp_path / "lab.toml"
    path.write_text(FILE)
    return path


def calibrated(lab: Path, shots: Path, *more: str) -> CameraCalibration:
    asked = ["station", "calibrate", str(lab), "--camera", "top", "--shots", str(shots), *more]
    assert main(asked) == 0
    return load_station(lab).calibrated["top"]


def placed(camera: CameraCalibration) -> np.ndarray:
    turned = Rotation.from_quat(camera.quaternion, scalar_first=True)
    return pose(turned, np.array(camera.position))


def test_a_fixed_camera(lab, fixed, capsys) -> None:
    camera = calibrated(lab, fixed, "--json")
    assert camera.mount == "world"
    assert (camera.width, camera.height) == (printed.WIDTH, printed.HEIGHT)
    assert camera.matrix == pytest.approx(printed.MATRIX, abs=5.0)
    away, turned = printed.apart(placed(camera), printed.BEFORE)
    assert away < min(0.003, 4 * camera.position_deviation)
    assert turned < min(0.008, 4 * camera.angle_deviation)
    assert camera.intrinsics_rms < 0.3
    assert camera.hand_eye_rms < 0.5
    assert camera.held_out_rms < 0.5
    assert camera.position_deviation < 0.003
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["hand_eye_rms"] == pytest.approx(camera.hand_eye_rms)


def test_a_camera_on_the_wrist(lab, tmp_path) -> None:
    folder = tmp_path / "shots"
    printed.shoot(folder, ROBOT, printed.ON_WRIST, printed.ON_BENCH, True, 12, spread=0.2)
    camera = calibrated(lab, folder, "--on-wrist")
    assert camera.mount == "arm"
    away, turned = printed.apart(placed(camera), printed.ON_WRIST)
    assert away < min(0.003, 4 * camera.position_deviation)
    assert turned < min(0.008, 4 * camera.angle_deviation)


def test_the_file_keeps_what_else_it_says_and_the_older_camera_goes(lab, fixed) -> None:
    calibrated(lab, fixed)
    first = lab.read_text()
    assert first.startswith(FILE.rstrip("\n"))
    calibrated(lab, fixed)
    assert lab.read_text() == first
    lab.write_text(first + "\n[limits] # calm\ncartesian_speed = 0.1\n")
    calibrated(lab, fixed)
    assert "[limits] # calm\ncartesian_speed = 0.1\n" in lab.read_text()
    assert load_station(lab).limits.cartesian_speed == 0.1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--square", "0.026", "--intrinsics-rms", "0.05"], "intrinsics_rms"),
        (["--hand-eye-rms", "0.01"], "hand_eye_rms"),
        (["--position-deviation", "1e-6"], "position_deviation"),
        (["--angle-deviation", "1e-6"], "angle_deviation"),
        (["--square", "0.035"], "hand_eye_rms"),
        (["--columns", "5", "--rows", "9"], "refused|found in|shows the board"),
    ],
)
def test_it_is_refused_above_a_bar_and_nothing_is_written(lab, fixed, capsys, more, said) -> None:
    asked = ["station", "calibrate", str(lab), "--camera", "top", "--shots", str(fixed), *more]
    assert main(asked) == 1
    error = capsys.readouterr().err
    assert any(part in error for part in said.split("|")), error
    assert lab.read_text() == FILE


def test_joints_that_are_not_where_they_say_are_found_out(lab, tmp_path, capsys) -> None:
    folder = tmp_path / "shots"
    printed.shoot(folder, ROBOT, printed.BEFORE, printed.IN_HAND, False, 10, noise=0.03)
    asked = ["station", "calibrate", str(lab), "--camera", "top", "--shots", str(folder)]
    assert main(asked) == 1
    assert "hand_eye_rms" in capsys.readouterr().err


@pytest.mark.medium
def test_few_pictures_or_one_posture_are_refused(lab, tmp_path, capsys) -> None:
    folder = tmp_path / "few"
    printed.shoot(folder, ROBOT, printed.BEFORE, printed.IN_HAND, False, 3)
    asked = ["station", "calibrate", str(lab), "--camera", "top", "--shots"]
    assert main([*asked, str(folder)]) == 1
    assert "it takes 8 or more" in capsys.readouterr().err
    still = tmp_path / "still"
    printed.shoot(still, ROBOT, printed.BEFORE, printed.IN_HAND, False, 9, spread=1e-4)
    assert main([*asked, str(still)]) == 1
    assert "refused" in capsys.readouterr().err


def test_what_is_wrong_with_the_pictures_is_told(lab, tmp_path, capsys) -> None:
    asked = ["station", "calibrate", str(lab), "--camera", "top", "--shots", str(tmp_path / "no")]
    assert main(asked) == 2
    assert "shots.json" in capsys.readouterr().err
    assert main([*asked, "--record"]) == 2
    assert "no cameras" in capsys.readouterr().err
    assert main([*asked, "--arm", "left"]) == 2


def test_a_board_is_drawn_and_found_again(lab, tmp_path) -> None:
    path = tmp_path / "board.png"
    asked = ["station", "calibrate", str(lab), "--camera", "top", "--shots", str(tmp_path)]
    assert main([*asked, "--draw", str(path)]) == 0
    drawn = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    assert drawn.shape == (1200, 1600)
    found = printed.BOARD.find(cv2.copyMakeBorder(drawn, 9, 9, 9, 9, 0, value=255))
    assert found is not None
    assert len(found[0]) == 35
    with pytest.raises(UsageError, match="markers"):
        CharucoBoard(30, 30, 0.02, 0.01)
    with pytest.raises(UsageError, match="dictionary"):
        CharucoBoard(8, 6, 0.02, 0.01, "DICT_9")


def test_a_bent_picture_is_straightened() -> None:
    bent = printed.Photographer()
    camera_board = pose(Rotation.from_euler("xyz", [0.3, -0.2, 0.1]), np.array([-0.1, -0.07, 0.5]))
    kept = CameraCalibration(
        "world",
        printed.WIDTH,
        printed.HEIGHT,
        (460.0, 462.0),
        (245.0, 175.0),
        tuple(printed.BENT),
        *((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), 9, 0.1, 0.1, 0.1, 0.0, 0.0),
    )
    focal, width, height = 400.0, 480, 360
    straight = np.array([[focal, 0, 239.5], [0, focal, 179.5], [0, 0, 1]])
    image = kept.straightener(focal, width, height)(bent.picture(camera_board))
    found = printed.BOARD.find(image)
    assert found is not None
    seen = found[0] @ camera_board[:3, :3].T + camera_board[:3, 3]
    expected = ((seen / seen[:, 2:]) @ straight.T)[:, :2]
    assert abs(found[1] - expected).max() < 0.5


def test_positions_of_other_pictures_are_refused(lab, fixed, tmp_path, capsys) -> None:
    shots = Path(shutil.copytree(fixed, tmp_path / "shots"))
    taken = json.loads((shots / "shots.json").read_text())
    late = [{**each, "position": taken[i - 1]["position"]} for i, each in enumerate(taken)]
    (shots / "shots.json").write_text(json.dumps(late))
    assert main(["station", "calibrate", str(lab), "--camera", "top", "--shots", str(shots)]) == 1
    assert "are positions of other pictures" in capsys.readouterr().err


def test_a_print_that_was_scaled_is_told(lab, fixed, capsys) -> None:
    calibrated(lab, fixed)
    assert "times worse than its lens" not in capsys.readouterr().out
    calibrated(lab, fixed, "--square", "0.026", "--marker", "0.01872")
    assert "times worse than its lens: measure a square" in capsys.readouterr().out
