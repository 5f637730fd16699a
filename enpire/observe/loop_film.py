"""A loop as a short moving picture: the same scenes under its first policy and under later ones.

Nothing in it is chosen for how it looks: it has the first common seeds of a comparison, success or
not, and the rates that the run measured. It is an animated WebP, which browsers and GitHub show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from enpire.errors import StoreError
from enpire.observe.filming import EpisodeReplay, TwinCamera, of_row
from enpire.observe.report.success import MeasurementKind, SuccessPoint, read_success
from enpire.store import EpisodeRow, Run
from enpire.store.durable import disk_errors
from enpire.types import Episode, Image, Outcome, Purpose

TILES = 4  # episodes side by side, two by two
ACTS = 3  # policies at most
TILE = (320, 200)  # of one episode [px]
HEAD, FOOT = 34, 92  # height of the title, and of the curve [px]
STILL_S = 1.4  # that an act stays once all of its episodes have ended
QUALITY = 62  # of WebP
SAMPLES = 8  # of soft light, a picture

PAPER, INK, PALE = (250, 250, 248), (36, 36, 40), (196, 198, 202)
COLOURS = {Outcome.SUCCESS: (38, 150, 84), Outcome.FAILURE: (206, 60, 54)}
BLUE = (38, 98, 176)


@dataclass(frozen=True, slots=True, eq=False)
class LoopAct:
    """One policy of a loop."""

    # Success of the incumbents until then; the last one is the policy's own.
    points: tuple[SuccessPoint, ...]
    episodes: tuple[Episode, ...]  # that it ran

    @property
    def point(self) -> SuccessPoint:
        """What was measured of the policy."""
        return self.points[-1]


def loop_acts(run: Run) -> list[LoopAct]:
    """Return a loop's first policy, its last incumbent, and one between, if there is one.

    Raises:
        StoreError: fewer than two policies were measured, or too few of their evaluations.
    """
    rows = run.ledger.episodes()
    points = read_success(run, rows).of(MeasurementKind.INCUMBENT)
    names = list(dict.fromkeys(point.policy for point in points))
    if len(names) < 2:
        raise StoreError(f"{run.folder} has had no better policy yet: there is no loop to show")
    if len(names) > ACTS:
        names = [names[0], names[len(names) // 2], names[-1]]
    acts = []
    for name, some in zip(names, _common(rows, names), strict=True):
        own = [at for at, point in enumerate(points) if point.policy == name]
        until = own[0] if name == names[0] else own[-1]  # the first policy as it was at first
        episodes = tuple(of_row(run, row) for row in some)
        acts.append(LoopAct(tuple(points[: until + 1]), episodes))
    return acts


def _common(rows: Sequence[EpisodeRow], names: Sequence[str]) -> list[list[EpisodeRow]]:
    """Return evaluations of each policy: on common seeds if there are any, else its first ones."""
    evaluated: list[dict[int, EpisodeRow]] = [
        {r.seed: r for r in rows if r.purpose is Purpose.EVALUATION and r.policy == name}
        for name in names
    ]
    common = [seed for seed in evaluated[-1] if all(seed in of for of in evaluated)]
    chosen = []
    for name, of in zip(names, evaluated, strict=True):
        seeds = common if len(common) >= TILES else list(of)
        if len(seeds) < TILES:
            raise StoreError(f"{name} has {len(seeds)} evaluations: {TILES} are shown")
        chosen.append([of[seed] for seed in seeds[:TILES]])
    return chosen


def film_loop(
    acts: Sequence[LoopAct],
    replay: EpisodeReplay,
    camera: TwinCamera,
    task: str,
    target: float | None,
    every: int,
) -> Iterator[Image]:
    """Yield the frames, (height, width, 3), red green blue.

    Args:
        acts: of the loop, in order.
        replay: carries the episodes out again.
        camera: takes pictures of `TILE`.
        task: its name, for the title.
        target: success that was asked for.
        every: control periods from one frame to the next.
    """
    frame_s = every * replay.stations.period
    for number, act in enumerate(acts):
        films = [_film(replay, camera, episode, every) for episode in act.episodes]
        longest = max(map(len, films)) + round(STILL_S / frame_s)
        for at in range(longest):
            tiles = [
                _tile(film[min(at, len(film) - 1)], episode, at >= len(film))
                for film, episode in zip(films, act.episodes, strict=True)
            ]
            yield _frame(tiles, acts, number, task, target)


def write_webp(frames: Sequence[Image], path: Path, frame_s: float) -> None:
    """Write an animated WebP that runs for ever; frame_s: seconds a frame is shown."""
    pictures = [Pillow.fromarray(frame) for frame in frames]
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        pictures[0].save(
            path,
            save_all=True,
            append_images=pictures[1:],
            duration=round(1000 * frame_s),
            loop=0,
            quality=QUALITY,
            method=6,
        )


def _film(replay: EpisodeReplay, camera: TwinCamera, episode: Episode, every: int) -> list[Image]:
    taken: list[Image] = []
    camera.aim()
    calls = 0

    def shoot(at: int) -> None:
        nonlocal calls
        if calls % every == 0:
            taken.append(camera.picture())
        calls += 1

    replay(episode, shoot)
    return taken


def _tile(image: Image, episode: Episode, ended: bool) -> Pillow.Image:
    """Return one episode's picture, with its verdict about it once there is one."""
    tile = Pillow.fromarray(image)
    if ended:
        draw = ImageDraw.Draw(tile)
        outcome = episode.verdict.outcome
        colour = COLOURS.get(outcome, PALE)
        draw.rectangle((0, 0, TILE[0] - 1, TILE[1] - 1), outline=colour, width=4)
        words = str(outcome)
        box = draw.textbbox((12, 10), words, font=_font(14))
        draw.rounded_rectangle((box[0] - 6, box[1] - 4, box[2] + 6, box[3] + 4), 4, fill=colour)
        draw.text((12, 10), words, font=_font(14), fill=(255, 255, 255))
    return tile


def _frame(
    tiles: Sequence[Pillow.Image],
    acts: Sequence[LoopAct],
    number: int,
    task: str,
    target: float | None,
) -> Image:
    width, height = 2 * TILE[0] + 6, HEAD + 2 * TILE[1] + 6 + FOOT
    page = Pillow.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(page)
    point = acts[number].point
    which = "first policy" if number == 0 else point.policy
    title = f"{task}, {which}: {point.success.rate:.2f} of {point.success.trials} episodes succeed"
    draw.text((10, 8), title, font=_font(16), fill=INK)
    after = f"{point.robot_s / 3600:.2f} robot-hours"
    draw.text((width - 10, 9), after, font=_font(14), fill=INK, anchor="ra")
    for at, tile in enumerate(tiles):
        row, column = divmod(at, 2)
        page.paste(tile, (column * (TILE[0] + 6), HEAD + row * (TILE[1] + 6)))
    longest = acts[-1].point.robot_s
    _draw_curve(draw, acts[number].points, longest, target, (width, height))
    return np.asarray(page, np.uint8)


def _draw_curve(
    draw: ImageDraw.ImageDraw,
    points: Sequence[SuccessPoint],
    longest: float,
    target: float | None,
    size: tuple[int, int],
) -> None:
    """Draw success over robot time below the pictures, as far as it has come."""
    left, right = 96, size[0] - 60
    top, bottom = size[1] - FOOT + 14, size[1] - 14

    def place(robot_s: float, rate: float) -> tuple[float, float]:
        return left + (right - left) * robot_s / longest, bottom - (bottom - top) * rate

    draw.line((left, bottom, right, bottom), fill=PALE)
    draw.text((10, (top + bottom) / 2), "success", font=_font(13), fill=INK, anchor="lm")
    for rate in (0.0, 1.0):
        draw.text((left - 8, place(0, rate)[1]), f"{rate:g}", font=_font(12), fill=INK, anchor="rm")
    if target is not None:
        y = place(0, target)[1]
        for dash in range(left, right, 8):
            draw.line((dash, y, dash + 3, y), fill=PALE)
        draw.text((right + 8, y), "target", font=_font(12), fill=INK, anchor="lm")
    draw.line([place(p.robot_s, p.success.rate) for p in points], fill=BLUE, width=2)
    for p in points:
        x, y = place(p.robot_s, p.success.rate)
        low, high = (place(0, rate)[1] for rate in (p.success.low, p.success.high))
        draw.line((x, low, x, high), fill=BLUE, width=1)
        draw.ellipse((x - 4, y - 4, x + 4, y + 4), fill=BLUE)


def _font(size: int) -> ImageFont.FreeTypeFont:
    """Return a font that comes with Matplotlib."""
    from matplotlib.font_manager import findfont

    return ImageFont.truetype(findfont("DejaVu Sans"), size)
