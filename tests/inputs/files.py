"""TOML files and packs that are slightly wrong, beside those of `tests/packs/test_toml.py`,
`tests/safety/test_station.py` and `tests/twin/test_scene.py`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from enpire.environment.loading import build_stations, load_task
from enpire.evolution.agents.programs import load_program
from enpire.packs import Robot, find, load_robot, load_world
from enpire.safety.station import load_station
from enpire.session.loop_settings import of_task
from enpire.twin import compose
from enpire.twin.scene import Scene
from tests.inputs.entry import REFUSED, TAKEN, Input, changed

REACH = Path(__file__).parents[2] / "examples" / "tasks" / "reach"
DIGITS, DEEP = "1" + "0" * 400, "x = " + "[" * 3000
LAB = 'driver = "mock"\nrobot = "yam"\n'
AGENT = 'command = ["sh"]\n'
MODEL = '[[models]]\nname = "m"\nurl = "http://h:1"\nallowed = ["POST /v1"]\n'
SECRET = f"sk-ant-{'x1Y' * 12}"  # in the shape of one
PRICES = '[prices]\ndate = "2026-11-23"\n'
TASK = """
from enpire.environment import Task
class Mine(Task):
    pass
"""


def edited(kind: Any, shipped: str, load: Callable[..., object]) -> Callable[..., Input]:
    """Entries of a pack that ships, with another text in one place of its file."""
    file = {"robots": "robot.toml", "sim": "world.toml"}[kind]

    def entry(name: str, old: str, new: str, words: str) -> Input:
        def give(folder: Path) -> tuple[str, str]:
            copy = Path(shutil.copytree(find(kind, shipped).folder, folder / "mine"))
            text = (copy / file).read_text("utf-8")
            (copy / file).write_text(changed(text, old, new), "utf-8")
            return TAKEN, repr(load(find(kind, str(copy))))

        return Input(name, give, words)

    return entry


def composed(robot: Robot) -> Scene:
    """Its scene with nothing on the bench."""
    return compose(load_world(find("sim", "bench")), robot, lambda spec: None)


robot = edited("robots", "yam_bimanual", load_robot)
world = edited("sim", "bench", load_world)
arm = edited("robots", "so101", lambda pack: composed(load_robot(pack)))


def written(name: str, file: str, load: Callable[[Path], object]) -> Callable[..., Input]:
    """Entries of a file in a folder of its own."""

    def entry(called: str, content: str | bytes, words: str, ends: str = REFUSED) -> Input:
        def give(folder: Path) -> tuple[str, str]:
            data = content if isinstance(content, bytes) else content.encode()
            (folder / file).write_bytes(data)
            return TAKEN, repr(load(folder))

        return Input(f"{name}: {called}", give, words, ends)

    return entry


def a_program(folder: Path) -> object:
    if not (folder / "prompt.md").exists():
        (folder / "prompt.md").write_text("{brief}")
    return load_program(find("agents", str(folder)))


def a_loop(folder: Path) -> object:
    (folder / "task.py").touch()
    return of_task(find("tasks", str(folder)))


station = written("station", "lab.toml", lambda folder: load_station(folder / "lab.toml"))
agent = written("agent", "agent.toml", a_program)


def prompt(name: str, content: bytes, words: str, ends: str = REFUSED) -> Input:
    """An entry: what a program is told."""

    def give(folder: Path) -> tuple[str, str]:
        (folder / "prompt.md").write_bytes(content)
        return agent(name, AGENT, words).give(folder)

    return Input(f"prompt: {name}", give, words, ends)


def variable(name: str, called: str, value: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a variable of a program's environment."""
    text = f'{AGENT}[environment]\n"{called}" = "{value}"'
    return agent(f"variable: {name}", text, words, ends)


loop = written("loop", "loop.toml", a_loop)
task = written("task", "task.py", lambda folder: load_task(find("tasks", str(folder))))


def in_place(name: str, put: Callable[[Path], object], words: str) -> Input:
    """An entry: something else in place of a station's file."""

    def give(folder: Path) -> tuple[str, str]:
        put(folder / "lab.toml")
        return TAKEN, repr(load_station(folder / "lab.toml"))

    return Input(name, give, words)


def reach(name: str, old: str, new: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: the example's task with another text in one place, and one station of it."""

    def give(folder: Path) -> tuple[str, str]:
        text = (REACH / "task.py").read_text("utf-8")
        (folder / "task.py").write_text(changed(text, old, new), "utf-8")
        return TAKEN, build_stations(str(folder), 1).name

    return Input(f"task: {name}", give, words, ends)


LIMIT, ACTION = "time_limit = 3.0", "ActionSpec((ArmAction((STEP,) * 3, (0.0, 0.0, 0.0)),))"
INIT, BARE = "def __init__(self, folder)", "def __init__(self)"
SPEED = "cartesian_speed = 0.25"
FILES = (
    robot("robot: a speed of 400 digits", SPEED, f"cartesian_speed = {DIGITS}", "401 digits"),
    robot("robot: joints of 400 digits", "joint_speed = [2.0", f"joint_speed = [{DIGITS}", "401 d"),
    robot("robot: 5000 digits", SPEED, "cartesian_speed = " + "9" * 5000, "does not parse"),
    robot("robot: too deep", SPEED, DEEP, "does not parse: maximum recursion"),
    robot("robot: a key twice", SPEED, f"{SPEED}\n{SPEED}", "does not parse.*line"),
    arm(
        "robot: a home out of reach", "home = [0.0,", "home = [3.0,", "joint 1 of home is 3, and .*"
    ),
    arm("robot: a gripper in per cent", "1.74533]", "100.0]", "gripper_range has 100, and"),
    robot("robot: a speed in m of mm", SPEED, "cartesian_speed = 0.00025", "0.005 at least"),
    robot(
        "robot: joints that creep", "joint_speed = [2.0", "joint_speed = [0.002", "0.02 at least"
    ),
    arm("robot: a gripper in m", "[-0.17453, 1.74533]", "[-0.0001, 0.0017]", "hardly open"),
    robot("robot: a date", SPEED, "cartesian_speed = 2020-01-01", "must be a number"),
    robot("robot: a hexadecimal", SPEED, "cartesian_speed = 0xFF", "found 255"),
    robot("robot: a model of 5000 letters", "arm.xml", "a" * 5000, "too long"),
    robot("robot: a model with NUL", "arm.xml", "a\\u0000", "NUL"),
    robot("robot: an arm of no name", 'name = "right"', 'name = ""', "letters, digits"),
    robot("robot: an arm called as a path", 'name = "right"', 'name = "a/b"', "letters, digits"),
    robot("robot: a gripper of 1e300", "[0.0, 0.075]", "[0.0, 1e300]", "gripper_range"),
    robot("robot: a joint too few", "home = [0.588, ", "home = [", "6 joints"),
    world("world: its own dynamics", "model =", 'dynamics = "world.toml"\nmodel =', "missing"),
    world(
        "world: a folder as dynamics", "model =", 'dynamics = "."\nmodel =', "is not in the pack"
    ),
    world("world: no description", "description", "descr", "do you mean description"),
    in_place("station: a folder", Path.mkdir, "no such file"),
    in_place("station: a pipe", os.mkfifo, "no such file"),
    in_place("station: a link to itself", lambda path: path.symlink_to(path), "no such file"),
    station("as it should be", LAB, "StationFile", TAKEN),
    station("old Mac's ends of lines", LAB.replace("\n", "\r"), "StationFile", TAKEN),
    station("nothing in it", "", "robot is missing"),
    station("NUL", f"{LAB}\0", "does not parse"),
    station("a space that is none", f"{LAB}rate =\u00a0100", "does not parse"),
    station("quotes of a word processor", LAB.replace('"', "\u201c"), "does not parse"),
    station("a comma in a number", f"{LAB}rate = 100,0", "does not parse"),
    station("a rate of 400 digits", f"{LAB}rate = {DIGITS}", "401 digits"),
    station("too deep", LAB + DEEP, "maximum recursion"),
    station("a core below nought", f"{LAB}[realtime]\ncpu = -1", "a core's number"),
    station("half a core", f"{LAB}[realtime]\ncpu = 1.5", "a core's number"),
    station("core 9999", f"{LAB}[realtime]\ncpu = 9999", "a core's number"),
    station(
        "a wall in millimetres",
        f"{LAB}[[keep_out]]\nname = 'w'\nlow = [600, -1000, 0]\nhigh = [700, 1000, 1000]",
        "in m, no mm",
    ),
    station("a wall that is no list", f"{LAB}[keep_out]\nname = 'w'", "expected list"),
    station("a camera twice", f"cameras = ['top', 'top']\n{LAB}", "a name of its own"),
    station("a camera of no name", f"cameras = ['']\n{LAB}", "a name of its own"),
    station("park in degrees", f"park = [0, 93, 74, -68, 0, 0]\n{LAB}", "outside the joints"),
    station("park in quotes", f"park = ['0', '1', '1', '1', '0', '0']\n{LAB}", "6 numbers"),
    station("a watchdog without end", f"{LAB}[watchdogs]\nverifier = inf", "finite number"),
    station("a watchdog of 1e300", f"{LAB}[watchdogs]\nverifier = 1e300", "0.001 to 5 s"),
    station("a robot that is not there", LAB.replace("yam", "./no"), "is no robot pack"),
    station("a robot of 5000 letters", LAB.replace("yam", "a" * 5000), "too long"),
    station("a driver in a list", LAB.replace('"mock"', '["mock"]'), "expected str"),
    station("limits in a list", f"limits = [1]\n{LAB}", "expected dict"),
    loop("too deep", DEEP, "maximum recursion"),
    loop("UTF-16", "recipe = 'bc'".encode("utf-16"), "does not parse"),
    loop("demonstrations of 400 digits", f"demonstrations = {DIGITS}", "401 digits"),
    loop("demonstrations as a fraction", "demonstrations = 40.0", "no whole number"),
    loop("recipes in a list", "recipe = ['bc']", "the name of a recipe"),
    loop("a recipe of no name", "recipe = ''", "the name of a recipe"),
    loop("exploration that is true", "exploration = true", "is no number"),
    loop("a recipe with NUL", 'recipe = "a\\u0000.py"', "NUL"),
    agent("as it should be", AGENT, "Program", TAKEN),
    agent("a key in the file", AGENT + MODEL + 'key_from = "sk-ant-03"', "of a variable"),
    agent(
        "an address from a variable with =",
        AGENT + MODEL + 'url_from = "A=B"',
        "name of a variable",
    ),
    agent(
        "a password in its address",
        AGENT + MODEL.replace("//h", "//u:p@h"),
        "url has .* a password",
    ),
    agent("a space in its address", AGENT + MODEL.replace("//h", "//h h"), "http.s.://HOST:PORT"),
    agent("a question in its address", AGENT + MODEL.replace(":1", ":1?a=b"), "http.s.://HOST:P"),
    agent("a brace left open", 'command = ["sh", "{bridge"]', "bridge is not closed"),
    agent("hours without end", f"{AGENT}hours = 1e308", "hours must be"),
    agent("hours of 400 digits", f"{AGENT}hours = {DIGITS}", "401 digits"),
    agent("memory without end", f"{AGENT}memory_gib = 1e308", "memory_gib must be"),
    agent("memory of no byte", f"{AGENT}memory_gib = 1e-12", "memory_gib must be"),
    agent("a word that nothing stands for", 'command = ["sh", "{pyton}"]', "do you mean .python"),
    agent("braces of its own", 'command = ["sh", "{x}"]', "Program", TAKEN),
    agent(
        "a model of another name",
        f"command = ['sh', '{{model}}/n']\n{MODEL}",
        "/n is none of its models",
    ),
    agent("a request in small letters", AGENT + MODEL.replace("POST", "post"), "a method and a p"),
    agent("a request without a path", AGENT + MODEL.replace(" /v1", ""), "a method and a path"),
    agent("a request of a star", AGENT + MODEL.replace("POST /v1", "*"), "a method and a path"),
    agent("a request with a query", AGENT + MODEL.replace("/v1", "/v1?a=1"), "without a query"),
    agent("a request of a folder above", AGENT + MODEL.replace("/v1", "/v1/../x"), "without a qu"),
    agent("an address of port 0", AGENT + MODEL.replace("h:1", "h:0"), "http.s.://HOST:PORT"),
    agent("a key from nowhere", f'{AGENT}{MODEL}key_from = ""', "key_from names no variable"),
    agent("prices of tomorrow", AGENT + PRICES.replace("2026", "2096") + "a = 1", "is to come"),
    agent("prices of a German day", f"{AGENT}[prices]\ndate = '23.11.2026'\na = 1", "a day as 2"),
    agent("prices a token", f"{AGENT}{PRICES}output_tokens = 5e-5", "0 or 0.0001 to .*; found"),
    agent("prices of a misspelt class", f"{AGENT}{PRICES}input_token = 5.0", "mean input_tokens"),
    agent("hours in seconds", f"{AGENT}hours = 43200", "hours must be"),
    agent("what is not there", f"{AGENT}readable = ['/no/such']", "/no/such, which is not there"),
    agent("a header of two lines", f'{AGENT}{MODEL}header = "a\\nb"', "a name of letters, digits"),
    agent("a prefix of two lines", f'{AGENT}{MODEL}prefix = "a\\nb"', "a text of one line"),
    prompt("as it should be", b"{method} {brief}", "Program", TAKEN),
    prompt("a byte order mark", b"\xef\xbb\xbf{brief}", "prompt='{brief}'", TAKEN),
    prompt("Latin-1", b"{brief} \xe9", "prompt.md is no UTF-8"),
    prompt("UTF-16", "{brief}".encode("utf-16"), "prompt.md is no UTF-8"),
    prompt("without the task", b"Hello.", "lacks {brief}"),
    prompt("nothing in it", b"", "lacks {brief}"),
    prompt("a misspelt word", b"{brief} {metod}", "do you mean {method}"),
    prompt("JSON in it", b'{brief} {"a": {"b": 1}}', "Program", TAKEN),
    agent("half a start", f"{AGENT}starts = 1.5", "whole number"),
    agent("never starts", f"{AGENT}starts = 0.5", "starts must be"),
    agent("no command", 'command = [""]', "not installed"),
    agent("a command that is a folder", 'command = ["/tmp"]', "not installed"),
    agent("a prompt elsewhere", f'prompt = "../prompt.md"\n{AGENT}', "is not in the pack"),
    agent("a prompt that is a folder", f'prompt = "."\n{AGENT}', "is not in the pack"),
    agent("a prompt of 5000 letters", f"prompt = '{'a' * 5000}'\n{AGENT}", "too long"),
    agent("a variable with =", f'{AGENT}[environment]\n"A=B" = "a"', "is no name"),
    agent("a variable of no name", f'{AGENT}[environment]\n"" = "a"', "is no name"),
    agent("a variable with NUL", f'{AGENT}[environment]\nA = "a\\u0000"', "NUL"),
    variable("its own folder", "PYTHONPATH", "{pack}/lib:{pack}", "Program", TAKEN),
    variable("another folder", "PYTHONPATH", "/home/me/lib", "from .pack. alone"),
    variable("two folders", "PYTHONPATH", "{pack}:/home/me/lib", "from .pack. alone"),
    variable("a folder above", "PYTHONPATH", "{pack}/../lib", "from .pack. alone"),
    variable("a password of digits", "DB_PASSWORD", "1234", "DB_PASSWORD would be seen"),
    variable("a library", "LD_PRELOAD", "/tmp/x.so", "LD_PRELOAD loads code into the program"),
    variable("a library in small letters", "ld_library_path", "/tmp", "ld_library_path loads code"),
    variable("a shell's beginning", "BASH_ENV", "/tmp/x", "BASH_ENV loads code"),
    variable("node's options", "NODE_OPTIONS", "--require /tmp/x.js", "NODE_OPTIONS loads code"),
    variable("where programs are", "PATH", "/opt/x/bin:/usr/bin", "Program", TAKEN),
    variable("the harness's own", "ENPIRE_MODEL_URL", "http://h", "is the harness's own"),
    variable("a key's place", "OPENAI_API_KEY", "is-put-in-outside", "Program", TAKEN),
    variable("a number of tokens", "MAX_OUTPUT_TOKENS", "32000", "Program", TAKEN),
    variable("a key", "OPENAI_API_KEY", f"sk-proj-{'x1Y' * 12}", "looks like a key .*.sk-p etc"),
    variable("a key under another name", "MODEL", f"sk-ant-{'x1Y' * 12}", "looks like a key"),
    variable("a token of GitHub", "WHO", f"ghp_{'x1Y' * 12}", "looks like a key"),
    variable("a token of Hugging Face", "WHO", f"hf_{'x1Y' * 12}", "looks like a key"),
    variable("a token in three parts", "WHO", "eyJhbGciOi.eyJzdWIiOi.x", "looks like a key"),
    variable("a password", "DB_PASSWORD", "hunter2", 'Write DB_PASSWORD = "is-put-in-outside"'),
    variable("a password in an address", "DB", "postgres://me:pw@h/d", "or a password"),
    variable("a password of a proxy", "HTTPS_PROXY", "http://me:pw@h:3128", "or a password"),
    variable("a shell's variable", "MODEL", "$MODEL", "no shell puts anything in its place"),
    variable("a shell's variable in braces", "MODEL", "${MODEL}", "no shell puts anything"),
    variable("a key that a shell has", "OPENAI_API_KEY", "$OPENAI_API_KEY", "key_from = "),
    variable("a space", "MY VAR", "x", "is no name of a variable"),
    variable("a hyphen", "my-var", "x", "is no name of a variable"),
    variable("a digit first", "1A", "x", "is no name of a variable"),
    agent("a key in its command", f"command = ['sh', '{SECRET}']", "command has what looks like a"),
    agent(
        "a key in its files", f"{AGENT}[files]\n'a' = 'k: {SECRET}'", "a has what looks like a k"
    ),
    agent(
        "a key in a prefix", f"{AGENT}{MODEL}prefix = 'Bearer {SECRET}'", "prefix has what looks"
    ),
    prompt("a key", f"{{brief}} {SECRET}".encode(), "prompt.md has what looks like a key"),
    prompt("CRLF", b"{method}\r\n{brief}\r\n", "Program", TAKEN),
    agent("two models of one name", AGENT + MODEL + MODEL, "the same name"),
    agent("a model nowhere", AGENT + MODEL.replace("h:1", "h:1/a"), "HOST:PORT"),
    agent("prices below nought", f"{AGENT}{PRICES}input_tokens = -1.0", "dollars for a million"),
    agent("prices of 1e300", f"{AGENT}{PRICES}input_tokens = 1e300", "dollars for a million"),
    agent("prices in quotes", f'{AGENT}{PRICES}input_tokens = "1"', "must be a number"),
    agent(
        "tokens within themselves",
        f'{AGENT}{PRICES}a = 1\n[prices.within]\na = "a"',
        "within itself",
    ),
    agent(
        "tokens within each other",
        f'{AGENT}{PRICES}a = 1\nb = 1\n[prices.within]\na = "b"\nb = "a"',
        "within itself",
    ),
    agent(
        "a prompt longer than -1",
        f"{AGENT}{PRICES}a = 1\n[prices.long]\nover = -1\na = 2",
        "a count of tokens",
    ),
    robot("robot: a home in a list", "home = [", "home = [[0.0], ", "home must be numbers, found"),
    world(
        "world: a model of no name",
        'model = "bench.xml"',
        'model = ""',
        "is not in the pack: a file in",
    ),
    station(
        "one camera in quotes",
        b'driver = "mock"\nrobot = "yam"\ncameras = "top"',
        "cameras is 'top', expected list",
    ),
    agent("an empty command", b"command = []", "command must be a list of strings, found"),
)
TASKS = (
    task("exits", "import sys\nsys.exit(0)", "task.py:2: SystemExit: 0"),
    task("exits as a spent budget", "raise SystemExit(3)", "task.py:1: SystemExit: 3"),
    task("raises what is no exception", "raise BaseException('x')", "BaseException: x"),
    task("raises what clears the screen", r"raise ValueError('\x1b[2J')", r"\\x1b"),
    task("does not parse", "x = ", "task.py:1: SyntaxError"),
    task("NUL", "x = 1\0", "null bytes"),
    task("UTF-16", TASK.encode("utf-16"), "null bytes"),
    task("Latin-1", "x = 'é'".encode("latin-1"), "can't decode byte"),
    task("without end", "def f():\n    f()\nf()", "RecursionError"),
    task("imports what there is not", "import nosuchpackage", "ModuleNotFoundError"),
    task("imports a file that is missing", "from .other import a", "the pack has no other.py"),
    task("no task", "x = 1", "0 found"),
    task("two tasks", TASK + TASK.replace("Mine", "Yours"), "2 found"),
    task("a task of nothing", TASK, "lacks"),
    task(
        "Latin-1 in a comment",
        TASK.encode() + "# é".encode("latin-1"),
        r"(task.py cannot be read as|codec can't decode|lacks)",
    ),
    reach("the example's", "3.0", "3.0", "", TAKEN),
    reach("no time", LIMIT, "time_limit = 0", "Reach: time_limit is 0: a number above 0 to"),
    reach("some time in milliseconds", LIMIT, "time_limit = 3000.0", "is 3000.0: .*1000"),
    reach("a hole", '"Reach the goal."', '"Reach the {object}."', "nothing stands for what"),
    reach("time below nought", LIMIT, "time_limit = -3.0", "time_limit is -3.0: a number"),
    reach("time in milliseconds", LIMIT, "time_limit = 5000.0", "time_limit is 5000.0: .*1000"),
    reach("time in words", LIMIT, 'time_limit = "3"', "time_limit is '3': a number"),
    reach("time that is NaN", LIMIT, 'time_limit = float("nan")', "time_limit is nan: a number"),
    reach("time that is true", LIMIT, "time_limit = True", "time_limit is True: a number"),
    reach("less than a period", LIMIT, "time_limit = 0.01", "less than one control period"),
    reach("time as a Decimal", LIMIT, "import decimal; time_limit = decimal.Decimal(3)", "is D"),
    reach(
        "an entry that is none",
        LIMIT,
        f"{LIMIT}; fixed_action_dims = {{7: 0.0}}",
        "fixed_action_dims has entry 7",
    ),
    reach(
        "a kept value of 50",
        LIMIT,
        f"{LIMIT}; fixed_action_dims = {{3: 50.0}}",
        "has 50.0 for entry 3",
    ),
    reach(
        "kept in a list",
        LIMIT,
        f"{LIMIT}; fixed_action_dims = [3]",
        "fixed_action_dims is .3.: entries",
    ),
    reach("a lead of NaN", "(0.0, 0.0, 0.0)),)", '(0.0,) * 3),), lead=float("nan")', "lead is nan"),
    reach("a push below nought", "(0.0, 0.0, 0.0)),)", "(0.0,) * 3),), push=-6.0", "push is -6.0"),
    reach("a rate between steps", LIMIT, f"{LIMIT}; control_hz = 30.0", "", TAKEN),
    reach("a probe of NaN", LIMIT, f'{LIMIT}; probe_limit = float("nan")', "probe_limit is nan"),
    reach("a rate of nought", LIMIT, f"{LIMIT}; control_hz = 0", "control_hz is 0"),
    reach("a force below nought", LIMIT, f"{LIMIT}; force_limit = -1", "force_limit is -1"),
    reach("a force in mN", LIMIT, f"{LIMIT}; force_limit = 40000.0", "0 to 1000 is needed"),
    reach("a step of nothing", "STEP = 0.008", "STEP = 8e-9", "no hand is seen to move by that"),
    reach("its own beginning", LIMIT, f"{LIMIT}\n    {INIT}: pass", "does not call that of Task"),
    reach("a beginning of nothing", LIMIT, f"{LIMIT}\n    {BARE}: pass", "does not come about: Ty"),
    reach(
        "a beginning that raises", LIMIT, f"{LIMIT}\n    {INIT}: 1 / 0", r"task.py:\d+: .*ZeroDi"
    ),
    reach("no instruction", '"Reach the goal."', '" "', "instruction is ' ': a text is needed"),
    reach("an instruction of bytes", '"Reach the goal."', 'b"x"', "instruction is b'x'"),
    reach("a robot that is a list", '"so101"', '["so101"]', "robot is .*a text is needed"),
    reach("a site that is not there", '("task_goal",)', '("goal",)', "goal is tracked, .* it has"),
    reach("tracked in one text", '("task_goal",)', '("task_goal")', "tracked is 'task_goal'"),
    reach("names twice", '"goal_x", "goal_y"', '"goal_x", "goal_x"', "names has goal_x twice"),
    reach("entries twice", 'in "xyz"', 'in "xxz"', "observation_names has goal_from_hand_x twice"),
    reach("no entries", 'in "xyz"', 'in ""', "observation_names is empty"),
    reach(
        "a target of no name", LIMIT, f'{LIMIT}; target_names = ("x",)', "target_names has x, which"
    ),
    reach(
        "noise below nought",
        LIMIT,
        f"{LIMIT}; noise = __import__('enpire.environment').environment.SensorNoise(-0.001)",
        "noise.position is -0.001",
    ),
    reach(
        "noise in millimetres",
        LIMIT,
        f"{LIMIT}; noise = __import__('enpire.environment').environment.SensorNoise(1.5)",
        "noise.position is 1.5: 0 to 0.2",
    ),
    reach("no noise", LIMIT, f"{LIMIT}; noise = None", "noise is None: a SensorNoise"),
    reach("an instruction of a book", '"Reach the goal."', '"a" * 100_000', "1000 letters at most"),
    reach("an instruction of two lines", '"Reach the goal."', r'"a\nb"', "a text of one line"),
    reach(
        "an instruction that clears the screen", '"Reach the goal."', r'"\x1b[2J"', "of one line"
    ),
    reach("a robot in capitals", '"so101"', '"SO101"', "did you mean so101"),
    reach("no actions", ACTION, "ActionSpec(())", "an ActionSpec with an arm"),
    reach("steps in millimetres", "STEP = 0.008", "STEP = 8.0", "a full action is 8.0 m"),
    reach("steps below nought", "STEP = 0.008", "STEP = -0.008", "a full action is -0.008 m: turn"),
    reach("steps of NaN", "STEP = 0.008", 'STEP = float("nan")', "a full action is nan m"),
    reach(
        "steps beyond the range",
        ACTION,
        "ActionSpec((ArmAction((0.1,) * 3, (0.0,) * 3, (0.2,) * 3, (0.25,) * 3),))",
        "x: a full action is 0.1 m, and its whole range 0.05 m",
    ),
    reach(
        "a range the other way",
        ACTION,
        "ActionSpec((ArmAction((0.1,) * 3, (0.0,) * 3, (0.4,) * 3, (0.2,) * 3),))",
        "x: from 0.4 to 0.2 m, where nothing lies",
    ),
    reach(
        "turns in degrees",
        ACTION,
        "ActionSpec((ArmAction((STEP,) * 3, (0.0, 0.0, 5.0)),))",
        "turns by 5.0 in a period: radians",
    ),
    reach(
        "raises when it is prepared",
        "    def sample(",
        "    def after_compile(self, twin):\n        twin.model.body('no')\n\n    def sample(",
        r"task.py:\d+: KeyError: .*Invalid name 'no'",
    ),
    reach("raises when it is built", "goal = spec.", "goal = {}[0]; spec.", "KeyError: 0"),
    task("after a byte order mark", b"\xef\xbb\xbf" + TASK.encode(), "lacks"),
)
