"""Where cutter, strap, bundle, clamp and stand are, from their colours in two pictures.

Labels on clamp and stand, a band on the bundle, the strap's two ends and a sleeve on each handle
have colours of their own. A label is the same seen from opposite sides, so the middle of its patch
shows its middle, and two cameras give it by triangulation. The cutter's pose and opening are those
whose sleeves would make patches with the middles and variances that are seen, and the bundle's
shift is that which would put its band, seen by the same cameras as the clamp's labels, where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Camera, CameraView, ColourPatch, coloured, fresh, triangulate
from enpire.types import FloatArray

from .layout import GRIP, STANDING
from .patches import Box, Patch, Thing, outline, patches, things, whole

CENTRE = np.array([0.43, -0.105, 0.100])  # that both cameras look at [m]
CAMERAS = {
    "front": (0.60, -24.0, 32.0),
    "side": (0.60, -58.0, 32.0),
}  # away [m]; round, above [deg]
ROLL = 20.0  # of both about where they look: edges then cross rows and columns of pixels [deg]

HUES = {  # [deg]
    "one": (295.0, 330.0),
    "other": (212.0, 245.0),
    "end_a": (-14.0, 12.0),
    "end_b": (170.0, 200.0),
    "band": (252.0, 285.0),
    "labels": (105.0, 155.0),
}
SATURATION, VALUE = 80.0, 25.0  # of 255
LEAST, END_LEAST = 290, 25  # pixels of a thing that a view must show; of a strap's end
APART = 0.0004  # that rays to the middle of one thing may pass each other [m]
ENDS_APART = 0.0015  # the same of the strap's ends, of which a loop may hide some
WHOLE = (0.93, 1.07)  # of a thing's outline, that must be seen of it
HEIGHT = 0.0006  # that the stand may seem higher or lower than it is [m]

ANYWHERE: Box = ((0.12, -0.45, 0.0), (0.70, 0.30, 0.45))
ON_STAND: Box = ((0.43, -0.20, 0.065), (0.475, -0.14, 0.091))
ON_CLAMP: Box = ((0.39, -0.09, 0.055), (0.49, 0.01, 0.081))
ON_BUNDLE: Box = ((0.38, -0.08, 0.110), (0.48, 0.03, 0.142))


def _box(*half: float) -> FloatArray:
    """Corners (8, 3) by half lengths [m]: a cap across z in order round it, then the other."""
    round_ = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([(x, y, z) for z in (-1, 1) for x, y in round_]) * half


STAND = _box(0.0002, 0.015, 0.009)  # its label
STAND_AT = np.array([0.0222, 0.0, -0.012])  # from the stand's floor [m]
FLOOR = 0.090  # of the stand over the bench [m]
STEEP = 0.5236  # so far the clamp's faces lean back [rad]
ON_X = _box(0.0002, 0.014, 0.007) @ Rotation.from_euler("y", -STEEP).as_matrix().T  # its labels
ON_Y = _box(0.014, 0.0002, 0.007) @ Rotation.from_euler("x", -STEEP).as_matrix().T
FACE = 0.0288  # of the clamp's axis from either [m]
BAND_OVER = 0.058  # of the band's middle over the labels' [m]
BAND = np.array(
    [
        (0.0112 * np.cos(a), 0.0112 * np.sin(a), z)
        for z in (-0.005, 0.005)
        for a in np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ]
)
STRAP = np.array([0.0, -0.025, 0.049])  # of its middle from the labels' height [m]
STRAP_NEAR = 0.024  # what may be an end is so near that [m]
END = 0.011  # length of either end [m]
END_BOX = _box(END / 2, 0.0009, 0.0026)
# Of an end's outline, that must be seen: 0.76 to 1.05 of 40 cut straps; at most 0.51 of whole ones
# whose middle was painted over until the gap seemed 6 mm wide.
END_WHOLE = (0.66, 1.25)
LABELS = 0.068  # height of the clamp's labels over its foot [m]
SLEEVE = _box(0.0052, 0.0042, 0.013)
SLEEVE_AT, SLEEVE_LEANS = np.array([0.0, 0.0081, 0.062]), 0.21  # in its jaw's frame [m], [rad]
PLACED = 0.00015  # that a shift may be off where all that shows it is seen whole [m]
UNHIDDEN = 0.985  # of an outline is seen if nothing hides it
HIDES = 0.5 * 0.028 * 1.25  # that what hides a share of them puts a shift off, over that share [m]
MOVES = np.array([1e-4, 1e-4, 1e-4, 3e-3, 1e-4, 1e-4])  # of that fit's differences [m], [rad]
OPEN = 0.40  # of a cutter that nobody holds [rad]
SCALE = np.array([0.001] * 3 + [0.02] * 4)  # units of the fit [m], [rad]
STEP, ROUNDS, DAMPING = 0.1, 12, 1e-3  # of the fit
UNLIKE = 0.5  # that a patch's middle and spread may differ from the fit [px]


@dataclass(frozen=True, slots=True)
class Cutter:
    """Pivot (3,) [m], frame (3, 3): hinge, opening, towards the handles; and sleeves' corners.

    opening: of its jaws [rad].
    """

    pivot: FloatArray
    frame: FloatArray
    opening: float
    sleeves: tuple[FloatArray, FloatArray]

    @property
    def halves(self) -> FloatArray:
        """Rotations of its two jaws, (2, 3, 3)."""
        turns = [Rotation.from_euler("x", side * self.opening / 2) for side in (-1.0, 1.0)]
        result: FloatArray = self.frame @ np.stack([turn.as_matrix() for turn in turns])
        return result


@dataclass(frozen=True, slots=True)
class Scene:
    """What the views show together; None, or not a number, where they do not.

    stand: where the pivot of a cutter that stands belongs, (3,) [m]. gap: between the strap's ends
    [m]. shift: of the bundle in its clamp [m], and off: how far that may be off [m]. bundle: its
    foot (3,) [m], and its clamp's frame (3, 3). outlines: corners of what was found, (n, 3) [m].
    """

    stand: FloatArray | None
    gap: float
    shift: float
    off: float
    bundle: tuple[FloatArray, FloatArray] | None
    cutter: Cutter | None
    outlines: tuple[FloatArray, ...]


def colours(views: Sequence[CameraView], now: float) -> list[dict[str, ColourPatch]]:
    """What has them in those views that show what is at `now` [s]."""
    return [
        {name: coloured(view, hue, SATURATION, VALUE) for name, hue in HUES.items()}
        for view in fresh(views, now)
    ]


def find(seen: Sequence[dict[str, ColourPatch]]) -> Scene:
    """All that two views show, and do not contradict each other in.

    Nothing is, where the stand is not seen as high as it is: then a camera is not where it was.
    """
    nothing = Scene(None, np.nan, np.nan, np.nan, None, None, ())
    if len(seen) != 2:
        return nothing
    cameras = [one["labels"].view.camera for one in seen]
    found = {
        name: [patches(one[name], LEAST) for one in seen] for name in HUES if "end" not in name
    }
    labels = found["labels"]
    stand = _only(things(cameras, labels, ON_STAND, APART), cameras, STAND)
    if stand is None or abs(stand.middle[2] - FLOOR - STAND_AT[2]) > HEIGHT:
        return nothing
    outlines = [stand.middle + STAND]
    gap = shift = off = np.nan
    bundle = None
    clamp = _clamp(cameras, things(cameras, labels, ON_CLAMP, APART))
    if clamp is not None:
        at, frame, sides = clamp
        outlines += [
            at + (ON_X + np.array([FACE, 0.0, 0.0])) @ frame.T,
            at + (ON_Y - np.array([0.0, FACE, 0.0])) @ frame.T,
        ]
        band = _only(things(cameras, found["band"], ON_BUNDLE, APART), cameras, BAND, prism=True)
        if band is not None:
            moved, off = _shift(cameras, (*sides, band), at, frame)
            shift = float(np.linalg.norm(moved))
            foot = at + frame @ np.array([*moved, 0.0])
            bundle = foot - (0.0, 0.0, LABELS), frame
            gap = _gap(cameras, seen, foot + frame @ STRAP, frame)
            outlines.append(at + (BAND + np.array([*moved, BAND_OVER])) @ frame.T)
    cutter = _cutter(
        cameras, *(things(cameras, found[n], ANYWHERE, APART) for n in ("one", "other"))
    )
    if cutter is not None:
        outlines += cutter.sleeves
    place = stand.middle - STAND_AT + (0.0, 0.0, STANDING)
    return Scene(place, gap, shift, off, bundle, cutter, tuple(outlines))


def _shows(camera: Camera, patch: Patch, corners: FloatArray, prism: bool = False) -> bool:
    """Whether a patch is as large as this body's would be."""
    share = patch.area / outline(camera, corners, prism).area
    return WHOLE[0] < share < WHOLE[1]


def _only(
    found: Sequence[Thing], cameras: Sequence[Camera], corners: FloatArray, prism: bool = False
) -> Thing | None:
    """The one of these that is seen whole; None if it is not just one.

    corners: about its middle.
    """
    fit = [
        thing
        for thing in found
        if all(
            _shows(camera, patch, thing.middle + corners, prism)
            for camera, patch in zip(cameras, thing.patches, strict=True)
        )
    ]
    return fit[0] if len(fit) == 1 else None


def _shift(
    cameras: Sequence[Camera], found: Sequence[Thing], at: FloatArray, frame: FloatArray
) -> tuple[FloatArray, float]:
    """Of the bundle along its clamp's axes (2,), and how far that may be off, by what is hidden
    and by pixels that do not fit [m].

    Least squares over the middles of three patches in each view by Gauss and Newton's method: the
    clamp stands upright, and the band as high over the labels as it was glued. found: the clamp's
    two labels and the band. at, frame: of the clamp, about (3,) [m], (3, 3).
    """

    def bodies(pose: FloatArray) -> tuple[FloatArray, ...]:
        """Their corners; pose: of the clamp (3) and round z, and shift (2)."""
        turned = (frame @ Rotation.from_euler("z", pose[3]).as_matrix()).T
        x, y = np.array([FACE, 0.0, 0.0]), np.array([0.0, -FACE, 0.0])
        parts = ON_X + x, ON_Y + y, BAND + np.array([*pose[4:], BAND_OVER])
        return tuple(at + pose[:3] + part @ turned for part in parts)

    def would(pose: FloatArray) -> list[tuple[Patch, Patch]]:
        """What would be seen, and what is."""
        return [
            (outline(camera, corners, prism=corners.shape == BAND.shape), patch)
            for thing, corners in zip(found, bodies(pose), strict=True)
            for camera, patch in zip(cameras, thing.patches, strict=True)
        ]

    def differs(pose: FloatArray) -> FloatArray:
        return np.concatenate([one.middle - patch.middle for one, patch in would(pose)])

    pose = np.zeros(6)
    for _ in range(ROUNDS):
        now = differs(pose)
        slope = np.stack([differs(pose + by) - now for by in np.diag(MOVES)], axis=1)
        step = np.linalg.lstsq(slope, now)[0]
        pose = pose - MOVES * step
        if abs(step).max() < STEP:
            break
    hidden = UNHIDDEN - min(patch.area / one.area for one, patch in would(pose))
    pixel = max(float(np.linalg.norm(at - camera.position)) / camera.focal for camera in cameras)
    unlike = float(abs(differs(pose)).max())
    return pose[4:], PLACED + unlike * pixel + HIDES * max(0.0, hidden)


def _clamp(
    cameras: Sequence[Camera], found: Sequence[Thing]
) -> tuple[FloatArray, FloatArray, tuple[Thing, Thing]] | None:
    """The clamp's axis at its labels' height (3,) [m], its frame (3, 3), upright, its labels."""
    fit = []
    for x, y in product(found, found):
        way = (x.middle - y.middle)[:2]
        if abs(np.linalg.norm(way) - np.sqrt(2) * FACE) > 2 * APART:
            continue
        if abs(x.middle[2] - y.middle[2]) > 2 * APART:
            continue
        yaw = np.arctan2(way[1], way[0]) - np.pi / 4
        frame = Rotation.from_euler("z", yaw).as_matrix()
        both = ((x, ON_X), (y, ON_Y))
        if abs(yaw) < np.pi / 4 and all(
            _shows(camera, patch, thing.middle + label @ frame.T)
            for thing, label in both
            for camera, patch in zip(cameras, thing.patches, strict=True)
        ):
            middle = (x.middle + y.middle) / 2 - frame @ (FACE / 2, -FACE / 2, 0.0)
            fit.append((middle, frame, (x, y)))
    return fit[0] if len(fit) == 1 else None


def _gap(
    cameras: Sequence[Camera],
    seen: Sequence[dict[str, ColourPatch]],
    strap: FloatArray,
    frame: FloatArray,
) -> float:
    """Between the strap's ends [m]: between their middles, less their length.

    Unknown unless the view that shows most of an end shows it whole: what hides a whole strap's
    middle there leaves two patches far apart. strap: the middle of a whole one (3,) [m]. frame: of
    its clamp (3, 3).
    """
    ends = []
    for name, side in (("end_a", 1.0), ("end_b", -1.0)):
        shown = []
        for camera, one in zip(cameras, seen, strict=True):
            reach = STRAP_NEAR * camera.focal / float(np.linalg.norm(strap - camera.position))
            patch = whole(one[name], camera.project(strap), reach, END_LEAST)
            if patch is None:
                return np.nan
            shown.append(patch)
        middle, miss = triangulate(cameras, np.array([patch.middle for patch in shown]))
        bent = side * float((frame.T @ (middle - strap))[1]) / (END / 2)  # sine of its way outwards
        turn = frame @ Rotation.from_euler("z", np.arcsin(np.clip(bent, -1, 1))).as_matrix()
        areas = [outline(camera, middle + END_BOX @ turn.T).area for camera in cameras]
        share = shown[int(np.argmax(areas))].area / max(areas)
        if miss > ENDS_APART or not END_WHOLE[0] < share < END_WHOLE[1]:
            return np.nan
        ends.append(middle)
    return float(np.linalg.norm(ends[0] - ends[1])) - END


def _cutter(
    cameras: Sequence[Camera], found: Sequence[Thing], others: Sequence[Thing]
) -> Cutter | None:
    """The one whose sleeves are seen; None if no such cutter is, or its sleeves are hidden.

    By Gauss and Newton's method from an upright one with its handles where they are seen.
    """
    if len(found) != 1 or len(others) != 1:
        return None
    both = found[0], others[0]
    y = both[0].middle - both[1].middle
    y /= np.linalg.norm(y)
    z = np.array([0.0, 0.0, 1.0]) - y[2] * y
    z /= np.linalg.norm(z)
    upright = np.stack([np.cross(y, z), y, z], axis=1)
    pivot = (both[0].middle + both[1].middle) / 2 - GRIP * z
    begin = np.concatenate([pivot, Rotation.from_matrix(upright).as_rotvec(), [OPEN]])

    def differs(x: FloatArray) -> FloatArray:
        parts = []
        for thing, corners in zip(both, _sleeves(begin + SCALE * x), strict=True):
            for camera, patch in zip(cameras, thing.patches, strict=True):
                would = outline(camera, corners, prism=True)
                long = np.sqrt(patch.spread[:2].max())
                parts += [would.middle - patch.middle, (would.spread - patch.spread) / (2 * long)]
        return np.concatenate(parts)

    x = np.zeros(7)
    for _ in range(ROUNDS):
        now = differs(x)
        slope = np.stack([differs(x + STEP * way) - now for way in np.eye(7)], axis=1) / STEP
        step = np.linalg.solve(slope.T @ slope + DAMPING * np.eye(7), slope.T @ now)
        x = x - step
        if abs(step).max() < STEP:
            break
    pose = begin + SCALE * x
    sleeves = _sleeves(pose)
    fits = abs(differs(x)).max() < UNLIKE and all(
        _shows(camera, patch, corners, prism=True)
        for thing, corners in zip(both, sleeves, strict=True)
        for camera, patch in zip(cameras, thing.patches, strict=True)
    )
    frame = Rotation.from_rotvec(pose[3:6]).as_matrix()
    return Cutter(pose[:3], frame, float(pose[6]), sleeves) if fits else None


def _sleeves(pose: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners (8, 3) of the two; pose: pivot [m], rotation vector [rad], opening [rad]."""
    frame = Rotation.from_rotvec(pose[3:6])
    result = []
    for side in (1.0, -1.0):
        half = frame * Rotation.from_euler("x", -side * pose[6] / 2)
        lean = Rotation.from_euler("x", side * SLEEVE_LEANS)
        result.append(pose[:3] + half.apply(SLEEVE_AT * (1.0, side, 1.0) + lean.apply(SLEEVE)))
    return result[0], result[1]
