"""Files of people's own policies that are slightly wrong, on stations of a task pack."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from enpire.environment.gym_bridge.scripted_policy import ScriptedPolicy
from tests.inputs.entry import REFUSED, TAKEN, TOLD, Input

STATIONS: Any = SimpleNamespace(action_size=2)
TIMES = 60  # enough for what is told of all actions
READINGS: Any = None


def acted(folder: Path, content: str | bytes) -> tuple[str, str]:
    """How it acts, and what is told of its actions."""
    path = folder / "mine.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    policy = ScriptedPolicy(str(path), STATIONS)
    policy.begin(0, np.random.default_rng(0), 0.0)
    shown = np.random.default_rng(1).uniform(-1, 1, (TIMES, 1, 3)).astype(np.float32)
    before = shown.copy()
    for seen in shown:
        assert np.isfinite(policy.act(np.array([0]), seen, READINGS)).all()
    assert np.array_equal(before, shown), "what it is shown is recorded"
    return (TOLD if policy.watch.text else TAKEN), policy.watch.text


def file(name: str, content: str | bytes, words: str, ends: str = REFUSED) -> Input:
    """An entry: a file."""
    return Input(name, lambda folder: acted(folder, content), words, ends)


def act(name: str, said: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: what `act(o)` does."""
    return file(name, f"import numpy as np\ndef act(o):\n    {said}\n", words, ends)


def begin(name: str, said: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: what `begin(task)` does."""
    return file(name, f"def begin(task):\n    {said}\n", words, ends)


def again(name: str, content: str, words: str, ends: str = TAKEN) -> Input:
    """An entry: a file that acts in three episodes."""

    def give(folder: Path) -> tuple[str, str]:
        path = folder / "mine.py"
        path.write_text(content)
        policy = ScriptedPolicy(str(path), STATIONS)
        shown = np.random.default_rng(1).uniform(-1, 1, (3, 9, 1, 3)).astype(np.float32)
        for episode in shown:
            policy.begin(0, np.random.default_rng(0), 0.0)
            for seen in episode:
                policy.act(np.array([0]), seen, READINGS)
        return (TOLD if policy.watch.text else TAKEN), policy.watch.text

    return Input(f"three episodes: {name}", give, words, ends)


COUNTS = "n = 0\ndef act(o):\n    global n\n    n += 1\n    return o[:2] / n\n"
OWN = (
    "def begin(task):\n    n = [0]\n    def act(o):\n        n[0] += 1\n"
    "        return o[:2] / n[0]\n    return act\n"
)
DRAWS = "import numpy as np\ndef act(o):\n    return np.random.default_rng().uniform(-1, 1, 2)\n"
VARIES = "mine.py: it answers the observation that its first episode began with otherwise"
ALL = (
    again("a count of all steps", COUNTS, VARIES, TOLD),
    again("a count of its own", OWN, "^$"),
    again("drawn without a seed", DRAWS, VARIES, TOLD),
    act("as it should be", "return o[:2]", "^$", TAKEN),
    act("a list", "return [float(o[0]), 0.0]", "^$", TAKEN),
    act(
        "whole numbers in an array", "return np.sign(o[:2]).astype(int)", "are whole numbers", TOLD
    ),
    act("one array of whole numbers", "return np.zeros(2, int)", "all of its 60 actions", TOLD),
    act("whole numbers", "return [int(9 * o[0]) % 2, 0]", "^$", TAKEN),
    act("NaN", "return [float('nan'), 0]", r"mine.py: an action is array\(\[nan,  ?0"),
    act("truth values", "return o[:2] > 0", r"an action is array\(\[.*(True|False)"),
    act("infinite", "return [float('inf'), 0]", r"an action is array\(\[inf"),
    act("nothing", "pass", r"an action has shape \(\), not \(2,\)"),
    act("one number", "return 0.0", r"an action has shape \(\)"),
    act("a batch", "return [o[:2]]", r"an action has shape \(1, 2\)"),
    act("too narrow", "return o[:1]", r"an action has shape \(1,\)"),
    act("text", "return ['0.1', '0.2']", "finite numbers"),
    act("None among numbers", "return [None, 0.1]", "finite numbers"),
    act("masked", "return np.ma.array(o[:2], mask=[1, 0])", "entries that are masked"),
    act("complex numbers", "return [1j, 0.1]", "finite numbers"),
    act("of several lengths", "return [[0.1], [0.1, 0.2]]", "ValueError"),
    act("a dictionary", "return {'action': o[:2]}", r"an action has shape \(\)"),
    act("bit by bit", "yield 0.1", r"an action has shape \(\)"),
    act("in degrees", "return 57.3 * o[:2]", "mine.py: .* of its 60 actions are beyond", TOLD),
    act("of 1e300", "return [1e300 * float(o[0]), 0]", r"up to 1e\+06, and are clipped", TOLD),
    act("all one", "return [0.5, 0.5]", "all of its 60 actions are the same", TOLD),
    act("writes into what it sees", "o[:] = 0; return [np.random.rand(), 0]", "^$", TAKEN),
    act("raises", "return o[7]", "mine.py:3: IndexError"),
    act("exits", "raise SystemExit(0)", "mine.py:3: SystemExit: 0"),
    act("exits as a spent budget", "import sys; sys.exit(3)", "mine.py:3: SystemExit: 3"),
    file("takes two", "def act(o, t): return o[:2]", "mine.py: TypeError"),
    file("a name of another", "def action(o): return o[:2]", "neither begin.env. nor act"),
    file("no function", "act = 3", "neither begin"),
    file("nothing in it", "", "neither begin"),
    file("does not parse", "def act(o)\n", "mine.py:1: SyntaxError"),
    file("NUL", "x = 1\0", "mine.py: SyntaxError: .*null bytes"),
    file("Latin-1", b"# \xe9\nx = '\xe9'", "neither begin|SyntaxError"),
    file("imports what there is not", "import nosuchpackage", "mine.py:1: ModuleNotFoundError"),
    file("exits at once", "raise SystemExit(0)", "mine.py:1: SystemExit: 0"),
    file("a byte order mark", b"\xef\xbb\xbfdef act(o): return o[:2]", "^$", TAKEN),
    file("CRLF", "def act(o):\r\n    return o[:2]\r\n", "^$", TAKEN),
    begin("begins with nothing", "pass", "begin returned None: a function is needed"),
    begin("begins with an action", "return [0.0, 0.0]", "begin returned .0.0, 0.0."),
    begin("raises as it begins", "return {}['x']", "mine.py:2: KeyError"),
    begin("exits as it begins", "raise SystemExit(0)", "mine.py:2: SystemExit"),
    file("an act that is async", "async def act(o):\n    return o[:2]\n", r"has shape \(\), not"),
    act("half precision that is NaN", "return np.full(2, np.nan, np.float16)", "finite numbers"),
    act("a generator", "yield 1.0", r"has shape \(\), not"),
    file("a number for an act", "act = 5\n", "has neither begin.env. nor act"),
)
