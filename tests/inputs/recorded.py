"""What was recorded of an arm, slightly wrong: motion for a twin, pictures for a calibration."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from enpire.calibration.shots import LIST, read_shots
from enpire.identification.recording import read
from tests.inputs.entry import REFUSED, TAKEN, Input

ROWS, AXES = 50, 2
TIMES = np.arange(ROWS) * 0.01
MOVED = np.repeat(1.0 - np.cos(3.0 * TIMES)[:, None], AXES, axis=1)  # from rest
GOOD = {
    "robot": np.array("so101"),
    "name": np.array("x"),
    "effort_window": np.array(0.0),
    "handled": np.array(""),
    "stamps": TIMES,
    "sent": MOVED,
    "position": MOVED,
    "velocity": np.zeros_like(MOVED),
    "effort": np.full_like(MOVED, np.nan),
    "age": np.zeros(ROWS),
}


def motion(name: str, words: str, ends: str = REFUSED, **changed: Any) -> Input:
    """An entry: a recording with other columns."""

    def give(folder: Path) -> tuple[str, str]:
        np.savez(folder / "a.npz", **(GOOD | changed))
        return TAKEN, f"{len(read([folder / 'a.npz'], 'so101')[0])} rows"

    return Input(f"motion: {name}", give, words, ends)


def archive(name: str, content: Callable[[bytes], bytes], words: str) -> Input:
    """An entry: a file in place of a recording, made of a good one."""

    def give(folder: Path) -> tuple[str, str]:
        good = BytesIO()
        np.savez_compressed(good, **GOOD)  # type: ignore[arg-type]
        (folder / "a.npz").write_bytes(content(good.getvalue()))
        return TAKEN, f"{len(read([folder / 'a.npz'], 'so101')[0])} rows"

    return Input(f"motion in a file: {name}", give, words)


def array() -> bytes:
    """One array in a file of its own."""
    made = BytesIO()
    np.save(made, MOVED)
    return made.getvalue()


def zipped(name: str, data: bytes) -> bytes:
    """A file in an archive."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr(name, data)
    return made.getvalue()


def pictures(name: str, said: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: what is said of pictures, of which `000.png` and `001.png` are there."""

    def give(folder: Path) -> tuple[str, str]:
        for number in range(2):
            cv2.imwrite(str(folder / f"00{number}.png"), np.full((4, 6, 3), 99, np.uint8))
        (folder / LIST).write_text(said)
        return TAKEN, f"{len(read_shots(folder, AXES))} pictures"

    return Input(f"pictures: {name}", give, words, ends)


def at(name: str, position: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: where a picture was taken."""
    return pictures(name, f'[{{"picture": "000.png", "position": {position}}}]', words, ends)


CHANGES = np.gradient(MOVED, TIMES, axis=0)
ONE = '{"picture": "000.png", "position": [0, 0]}'
NOWHERE = "where no axis is: rad or m are needed, no degrees"
ALL = (
    motion("as it should be", "50 rows", TAKEN),
    archive("of no bytes", lambda _: b"", "cannot be read as a recording .* not a zip file"),
    archive("of one array", lambda _: array(), "cannot be read as a recording .* not a zip file"),
    archive("of text", lambda _: b"stamp,sent", "not a zip file"),
    archive("cut off", lambda data: data[:-50], "not a zip file"),
    archive("damaged", lambda data: data[:90] + bytes(99) + data[189:], "cannot be read as a rec"),
    archive("of other files", lambda _: zipped("a.txt", b"hi"), "a.npz"),
    archive("of half an array", lambda _: zipped("stamps.npy", b"\x93NUMPY"), "reading magic"),
    motion("nothing moves", "nothing moves in .*a.npz: no axis by 0.01", position=MOVED * 0 + 0.3),
    motion("stamps in ms", "rows are 10 s apart: .* no ms", stamps=TIMES * 1000),
    motion("stamps in ns", "rows are 1e.07 s apart: .* no ns", stamps=TIMES * 1e9),
    motion("stamps as dates", "stamps must be", stamps=(TIMES * 1e9).astype("M8[ns]")),
    motion("stamps in a table", "stamps must be", stamps=TIMES[:, None]),
    motion("positions in degrees", "beyond 40: .* no degrees", position=MOVED + 90.0),
    motion("setpoints in degrees", "beyond 40: .* no degrees", sent=MOVED + 90.0),
    motion("positions of 1e300", "beyond 40", position=MOVED * 0 + 1e300),
    motion("a position of NaN", "is not a number", position=MOVED * np.nan),
    motion("complex positions", "position is of complex128", position=MOVED + 0j),
    motion("positions in words", "position is of <U1, no numbers", position=MOVED.astype("U1")),
    motion("truths sent", "sent is of bool", sent=MOVED > 0.0),
    motion("flat setpoints", "sent has shape .50,.: .rows, axes. is due", sent=TIMES),
    motion("an axis too few", "position has shape .50, 1.", position=MOVED[:, :1]),
    motion("ages of NaN", "an age is below", age=TIMES * np.nan),
    motion("ages before their time", "an age is below", age=TIMES - 1.0),
    motion("ages in ms", "above 10 s: ages are in s", age=TIMES + 40.0),
    motion("velocities that are infinite", "is infinite", velocity=np.full_like(MOVED, np.inf)),
    motion("velocities that nobody measures", "50 rows", TAKEN, velocity=MOVED * np.nan),
    motion("an effort's window of NaN", "effort_window is nan", effort_window=np.array(np.nan)),
    motion("an effort's window in words", "is no number", effort_window=np.array("x")),
    motion("another robot", "is of yam, not of so101", robot=np.array("yam")),
    pictures("as it should be", f"[{ONE}]", "1 pictures", TAKEN),
    at("NaN", "[NaN, 0]", f"taken at nan, {NOWHERE}"),
    at("text", '["a", "b"]', f"taken at 'a', {NOWHERE}"),
    at("null", "[null, 0]", f"taken at None, {NOWHERE}"),
    at("truths", "[true, false]", f"taken at True, {NOWHERE}"),
    at("degrees", "[90.0, -120.0]", f"taken at 90.0, {NOWHERE}"),
    at("1e300", "[1e300, 0]", NOWHERE),
    at("400 digits", f"[1{'0' * 400}, 0]", "a number has 401 digits"),
    at("a number", "3", "has 3, not 2"),
    at("an axis too few", "[0]", "has 1 axes, not 2"),
    pictures(
        "one elsewhere", f"[{ONE.replace('000', '../000')}]", "is '../000.png': a file in its"
    ),
    pictures(
        "one that is a number", f"[{ONE.replace('"000.png"', '3')}]", "a picture is 3: a file"
    ),
    pictures("one twice", f"[{ONE}, {ONE}]", "has 000.png twice"),
    pictures("one that is none", f"[{ONE.replace('000.png', LIST)}]", "is no picture"),
    pictures("a table", ONE, "holds no recorded pictures"),
    pictures("too deep", "[" * 100_000, "holds no recorded pictures"),
    motion("stamps that go back", "two or more increasing numbers", stamps=TIMES[::-1].copy()),
    motion("one stamp for all", "two or more increasing numbers", stamps=TIMES * 0 + 1),
    motion("in mrad", "beyond 40: rad or m", position=MOVED * 1000, sent=MOVED * 1000),
    motion(
        "another sign of velocities",
        "axis 0 goes against its velocity .correlation -",
        velocity=-CHANGES,
    ),
    motion("their own velocities", "50 rows", TAKEN, velocity=CHANGES),
    motion(
        "another sign of setpoints", "axis 0 goes against its setpoint .correlation -1", sent=-MOVED
    ),
)
