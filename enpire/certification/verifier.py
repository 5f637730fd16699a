"""The verifier against what the simulator knows: a confusion matrix.

Two kinds of episodes. *Mixed* ones are of policies as they come: the demonstrator, one whose hand
shakes, one who stops half-way, chance. *Near misses* are made: a demonstration that succeeded is
repeated, and stopped about where it is decided whether it succeeds. Those that truly end 0.5 to 2
mm, or degrees, from the threshold count, on both of its sides. They count apart, for there the
tracker's own error decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from enpire.certification.episodes import Observer
from enpire.certification.row import CheckRow
from enpire.environment import Stations
from enpire.environment.core.answers import truth_of
from enpire.rollout.evaluation.statistics import Confusion
from enpire.types import JUDGED, Episode, Predicate

AGREEMENT, FALSE_SUCCESS = 0.99, 0.005
NEAR = (0.5, 2.0)  # from a threshold [mm or deg]
STOPPED_BY_HARNESS = ("force",)
SENSORS = ("verifier agrees", "false success", "near misses")
CAMERAS = ("cameras agree", "cameras' false success", "cameras' near misses")


@dataclass(frozen=True, slots=True)
class AuditedEpisode:
    """One judged episode: what was said, and what was."""

    seed: int
    said: bool
    reason: str
    truth: tuple[Predicate, ...]

    @property
    def was(self) -> bool:
        """Truly a success."""
        return all(p.holds for p in self.truth)

    @property
    def distance(self) -> float:
        """How far the predicate that decides is from its threshold [mm or deg]; else infinite."""
        decides = min(self.truth, key=lambda p: (p.holds, _scaled(p)))
        return abs(_scaled(decides))

    @property
    def near(self) -> bool:
        """Whether it counts as a near miss, or a near hit."""
        return NEAR[0] <= self.distance <= NEAR[1]


class Audit(Observer):
    """Asks the task for the truth at the end of every judged episode."""

    def __init__(self) -> None:
        self.found: dict[str, AuditedEpisode] = {}

    def ended(self, stations: Stations, episode: Episode) -> None:
        """Ask. An episode that the harness itself ended says nothing about the verifier."""
        verdict = episode.verdict
        if verdict.outcome not in JUDGED or verdict.failed == STOPPED_BY_HARNESS:
            return
        truth = truth_of(stations.task, stations.twin, episode.station)
        if truth:
            said = AuditedEpisode(episode.seed, episode.success, verdict.reason, truth)
            self.found[episode.id] = said

    def of(self, episodes: Iterable[Episode]) -> list[AuditedEpisode]:
        """What was found of some episodes, in their order."""
        return [self.found[e.id] for e in episodes if e.id in self.found]


def confusion(audited: Iterable[AuditedEpisode]) -> Confusion:
    """Count."""
    return sum((Confusion.of(said=a.said, was=a.was) for a in audited), Confusion())


def rows(
    mixed: list[AuditedEpisode],
    made: list[AuditedEpisode],
    left_out: int,
    names: Sequence[str] = SENSORS,
) -> list[CheckRow]:
    """Agreement and false successes over mixed episodes; agreement of near misses apart.

    made: the episodes that were to be near misses. left_out: mixed ones that nobody judged.
    names: of the three rows.
    """
    agrees, false_success, near_misses = names
    counts = confusion(mixed)
    near = [a for a in made if a.near]
    apart = confusion(near)
    wrong = [a for a in mixed if a.said != a.was]
    detail = f"{counts.said_failure_was_success} of {counts.successes} false failures"
    if left_out:
        detail += f"; {left_out} left out: invalid, or ended by a force"
    if wrong:
        detail += f"; seed {wrong[0].seed}: {difference(wrong[0])}"
    false = [a for a in wrong if a.said]
    enough = counts.successes > 0 and counts.failures > 0
    if not enough:
        detail += "; needs true successes and true failures both"
    return [
        CheckRow(
            agrees,
            "episodes judged as the simulator says",
            counts.agreed,
            counts.trials,
            f"at least {AGREEMENT:.0%}",
            enough and counts.agreed >= AGREEMENT * counts.trials,
            detail,
        ),
        CheckRow(
            false_success,
            "true failures called a success",
            counts.said_success_was_failure,
            counts.failures,
            f"at most {FALSE_SUCCESS:.1%}",
            enough and counts.said_success_was_failure <= FALSE_SUCCESS * counts.failures,
            difference(false[0]) if false else "",
        ),
        CheckRow(
            near_misses,
            "episodes 0.5 to 2 mm or deg from the threshold judged as the simulator says",
            apart.agreed,
            apart.trials,
            "counted apart",
            None,
            f"{len(near)} of {len(made)} made ended so near, {apart.failures} of them failures; "
            f"{apart.said_success_was_failure} of {apart.failures} false successes",
        ),
    ]


def _scaled(predicate: Predicate) -> float:
    """Margin in mm or deg; infinite, with its sign, in units that say nothing of either."""
    margin = predicate.margin
    if predicate.unit in ("mm", "deg"):
        return margin
    return math.inf if predicate.holds else -math.inf


def difference(audited: AuditedEpisode) -> str:
    """What was said of an episode, and what was."""
    true = "; ".join(p.reason for p in audited.truth if not p.holds)
    return f"judged {audited.reason or 'a success'}; truly {true or 'a success'}"
