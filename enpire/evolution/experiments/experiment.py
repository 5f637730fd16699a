"""An experiment: one falsifiable hypothesis, what was changed for it, and what came of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from enpire.errors import CampaignError
from enpire.evolution.experiments.effect import Effect
from enpire.json_text import loads
from enpire.rollout.evaluation.comparison import PairedRecord
from enpire.sandbox.sanitize import one_line

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
RECIPE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")  # no path: a file's name would be imported
SAID = 600  # characters of a hypothesis, or a reason
SOURCE = 100_000  # characters of code, of a recipe or of a policy
SETTINGS, SETTING = 64, 200  # how many, and characters of a name or a value


class ExperimentState(StrEnum):
    """How far an experiment is; the last three are decisions, and final."""

    PROPOSED = "proposed"
    TRAINING = "training"
    TRIALS = "trials"
    KEPT = "kept"
    DROPPED = "dropped"
    FAILED = "failed"


FOLLOWS: dict[ExperimentState, frozenset[ExperimentState]] = {
    ExperimentState.PROPOSED: frozenset(
        {ExperimentState.TRAINING, ExperimentState.DROPPED, ExperimentState.FAILED}
    ),
    ExperimentState.TRAINING: frozenset(
        {ExperimentState.TRIALS, ExperimentState.DROPPED, ExperimentState.FAILED}
    ),
    ExperimentState.TRIALS: frozenset(
        {ExperimentState.KEPT, ExperimentState.DROPPED, ExperimentState.FAILED}
    ),
    ExperimentState.KEPT: frozenset(),
    ExperimentState.DROPPED: frozenset(),
    ExperimentState.FAILED: frozenset(),
}
"""What may come next. Trials come after training only, and nothing is kept without them."""

FINAL = tuple(state for state, after in FOLLOWS.items() if not after)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One of a campaign's experiments."""

    id: str
    agent: str
    hypothesis: str
    recipe: str  # a built-in's name, or what the text in `source` or in `program` is called
    # The policy it improves on and is compared with, the id of the experiment that made it or the
    # name of one that was there at the start.
    base: str
    # That differ from the recipe's defaults, as text, sorted by name.
    settings: tuple[tuple[str, str], ...] = ()
    source: str = ""
    program: str = ""  # of a policy that is code, for which nothing is trained
    builds_on: tuple[str, ...] = ()  # findings of the board that its agent relied on
    merges: tuple[str, ...] = ()  # experiments whose settings it joins, by id
    state: ExperimentState = ExperimentState.PROPOSED
    # Of what was promoted or dropped in trials; None for one that was dropped before them, or
    # failed.
    effect: Effect | None = None
    # Of the decision. What agents say is cleaned and cut to one line (`sanitize.one_line`).
    reason: str = ""

    def __post_init__(self) -> None:
        for what, name in (("id", self.id), ("agent", self.agent)):
            if not NAME.fullmatch(name):
                raise CampaignError(
                    f"{name[:80]!r} is no {what}: letters, digits, '_', '.' and '-', 64 at most"
                )
        if not RECIPE.fullmatch(self.recipe):
            raise CampaignError(
                f"{self.recipe[:80]!r} is no recipe's name: letters, digits and '_'; "
                "code of your own goes into `source`"
            )
        if self.source and self.program:
            raise CampaignError(f"experiment {self.id}: give code that trains, or code that acts")
        if self.program and self.settings:
            raise CampaignError(f"experiment {self.id}: a policy that is code has no settings")
        code = self.source + self.program
        if len(code) > SOURCE or not _text(code):
            raise CampaignError(
                f"experiment {self.id}: its code is longer than {SOURCE} characters, or no text"
            )
        words = [word for setting in self.settings for word in setting]
        if len(words) > 2 * SETTINGS or any(len(w) > SETTING or not _text(w) for w in words):
            raise CampaignError(
                f"experiment {self.id}: {SETTINGS} settings at most, as text of {SETTING} "
                "characters each"
            )
        for name in ("hypothesis", "reason", "base"):
            object.__setattr__(self, name, one_line(getattr(self, name), SAID))
        if not self.hypothesis:
            raise CampaignError(
                f"experiment {self.id} has no hypothesis: say what should get better"
            )
        if self.state is ExperimentState.KEPT and self.effect is None:
            raise CampaignError(f"experiment {self.id} cannot be kept: nothing was measured")
        object.__setattr__(self, "settings", tuple(sorted(self.settings)))

    @property
    def decided(self) -> bool:
        """Whether it is kept, dropped or failed."""
        return self.state in FINAL

    @property
    def what(self) -> tuple[object, ...]:
        """What is tried, whoever tries it and whatever is expected of it."""
        return self.recipe, self.source, self.program, self.settings, self.base

    def tried(self, most: int) -> str:
        """What is tried, in words, `most` characters of them."""
        settings = ", ".join(f"{name} {value}" for name, value in self.settings)
        code = " (code of its own)" if self.source else ""
        code = " (a policy that is code)" if self.program else code
        return one_line(f"{self.recipe}{code} with {settings or 'its usual settings'}", most)

    def to(
        self, state: ExperimentState, *, effect: Effect | None = None, reason: str = ""
    ) -> Experiment:
        """The experiment in its next state.

        Raises:
            CampaignError: that state does not follow, or it is to be kept and nothing was measured.
        """
        if state not in FOLLOWS[self.state]:
            after = ", ".join(sorted(FOLLOWS[self.state])) or "nothing: that is final"
            raise CampaignError(
                f"experiment {self.id} is {self.state} and cannot be {state} next; "
                f"what may follow: {after}"
            )
        return replace(self, state=state, effect=effect or self.effect, reason=reason)

    def as_json(self) -> str:
        """One line, which `from_json` reads again."""
        record = self.effect.record if self.effect else None
        values = {name: getattr(self, name) for name in self.__slots__} | {
            "effect": [record.wins, record.losses, record.ties] if record else None
        }
        return json.dumps(values, ensure_ascii=True)


def from_json(line: str) -> Experiment:
    """The experiment that `as_json` wrote.

    Raises:
        CampaignError: the line is none.
    """
    try:
        values: Mapping[str, Any] = loads(line)
        counts = values["effect"]
        changed = {
            "settings": tuple((str(name), str(value)) for name, value in values["settings"]),
            "builds_on": tuple(map(str, values["builds_on"])),
            "merges": tuple(map(str, values.get("merges", ()))),  # not said before there were any
            "state": ExperimentState(values["state"]),
            "effect": Effect(PairedRecord(*map(int, counts))) if counts is not None else None,
        }
        return Experiment(**{**values, **changed})
    except (ValueError, TypeError, KeyError) as error:
        raise CampaignError(f"{line[:80]!r} is no experiment: {error!r}") from error


def _text(words: str) -> bool:
    """Whether they can be written down: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in words)
