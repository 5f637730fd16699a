"""What a loop is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from enpire.rollout.evaluation.sealed_rule import POINT

REAL = "real"  # pace of twins on the clock on the wall
SPREAD, DRAWN = "spread", "drawn"  # starts of demonstrations: far apart, or as they come


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What a loop is asked for; written to the run's `config.toml`.

    python, success, demonstrator: of a Gymnasium environment, its own interpreter, what makes an
    episode a success, and a file that shows how it is done. reset: how scenes are put back, fast or
    physical. policy: to begin with, which whoever made the run has put there; demonstrations_of: a
    run whose demonstrations are this one's too. demonstrations: seed demonstrations;
    demonstration_starts: where they begin, `spread` or `drawn`.
    start_episodes: evaluation of the first policy. collect: episodes a round with exploration.
    exploration: chance that a chunk of theirs is varied. execute: actions of a chunk that are
    carried out before the policy is asked again. history: observations that it sees. max_pairs:
    after so many pairs without a decision the incumbent stays, unless the candidate is promising
    (`comparison.decide`); 0: as many as the incumbent's success asks for (`pairs.enough_pairs`).
    sealed_episodes: the fewest of an examination. target_bound: what of an examination is held
    against the target, `point` or `lower` (`sealed_rule`). recipe: of the rounds, in order, the
    last one goes on; recipe_settings, first_recipe_settings: by dotted name. verify: by `sensors`,
    or by `cameras` where the task is verified by them. images: size of the pictures that policies
    see [px], or 0. vary_looks: each episode looks different in them. staleness: rounds that a
    round's collection may begin ahead, under the policy of then, beside training and evaluation;
    collect_share: of robot time that it then has beside an evaluation, 0.0 is what would otherwise
    be idle. pace: free, or real for twins on the clock on the wall; the rest is in seconds, see
    `Conditions`. abort: end hopeless episodes early, see `early_stop`. world: in place of the
    task's. helper: who helps in collections, and settings of the device in their
    hands; see `session/teleop_options.py`.
    """

    task: str
    python: str = ""
    success: str = ""
    demonstrator: str = ""
    reset: str = "fast"
    robots: int = 4
    seed: int = 0
    target: float = 0.99
    policy: str = ""
    demonstrations_of: str = ""
    demonstrations: int = 40
    demonstration_starts: str = SPREAD
    start_episodes: int = 200
    collect: int = 300
    exploration: float = 0.3
    execute: int = 8
    history: int = 3
    max_pairs: int = 0
    sealed_episodes: int = 300
    target_bound: str = POINT
    alpha: float = 0.05
    first_recipe: str = "bc"
    recipe: str = "best_of_n"
    recipe_settings: dict[str, str] = field(default_factory=dict)
    first_recipe_settings: dict[str, str] = field(default_factory=dict)
    verify: str = "sensors"
    images: int = 0
    vary_looks: bool = False
    staleness: int = 0
    collect_share: float = 0.0
    pace: str = "free"
    reset_time: float = 0.0
    latency: float = 0.0
    fault_every: float = 0.0
    repair_time: float = 0.0
    abort: bool = False
    world: str = ""
    helper: str = ""
    helper_settings: dict[str, str] = field(default_factory=dict)

    def seed_of(self, number: int) -> int:
        """The seed of what is random in a round apart from its episodes."""
        return self.seed * 1000 + number
