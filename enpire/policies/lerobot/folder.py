"""A policy's folder as LeRobot writes it, as bytes: `config.json`, weights, two processors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enpire import git_lfs
from enpire.errors import PolicyError
from enpire.json_text import parsed
from enpire.policies.lerobot.normalising import (
    MODES,
    extent,
    require_same,
    require_statistics,
    require_steps,
)
from enpire.types import FloatArray

CONFIG, WEIGHTS = "config.json", "model.safetensors"
ADAPTER, TRAINED, CHECKPOINTS = "adapter_config.json", "train_config.json", "checkpoints"
OLD = {"pytorch_model.bin", "model.bin", "model.pt", "model.ckpt"}  # weights that are code
PROCESSORS = ("policy_preprocessor.json", "policy_postprocessor.json")
WITHIN = "pretrained_model"  # of a checkpoint's folder, as `lerobot-train` leaves it
TAKEN = {".json", ".safetensors", ".txt", ".md", ".jinja"}  # none of which can run anything
STATE, ENVIRONMENT, ACTION = "observation.state", "observation.environment_state", "action"
PICTURES = "observation.images."  # and a camera's name
BLANK = PICTURES + "empty_camera_"  # begins a camera that is not there (`empty_cameras`)
RENAMES = "rename_observations_processor"  # the step by which inputs get a policy's own names

COUNTS = ("chunk_size", "horizon", "n_action_steps", "n_obs_steps")  # of a config
MOST = 10_000  # of each
STEEPEST = 10.0  # coefficient of a temporal ensemble: beyond, only one chunk counts
Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Shapes:
    """What a policy's config says it maps."""

    type: str  # ACT is `act`
    # observation, action: entries; observation is 0 where it takes no state
    observation: int
    action: int
    cameras: tuple[str, ...] = ()  # that it looks through, by the names that stations have for them
    size: int = 0  # of each picture, as wide as high [px]


def find_folder(path: Path) -> Path | None:
    """Find the folder of LeRobot's policy at `path`, a checkpoint's or its own; or None."""
    for folder in (path, path / WITHIN):
        if (folder / CONFIG).is_file() and (folder / WEIGHTS).is_file():
            return folder
    return None


def why_none(path: Path) -> str:
    """Why a folder that looks like one of LeRobot's is no policy's; empty for any other."""
    names = {each.name for each in path.iterdir()} if path.is_dir() else set()
    if ADAPTER in names:
        return f"{path} has an adapter alone: merge it into its base policy, and name that folder"
    if names & OLD and CONFIG in names:
        return f"{path} has weights in {min(names & OLD)}: {WEIGHTS} is read, which runs no code"
    if names & {CONFIG, WEIGHTS, TRAINED}:
        missing = [name for name in (CONFIG, WEIGHTS) if name not in names]
        return f"{path} lacks {' and '.join(missing)}: name the folder that LeRobot wrote whole"
    steps = sorted((path / CHECKPOINTS).glob(f"*/{WITHIN}/{CONFIG}"))
    if steps:
        return f"{path} has checkpoints: name one, {steps[-1].parent}"
    return ""


def read(folder: Path) -> dict[str, bytes]:
    """The files of a policy's folder, of the kinds that hold numbers and text.

    Raises:
        PolicyError: something is missing or cannot be read.
    """
    try:
        files = {
            path.name: path.read_bytes()
            for path in sorted(folder.iterdir())
            if path.suffix in TAKEN and path.is_file()
        }
    except OSError as error:
        raise PolicyError(f"{folder} cannot be read: {error.strerror}") from error
    missing = [name for name in (CONFIG, WEIGHTS, *PROCESSORS) if name not in files]
    if missing:
        raise PolicyError(
            f"{folder} lacks {', '.join(missing)}: a policy of LeRobot 0.6 or newer has them "
            "(lerobot's migrate_policy_normalization adds processors to an older one)"
        )
    return files


def write(files: Files, folder: Path) -> None:
    """The inverse of `read`, into a folder that is there.

    Raises:
        PolicyError: a file's name leads elsewhere.
    """
    for name, data in files.items():
        if Path(name).name != name or name in (".", ".."):
            raise PolicyError(f"a policy's file is called {name!r:.80}, which leads elsewhere")
        (folder / name).write_bytes(data)


def shapes(files: Files) -> Shapes:
    """What the config says, without LeRobot.

    Raises:
        PolicyError: it needs what stations do not show, its processors name code that is not
            LeRobot's, or lack the statistics that they normalise by.
    """
    pointers = [name for name, data in files.items() if git_lfs.is_pointer(data)]
    if pointers:
        raise PolicyError(f"{pointers[0]} {git_lfs.HINT}")
    config = _json(files, CONFIG)
    before, after = (_json(files, name) for name in PROCESSORS)
    for name, said in zip(PROCESSORS, (before, after), strict=True):
        _require_known_steps(name, said)
    with _as_lerobot_writes(CONFIG):
        seen = {name: _feature(each) for name, each in config["input_features"].items()}
        (action,) = config["output_features"][ACTION]["shape"]
        kind = str(config["type"])
        others = sorted(config["output_features"].keys() - {ACTION})
        modes = dict(config.get(MODES) or {})
        _require_sizes(config)
    _require_trained_alike(files, config)
    if others:
        raise PolicyError(f"this {kind} policy answers with {', '.join(others)} beside {ACTION}")
    shown = {n: shape for n, (what, shape) in seen.items() if what == "VISUAL" and BLANK not in n}
    with _as_lerobot_writes(PROCESSORS[0]):
        given = _input_names(before)
    cameras = tuple(_camera(given.get(name, name)) for name in shown)
    size = _side(kind, shown)
    sizes = {name: shape for name, (what, shape) in seen.items() if what != "VISUAL"}
    odd = sorted(sizes.keys() - ({STATE} if shown else {STATE, ENVIRONMENT}))
    if odd or not seen:
        raise PolicyError(
            f"this {kind} policy takes {', '.join(odd) or 'nothing'}; stations show {STATE} beside "
            f"pictures, and without them {STATE} and {ENVIRONMENT}"
        )
    if not (sizes or shown) or any(len(shape) != 1 for shape in sizes.values()):
        raise PolicyError(f"inputs of {sizes}: what stations show is one vector")
    seen_by = {name: shape[0] for name, shape in sizes.items()}
    apart = len(set(seen_by.values())) > 1
    width = sum(seen_by.values()) if apart else max(seen_by.values(), default=0)
    with _as_lerobot_writes(PROCESSORS[0]):
        require_statistics(files, PROCESSORS[0], before, seen_by)
        require_steps(PROCESSORS[0], before, {n: modes.get(seen[n][0]) for n in seen_by})
    with _as_lerobot_writes(PROCESSORS[1]):
        require_statistics(files, PROCESSORS[1], after, {ACTION: int(action)})
        require_steps(PROCESSORS[1], after, {ACTION: modes.get("ACTION")})
        both = dict(zip(PROCESSORS, (before, after), strict=True))
        require_same(files, both, ACTION, modes.get("ACTION"))
    return Shapes(kind, width, int(action), cameras, size)


def action_extent(files: Files) -> tuple[FloatArray, FloatArray] | None:
    """The lowest and the highest of the actions that it was trained on, (act,) each, if known."""
    return extent(files, PROCESSORS[1], _json(files, PROCESSORS[1]), ACTION)


def parts(features: Mapping[str, tuple[int, ...]]) -> dict[str, slice]:
    """Which entries of an observation a policy takes as its state, and which as an environment's.

    features: shapes of its inputs, by name. Both are all entries where they are as many, and else
    the state comes first.
    """
    sizes = {name: features[name][0] for name in (STATE, ENVIRONMENT) if name in features}
    if len(set(sizes.values())) < 2:
        return dict.fromkeys(sizes, slice(None))
    return {STATE: slice(sizes[STATE]), ENVIRONMENT: slice(sizes[STATE], None)}


def trained_on(files: Files) -> str:
    """Return the dataset that a policy was trained on, as its training's config says; or empty."""
    if TRAINED not in files:
        return ""
    dataset = _table(_json(files, TRAINED), "dataset")
    return str(dataset.get("repo_id") or dataset.get("root") or "")


def _require_trained_alike(files: Files, config: Mapping[str, Any]) -> None:
    """Raise PolicyError for a training's config that is of another policy than the folder's."""
    if TRAINED not in files:
        return
    trained = _table(_json(files, TRAINED), "policy")
    for key in ("type", "input_features", "output_features", "chunk_size", "n_obs_steps", MODES):
        theirs, ours = trained.get(key), config.get(key)
        if theirs is not None and ours is not None and theirs != ours:
            raise PolicyError(
                f"{TRAINED} is of another policy than {CONFIG}: {key} is {theirs!s:.120} there, "
                f"and {ours!s:.120} here: take the folder as its training left it, or leave "
                f"{TRAINED} out"
            )


def _table(said: Any, key: str) -> Mapping[str, Any]:
    found = said.get(key) if isinstance(said, dict) else None
    return found if isinstance(found, dict) else {}


@contextmanager
def _as_lerobot_writes(name: str) -> Iterator[None]:
    """Raise PolicyError where the file called `name` turns out to be laid out otherwise."""
    try:
        yield
    except (LookupError, OverflowError, TypeError, ValueError, AttributeError) as error:
        raise PolicyError(f"{name} is not that of a policy of LeRobot's: {error!r}") from error


def _require_sizes(config: Mapping[str, Any]) -> None:
    """Raise PolicyError for a count that no policy has, before memory is set aside for it."""
    for name in COUNTS:
        value = config.get(name)
        if value is not None and (type(value) is not int or not 1 <= value <= MOST):
            raise PolicyError(f"{CONFIG} has {name}: {str(value)[:20]}; 1 to {MOST} is taken")
    forgetting = config.get("temporal_ensemble_coeff")
    if isinstance(forgetting, int | float) and not abs(forgetting) <= STEEPEST:
        raise PolicyError(f"{CONFIG} has temporal_ensemble_coeff: {forgetting}")


def _input_names(before: Any) -> dict[str, str]:
    """What inputs are called before the preprocessor renames them, by a policy's own names."""
    steps = [step for step in before["steps"] if step.get("registry_name") == RENAMES]
    renamed = [(step.get("config") or {}).get("rename_map") or {} for step in steps]
    return {own: given for each in renamed for given, own in each.items()}


def _camera(name: str) -> str:
    """The camera of the picture called `name`."""
    if not name.startswith(PICTURES):
        raise PolicyError(
            f"pictures called {name}: stations call theirs {PICTURES}CAMERA "
            "(lerobot-train's --rename_map gives them a policy's own names)"
        )
    return name.removeprefix(PICTURES)


def _side(kind: str, shown: Mapping[str, tuple[int, ...]]) -> int:
    """How wide and high all pictures are [px]; 0 if there are none."""
    sides = {side for shape in shown.values() for side in shape[1:]}
    if len(sides) > 1 or any(len(shape) != 3 or shape[0] != 3 for shape in shown.values()):
        raise PolicyError(
            f"this {kind} policy sees pictures of {shown}; those of stations have three colours, "
            "one size, and are as wide as high: train it on what export lerobot --images N writes"
        )
    return sides.pop() if sides else 0


def _feature(said: Mapping[str, Any]) -> tuple[str, tuple[int, ...]]:
    return str(said["type"]), tuple(int(size) for size in said["shape"])


def _json(files: Files, name: str) -> Any:
    try:
        return parsed(files[name])
    except (KeyError, ValueError) as error:
        raise PolicyError(f"the policy's {name} is missing or no JSON: {error}") from error


def _require_known_steps(name: str, said: Any) -> None:
    """A step may be called by any class that can be imported: only LeRobot's own are taken."""
    with _as_lerobot_writes(name):
        named = [step.get("class", "") for step in said["steps"] if "registry_name" not in step]
    foreign = [each for each in named if not str(each).startswith("lerobot.")]
    if foreign:
        raise PolicyError(
            f"{name} asks for code of {', '.join(map(str, foreign))}: only steps of LeRobot's own "
            "are run"
        )
