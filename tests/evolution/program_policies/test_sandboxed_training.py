"""Code of an agent's own: trained on in a sandbox, and what it leaves is looked at first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from enpire.errors import EnpireError, RecipeError
from enpire.evolution.program_policies.sandboxed_training import RoutingTrainer, foreign, modest
from enpire.improvement.training_process import TrainingHandle, TrainingRequest
from enpire.policies import ChunkPolicy, ChunkSpec, metadata
from enpire.sandbox.sandbox import available
from enpire.store import Run
from enpire.store.weights import to_bytes
from enpire.types import Purpose
from tests.evolution.moving import MOVES
from tests.improvement.here import Here
from tests.store.samples import episode

pytestmark = pytest.mark.medium

SPEC = ChunkSpec("reach", 2, 7, hidden=(8,))

CURIOUS = """
import os, glob

from enpire.errors import RecipeError


class Curious:
    def improve(self, given):
        seen = sorted({e.purpose.value for e in given.episodes})
        above = [os.path.exists(p) for p in glob.glob("%s/ledger.sqlite")]
        raise RecipeError(f"seen {seen}, ledger {above}, nice")


from dataclasses import dataclass
RECIPE = dataclass(frozen=True)(Curious)
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    with Run.create(tmp_path / "outer", {}) as run:
        run.add_episodes(
            [
                episode("c", purpose=Purpose.COLLECTION, round=0),
                episode("s", purpose=Purpose.SEALED, round=0),
            ]
        )
        policy = ChunkPolicy(SPEC)
        run.save_policy("policy-0", policy.tensors(), metadata(policy))
        yield run  # type: ignore[misc]


def begun(run: Run, text: str, *settings: tuple[str, str]) -> TrainingHandle:
    recipe = foreign("mine", text, settings)
    return RoutingTrainer(Here()).begin(run, TrainingRequest(recipe, SPEC, 1, "policy-0", 0))


@pytest.mark.skipif(not available().works, reason=available().reason)
def test_code_of_an_agent_makes_a_policy(run: Run) -> None:
    candidate = begun(run, MOVES, ("speed", "0.75")).candidate(120.0)
    assert candidate is not None
    assert candidate.numbers == {"speed": 0.75}
    assert isinstance(candidate.policy, ChunkPolicy)
    assert float(candidate.policy.centre[0]) == 0.75


@pytest.mark.skipif(not available().works, reason=available().reason)
def test_it_sees_what_it_may_learn_from_and_no_more(run: Run) -> None:
    with pytest.raises(RecipeError) as error:
        begun(run, CURIOUS % run.folder.resolve()).candidate(120.0)
    assert "seen ['collection'], ledger [], nice" in str(error.value)


@pytest.mark.skipif(not available().works, reason=available().reason)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise SystemExit(3)", r"recipe\.py:1: SystemExit: 3"),
        ("import os; os.write(1, b'{}\\n' * 9); os.write(3, b'')", "."),
        ("RECIPE = 3", "."),
    ],
)
def test_code_that_is_no_recipe_fails(run: Run, text: str, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        begun(run, text).candidate(120.0)


def described(**changed: object) -> bytes:
    """A policy's file that says something else of itself."""
    policy = ChunkPolicy(SPEC)
    said = json.loads(policy.spec.to_json()) | changed
    return to_bytes(policy.tensors(), metadata(policy) | {"spec": json.dumps(said)})


def test_a_plain_policy_is_taken() -> None:
    policy = modest(described(), SPEC)
    assert isinstance(policy, ChunkPolicy)
    assert policy.spec == SPEC


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"hidden": [10**6, 10**6]}, "hidden layers"),
        ({"hidden": [8] * 9}, "hidden layers"),
        ({"hidden": 8}, "hidden layers"),
        ({"stride": 10**9}, "stride"),
        ({"history": 0}, "history"),
        ({"chunk": True}, "chunk"),
        ({"execute": "8"}, "execute"),
        ({"observation": 3}, "another task"),
        ({"hidden": [16]}, "."),
    ],
)
def test_what_a_policy_says_of_itself_is_bounded(changed: dict[str, object], words: str) -> None:
    with pytest.raises(EnpireError, match=words):
        modest(described(**changed), SPEC)


@pytest.mark.parametrize("data", [b"", b"x" * 100, (2**62).to_bytes(8, "little") + b"{}"])
def test_what_is_no_policy_is_refused(data: bytes) -> None:
    with pytest.raises(RecipeError, match="no policy"):
        modest(data, SPEC)


def test_another_kind_is_refused() -> None:
    policy = ChunkPolicy(replace(SPEC))
    data = to_bytes(policy.tensors(), metadata(policy) | {"kind": "skill"})
    with pytest.raises(RecipeError, match="chunk, flow, program"):
        modest(data, SPEC)
