"""What a loop is asked for.

This module imports nothing of weight: the command line reads it for `--help`. A setting's name is
the same everywhere: on the command line, in a task's `loop.toml`, in a run's `config.toml`, and
in Python. The groups order them for a reader, and no two have a setting of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from enpire.option_values import (
    HANDS,
    bound,
    choice_of_starts,
    level,
    natural,
    no_or_one,
    nobody_or_hands,
    number_or_auto,
    of_a_chunk,
    pace,
    part,
    positive,
    rate,
    reset_mode,
    seed_number,
    share,
    spell,
    verifier,
)

REAL = "real"  # pace of twins on the clock on the wall
SPREAD, DRAWN = "spread", "drawn"  # starts of demonstrations: far apart, or as they come


def _setting(default: Any, read: Callable[[str], Any], help: str, *, everyday: bool = False) -> Any:
    """A field: its default, what reads its text, what `--help` says of it.

    everyday: most users want it, so that the short help has it.
    """
    return field(default=default, metadata={"read": read, "help": help, "everyday": everyday})


@dataclass(frozen=True, slots=True)
class EnvironmentSettings:
    """Where episodes run."""

    robots: int = _setting(4, positive, "stations; each runs one episode at a time", everyday=True)
    reset: str = _setting(
        "fast",
        reset_mode,
        "how a scene is reset; fast: written into the twin; physical: by the task's skills",
    )
    world: str = _setting(
        "", str, "world pack to use in place of the task's: another bench, an identified station"
    )
    python: str = _setting(
        "", str, "gym:ENV_ID: run the environment with this interpreter, VENV/bin/python"
    )
    success: str = _setting(
        "",
        str,
        "gym:ENV_ID: what makes an episode a success: any (at any step, not the last), "
        "info:KEY, 'return>=X', terminated",
    )
    demonstrator: str = _setting(
        "", str, "gym:ENV_ID: file of a demonstrator, with begin(env) or act(observation)"
    )


@dataclass(frozen=True, slots=True)
class FirstPolicySettings:
    """What a loop begins with, and how policies act."""

    policy: str = _setting(
        "", str, "begin with this policy: RUN[:NAME], or a folder of LeRobot's", everyday=True
    )
    demonstrations_of: str = _setting(
        "",
        str,
        "begin with the demonstrations of this run, or of what enpire import made",
        everyday=True,
    )
    demonstrations: int = _setting(
        40,
        positive,
        "demonstrations to record first; none if the run begins with a policy or with "
        "those of another run",
        everyday=True,
    )
    demonstration_starts: str = _setting(
        SPREAD,
        choice_of_starts,
        "where demonstrations begin; spread: far apart, so that few show much; drawn: at random",
    )
    demonstrator_pushes: float = _setting(
        0.0,
        part,
        "gym:ENV_ID: share of a demonstrator's periods in which it is pushed off its course, so "
        "that it shows the way back",
    )
    first_recipe: str = _setting("bc", str, "how the demonstrations make the first policy")
    start_episodes: int = _setting(200, positive, "episodes that measure the first policy")
    execute: int = _setting(
        8,
        of_a_chunk,
        "actions of a chunk of 8 that are carried out before the policy is asked again",
    )
    history: int = _setting(
        3,
        positive,
        "observations that a policy sees, the newest and earlier ones; a policy that sees only the "
        "newest cannot copy that it has just stood still",
    )
    first_recipe_settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoundSettings:
    """What a round does."""

    recipe: str = _setting(
        "best_of_n",
        str,
        "how a round improves the policy; A,B,C: one round each, then C",
        everyday=True,
    )
    collect: int = _setting(300, positive, "episodes that a round collects, with exploration")
    exploration: float = _setting(0.3, share, "chance that a chunk of actions is varied to explore")
    abort: bool = _setting(False, bool, "end hopeless episodes of a collection early")
    staleness: int = _setting(
        0,
        no_or_one,
        "rounds by which the policy of a collection lags: 0, or 1, so that no station "
        "waits for training; 1 with --pace real",
    )
    collect_share: float = _setting(
        0.0,
        part,
        "share of robot time that an early collection gets beside an evaluation (with "
        "--staleness 1); 0: idle stations only",
    )
    recipe_settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """When a policy is promoted, and when the target is reached."""

    target: float = _setting(0.99, rate, "success rate to reach on sealed seeds", everyday=True)
    target_bound: str = _setting(
        "point",
        bound,
        "what must reach the target; point: the success rate on the sealed seeds; "
        "lower: also its lower confidence bound, which takes more episodes",
    )
    sealed_episodes: int = _setting(
        300,
        positive,
        "fewest episodes of a sealed evaluation that can reach the target; an undecided one goes "
        "on, and a later attempt has to show more",
    )
    max_pairs: int = _setting(
        0,
        number_or_auto,
        "pairs after which an undecided comparison keeps the incumbent, 3 times as many"
        " if the candidate is promising; auto: 100, or more for a good incumbent, "
        "enough for an even chance to show that half of its failures are gone",
    )
    alpha: float = _setting(0.05, level, "largest chance to promote a candidate that is no better")


@dataclass(frozen=True, slots=True)
class VisionSettings:
    """What cameras are for."""

    images: int = _setting(
        0,
        natural,
        "width and height of the camera pictures that policies see [px]; 0: they see "
        "what a tracker says",
        everyday=True,
    )
    vary_looks: bool = _setting(
        False, bool, "vary light, colours and cameras from episode to episode (with --images)"
    )
    verify: str = _setting(
        "sensors",
        verifier,
        "what a verdict is made from: sensors, or cameras where the task has them",
    )


@dataclass(frozen=True, slots=True)
class AssistanceSettings:
    """Who helps."""

    helper: str = _setting(
        "",
        nobody_or_hands,
        f"who helps in collections where a failure is foreseen: {HANDS}",
    )
    helper_settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DelaySettings:
    """Twins that keep a fleet waiting as arms do."""

    pace: str = _setting(
        "free",
        pace,
        "how fast twins run; free: as fast as they can; real: in real time, with the delays below",
    )
    reset_time: float = _setting(0.0, spell, "mean extra time of a reset; 8s with --pace real")
    latency: float = _setting(0.0, spell, "time that a verdict takes; 0.3s with --pace real")
    fault_every: float = _setting(
        0.0,
        spell,
        "mean time between failures of a station, 0: it never fails; 30m with --pace real",
    )
    repair_time: float = _setting(
        0.0, spell, "mean time until a failed station works again; 1m with --pace real"
    )


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What a loop is asked for; times in seconds. Made by `of`, from the settings' names."""

    task: str
    seed: int = _setting(
        0,
        seed_number,
        "random seed; sealed seeds are always new, whatever it is",
        everyday=True,
    )
    environment: EnvironmentSettings = EnvironmentSettings()
    first: FirstPolicySettings = field(default_factory=FirstPolicySettings)
    rounds: RoundSettings = field(default_factory=RoundSettings)
    evaluation: EvaluationSettings = EvaluationSettings()
    vision: VisionSettings = VisionSettings()
    assistance: AssistanceSettings = field(default_factory=AssistanceSettings)
    delays: DelaySettings = DelaySettings()

    @classmethod
    def of(cls, task: str, **values: Any) -> LoopSettings:
        """Return the defaults with these values, by the settings' names.

        Raises:
            TypeError: There is no such setting.
        """
        return cls(task).but(**values)

    def but(self, **values: Any) -> LoopSettings:
        """Return the same with these values; raises TypeError where there is no such setting."""
        groups = {}
        for name, group in self._groups():
            own = {each.name for each in fields(group)} & values.keys()
            if own:
                groups[name] = replace(group, **{each: values.pop(each) for each in own})
        return replace(self, **groups, **values)

    def values(self) -> dict[str, Any]:
        """Return all settings by their names, as a run's `config.toml` has them."""
        result: dict[str, Any] = {"task": self.task, "seed": self.seed}
        for _, group in self._groups():
            result |= {each.name: getattr(group, each.name) for each in fields(group)}
        return result

    def seed_of(self, number: int) -> int:
        """The seed of what is random in a round apart from its episodes."""
        return self.seed * 1000 + number

    def _groups(self) -> Iterator[tuple[str, Any]]:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, str | int):
                yield each.name, value


def options() -> Mapping[str, Sequence[Field[Any]]]:
    """Return the settings that have options, by the titles of their groups."""
    settings = LoopSettings("")
    groups = {"": settings} | {_title(group): group for _, group in settings._groups()}
    return {
        title: [each for each in fields(group) if "read" in each.metadata]
        for title, group in groups.items()
    }


def _title(group: Any) -> str:
    """What a group's docstring says in its first line."""
    return str(group.__doc__).partition(".")[0].lower()
