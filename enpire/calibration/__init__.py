"""Where a station's cameras are and how they see: ChArUco boards, intrinsics, hand-eye.

Frames as in OpenCV: a camera's has x to the right, y down and z into the picture, pixels run right
and down from the middle of the first. A board's has its origin at its first corner, x along its
columns, y along its rows. A pose (4, 4) written `a_b` takes points from frame b to frame a.
"""

from enpire.calibration.camera import CameraCalibration, read_cameras, written

__all__ = ["CameraCalibration", "read_cameras", "written"]
