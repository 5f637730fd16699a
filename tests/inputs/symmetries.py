"""What packs say of how their scenes may be moved, and settings under names that nothing reads."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from enpire.environment import Task, load_task, read_symmetry
from enpire.packs import find
from enpire.packs.finder import LOOP, SYMMETRY
from enpire.session.loop_settings import of_task
from tests.inputs.entry import REFUSED, TAKEN, Input, changed

task = cache(lambda name: load_task(find("tasks", name)))


def read(folder: Path, name: str, text: bytes) -> tuple[str, str]:
    """What a task's file says, if it has this text."""
    (folder / SYMMETRY).write_bytes(text)
    of_the_pack: Task = task(name)
    own, of_the_pack.folder = of_the_pack.folder, folder
    try:
        return TAKEN, repr(read_symmetry(of_the_pack))
    finally:
        of_the_pack.folder = own


def of(name: str) -> Callable[..., Input]:
    """Entries of a task's own file, with another text in one place."""

    def entry(called: str, old: str, new: str, words: str, ends: str = REFUSED) -> Input:
        def give(folder: Path) -> tuple[str, str]:
            text = (find("tasks", name).folder / SYMMETRY).read_text("utf-8")
            return read(folder, name, changed(text, old, new).encode())

        return Input(f"{name}: {called}", give, words, ends)

    return entry


def raw(name: str, change: Callable[[bytes], bytes], words: str, ends: str = REFUSED) -> Input:
    """An entry: the cube's file with other bytes."""
    pack = find("tasks", "pick_cube").folder / SYMMETRY
    return Input(name, lambda to: read(to, "pick_cube", change(pack.read_bytes())), words, ends)


def there(name: str, put: Callable[[Path], object], words: str, ends: str = REFUSED) -> Input:
    """An entry: something else in a pack's folder."""

    def give(folder: Path) -> tuple[str, str]:
        pack = Path(shutil.copytree(find("tasks", "pick_cube").folder, folder / "mine"))
        put(pack)
        return TAKEN, repr(of_task(find("tasks", str(pack))))

    return Input(name, give, words, ends)


def renamed(was: str, to: str) -> Callable[[Path], object]:
    """A file of another name."""
    return lambda pack: (pack / was).rename(pack / to)


def replaced(was: str, put: Callable[[Path], object]) -> Callable[[Path], object]:
    """Something else in a file's place."""

    def change(pack: Path) -> None:
        (pack / was).unlink()
        put(pack / was)

    return change


cube, box, push, tie = map(of, ("pick_cube", "pin_box", "push_t", "zip_tie"))
SIGNS_LIST = 'signs = ["block_sin", "goal_in_block_x", "near_x", "near_yaw", "hand_in_block_x"]'
VECTORS, SIGNS = 'vectors = ["cube_from_hand"', '"near_x"'
ALL = (
    cube("as it should be", "turn", "turn", "Symmetry", TAKEN),
    cube("a turn below nought", "turn = 3.1416", "turn = -1", "turn is from 0 to pi"),
    cube("a turn of NaN", "turn = 3.1416", "turn = nan", "finite number"),
    cube("a turn in quotes", "turn = 3.1416", 'turn = "pi"', "must be a number"),
    cube("shifts in mm", "[0.09, 0.09, 0.0]", "[90, 90, 0]", "shift must be within 1 m, no mm"),
    cube("shifts in cm", "[0.09, 0.09, 0.0]", "[9, 9, 0]", "shift must be within 1 m"),
    cube("a shift below nought", "[0.09,", "[-0.09,", "no shift is below 0"),
    cube("a vector twice", VECTORS, f'{VECTORS}, "cube_from_hand"', "have cube_from_hand_x twice"),
    cube("a vector that is a place", VECTORS, 'vectors = ["hand"', "have hand_x twice"),
    cube("a vector with its axis", '"opening"', '"opening_x"', "observes no opening_x_x"),
    cube("a unit in mm", "unit = 0.03", "unit = 30", "unit must be within 6.3 m or rad, no mm"),
    cube("a middle in mm", "[0.21, 0.0, 0.04]", "[210, 0, 40]", "centre must be within 10 m"),
    box("turns in degrees", "turn = 0.5", "turn = 30", "turn is from 0 to pi"),
    box("a yaw in degrees", "box_yaw = { unit = 0.1", "box_yaw = { unit = 57.3", "no degrees"),
    box("a table of no such name", "[rotations]", "[rotation]", "do you mean rotations"),
    box("a flag in quotes", "sines = false", 'sines = "false"', "expected bool"),
    push("a mirror in degrees", "axis = 2.3562", "axis = 135", "axis must be within 6.3 rad"),
    push(
        "a mirror through nothing", "through = [0.2, 0.0] # [m]\n", "", "through must be 2 numbers"
    ),
    push("a mirror through a place in mm", "[0.2, 0.0]", "[200, 0]", "through must be within 10 m"),
    push("a mirror through a point in space", "[0.2, 0.0]", "[0.2, 0, 0]", "must be 2 numbers"),
    push("a hand across no axis", 'hand = "y"', 'hand = "Y"', "hand is 'Y'; it is one of x, y, z"),
    push("a hand across a number", 'hand = "y"', "hand = 1", "hand is 1, expected str"),
    push("a mirror of nothing's own", "[mirror.across]", "[mirror.acros]", "do you mean across"),
    push("no sign at all", SIGNS_LIST, "signs = []", "signs must be a list of strings"),
    push("a sign twice", SIGNS, '"block_sin"', "have block_sin twice"),
    push("a sign of a vector", SIGNS, '"hand_x"', "have hand_x twice"),
    push("a sign of nothing", SIGNS, '"near"', "observes no near"),
    push("a cosine that is the sine", '"block_sin"', '"block_cos"', "have block_cos twice"),
    push(
        "a sine in place of the cosine",
        'cosine = "block_cos"\nsine = "block_sin"',
        'cosine = "block_sin"\nsine = "block_cos"',
        "cosine is block_sin: the other way round",
    ),
    push("a cosine of a vector", 'cosine = "block_cos"', 'cosine = "hand_x"', "have hand_x twice"),
    push("idle for 300 ms", "idle = 0.3", "idle = 300", "within 1 of a whole action"),
    tie("a lead in mm", "by = 0.005", "by = 5", "by must be within 1 m, no mm"),
    tie("a lead's unit in mm", "unit = 0.01, by", "unit = 10, by", "no mm"),
    tie("a lead of no arm", "arm = 1", "arm = 2", "arm is 2"),
    raw("nothing in it", lambda _: b"", "turn must be a number"),
    raw("Latin-1", lambda text: text + b"# \xe9", "does not parse"),
    raw("too deep", lambda _: b"x = " + b"[" * 5000, "does not parse"),
    raw("a byte order mark", lambda text: b"\xef\xbb\xbf" + text, "Symmetry", TAKEN),
    raw("CRLF", lambda text: text.replace(b"\n", b"\r\n"), "Symmetry", TAKEN),
    there("a pack as it should be", lambda _: None, "best_of_n", TAKEN),
    there("a misspelt name", renamed(SYMMETRY, "symetry.toml"), "nothing reads .* symmetry.toml"),
    there("a name in capitals", renamed(SYMMETRY, "Symmetry.toml"), "call it symmetry.toml"),
    there("a loop in capitals", renamed(LOOP, "Loop.toml"), "call it loop.toml"),
    there("a loop of Windows", renamed(LOOP, "loop.toml.txt"), "call it loop.toml"),
    there("a loop's plural", renamed(LOOP, "loops.toml"), "call it loop.toml"),
    there("a second loop", lambda pack: (pack / "loop2.toml").touch(), "best_of_n", TAKEN),
    there("settings of its own", lambda pack: (pack / "sizes.toml").touch(), "best_of_n", TAKEN),
    there("a folder as settings", replaced(SYMMETRY, Path.mkdir), "does not parse: it is a dir"),
    there(
        "a link to nothing",
        replaced(LOOP, lambda path: path.symlink_to("nothing")),
        "does not parse: it is a dir",
    ),
)
