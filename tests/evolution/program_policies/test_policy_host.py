"""Policies that are code: what makes them, what asks them first, and campaigns that try them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enpire.errors import CampaignError, PolicyError, RecipeError
from enpire.evolution.campaign import campaign as campaigns
from enpire.evolution.experiments import unbiased_estimate
from enpire.evolution.experiments.events import replay_events
from enpire.evolution.experiments.experiment import Experiment, ExperimentState, from_json
from enpire.evolution.program_policies import policy_host
from enpire.evolution.program_policies.policy_process import PolicyProcess
from enpire.evolution.program_policies.sandboxed_training import RoutingTrainer
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.training_process import TrainingRequest
from enpire.policies import ChunkSpec, ProgramPolicy
from enpire.sandbox.sandbox import Confinement
from enpire.store import Run
from tests.environment.reach import reach_stations
from tests.evolution.coded import BROKEN, LEAVES, STILL, TOWARDS, Coder
from tests.evolution.hostile.arena import needs_sandbox
from tests.evolution.moving import TINY, go
from tests.improvement.here import Here
from tests.store.samples import episode

SPEC = ChunkSpec("reach", 2, 7)


@pytest.fixture(autouse=True)
def soon_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unbiased_estimate, "ENOUGH", 8)
    monkeypatch.setattr(campaigns, "LOOK_S", 0.0)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    with Run.create(tmp_path / "outer", {}) as run:
        run.add_episodes([episode("d", round=0)])
        yield run  # type: ignore[misc]


@pytest.mark.medium
@needs_sandbox
def test_the_better_program_is_kept_and_examined_and_the_others_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    others = [Coder("one", [BROKEN, STILL, TOWARDS])]
    campaign = go(folder, {}, others=others)
    assert campaign.state.reached
    with Run.open(folder) as run:
        record = replay_events(run.ledger.events())
        states = {e.id: e.state for e in record.experiments}
        assert states == {
            "one-0": ExperimentState.FAILED,
            "one-1": ExperimentState.DROPPED,
            "one-2": ExperimentState.KEPT,
        }
        assert "no such arm" in record.named("one-0").experiment.reason
        assert campaign.fresh("one-2").rate == 1.0
        (sealed,) = run.ledger.sealed()
        assert sealed.policy == "one-2"
        assert sealed.successes >= TINY.evaluation.target * sealed.trials
        tensors, said = run.load_policy("one-2")
        assert said["kind"] == "program"
        assert tensors["policy.py"].tobytes().decode() == TOWARDS


@pytest.mark.medium
@needs_sandbox
def test_a_recipe_leaves_a_program(run: Run) -> None:
    from enpire.evolution.program_policies.sandboxed_training import foreign

    training = RoutingTrainer(Here()).begin(
        run, TrainingRequest(foreign("mine", LEAVES, ()), SPEC, 1, "", 0)
    )
    candidate = training.candidate(240.0)
    assert candidate is not None
    assert isinstance(candidate.policy, ProgramPolicy)
    assert set(candidate.policy.files) == {"policy.py", "gain"}
    assert candidate.numbers == {"seen": 1.0}


def written(run: Run, text: str) -> ProgramPolicy:
    asked = TrainingRequest(
        ConfiguredRecipe("mine", policy_host.WrittenRecipe(text)), SPEC, 1, "", 0
    )
    candidate = RoutingTrainer(Here(), Confinement.NONE).begin(run, asked).candidate(240.0)
    assert candidate is not None
    assert isinstance(candidate.policy, ProgramPolicy)
    return candidate.policy


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BROKEN, "no such arm"),
        ("def make(", "SyntaxError|was never closed|died"),
        (TOWARDS.replace("len(rows)", "9"), "with actions for 9"),
        (TOWARDS.replace("/ 0.008", "* np.nan"), "not finite"),
    ],
)
def test_what_does_not_act_fails_before_robots_are_spent(run: Run, text: str, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        written(run, text)


def test_a_program_for_other_stations_is_refused() -> None:
    policy = ProgramPolicy.of({"policy.py": b""}, "reach", 3, 7)
    with pytest.raises(PolicyError, match="takes 3 entries"):
        policy_host.controller(policy, reach_stations())


def test_a_program_acts_in_a_process_of_its_own(run: Run) -> None:
    stations = reach_stations()
    acts = policy_host.controller(written(run, TOWARDS), stations, Confinement.NONE)
    assert isinstance(acts, PolicyProcess)
    acts.begin(0, np.random.default_rng(0), 0.0)
    seen = np.array([[1.0, 0.2]], np.float32)
    assert acts.act(np.array([0]), seen, policy_host.SENSED)[0, 0] == 1.0
    acts.close()


def test_an_experiment_remembers_its_program() -> None:
    one = Experiment("a-0", "a", "it reaches", "coded", "policy-0", program=TOWARDS)
    assert from_json(one.as_json()) == one
    with pytest.raises(CampaignError, match="code that acts"):
        Experiment("a-0", "a", "it reaches", "coded", "policy-0", source="x", program="y")
    with pytest.raises(CampaignError, match="no settings"):
        Experiment("a-0", "a", "it", "coded", "policy-0", settings=(("x", "1"),), program="y")
