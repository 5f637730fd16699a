"""`report.md`: what a campaign has come to, in the order in which a person asks.

Made from the ledger and the board alone, so it can be made again at any time, by anyone. What
agents wrote stands in it as quoted text.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from enpire.errors import CampaignError
from enpire.evolution.experiments.accounts import accounts
from enpire.evolution.experiments.effect import Effect, pooled
from enpire.evolution.experiments.events import FIRST, CampaignState, replay_events
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.evolution.experiments.experiment_tree import experiments_of
from enpire.evolution.experiments.unbiased_estimate import fresh
from enpire.evolution.knowledge.board import FindingsBoard
from enpire.observe import account
from enpire.observe.overview import sealed_of
from enpire.observe.result import versions
from enpire.rollout.evaluation.comparison import PairedRecord
from enpire.sandbox.sanitize import one_line
from enpire.store import EpisodeRow, Run
from enpire.store.durable import publish_file
from enpire.store.head import head
from enpire.types import JUDGED, Estimate, Outcome, Purpose

FILE = "report.md"
WORDS = 160  # characters of what an agent wrote, in a table


def write(run: Run) -> None:
    """Replace the report of a campaign's folder."""
    publish_file(run.folder / FILE, report(run).encode())


def report(run: Run) -> str:
    """The whole report, Markdown."""
    if "campaign" not in run.config:
        raise CampaignError(f"{run.folder} is no campaign: enpire show tells what happened in it")
    record, rows = replay_events(run.ledger.events()), run.ledger.episodes()
    parts = [
        _answer(run, record, rows),
        _experiments(record, rows),
        _incumbents(run, record, rows),
        _learned(run, record),
        _failed(record),
        _cost(run, record, rows),
        _how_to_repeat(run),
        _checked(run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def fresh_of(rows: Iterable[EpisodeRow], policy: str, number: int, seed: int) -> Estimate:
    """The success on seeds that it was not chosen by."""
    judged = (
        (row.round, row.seed, row.outcome is Outcome.SUCCESS)
        for row in rows
        if row.policy == policy and row.purpose is Purpose.EVALUATION and row.outcome in JUDGED
    )
    return fresh(judged, seed, number)


def _answer(run: Run, record: CampaignState, rows: Sequence[EpisodeRow]) -> str:
    settings, facts = run.config["loop"], run.ledger.facts()
    target, good = settings["target"], sealed_of(run).passing
    start = fresh_of(rows, FIRST, 0, settings["seed"])
    head = f"# Campaign on {settings['task']}: target {target:g} "
    if good:
        row = good[-1]
        best, measured = row.policy, row.success
        head += "reached"
        said = (
            f"**{best} succeeds at {measured} on sealed seeds**, drawn after it was frozen. "
            f"Its true success is at least {sealed_of(run).at_least(row):.3f}."
        )
    else:
        best = record.incumbent
        head += "not reached"
        seen = fresh_of(rows, best, record.number_of(best), settings["seed"])
        said = (
            f"**The best policy is {best}, with {seen} on seeds that it was not chosen by.** "
            "No sealed evaluation has reached the target."
        )
    made = [e for e in record.entries.values() if e.policy == best]
    origin = f" It comes of {_plain(made[0].experiment.tried(WORDS))}." if made else ""
    tries = len(run.ledger.sealed())
    origin += f" Sealed evaluations of this campaign: {tries}." if tries else ""
    state = facts.get("state", "running")
    counts = {s: sum(e.state is s for e in record.experiments) for s in ExperimentState}
    undecided = sum(not e.decided for e in record.experiments)
    return (
        f"{head}\n\n{said}{origin} The first policy: {start}.\n\n"
        f"{len(record.entries)} experiments: {counts[ExperimentState.KEPT]} kept, "
        f"{counts[ExperimentState.DROPPED]} dropped, {counts[ExperimentState.FAILED]} failed, "
        f"{undecided} not decided. "
        f"State: {one_line(state, WORDS)}. Agents: {run.config['campaign']['confinement']}."
    )


def _experiments(record: CampaignState, rows: Sequence[EpisodeRow]) -> str:
    lines = [
        "## Experiments",
        "",
        "The effect is the candidate's success rate less that of the policy it improves on, on the "
        "same fresh seeds, with its 95% interval.",
        "",
        "| # | experiment | tried | on | effect | decision | robot-min |",
        "|---|---|---|---|---|---|---|",
    ]
    spent = account.seconds_by_round(rows)
    for entry in record.entries.values():
        e = entry.experiment
        decision = f"{e.state}: {one_line(e.reason, WORDS)}" if e.reason else str(e.state)
        cells = (
            str(entry.number),
            e.id,
            e.tried(WORDS),
            e.base,
            str(e.effect) if e.effect else "not measured",
            decision,
            f"{spent.get(entry.number, 0.0) / 60:.1f}",
        )
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines) if record.entries else "## Experiments\n\nNone yet."


def _incumbents(run: Run, record: CampaignState, rows: Sequence[EpisodeRow]) -> str:
    kept = [e for e in record.entries.values() if e.experiment.state is ExperimentState.KEPT]
    if not kept:
        return ""
    lines = [
        "## Incumbents, measured again",
        "",
        "Who is chosen by its trials is flattered by them; the fresh seeds chose nobody.",
        "",
        "| policy | of | in the trials that chose it | on fresh seeds |",
        "|---|---|---|---|",
    ]
    for entry in kept:
        chosen = account.success(
            row
            for row in rows
            if row.policy == entry.policy
            and row.round == entry.number
            and row.purpose is Purpose.EVALUATION
        )
        again = fresh_of(rows, entry.policy, entry.number, run.config["loop"]["seed"])
        cells = (entry.policy, entry.experiment.tried(WORDS), _rate(chosen), _rate(again))
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines)


def _learned(run: Run, record: CampaignState) -> str:
    """Tell by recipe, all pairs together; then what stands on the board."""
    lines = ["## What was learned", ""]
    by_recipe: dict[str, list[Experiment]] = {}
    for e in record.experiments:
        if e.decided:
            by_recipe.setdefault(e.recipe, []).append(e)
    lines += ["| recipe | kept | of | effect, all together |", "|---|---|---|---|"]
    for name, tried in sorted(by_recipe.items()):
        records: list[PairedRecord] = [e.effect.record for e in tried if e.effect]
        kept = sum(e.state is ExperimentState.KEPT for e in tried)
        cells = (name, str(kept), str(len(tried)), str(Effect(pooled(records))))
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    if not by_recipe:
        return ""
    found = [f for f in FindingsBoard.read(run.folder).findings.values() if not f.retired]
    for finding in sorted(found, key=lambda f: -f.worth)[:12]:
        counted = f"{len(finding.helped)} kept, {len(finding.harmed)} not, by {finding.agent}"
        lines += ["", f"> {_plain(one_line(finding.text, 2 * WORDS))} ({counted})"]
    return "\n".join(lines)


def _failed(record: CampaignState) -> str:
    failed = [e for e in record.experiments if e.state is ExperimentState.FAILED]
    lines = [f"- {e.id}, {e.tried(WORDS)}: {one_line(e.reason, 2 * WORDS)}" for e in failed]
    lines += [f"- {name} ended: {one_line(why, WORDS)}" for name, why in record.retired.items()]
    return "\n".join(["## What failed", "", *(map(_plain, lines) if lines else ["Nothing."])])


def _cost(run: Run, record: CampaignState, rows: Sequence[EpisodeRow]) -> str:
    open_s, sealed_s = account.robot_seconds(rows)
    spent, facts = record.spent, run.ledger.facts()
    lines = [
        "## What it cost",
        "",
        f"Robot-hours {open_s / 3600:.2f}, and {sealed_s / 3600:.2f} in sealed evaluations; "
        f"{float(facts.get('wall_s', 0.0)) / 60:.1f} min on the clock; {len(rows)} episodes. "
        f"Tokens {spent.tokens}, dollars {spent.dollars:.2f}. {accounts(run)}.",
        "",
        "| agent | experiments | kept | robot-hours | tokens | dollars |",
        "|---|---|---|---|---|---|",
    ]
    for cost in experiments_of(run.ledger.events(), account.seconds_by_round(rows)).agents:
        cells = (
            cost.agent,
            str(cost.experiments),
            str(cost.kept),
            f"{cost.robot_s / 3600:.2f}",
            str(cost.tokens),
            f"{cost.dollars:.2f}",
        )
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines)


def _how_to_repeat(run: Run) -> str:
    lines = [
        "## To do it again",
        "",
        "```",
        shlex.join(run.config["campaign"]["command"]),
        "```",
        "",
        f"Verified by {account.verified_by(run.ledger)}. "
        + ", ".join(f"{name} {version}" for name, version in versions().items())
        + ".",
        "",
        *(f"- {name} {hash_}" for name, hash_ in sorted(run.ledger.packs().items())),
    ]
    return "\n".join(lines).rstrip()


def _checked(run: Run) -> str:
    return (
        "## To check it\n\n`enpire campaign audit` holds episodes, decisions, history and this "
        "report against each other. Who has noted the head of the record, with `--head`, can tell "
        f"whether anything was changed since:\n\n    {head(run)}"
    )


def _rate(measured: Estimate) -> str:
    return str(measured) if measured.trials else "not yet"


def _cell(text: str) -> str:
    return _plain(one_line(text, 4 * WORDS)).replace("|", "\\|")


def _plain(text: str) -> str:
    """What others wrote, without what Markdown would make a picture, a link or a tag of."""
    return (
        text.replace("<", "\\<").replace("![", "!\\[").replace("](", "]\\(").replace("]:", "]\\:")
    )
