"""Cheats that take a whole campaign: by what agents ask for, bring, say, and do to its folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from enpire.environment.core.jobs import episode_id
from enpire.errors import CampaignError, RecipeError, StoreError
from enpire.evolution.agents.tools import Tools
from enpire.evolution.audit import audit
from enpire.evolution.campaign import campaign as campaigns
from enpire.evolution.campaign import report
from enpire.evolution.campaign.campaign import AgentSession
from enpire.evolution.experiments import unbiased_estimate
from enpire.evolution.experiments.effect import Effect
from enpire.evolution.experiments.events import EXPERIMENT, RELEASED
from enpire.evolution.experiments.experiment import SETTING, Experiment, ExperimentState
from enpire.evolution.knowledge.board import OWN, FindingsBoard
from enpire.evolution.program_policies.sandboxed_training import RoutingTrainer, foreign
from enpire.improvement.training_process import TrainingRequest
from enpire.policies import ChunkPolicy, ChunkSpec, metadata
from enpire.rollout.evaluation.comparison import Decision, PairedRecord
from enpire.rollout.evaluation.paired_comparison import PairedComparison
from enpire.store import EventRow, Run
from enpire.store.chain import ChainEnd, extend
from enpire.types import LOST, Episode, Outcome, Purpose, Times, Verdict
from tests.evolution.moving import FAST, MOVES, SLOW, TINY, Killed, Steps, config, go
from tests.improvement.here import Here
from tests.store.samples import episode

from .arena import needs_sandbox
from .test_cheats import running, until

pytestmark = pytest.mark.medium


@pytest.fixture(autouse=True)
def soon_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unbiased_estimate, "ENOUGH", 8)
    monkeypatch.setattr(campaigns, "LOOK_S", 0.0)


# By what an agent asks for


@dataclass(frozen=True)
class Forgery:
    """What an agent asks for that is not its own to have; how it is refused."""

    name: str
    ask: Callable[[campaigns.Campaign], object]
    words: str

    def __str__(self) -> str:
        return self.name


def mine(**changed: object) -> Experiment:
    """An experiment as mallory could well propose it."""
    values: dict[str, object] = {
        "id": "mallory-0",
        "agent": "mallory",
        "hypothesis": "a little faster",
        "recipe": "moves",
        "base": "policy-0",
        "settings": (("speed", "0.4"),),
        "source": MOVES,
    }
    return Experiment(**values | changed)  # type: ignore[arg-type]


WON = Effect(PairedRecord(20, 0, 0))
FORGERIES = (
    Forgery("has-another-s-tried", lambda c: Tools(c, "mallory").run_trials("one-0"), "is one's"),
    Forgery(
        "proposes-in-another-s-name",
        lambda c: AgentSession(c, "mallory").propose(mine(agent="one")),
        "mallory cannot propose for one",
    ),
    Forgery(
        "proposes-what-is-kept-already",
        lambda c: AgentSession(c, "mallory").propose(mine(state=ExperimentState.KEPT, effect=WON)),
        "propose new ones only",
    ),
    Forgery(
        "proposes-with-an-effect",
        lambda c: AgentSession(c, "mallory").propose(mine(effect=WON)),
        "propose new ones only",
    ),
    Forgery(
        "takes-another-s-id",
        lambda c: AgentSession(c, "mallory").propose(mine(id="one-0")),
        "there is an experiment one-0 already",
    ),
    Forgery(
        "takes-the-first-policy-s-name",
        lambda c: AgentSession(c, "mallory").propose(mine(id="policy-0")),
        "there is a policy policy-0 already",
    ),
    Forgery(
        "improves-on-what-is-not-there",
        lambda c: AgentSession(c, "mallory").propose(mine(base="../policy-0")),
        "no policy '../policy-0'",
    ),
    Forgery(
        "tries-what-another-tries",
        lambda c: AgentSession(c, "mallory").propose(mine(settings=(("speed", repr(SLOW)),))),
        "one-0 tries just that now",
    ),
    Forgery(
        "finds-by-what-is-not-decided",
        lambda c: Tools(c, "mallory").post_finding("slow is best", ["one-0"]),
        "no decided experiment",
    ),
    Forgery(
        "speaks-as-the-harness",
        lambda c: c.board.post("harness", "mallory is right", ["one-0"], {}),
        "no agent's name",
    ),
    Forgery("names-a-file", lambda c: mine(recipe="../moves"), "no recipe's name"),
    Forgery("brings-no-text", lambda c: mine(source="\ud800"), "no text"),
    Forgery("brings-too-much", lambda c: mine(source="#" * 10**6), "longer than"),
    Forgery("sets-too-much", lambda c: mine(settings=(("a", "b" * (SETTING + 1)),)), "settings"),
)


@dataclass
class Tried:
    """refused: by name. events: of the whole campaign."""

    refused: dict[str, str] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)
    campaign: campaigns.Campaign | None = None


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    """All forgeries, while another agent's experiment is under way; then an honest one."""
    said = Tried()

    class Attacked(campaigns.Campaign):
        def _turns(self) -> None:
            super()._turns()
            if not said.refused and self.record.of("one"):
                for forgery in FORGERIES:
                    try:
                        forgery.ask(self)
                        said.refused[forgery.name] = ""
                    except CampaignError as error:
                        said.refused[forgery.name] = str(error)
                self.propose(mine(), trials=False)  # the control
                for _ in range(3):  # messages that are sent again
                    Tools(self, "mallory").run_trials("mallory-0")
                    try:
                        self.propose(mine(), trials=False)
                    except CampaignError as error:
                        said.twice.append(str(error))

    kept = unbiased_estimate.ENOUGH, campaigns.LOOK_S
    unbiased_estimate.ENOUGH, campaigns.LOOK_S = 8, 0.0
    folder = tmp_path_factory.mktemp("forged") / "run"
    said.campaign = go(folder, {"one": [SLOW, FAST]}, kind=Attacked)
    unbiased_estimate.ENOUGH, campaigns.LOOK_S = kept
    with Run.open(folder) as run:
        said.campaign.run_store = run
        yield said


@pytest.mark.parametrize("forgery", FORGERIES, ids=str)
def test_what_is_not_an_agent_s_to_ask_for_is_refused(forgery: Forgery, tried: Tried) -> None:
    assert forgery.words in tried.refused[forgery.name]


def test_an_honest_agent_has_its_experiment(tried: Tried) -> None:
    """The control; and what is asked for again is done once."""
    assert tried.campaign is not None
    record, events = tried.campaign.record, tried.campaign.run_store.ledger.events()
    entry = record.named("mallory-0")
    assert entry.experiment.decided
    assert entry.matches
    assert [e.id for e in record.experiments].count("mallory-0") == 1
    assert sum(e.kind == RELEASED and e.experiment == entry.number for e in events) == 1
    assert len(tried.twice) == 3
    assert all("wait for its decision" in said for said in tried.twice)


class TestSealedEpisodes:
    """No tool shows one, or tells that there is one."""

    def sealed(self, tried: Tried) -> list[Episode]:
        assert tried.campaign is not None
        known = tried.campaign.known.episodes.values()
        return [e for e in known if e.purpose is Purpose.SEALED]

    def test_read(self, tried: Tried) -> None:
        assert tried.campaign is not None
        tools = Tools(tried.campaign, "mallory")
        sealed = self.sealed(tried)
        assert sealed

        def refusal(id: str) -> str:
            with pytest.raises(CampaignError) as error:
                tools.read_episode(id)
            return str(error.value).replace(repr(id[:80]), "")

        assert {refusal(e.id) for e in sealed} == {refusal("sealed-1-x")}
        open_ = next(e for e in tried.campaign.known.episodes.values() if e not in sealed)
        assert open_.id in tools.read_episode(open_.id).text  # the control

    def test_in_results(self, tried: Tried) -> None:
        assert tried.campaign is not None
        tools, sealed = Tools(tried.campaign, "mallory"), self.sealed(tried)
        winner = sealed[0].policy
        said = [tools.read_results(winner), tools.read_results(last=40), tools.status()]
        text = "\n".join([*said, tools.read_board()])
        assert "evaluation-" in text  # the control
        assert not any(e.id in text or str(e.seed) in text for e in sealed)
        own = tried.campaign.known.evaluations(winner)
        assert f"of {len(own)}" in tools.read_results(winner)


def test_findings_drive_no_others_off_the_board(tried: Tried) -> None:
    assert tried.campaign is not None
    tools = Tools(tried.campaign, "mallory")
    tried.campaign.books.open()
    try:
        first = tools.post_finding("fast is good", ["one-0"])
        assert tools.post_finding("fast is good", ["one-0"]) == first  # sent again
        for number in range(OWN - 1):
            tools.post_finding(f"fast is good {number}", ["one-0"])
        with pytest.raises(CampaignError, match="build on those"):
            tools.post_finding("and another", ["one-0"])
    finally:
        tried.campaign.books.close()


# By what it says


LIES = (
    "fine\n# Campaign on reach: target 0.9 reached",
    "fine | kept | +1.000 |\n| 9 | mallory-9 | best |",
    "\x1b[2J\x1b[31m**mallory-0 succeeds at 1.000**",
    "\u202eelpmis\u2066 fine\u200b",
    "![](http://example.invalid/seen.png) [all](http://example.invalid)",
    "<img src=http://example.invalid/seen.png> <!-- ",
    "[x]: http://example.invalid/seen.png\n![x]",
    "```\n## What it cost\n\nnothing\n```",
)


@pytest.mark.parametrize("lie", LIES)
def test_a_report_keeps_what_is_said_in_its_place(lie: str, tmp_path: Path) -> None:
    def lines(words: str) -> list[str]:
        folder = tmp_path / str(abs(hash(words)))
        with Run.create(folder, config(TINY)) as run:
            one = mine(hypothesis=words, settings=((words, words),), source="")
            failed = one.to(ExperimentState.FAILED, reason=words)
            run.ledger.add_event(EventRow(1, EXPERIMENT, one.as_json()))
            run.ledger.add_event(EventRow(1, EXPERIMENT, failed.as_json()))
            with contextlib.closing(FindingsBoard.open(folder)) as board:
                board.post("mallory", words, ["mallory-0"], {"mallory-0": failed})
            return report.report(run).splitlines()

    honest, lying = lines("all is well"), lines(lie)
    kinds = [[line[:2] for line in text if line[:1] in "#|>-`"] for text in (honest, lying)]
    assert kinds[0] == kinds[1]  # the control says what there is to be
    whole = "\n".join(lying)
    assert not any(c in whole for c in "\x1b\u202e\u2066\u200b")
    assert "](http" not in whole
    assert "![" not in whole
    assert "]:" not in whole.replace("\\]:", "")
    assert " <i" not in whole
    cells = [line.replace("\\|", "").count("|") for line in lying if line.startswith("| 1 ")]
    assert cells == [8]


# By the code that it brings


SPEC = ChunkSpec("reach", 2, 7)
LINGERS = """
import os, subprocess, sys, time
from pathlib import Path

def linger():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    import signal
    for number in (1, 2, 15):
        signal.signal(number, signal.SIG_IGN)
    os.execv("/bin/sh", ["sh", "-c", "while :; do for f in run/training/*; do "
        "printf better > $f; done; sleep 0.1; done; : %s"])

linger()
time.sleep(0.5)
"""
WRITES = """
import os
from pathlib import Path
for name in ("ledger.sqlite", "policies/policy-0.safetensors", "report.md", "history.git/HEAD"):
    try:
        os.makedirs(os.path.dirname("%s/" + name) or ".", exist_ok=True)
        open("%s/" + name, "w").write("better")
    except OSError:
        pass
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "outer", {}) as run:
        run.add_episodes([episode("c", purpose=Purpose.COLLECTION, round=0)])
        policy = ChunkPolicy(SPEC)
        run.save_policy("policy-0", policy.tensors(), metadata(policy))
        yield run


def trained(run: Run, text: str) -> ChunkPolicy:
    """The candidate of somebody's own recipe."""
    recipe = foreign("mine", text, (("speed", "0.75"),))
    training = RoutingTrainer(Here()).begin(run, TrainingRequest(recipe, SPEC, 1, "policy-0", 0))
    candidate = training.candidate(120.0)
    assert candidate is not None
    assert isinstance(candidate.policy, ChunkPolicy)
    return candidate.policy


@needs_sandbox
def test_a_process_that_outlives_its_training_changes_nothing(run: Run) -> None:
    """It writes over the candidate that training has left, as long as it lives.

    Where it is quick enough to do so before it is ended, there is no candidate.
    """
    mark = f"lingering-{os.getpid()}"
    text = MOVES.replace("from dataclasses", f"{LINGERS % mark}\nfrom dataclasses")
    said = ""
    try:
        policy = trained(run, text)
    except RecipeError as error:
        said = str(error)
    else:
        assert float(policy.centre[0]) == 0.75
        row = run.save_policy("mine-0", policy.tensors(), metadata(policy))
        assert row.sha256
        tensors, _ = run.load_policy("mine-0")
        assert float(np.asarray(tensors["centre"])[0]) == 0.75
    assert said in ("", "its candidate was written over after it was trained")
    assert not running(mark)


@needs_sandbox
def test_a_process_that_outlives_is_there_while_it_trains(run: Run) -> None:
    """The control of the one above."""
    mark = f"lingering-{os.getpid()}-control"
    text = f"{LINGERS % mark}\ntime.sleep(60)\n"
    recipe = foreign("mine", text, ())
    training = RoutingTrainer(Here()).begin(run, TrainingRequest(recipe, SPEC, 1, "policy-0", 0))
    until(lambda: running(mark), 60.0)
    training.cancel()
    until(lambda: not running(mark))
    with pytest.raises(RecipeError):
        training.candidate(20.0)


@needs_sandbox
def test_code_writes_to_the_run_s_folder(run: Run) -> None:
    folder = run.folder.resolve()
    text = WRITES.replace("%s", str(folder))
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    policy = trained(run, f"{MOVES}\n{text}")
    assert float(policy.centre[0]) == 0.75
    after = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    kept = {p for p in after if "training" not in p.parts and p.suffix != ".sqlite-shm"}
    before = {p: data for p, data in before.items() if p.suffix != ".sqlite-shm"}
    assert {p: after[p] for p in kept} == before
    copy = folder.parent / "copy"  # the control: where it may
    shutil.copytree(folder, copy)
    exec(compile(WRITES.replace("%s", str(copy)), "writes", "exec"), {})
    assert (copy / "ledger.sqlite").read_bytes() == b"better"


# By what it does to the folder


class Swapped(campaigns.Campaign):
    """Somebody swaps the winner's file once it is frozen, before it is examined."""

    def _turns(self) -> None:
        super()._turns()
        files = self.run_store.folder / "policies"
        if (files / "one-0.safetensors").exists():
            shutil.copy(files / "policy-0.safetensors", files / "one-0.safetensors")


def failing(folder: Path) -> list[str]:
    with Run.open(folder) as run:
        return [check.name for check in audit(run) if not check.holds]


def test_a_checkpoint_swapped_while_it_is_examined_is_not_the_one_that_is(tmp_path: Path) -> None:
    """What is examined is what was frozen, and the file that is left is found to be another."""
    campaign = go(tmp_path / "run", {"one": [FAST]}, kind=Swapped)
    assert campaign.state.sealed is not None
    sealed = campaign.state.sealed
    assert sealed.trials >= TINY.evaluation.sealed_episodes
    assert sealed.successes >= TINY.evaluation.target * sealed.trials
    assert failing(tmp_path / "run") == ["policies"]


def test_a_checkpoint_swapped_between_two_starts_is_not_run(tmp_path: Path) -> None:
    for name, swap in (("honest", False), ("swapped", True)):
        folder = tmp_path / name / "run"
        folder.parent.mkdir()
        with pytest.raises(Killed):
            go(folder, {"one": [FAST]}, Steps(after=("add_policy", 2)))
        if not swap:
            assert go(folder, {"one": [FAST]}).state.reached  # the control
            assert failing(folder) == []
            continue
        files = folder / "policies"
        shutil.copy(files / "policy-0.safetensors", files / "one-0.safetensors")
        with pytest.raises(StoreError, match=r"one-0.*is not what was recorded"):
            go(folder, {"one": [FAST]})
        assert failing(folder) == ["policies"]


# By what its policy does in trials


def judged(
    seed: int, policy: str, outcome: Outcome, execute: float = 1.0, stage: str = ""
) -> Episode:
    return episode(
        episode_id(Purpose.EVALUATION, 1, policy, seed),
        purpose=Purpose.EVALUATION,
        policy=policy,
        round=1,
        seed=seed,
        verdict=Verdict(outcome, stage=stage),
        times=Times(1.0, execute, 0.1),
    )


def compared(void: Episode | None) -> PairedComparison:
    """A candidate that fails on every other seed, or has those episodes come to nothing."""
    match = PairedComparison("a", "p", {"a": None, "p": None}, 1, iter(range(1, 1000)), 0.05, 100)  # type: ignore[dict-item]
    for seed in range(1, 201):
        wins = seed % 2 == 0
        lost = judged(seed, "a", Outcome.FAILURE)
        if void is not None:
            lost = judged(seed, "a", void.verdict.outcome, void.times.execute, void.verdict.stage)
        match.add(judged(seed, "a", Outcome.SUCCESS) if wins else lost)
        match.add(judged(seed, "p", Outcome.FAILURE if seed % 2 == 0 else Outcome.SUCCESS))
    list(match.jobs())
    return match


def test_episodes_that_a_candidate_voids_are_failures() -> None:
    honest = compared(None)
    assert honest.decision is not Decision.PROMOTE
    diverged = compared(judged(1, "a", Outcome.INVALID))
    assert diverged.record == honest.record
    assert diverged.decision is honest.decision


@pytest.mark.parametrize(
    "void",
    [judged(1, "a", Outcome.INVALID, execute=0.0), judged(1, "a", Outcome.INVALID, stage=LOST)],
    ids=["a reset that failed", "a station that was lost"],
)
def test_what_is_not_its_own_doing_counts_for_nobody(void: Episode) -> None:
    """The control: such pairs are left out."""
    assert compared(void).record.losses == 0


def test_an_episode_that_was_cut_short_is_none_of_a_pair() -> None:
    match = PairedComparison("a", "p", {"a": None, "p": None}, 1, iter(range(1, 9)), 0.05, 100)  # type: ignore[dict-item]
    jobs = match.jobs()
    next(jobs)
    whole_ = judged(1, "a", Outcome.SUCCESS)
    aborted = replace(whole_, id=f"{whole_.id}-aborted-0", verdict=Verdict(Outcome.ABORTED))
    match.add(judged(1, "p", Outcome.FAILURE))
    match.add(whole_)
    match.add(aborted)
    assert match.record.wins == 1


def test_ledger_of_a_campaign_is_forged_between_two_starts(tmp_path: Path) -> None:
    """Outcomes are read from episodes' own files, and the ledger then says something else."""
    folder = tmp_path / "run"
    with pytest.raises(Killed):
        go(folder, {"one": [SLOW]}, Steps(after=("add_event", 5)))
    assert failing(folder) == []  # the control
    with sqlite3.connect(folder / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE episodes SET outcome = 'success' WHERE policy = 'one-0'")
        changed = ledger.execute("SELECT changes()").fetchone()[0]
        ledger.execute("UPDATE episodes SET outcome = 'failure' WHERE policy = 'policy-0'")
    with pytest.raises(StoreError, match="is not what was recorded"):
        go(folder, {"one": [SLOW]})
    with sqlite3.connect(folder / "ledger.sqlite") as ledger:  # one who knows of the chain
        ledger.execute("DELETE FROM chain")
        extend(ledger, ChainEnd())
    go(folder, {"one": [SLOW]})
    assert changed >= 0
    assert "episodes" in failing(folder)
