"""Whether every episode that was asked for is there, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import islice

from enpire.environment import ResetMode
from enpire.environment.core.jobs import episode_id
from enpire.errors import EnpireError
from enpire.evolution.audit.check import Check, RecordedCampaign
from enpire.evolution.audit.decisions import seeds
from enpire.evolution.experiments.events import FIRST, ExperimentEntry
from enpire.evolution.experiments.unbiased_estimate import check_seeds
from enpire.improvement import recipe_finding as recipes
from enpire.observe.report.conditions import task_as_recorded
from enpire.rollout.collection.demonstration_starts import demonstration_seeds
from enpire.rollout.evaluation.comparison import EXTENSION
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.loop.settings import DRAWN, SPREAD
from enpire.types import Purpose


def check_jobs(of: RecordedCampaign) -> Check:
    """Demonstrations, first evaluation, collections and comparisons, by the seeds they were due."""
    wrong = [*_start(of)]
    rounds = range(len(of.record.entries) + 1)
    for row in of.rows:
        if row.purpose is not Purpose.SEALED and row.round not in rounds:
            wrong.append(f"{row.id} is of no experiment")
    for entry in of.record.entries.values():
        wrong += [*_collected(of, entry), *_strange(of, entry)]
    counts = {p: sum(row.purpose is p for row in of.rows) for p in Purpose}
    said = ", ".join(f"{count} {purpose}" for purpose, count in counts.items() if count)
    return Check("jobs", said, tuple(wrong))


def _start(of: RecordedCampaign) -> Iterator[str]:
    ids = {row.id for row in of.rows}
    settings, seed = of.settings, of.settings["seed"]
    shown = {row.seed for row in of.rows if row.purpose is Purpose.DEMONSTRATION}
    if FIRST in of.policies:
        yield from _wrongly_shown(of, shown)
    if of.record.entries:  # they begin when the first policy has been evaluated
        for drawn in islice(stream(seed, "start"), settings["start_episodes"]):
            id = episode_id(Purpose.EVALUATION, 0, FIRST, drawn)
            if id not in ids:
                yield f"{id} was asked for and is missing"


def _wrongly_shown(of: RecordedCampaign, shown: Set[int]) -> Iterator[str]:
    """Compare the demonstrations' seeds; only their count if a changed pack spread their starts."""
    asked, count = of.settings, of.settings["demonstrations"]
    task, known = None, True
    if asked.get("demonstration_starts", DRAWN) == SPREAD:
        try:
            task = task_as_recorded(asked["task"], of.run.ledger.packs())
        except EnpireError:
            known = False
    physical = asked["reset"] == ResetMode.PHYSICAL
    due = set(demonstration_seeds(asked["seed"], count, task, physical)) if known else shown
    if shown != due or len(shown) != count:
        yield f"{len(shown)} demonstrations are there, {count} were asked for"


def _collected(of: RecordedCampaign, entry: ExperimentEntry) -> Iterator[str]:
    """Check an experiment that has its policy, where it collects as most do."""
    e = entry.experiment
    if entry.policy not in of.policies or e.source or e.program:
        return
    try:
        (recipe,) = recipes.schedule(e.recipe, dict(e.settings))
    except (EnpireError, ValueError):
        return  # one of somebody's own, which is not to be found here
    if hasattr(recipe.recipe, "collect"):
        return
    ids = {row.id for row in of.rows if row.round == entry.number}
    drawn = stream(of.settings["seed"], "collect", entry.number)
    for seed in islice(drawn, of.settings["collect"]):
        id = episode_id(Purpose.COLLECTION, entry.number, e.base, seed)
        if id not in ids:
            yield f"{id} was asked for and is missing"


def _strange(of: RecordedCampaign, entry: ExperimentEntry) -> Iterator[str]:
    """Evaluations of an experiment's round that nothing in it asks for."""
    known = set(check_seeds(of.settings["seed"], entry.number))
    most = 2 * EXTENSION * of.settings["max_pairs"]
    opponents = [entry.experiment.base, *dict.fromkeys(name for _, name in of.record.decided)]
    for at, opponent in enumerate(opponents):
        known.update(islice(seeds(of, entry, at, opponent), most))
    for row in of.rows:
        evaluated = row.round == entry.number and row.purpose is Purpose.EVALUATION
        if evaluated and (row.seed not in known or row.policy not in (entry.policy, *opponents)):
            yield f"{row.id} was never asked for"
