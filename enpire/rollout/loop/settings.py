"""What a loop is asked for.

This module imports nothing of weight: the command line reads it for `--help`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

REAL = "real"  # pace of twins on the clock on the wall
SPREAD, DRAWN = "spread", "drawn"  # starts of demonstrations: far apart, or as they come


def _setting(default: Any, help: str) -> Any:
    """A field with a default, and what `--help` says of it."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What a loop is asked for; written to the run's `config.toml`.

    Times are in seconds. `recipe_settings`, `first_recipe_settings` and `helper_settings` go by
    dotted name.
    """

    task: str
    python: str = _setting("", "gym:ENV_ID: run it with this interpreter, VENV/bin/python")
    success: str = _setting(
        "", "gym:ENV_ID: any (step, not the last), info:KEY, 'return>=X', terminated"
    )
    demonstrator: str = _setting("", "gym:ENV_ID: a file with begin(env) or act(observation)")
    reset: str = _setting("fast", "fast: written into the twin; physical: by the task's skills")
    world: str = _setting(
        "", "a world pack in place of the task's: another bench, an identified station"
    )
    robots: int = _setting(4, "stations that hold an episode at one time")
    seed: int = _setting(0, "of everything random but the sealed seeds")
    target: float = _setting(0.99, "success rate to reach on sealed seeds")
    recipe: str = _setting(
        "best_of_n", "how a round improves the policy; A,B,C: one round each, then C"
    )
    first_recipe: str = _setting("bc", "how the demonstrations make the first policy")
    policy: str = _setting("", "begin with this one: RUN[:NAME], or a folder of LeRobot's")
    demonstrations_of: str = _setting("", "begin with those of this run, or of enpire import's")
    demonstrations: int = _setting(40, "seed demonstrations; none beside what is begun with")
    demonstration_starts: str = _setting(
        SPREAD, "where they begin: spread, far apart, so that few show much; or as they are drawn"
    )
    start_episodes: int = _setting(200, "episodes that measure the first policy")
    collect: int = _setting(300, "episodes a round, with exploration")
    exploration: float = _setting(0.3, "chance that a chunk is varied")
    execute: int = _setting(
        8, "of a chunk's 8 actions that are carried out before the policy is asked again"
    )
    history: int = _setting(
        3,
        "observations that a policy sees, the newest and earlier ones; a policy that sees only the "
        "newest cannot copy that it has just stood still",
    )
    max_pairs: int = _setting(
        0,
        "undecided pairs that keep the incumbent, 3 times as many if the candidate is promising; "
        "auto: 100, or more where the incumbent is good: enough for an even chance to show that "
        "half of its failures are gone",
    )
    sealed_episodes: int = _setting(
        300,
        "fewest episodes of a sealed evaluation that can reach the target; it goes on while that "
        "is open, and a later attempt has to show more, so that no loop whose policies are truly "
        "below the target by half the failures it allows says reached with a chance above 0.1",
    )
    target_bound: str = _setting(
        "point",
        "what is held against the target: point, the rate on the sealed seeds; lower, also the "
        "rate that the true one is not below, which takes more episodes",
    )
    verify: str = _setting("sensors", "by sensors, or by cameras where the task can be")
    images: int = _setting(
        0,
        "policies see by cameras: width and height of the pictures [px]; 0: they see what a "
        "tracker says",
    )
    vary_looks: bool = _setting(
        False, "in these pictures light, colours and cameras are each episode's own"
    )
    abort: bool = _setting(False, "end collection episodes early that are hopeless")
    helper: str = _setting("", "who helps in collections where a failure is foreseen")
    alpha: float = _setting(0.05, "chance that a candidate that is no better is promoted")
    staleness: int = _setting(
        0,
        "1: a round's collection begins under the policy of the round before, so no station waits "
        "for training; 1 with --pace real",
    )
    collect_share: float = _setting(
        0.0, "of robot time that it then has beside an evaluation; 0: what is idle"
    )
    pace: str = _setting(
        "free",
        "free: twins as fast as they can be; real: on the clock on the wall, with the following",
    )
    reset_time: float = _setting(0.0, "that a reset takes longer, on average; 8s with --pace real")
    latency: float = _setting(0.0, "until a verdict is there; 0.3s with --pace real")
    fault_every: float = _setting(
        0.0, "mean time between failures of a station; 30m with --pace real"
    )
    repair_time: float = _setting(0.0, "mean time until it works again; 1m with --pace real")
    recipe_settings: dict[str, str] = field(default_factory=dict)
    first_recipe_settings: dict[str, str] = field(default_factory=dict)
    helper_settings: dict[str, str] = field(default_factory=dict)

    def seed_of(self, number: int) -> int:
        """The seed of what is random in a round apart from its episodes."""
        return self.seed * 1000 + number
