"""Training beside the fleet: the same candidate, whatever becomes of the process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enpire.environment import Parameter, RelativeTarget, load_task, read_symmetry
from enpire.errors import RecipeError, TrainerKilledError
from enpire.improvement import recipe_finding as recipes
from enpire.improvement import training_process
from enpire.improvement.recipe import Candidate
from enpire.improvement.training_process import (
    FOLDER,
    SubprocessTrainer,
    TrainingHandle,
    TrainingRequest,
    as_json,
    learned_from,
    request_from,
    train,
)
from enpire.packs import find
from enpire.policies import ChunkSpec
from enpire.store import Run
from enpire.store.curves import CurveReader
from enpire.types import GIVEN_UP, Outcome, Purpose, Verdict
from tests.store.samples import episode

pytestmark = pytest.mark.medium

SPEC = ChunkSpec("t", observation=6, action=3, history=1, stride=1, chunk=2, execute=2, hidden=(8,))
LONG = 60.0  # seconds, on a busy machine

MINE = """
from __future__ import annotations
import os, signal, time
from dataclasses import dataclass
from enpire.improvement.recipes.bc import BehaviourCloning
from enpire.improvement.recipe import Candidate, RecipeInputs

@dataclass(frozen=True)
class Mine(BehaviourCloning):
    does: str = ""

    def improve(self, given: RecipeInputs) -> Candidate:
        print("on standard output, which is not the answer")
        if self.does == "sleeps":
            time.sleep(1000)
        if self.does == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.does == "raises":
            return {}["nothing"]
        return super().improve(given)

RECIPE = Mine
"""


@pytest.fixture
def _warm_trainer() -> None:
    """Processes here are begun and end as they do for users."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", {}) as made:
        shown = {"policy": "expert", "round": 0, "purpose": Purpose.DEMONSTRATION}
        made.add_episodes([episode(f"d{i}", 8, **shown) for i in range(4)], [])
        yield made


@pytest.fixture(scope="module")
def beside() -> Iterator[SubprocessTrainer]:
    with SubprocessTrainer() as made:
        yield made


def asked(source: str, **settings: str) -> TrainingRequest:
    return TrainingRequest(
        recipes.remade(source, {"training.steps": "3", **settings}), SPEC, 0, "", 7
    )


def test_another_process_is_asked_for_the_same(tmp_path: Path) -> None:
    here = replace(
        asked("bc"),
        parameters=(Parameter("depth", 0.1, 0.0, 1.0),),
        instruction="Tie it.",
        grippers=(6, 13),
        symmetry=read_symmetry(load_task(find("tasks", "zip_tie"))),
        relative=(RelativeTarget(done=0, seen=1, scale=0.5),),
    )
    there = request_from(json.loads(json.dumps(as_json(tmp_path, here))))
    assert here.symmetry is not None
    assert str(there) == str(here)  # what a training is told from others by


def ended(training: TrainingHandle) -> Candidate:
    candidate = training.candidate(LONG)
    assert candidate is not None
    return candidate


def test_a_process_makes_the_same_candidate(
    run: Run, beside: SubprocessTrainer, tmp_path: Path
) -> None:
    here = train(run, asked("bc")).policy.tensors()
    (tmp_path / "mine.py").write_text(MINE)
    for source in ("bc", str(tmp_path / "mine.py")):
        there = ended(beside.begin(run, asked(source)))
        assert there.numbers["episodes"] == 4
        for name, value in there.policy.tensors().items():
            np.testing.assert_array_equal(value, here[name])
        assert there.policy.spec == SPEC
    assert "on standard output" in (run.folder / FOLDER / "log.txt").read_text()
    (point,) = CurveReader(run.folder).read()
    assert (point.training, point.name, point.step) == ("training-0", "policy/loss", 0)
    assert np.isfinite(point.value)


@pytest.mark.parametrize(
    ("does", "words"),
    [("dies", r"exit code -9; out of memory\?"), ("raises", r"mine\.py:19: KeyError: 'nothing'")],
)
def test_what_goes_wrong_there_is_said(
    run: Run, beside: SubprocessTrainer, tmp_path: Path, does: str, words: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    with pytest.raises(RecipeError, match=words) as raised:
        ended(beside.begin(run, asked(str(path), does=does)))
    assert isinstance(raised.value, TrainerKilledError) == (does == "dies")
    assert ended(beside.begin(run, asked("bc"))).policy.spec == SPEC  # and the next is as ever


def test_why_it_could_not_start_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_process, "WORKER", "enpire.nowhere")
    with (
        SubprocessTrainer() as trainer,
        pytest.raises(RecipeError, match=r"exit code 1; .*No module named .enpire\.nowhere"),
    ):
        ended(trainer.begin(run, asked("bc")))


def test_a_training_that_is_cancelled_is_gone(
    run: Run, beside: SubprocessTrainer, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    training = beside.begin(run, asked(str(path), does="sleeps"))
    assert training.candidate(0.01) is None
    training.cancel()
    with pytest.raises(RecipeError, match="exit code"):
        training.candidate(LONG)
    assert ended(beside.begin(run, asked("bc"))).policy.spec == SPEC


def test_it_ends_with_who_asked(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    with SubprocessTrainer() as beside:
        beside.begin(run, asked(str(path), does="sleeps"))
        process = beside._process._process
        assert process.stdin is not None
        process.stdin.close()  # as when the loop is killed
        assert process.wait(LONG) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)


def test_what_is_evaluated_meanwhile_teaches_later_rounds_only() -> None:
    kinds = [
        ("a", 0, Purpose.DEMONSTRATION),
        ("b", 0, Purpose.EVALUATION),
        ("c", 1, Purpose.COLLECTION),
        ("d", 1, Purpose.EVALUATION),
    ]
    episodes = [episode(id, round=number, purpose=purpose) for id, number, purpose in kinds]
    assert [[e.id for e in learned_from(episodes, number)] for number in (0, 1, 2)] == [
        ["a"],
        ["a", "b", "c"],
        ["a", "b", "c", "d"],
    ]


def test_what_tells_nothing_teaches_nothing() -> None:
    ends = {
        "judged": Verdict(Outcome.FAILURE),
        "hopeless": Verdict(Outcome.ABORTED, stage=GIVEN_UP),
        "stopped": Verdict(Outcome.ABORTED, reason="--max-time is used up"),
        "broken": Verdict(Outcome.INVALID),
    }
    episodes = [episode(id, verdict=verdict) for id, verdict in ends.items()]
    assert [e.id for e in learned_from(episodes, 9)] == ["judged", "hopeless"]
