"""What a loop is asked for: on the command line, by the task's `loop.toml`, in a run's folder."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.errors import PackError, StoreError, UsageError
from enpire.option_values import AUTO, duration, more_than_zero, natural, number_or_auto
from enpire.packs.finder import GYM, LOOP
from enpire.packs.toml import Table
from enpire.real_path import real_path
from enpire.rollout.loop.settings import REAL, LoopSettings, options

if TYPE_CHECKING:
    from enpire.improvement.configured_recipe import ConfiguredRecipe
    from enpire.packs import Pack
    from enpire.store import Run

RECIPE, FIRST = "--recipe.", "--first-recipe."  # begin settings of recipes
HELPER = "--helper."  # and of a helper's teleoperator
KIND = "policy"  # setting of a first recipe: the kind of policy that it makes


def _option(each: Field[Any]) -> tuple[Callable[[str], Any], str, str]:
    """A setting as an option: what reads it, its default as `--help` shows it, what it is."""
    read, default = each.metadata["read"], each.default
    if read is number_or_auto:
        shown = AUTO
    elif read is bool:
        shown = ""
    else:
        shown = f"{default:g}" if isinstance(default, float) else str(default)
    return read, shown, each.metadata["help"]


GROUPS = {title: [each.name for each in of] for title, of in options().items()}
"""Names of settings by what they are about, as `--help-all` lists them; those of no group by ""."""

SETTINGS = {each.name: _option(each) for of in options().values() for each in of}

EVERYDAY = [each.name for of in options().values() for each in of if each.metadata["everyday"]]
"""Settings that the short help lists."""

BUDGETS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "max_time": (
        duration,
        "TIME",
        "time on the clock, all starts of the run together: 90s, 30m, 10h",
    ),
    "max_robot_hours": (more_than_zero, "HOURS", "robot time; sealed evaluations do not count"),
    "max_rounds": (natural, "N", "rounds to run: collect, train, compare"),
}


OF_TASK = (
    "recipe",
    "first_recipe",
    "demonstrations",
    "demonstration_starts",
    "start_episodes",
    "collect",
    "exploration",
    "execute",
    "history",
)
"""What a task's `loop.toml` may set."""
OF_RECIPES = ("recipe", "first_recipe")  # each may have a table `NAME_settings` beside it

RETIRED = ("allocate", "hard")  # what only earlier versions knew

EARLIER: dict[str, Any] = {"demonstration_starts": "drawn"}
"""What runs did whose settings do not say it, as an earlier version began them."""

DURATIONS = ("max_time", "reset_time", "latency", "fault_every", "repair_time")

OF_ROUNDS = ("abort", "helper")  # what only recipes that learn in rounds can be asked for


def of_task(pack: Pack) -> dict[str, Any]:
    """What the task's `loop.toml` says its loop does unless told otherwise; {} without one.

    Raises:
        PackError: it is no TOML, or has what is no such setting; the message names file and key.
    """
    path = pack.folder / LOOP
    if not path.exists():
        return {}
    said = Table.read(path).values
    result: dict[str, Any] = {}
    for name, value in said.items():
        recipe = name.removesuffix("_settings")
        if name in OF_RECIPES and not (isinstance(value, str) and value.strip()):
            raise PackError(f"{path}: {name} is {value!r:.80}: the name of a recipe, or a file")
        if name in OF_RECIPES:
            result[name] = found_from(pack.folder, str(value))
        elif name in OF_TASK:
            try:
                result[name] = SETTINGS[name][0](str(value))
            except (ValueError, ArgumentTypeError) as error:
                raise PackError(f"{path}: {name}: {error}") from None
        elif name != recipe and recipe in OF_RECIPES and isinstance(value, dict):
            result[name] = dict(dotted(value))
        else:
            tables = [f"[{recipe}_settings]" for recipe in OF_RECIPES]
            raise PackError(
                f"{path}: unknown {name!r}; there are: {', '.join((*OF_TASK, *tables))}"
            )
    return result


def merged(of_task: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The task's, and over them what was given.

    Settings of a recipe count for that recipe: another one that is given begins without.
    """
    result = of_task | given
    for recipe in OF_RECIPES:
        name = f"{recipe}_settings"
        settings = {} if recipe in given else of_task.get(name, {})
        if settings := settings | given.get(name, {}):
            result[name] = settings
        else:
            result.pop(name, None)
    return result


def of_pace(given: dict[str, Any]) -> dict[str, Any]:
    """Return settings with what goes with `--pace real` unless it is given."""
    if given.get("pace") != REAL:
        return given
    from dataclasses import asdict

    from enpire.rollout.fleet.conditions import REAL as REAL_CONDITIONS

    return {"staleness": 1} | asdict(REAL_CONDITIONS) | given


COMPANY = (  # a setting that does nothing without another
    ("collect_share", "staleness", "1"),
    ("repair_time", "fault_every", "TIME"),
)


def require_company(given: Mapping[str, Any], settings: LoopSettings) -> None:
    """Raise UsageError for a setting that is given and would do nothing."""
    for name, other, value in COMPANY:
        if given.get(name) and not settings.values()[other]:
            raise UsageError(f"{flag(name)} does nothing without {flag(other)} {value}: give both")


def found_from(folder: Path, recipes: str) -> str:
    """Recipes `a,b.py` as they are found from anywhere, where files are named from a folder."""
    return ",".join(
        str(real_path(folder / name)) if name.endswith(".py") else name
        for name in recipes.split(",")
    )


def dotted(table: dict[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """`training.steps` and its text of {"training": {"steps": 100}}."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from dotted(value, f"{within}{name}.")
        else:
            yield within + name, str(value)


def first(settings: LoopSettings, rounds: Sequence[ConfiguredRecipe] = ()) -> ConfiguredRecipe:
    """How the first policy is made; raises UsageError as `recipe.schedule` does.

    rounds: the recipes that improve it. It is of the kind that the first of them begins from,
    unless the settings say which kind it is.
    """
    from enpire.improvement import recipe_finding as recipes

    found = recipes.find(settings.first.first_recipe)  # one, no schedule
    own = settings.first.first_recipe_settings
    kind = rounds[0].begins_from if rounds else ""
    if kind and hasattr(found.recipe, KIND):
        own = {KIND: kind} | own
    try:
        (made,) = recipes.schedule(settings.first.first_recipe, own)
    except UsageError as error:
        raise UsageError(str(error).replace(RECIPE, FIRST)) from None
    return made


def least_sealed(settings: LoopSettings) -> str:
    """Say on how many sealed episodes the target can be reached, if on more than was asked for.

    Raises:
        UsageError: It can be reached on none.
    """
    from enpire.rollout.evaluation.sealed_rule import SealedRule

    asked = settings.evaluation.sealed_episodes
    rule = SealedRule.of(settings.evaluation.target, asked, bound=settings.evaluation.target_bound)
    if rule.least <= asked:
        return ""
    return (
        f"a sealed evaluation takes at least {rule.least} episodes, not {asked}: fewer cannot "
        f"show a target of {settings.evaluation.target:g}, even without a failure"
    )


def plain(task: str) -> str:
    """`gym:gym_pusht/PushT-v0` as a part of a folder's name."""
    return re.sub(r"[^\w.-]+", "_", task.removeprefix(GYM))


def read_settings(run: Run) -> LoopSettings:
    """Settings of a run from its `config.toml`, also of one that an earlier version began.

    Raises:
        StoreError: They are not all there, or one is that only an earlier version knows.
    """

    try:
        said = dict(run.config["loop"])
        for name in RETIRED:
            if said.pop(name, None):
                raise StoreError(
                    f"{run.folder} collects with {flag(name)}, which this version does not: go on "
                    "with the version that began it"
                )
        return LoopSettings.of(**(EARLIER | said))
    except (KeyError, TypeError) as error:
        raise StoreError(
            f"{run.folder / 'config.toml'} is not that of a loop ({error}): take that of a copy"
        ) from error


def flag(name: str) -> str:
    """The option of a setting's name."""
    return f"--{name.replace('_', '-')}"


def as_option(name: str, value: Any) -> list[str]:
    """The option of a setting or a budget, and its value as the command line takes it."""
    if name == "max_pairs" and value == 0:
        return [flag(name), AUTO]
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return [flag(name), f"{text}s" if name in DURATIONS and value else text]
