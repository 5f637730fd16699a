"""A new task's pack, made from the shortest task there is for a robot."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from enpire.errors import UsageError
from enpire.packs.finder import (
    CERTIFICATE,
    DRAFTED,
    SIGNATURE,
    SYMMETRY,
    available,
    find,
    unknown,
)

NAME = re.compile(r"[a-z][a-z0-9_]*")
ROBOT = re.compile(r'^    robot(?:: [\w\[\]]+)? = "(\w+)"', re.MULTILINE)
CLASS = re.compile(r"^class (\w+)\(Task\):", re.MULTILINE)
DOCSTRING = re.compile(r'\A""".*?"""', re.DOTALL)

YOURS = {
    "build": "what is on the bench beyond scene.xml, such as a softer gripper.",
    "after_compile": "model fields that differ from one episode to the next; `expand` each.",
    "sample": "what varies, a number per name in variation_names: as much as it will on an arm.",
    "set_initial_state": "write into a station all that `sample` varies: objects, arms, setpoints.",
    "settle": "how long the scene takes to come to rest; ResetFailed if it has not come right.",
    "randomize_physics": "of that, what no robot brings about: written before any kind of reset.",
    "restorer": "skills that bring the rest about, or delete it and target_names: see restorer.py.",
    "observe": "what a policy sees, of the readings alone, scaled to about one.",
    "looks_done": "stop acting and verify. A little stricter than `verify`.",
    "verification_action": "what the verifier does to find out: pull, shake. None: it saw enough.",
    "verify": "success, by predicates with thresholds, of what was read while probing.",
    "ground_truth": "the same conditions as the simulator knows them; only audits `verify`.",
    "demonstrator": "a person who can do it: see demonstrator.py.",
}
"""What to say above each method of a task."""

README = """\
# {name}

Made from `{source}`. As it stands it still is that task; make it yours from top to bottom:

1. `scene.xml`: your objects. Names get the prefix `task_` in the twin.
2. `task.py`: each comment that begins with YOURS.
3. `demonstrator.py`: the skills of a person who does it.
4. `enpire render ./tasks/{name} {name}.png` shows a demonstration half-way.
5. `enpire task check ./tasks/{name}` says whether it can be learned from; `--full` certifies it.
6. Say here what varies, what success is, and where the numbers come from.

| file | |
|---|---|
| `task.py` | the task: what varies, what is seen, done and asked for |
| `scene.xml` | objects on the bench, MJCF |
| `demonstrator.py` | who shows how it is done |
| `verify.py`, `look.py` | whether it is done, by sensors and by cameras |
| `truth.py` | the same as the simulator knows it; audits the verifier |
| `fakes.py` | states that look done and are not |
| `loop.toml` | what `enpire loop` does here unless told otherwise: nothing special yet |

What is not here, `{source}` has: a skill script (`skill.py`; in `task.py` `parameters` and `skill`)
whose numbers the recipe `heuristic` searches, and a physical reset (`restorer.py`; `target_names`
and `restorer`). docs/new-task.md says how to add them.
"""


def require_robot(name: str) -> None:
    """Raises UsageError if there is no such robot."""
    robots = available("robots")
    if name not in robots:
        raise UsageError(unknown("robot", name, robots))


def require_free(name: str) -> Path:
    """The folder of a task to be made; raises UsageError if something is there."""
    folder = Path("tasks") / name
    if folder.exists():
        raise UsageError(f"{folder} is there already: choose another name, or go on with it")
    return folder


def write_template(folder: Path, name: str, robot: str) -> str:
    """Make the pack `folder` from the shortest task there is; returns that task's name."""
    source = template(robot)
    shutil.copytree(
        source,
        folder,
        # What is observed will change, and a symmetry of what was observed would mislead learning.
        ignore=shutil.ignore_patterns(
            "__pycache__", ".*", "README.md", CERTIFICATE, SIGNATURE, SYMMETRY
        ),
    )
    path = folder / "task.py"
    path.write_text(made_yours(path.read_text("utf-8"), name, source.name), "utf-8")
    (folder / "README.md").write_text(README.format(name=name, source=source.name), "utf-8")
    return source.name


def template(robot: str) -> Path:
    """Folder of the task with the least code among those for `robot` whose verifier is audited."""
    found: dict[str, list[tuple[int, Path]]] = {}
    for name in available("tasks"):
        folder = find("tasks", name).folder
        text = (folder / "task.py").read_text("utf-8")
        of = ROBOT.search(text)
        if of is not None and "def ground_truth(" in text and not (folder / DRAFTED).exists():
            size = sum(len(p.read_bytes()) for p in folder.glob("*.py"))
            found.setdefault(of[1], []).append((size, folder))
    if robot not in found:
        raise UsageError(
            f"there is no task for {robot} to begin with: begin with --robot "
            f"{' or '.join(sorted(found))}, then change robot and places in its task.py"
        )
    return min(found[robot])[1]


def made_yours(text: str, name: str, source: str) -> str:
    """`task.py` under the new name, with a comment above each method that is to be changed."""
    title = name.replace("_", " ")
    said = "comments that begin with YOURS say what to change"
    docstring = (
        f'"""{title.capitalize()}: say here what is done.\n\nMade from {source}; {said}.\n"""'
    )
    text = DOCSTRING.sub(docstring, text, count=1)
    old = CLASS.search(text)
    if old is not None:
        text = re.sub(rf"\b{old[1]}\b", title.title().replace(" ", ""), text)
    for method, comment in YOURS.items():
        text = re.sub(rf"^(    def {method}\()", rf"    # YOURS: {comment}\n\1", text, flags=re.M)
    attributes = (
        "the robot, the words for a person, limits in time and force, names of what is seen."
    )
    return re.sub(
        r"^    robot\b", f"    # YOURS: {attributes}\n    robot", text, count=1, flags=re.M
    )
