"""Command lines, paths and surroundings that are slightly wrong, through `enpire.cli.main`.

Every numeric option is in `tests/cli/test_numbers.py`, variables of a shell in
`test_surroundings.py` there.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from enpire.cli import main
from enpire.store import Run
from tests.datasets.test_wrong import TOY, of_the_toy
from tests.inputs.entry import REFUSED, TAKEN, Input

ROOT = Path(__file__).parents[2]
LOOP = ("loop", "--task", "pick_cube", "--run", "r")
CAMPAIGN = ("campaign", "--task", "pick_cube", "--agents", "local:1")
POLICY = ("eval", "--task", "pick_cube", "--policy", "p")
CONFIG, OLD = "config.json", "pytorch_model.bin"
STEP = "checkpoints/000100/pretrained_model/config.json"
RENDER = ("render", "pick_cube", "x.png")
EVAL = ("eval", "--policy", "random", "--task")
IMPORT = ("import", "lerobot")
MINE = "ws://127.0.0.1:1?patience=0.3"


def one(
    name: str, words: tuple[str, ...], said: str, put: Callable[[Path], object] = lambda _: None
) -> Input:
    """An entry: a command line that is given in a folder. put: what is there before."""

    def give(folder: Path) -> tuple[str, str]:
        put(folder)
        told = io.StringIO()
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stderr(told),
            contextlib.redirect_stdout(io.StringIO()),
            patch.dict(os.environ, {"PYTHONPATH": str(ROOT)}),  # of an environment's worker
        ):
            code = main(list(words))
        text = told.getvalue()
        assert "Traceback" not in text
        assert "\x1b[2J" not in text
        return (REFUSED if code in (1, 2) else TAKEN), text

    return Input(name, give, said)


def file(name: str, content: bytes = b"") -> Callable[[Path], object]:
    """A file that is there."""
    return lambda folder: (folder / name).write_bytes(content)


def folder(*names: str) -> Callable[[Path], object]:
    """A folder with files of these names."""

    def put(where: Path) -> None:
        (where / "p").mkdir()
        for name in names:
            (where / "p" / name).parent.mkdir(parents=True, exist_ok=True)
            (where / "p" / name).touch()

    return put


def a_run(broken: str = "", content: bytes = b"") -> Callable[[Path], object]:
    """A run that is there, with another content of one of its files."""

    def put(folder: Path) -> None:
        Run.create(folder / "run", {}).close()
        if broken:
            (folder / "run" / broken).write_bytes(content)

    return put


def a_dataset(folder: Path) -> None:
    """A good one for the toy, with a file more."""
    (folder / "d").mkdir()
    of_the_toy().write(folder / "d")
    (folder / "d" / "f").touch()


def linked(folder: Path) -> None:
    """A link to itself."""
    (folder / "run").symlink_to(folder / "run")


ALL = (
    one("no such verb", ("lop",), "did you mean loop"),
    one("digits of another script", (*EVAL, "x", "--seed", "\u0663"), "is no whole number"),
    one("an underscore in a number", (*EVAL, "x", "--episodes", "1_0"), "'1_0' is no whole number"),
    one("an underscore in a share", (*LOOP, "--target", "0.9_5"), "'0.9_5' is no number"),
    one("minutes of another script", (*LOOP, "--max-time", "\u0665m"), "is no duration"),
    one("no such option", ("loop", "--task", "zip_tie", "--taks", "x"), "--taks"),
    one(
        "two seeds",
        (*EVAL, "x", "--seed", "1", "--seed", "2"),
        "--seed is given twice: 2 counts, 1 does",
    ),
    one("two seeds in one word", (*EVAL, "x", "--seed=1", "--seed=2"), "--seed is given twice"),
    one("one seed twice", (*EVAL, "x", "--seed", "1", "--seed=1"), "unknown task 'x'"),
    one("two tasks", (*EVAL, "x", "--task", "y"), "--task is given twice: y counts, x does not"),
    one(
        "a setting twice",
        (*LOOP, "--recipe.a", "1", "--recipe.a", "2"),
        "--recipe.a is given twice: 2 c",
    ),
    one("a share of nothing", (*LOOP, "--collect-share", "0.5"), "does nothing without --stalen"),
    one("repairs of no faults", (*LOOP, "--repair-time", "1m"), "does nothing without --fault-e"),
    one("a limit of no help", (*LOOP, "--recover-limit", "1m"), "--recover may take: give both"),
    one("a page for nobody", (*LOOP, "--port", "8000"), "--helper serves: give both"),
    one("a pixel", (*LOOP, "--images", "1"), "--images 1: from 32 to 224 pixels"),
    one("100000 pixels", (*LOOP, "--images", "100000"), "--images 100000: from 32 to 224"),
    one(
        "7 pixels of a dataset", ("export", "lerobot", "r", "d", "--images", "7"), "from 32 to 224"
    ),
    one("no time", (*LOOP, "--max-time", "0"), "'0' is no duration"),
    one("time below nought", (*LOOP, "--max-time=-5m"), "'-5m' is no duration"),
    one("9e18 demonstrations", (*LOOP, "--demonstrations", "9" * 19), "9: give at most 1000000"),
    one("9e18 stations", (*LOOP, "--robots", "9" * 18), "9: give at most 1000000"),
    one("9e18 episodes", (*EVAL, "x", "--episodes", "9" * 18), "give at most 1000000"),
    one("9e18 rounds", (*LOOP, "--max-rounds", "9" * 18), "give at most 1000000"),
    one("9e18 pairs", (*LOOP, "--max-pairs", "9" * 18), "give at most 1000000"),
    one("9e18 attempts", (*EVAL, "x", "--attempts", "9" * 18), "give at most 1000000"),
    one("a camera 1e300 m off", (*RENDER, "--distance", "1e300"), "out of range: give a number"),
    one("a camera 5 km off", (*RENDER, "--distance", "5000"), "too far: give at most 100 m"),
    one("an angle of 1e300", (*RENDER, "--azimuth", "1e300"), "give a finite number of use"),
    one("1e308 hours", (*LOOP, "--max-robot-hours", "1e308"), "out of range"),
    one("a seed of 9e18", (*EVAL, "x", "--seed", "9" * 18), "unknown task 'x'"),
    one("a unit of no name", (*LOOP, "--max-time", "5"), "write 0.2s, 90s, 30m or 10h"),
    one("a target in per cent", (*LOOP, "--target", "95"), "95 is no success rate"),
    one("a comma in a number", (*LOOP, "--target", "0,9"), "'0,9' is no number"),
    one(
        "a task in this folder",
        (*EVAL, "mine"),
        r"unknown task 'mine'; the folder here is called \./mine",
        lambda folder: ((folder / "mine").mkdir(), (folder / "mine" / "task.py").touch()),
    ),
    one("an episode of an empty run", ("replay", "run", "e"), "no episode yet", a_run()),
    one("a prompt of Latin-1", (*CAMPAIGN, "--prompt", "p"), "p is no UTF-8", file("p", b"\xe9")),
    one("a prompt of no task", (*CAMPAIGN, "--prompt", "p"), "lacks {brief}", file("p", b"Hello")),
    one("an old policy's weights", POLICY, "weights in pytorch_model.bin", folder(CONFIG, OLD)),
    one("an adapter", POLICY, "an adapter alone", folder("adapter_config.json")),
    one("half a policy", POLICY, "p lacks model.safetensors", folder(CONFIG)),
    one("a training's folder", POLICY, "has checkpoints: name one, p/ch.*model", folder(STEP)),
    one("an empty folder as policy", POLICY, "is not a run folder", folder()),
    one("a task of no name", (*EVAL, ""), "is given nothing"),
    one("a task that is none", (*EVAL, "zip_ti"), "did you mean zip_tie"),
    one("a task that clears the screen", (*EVAL, "\x1b[2J"), r"unknown task '.x1b"),
    one("an environment of no name", (*EVAL, "gym:"), "gym:"),
    one("an environment that is none", (*EVAL, "gym:No/Such-v0"), "No/Such"),
    one("a module that is none", (*EVAL, "gym:no.such:X-v0"), "No module named 'no'"),
    one("a module above", (*EVAL, "gym:..:X-v0"), "gym:"),
    one("no key", (*EVAL, "gym:CartPole-v1?=3"), "no KEY=VALUE"),
    one("a key of another", (*EVAL, "gym:CartPole-v1?nobody=3"), "nobody"),
    one("a key twice", (*EVAL, "gym:CartPole-v1?a=1&a=2"), "a is twice after"),
    one("an option of a server twice", ("eval", "--policy", f"{MINE}&patience=1"), "option twice"),
    one("actions of choices", (*EVAL, "gym:CartPole-v1"), "a Box with bounds"),
    one("a rule that is none", (*EVAL, "gym:X", "--success", "often"), "is no rule"),
    one("a return that is none", (*EVAL, "gym:X", "--success", "return>=nan"), "is no rule"),
    one("an endless return", (*EVAL, "gym:X", "--success", "return>=1e999"), "is no rule"),
    one("no interpreter", (*EVAL, "gym:X", "--python", "/no/such"), "does not start"),
    one("an interpreter that is none", (*EVAL, "gym:X", "--python", "/usr/bin/yes"), "is no mess"),
    one("a folder as interpreter", (*EVAL, "gym:X", "--python", "/tmp"), "does not start"),
    one("an interpreter of a pack", (*EVAL, "zip_tie", "--python", "python"), "are for gym:"),
    one("a task's path without a pack", (*EVAL, "./"), "is no task pack"),
    one("a server that is not there", ("eval", "--policy", MINE), "no policy's server"),
    one("a policy that is a file", ("eval", "--policy", "file"), "file", file("file")),
    one("a policy of no run", ("eval", "--policy", "no:p1"), "no run at"),
    one("a run that is a link to itself", ("show", "run"), "run", linked),
    one(
        "a recipe that is a link to itself",
        (*LOOP, "--recipe", "./r.py"),
        "r.py is not there",
        lambda folder: (folder / "r.py").symlink_to("r.py"),
    ),
    one(
        "a copy into a link to itself",
        ("copy", "run", "l"),
        "l: a file is where a folder is to be",
        lambda folder: (a_run()(folder), (folder / "l").symlink_to("l")),
    ),
    one(
        "an export into a link to itself",
        ("export", "lerobot", "run", "l"),
        "l is there already",
        lambda folder: (a_run()(folder), (folder / "l").symlink_to("l")),
    ),
    one("a run at home", ("show", "~/no-such-run"), f"{Path.home()}/no-such-run"),
    one("a run at home, after =", ("fsck", "~/no-such-run"), f"{Path.home()}/no-such-run"),
    one("a policy at home", ("eval", "--policy=~/no-such-run:p"), f"{Path.home()}/no-such-run"),
    one("a run by a variable", (*LOOP[:3], "--run", "$HOME/r"), "begins with a shell's variable"),
    one("a run by a variable in braces", ("show", "${RUNS}/r"), "begins with a shell's variable"),
    one("a run without a policy", ("eval", "--policy", "run"), "no policy yet", a_run()),
    one(
        "a run whose settings do not parse",
        ("show", "run"),
        "config.toml does not parse",
        a_run("config.toml", b"x = "),
    ),
    one(
        "a run whose settings are too deep",
        ("show", "run"),
        "config.toml does not parse",
        a_run("config.toml", b"x = " + b"[" * 5000),
    ),
    one("a run whose ledger is none", ("show", "run"), "ledger", a_run("ledger.sqlite", b"x" * 99)),
    one("a dataset that is none", (*IMPORT, ".", "r", "--task", "zip_tie"), "no LeRobot dataset"),
    one("a dataset that is a file", (*IMPORT, "f", "r", "--task", "zip_tie"), "no LeR", file("f")),
    one("no dataset", (*IMPORT, "no", "r", "--task", "zip_tie"), "no is not there: a dataset of"),
    one("names without =", (*IMPORT, ".", "r", "--task", "x", "--rename", "a"), "THEIRS=OURS"),
    one("a run that is a dataset", (*IMPORT, "d", "d", "--task", TOY), "and is no run", a_dataset),
    one("a run that is a file", (*IMPORT, "d", "d/f", "--task", TOY), "a file is where", a_dataset),
    one(
        "a run within a file", (*IMPORT, "d", "d/f/x", "--task", TOY), "a file is where", a_dataset
    ),
    one(
        "a run called by a line's end",
        (*IMPORT, "d", "a\nb", "--task", TOY),
        "cannot be called",
        a_dataset,
    ),
    one(
        "degrees of what is no joint",
        (*IMPORT, "d", "r", "--task", TOY, "--degrees"),
        "--degrees says in what joint positions are",
        a_dataset,
    ),
    one(
        "a calibration of what is no joint",
        (*IMPORT, "d", "r", "--task", TOY, "--calibration", "no.json"),
        "--calibration says in what joint positions are",
        a_dataset,
    ),
    one(
        "another rate",
        (*IMPORT, "d", "r", "--task", TOY, "--fps", "1e300"),
        "out of range",
        a_dataset,
    ),
    one("a recipe that is none", ("recipes", "show", "residal_rl"), "did you mean residual_rl"),
    one("a recipe of no file", ("recipes", "show", "./no.py"), "is not there"),
    one(
        "a recipe that exits",
        ("recipes", "show", "./r.py"),
        "r.py:1: SystemExit",
        file("r.py", b"raise SystemExit(0)"),
    ),
    one(
        "a loop by a recipe that exits",
        ("loop", "--task", "pick_cube", "--recipe", "./r.py"),
        "r.py:1: SystemExit",
        file("r.py", b"raise SystemExit(3)"),
    ),
    one(
        "a task that exits",
        ("task", "check", "./"),
        "task.py:1: SystemExit",
        file("task.py", b"raise SystemExit(0)"),
    ),
    one("a station that is none", ("station", "check", "lab.toml"), "no such file"),
    one(
        "a station that is too deep",
        ("station", "check", "lab.toml"),
        "does not parse",
        file("lab.toml", b"x = " + b"[" * 5000),
    ),
    one("more stations than fit", (*EVAL, "gym:X/Y-v0", "--robots", "100000"), "4096 at most"),
    one(
        "cameras' verdict on an environment",
        (*EVAL, "gym:X/Y-v0", "--verify", "cameras"),
        "--verify cameras is for a task pack",
    ),
    one(
        "other looks of an environment",
        (*EVAL, "gym:X/Y-v0", "--vary-looks"),
        "--vary-looks is for a task pack",
    ),
    one(
        "steps that are a truth",
        (*EVAL, "gym:X/Y-v0?max_episode_steps=true"),
        "max_episode_steps is True",
    ),
    one(
        "a history longer than an episode",
        (*LOOP, "--history", "100000"),
        "observations at most",
    ),
    one(
        "a random policy that is late",
        (*EVAL, "pick_cube", "--inference-time", "1s"),
        "random answers at once",
    ),
    one("centuries", (*LOOP, "--max-time", "999999999h"), "is too long"),
    one("milliseconds", (*LOOP, "--latency", "300ms"), "write 0.2s"),
    one("an agent that is none", ("campaign", "--task", "zip_tie", "--agents", "clode"), "clode"),
    one("a folder of no runs", ("report", "."), "is not a run folder"),
    one("episodes as 1e3", (*EVAL, "x", "--episodes", "1e3"), "'1e3' is no whole number"),
    one("a seed in hex", (*EVAL, "x", "--seed", "0x10"), "'0x10' is no whole number"),
    one("the root as a run", ("show", "/"), "/ is not a run folder"),
)
