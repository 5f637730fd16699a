"""Every recipe that comes with the harness keeps to the contract of `Recipe.improve`."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enpire.environment import Parameter
from enpire.errors import RecipeError, UsageError
from enpire.improvement import recipe_finding as recipes
from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.configured_recipe import require_sound
from enpire.improvement.recipe import Recipe, RecipeInputs
from enpire.improvement.recipes.best_of_n import BestOfN
from enpire.improvement.recipes.residual_rl import ResidualLearning
from enpire.improvement.recipes.rlpd import PriorData
from enpire.improvement.recipes.specialist import Specialist
from enpire.improvement.sac import SacSettings
from enpire.improvement.settings import defaults, described
from enpire.policies import ChunkPolicy, ChunkSpec, FlowPolicy, FlowSpec, Policy
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.improvement.cut import assert_goes_on_when_cut
from tests.store.samples import episode

pytestmark = pytest.mark.medium

SPEC = ChunkSpec("t", observation=6, action=3, chunk=4, execute=2, hidden=(8,))
IMPROVERS = (
    BestOfN,
    PriorData,
    ResidualLearning,
    Specialist,
)  # of an incumbent
WON, LOST = Verdict(Outcome.SUCCESS), Verdict(Outcome.FAILURE)


def small(name: str) -> Recipe:
    """The recipe with as little training as it allows."""
    made: Any = recipes.find(name).recipe
    cuts = {
        field.name: Training(steps=3, batch=8)
        for field in fields(made)
        if isinstance(getattr(made, field.name), Training)
    }
    if isinstance(getattr(made, "learning", None), SacSettings):
        cuts["learning"] = SacSettings(steps=3, batch=8, width=8, delay=1)
    cuts |= {field.name: 3 for field in fields(made) if field.name.endswith("steps")}
    return replace(made, **cuts)


def some() -> list[Episode]:
    """Demonstrations and rounds of collection, won and lost, an aborted and an empty one."""
    kinds = [
        (Purpose.DEMONSTRATION, WON),
        (Purpose.DEMONSTRATION, LOST),
        (Purpose.COLLECTION, WON),
        (Purpose.COLLECTION, LOST),
        (Purpose.EVALUATION, WON),
        (Purpose.COLLECTION, Verdict(Outcome.ABORTED)),
    ]
    made = [
        episode(f"e{i}-{n}", 6 + n, purpose=purpose, verdict=verdict, round=int(i > 1))
        for i, (purpose, verdict) in enumerate(kinds)
        for n in range(3)
    ]
    return [*made, episode("empty", 0, verdict=Verdict(Outcome.INVALID))]


SEARCHES = "heuristic"  # trains nothing and draws nothing: it looks at what was tried
OF_LEROBOT = ("finetune", "dagger")  # need a policy of LeRobot's: their own tests hold them to it
OF_CAMERAS = (
    "state_estimation"  # needs policies that see: `test_state_estimation` holds it to the same
)
TRAINS = [n for n in recipes.names() if n not in (SEARCHES, *OF_LEROBOT, OF_CAMERAS)] + [
    "bc to flow",
    "replay_bc to chunk",
]
PARAMETERS = (Parameter("speed", 0.3, 0.0, 1.0), Parameter("reach", 0.1, 0.0, 0.2, "m"))


OF_FLOWS = ("dsrl",)  # what it does to another kind is to clone a flow in its place


def made(text: str) -> Recipe:
    """The small recipe of a name, or of `NAME to KIND`."""
    name, _, kind = text.partition(" to ")
    return replace(small(name), policy=kind) if kind else small(name)  # type: ignore[call-arg]


@pytest.fixture(params=TRAINS)
def recipe(request: pytest.FixtureRequest) -> Recipe:
    return made(request.param)


@pytest.fixture(params=[*TRAINS, *(f"{name} of a flow" for name in OF_FLOWS)])
def trained(request: pytest.FixtureRequest) -> tuple[Recipe, Policy]:
    """A recipe, and an incumbent that it learns from."""
    name, _, of_flow = request.param.partition(" of ")
    incumbent = FlowPolicy(FlowSpec.of(SPEC)) if of_flow else ChunkPolicy(SPEC)
    return made(name), incumbent.eval()


@pytest.mark.parametrize("with_incumbent", [False, True])
def test_a_candidate_fits_and_acts(recipe: Recipe, with_incumbent: bool) -> None:
    incumbent = ChunkPolicy(SPEC).eval() if with_incumbent else None
    if isinstance(recipe, IMPROVERS) and incumbent is None:
        with pytest.raises(RecipeError, match=r"start with another recipe|begin with --policy"):
            recipe.improve(RecipeInputs(SPEC, some(), incumbent, seed=1))
        return
    before = {k: v.copy() for k, v in incumbent.tensors().items()} if incumbent else {}
    candidate = recipe.improve(RecipeInputs(SPEC, some(), incumbent, seed=1))
    require_sound(candidate.policy, SPEC)
    assert not getattr(candidate.policy, "training", False)  # of one that learns
    controller = candidate.policy.controller(SimpleNamespace(name="t", policy_cameras=None))  # type: ignore[arg-type]
    for row in range(2):
        controller.begin(row, np.random.default_rng(row), 0.0)
    actions = controller.act(np.arange(2), np.zeros((2, SPEC.observation), np.float32), None)
    assert actions.shape == (2, SPEC.action)
    assert np.isfinite(actions).all()
    assert candidate.numbers
    assert all(np.isfinite(value) for value in candidate.numbers.values())
    for name, value in before.items():
        np.testing.assert_array_equal(incumbent.tensors()[name], value)


def test_the_same_seed_gives_the_same_candidate(trained: tuple[Recipe, Policy]) -> None:
    recipe, incumbent = trained
    one, same, other = (
        recipe.improve(RecipeInputs(SPEC, some(), incumbent, seed)).policy.tensors()
        for seed in (1, 1, 2)
    )
    for name, value in one.items():
        np.testing.assert_array_equal(value, same[name])
    assert any((value != other[name]).any() for name, value in one.items())


def test_training_that_is_cut_short_goes_on_to_the_same_weights(
    trained: tuple[Recipe, Policy], tmp_path: Path
) -> None:
    recipe, incumbent = trained
    given = RecipeInputs(SPEC, some(), incumbent, seed=1)
    assert_goes_on_when_cut(recipe, given, tmp_path)


def test_a_search_gives_a_sound_candidate_and_the_same_one_again() -> None:
    given = RecipeInputs(SPEC, some(), None, seed=1, parameters=PARAMETERS)
    one, same = (small(SEARCHES).improve(given) for _ in range(2))
    require_sound(one.policy, SPEC)
    assert all(np.isfinite(value) for value in one.numbers.values())
    for name, value in one.policy.tensors().items():
        np.testing.assert_array_equal(value, same.policy.tensors()[name])


@pytest.mark.parametrize("name", recipes.names())
def test_nothing_to_learn_from(name: str) -> None:
    recipe = small(name)
    with pytest.raises(RecipeError):
        recipe.improve(RecipeInputs(SPEC, [], None, seed=1))


def test_cloning_follows_successful_demonstrations_only() -> None:
    followed = [e for e in some() if e.success and e.purpose is Purpose.DEMONSTRATION]
    one = small("bc").improve(RecipeInputs(SPEC, some(), None, seed=1))
    same = small("bc").improve(RecipeInputs(SPEC, followed, None, seed=1))
    assert one.numbers["episodes"] == len(followed) == 3
    for name, value in one.policy.tensors().items():
        np.testing.assert_array_equal(value, same.policy.tensors()[name])


def test_an_unknown_recipe() -> None:
    with pytest.raises(UsageError, match="unknown recipe 'replaybc'; did you mean replay_bc"):
        recipes.find("replaybc")


def test_a_recipe_of_an_older_run_says_how_to_go_on() -> None:
    for name in recipes.TAKEN_OUT:
        assert name not in recipes.names()
        with pytest.raises(UsageError, match=rf"'{name}' is no longer part .* --policy RUN"):
            recipes.find(name)


# A user's own

MINE = """
from __future__ import annotations
from dataclasses import dataclass
from enpire.improvement.recipes.bc import BehaviourCloning

@dataclass(frozen=True)
class Mine(BehaviourCloning):
    patience: int = 3  # rounds

RECIPE = Mine
"""


def test_a_file_is_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    first, again = recipes.find("./mine.py"), recipes.find("mine.py")
    assert first.name == again.name
    assert first.name.startswith("mine@")
    assert first.recipe == replace(first.recipe)  # type: ignore[type-var]
    (configured,) = recipes.schedule("./mine.py", {"patience": "5", "lr": "0.1"})
    assert (configured.recipe.patience, configured.recipe.training.lr) == (5, 0.1)  # type: ignore[attr-defined]
    Path("mine.py").write_text(MINE + "\n# and more")
    assert recipes.find("mine.py").name != first.name


def test_the_recipe_of_the_documents(tmp_path: Path) -> None:
    documents = Path(__file__).parents[2] / "docs/improvement.md"
    text = documents.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "recent.py").write_text(text)
    said = {"half_life": "2", "training.steps": "3", "training.batch": "8"}
    (recent,) = recipes.schedule(str(tmp_path / "recent.py"), said)
    one, same = (recent.improve(RecipeInputs(SPEC, some(), None, seed=1)) for _ in range(2))
    assert (one.policy.kind, one.numbers["episodes"]) == ("flow", 9)
    for name, value in one.policy.tensors().items():
        np.testing.assert_array_equal(value, same.policy.tensors()[name])
    with pytest.raises(RecipeError, match="no episode succeeded yet"):
        recent.improve(RecipeInputs(SPEC, [e for e in some() if not e.success], None, seed=1))


# Schedules and settings


def test_a_schedule_and_its_settings() -> None:
    settings = {"training.steps": "7", "quick": "9", "discount": "0.5"}
    one, two = recipes.schedule("residual_rl,replay_bc", settings)
    residual: Any = one.recipe
    replay: Any = two.recipe
    assert (one.name, two.name) == ("residual_rl", "replay_bc")
    assert (residual.training.steps, residual.learning.discount) == (7, 0.5)
    assert (replay.training.steps, replay.quick) == (7, 9.0)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("nothing", "1", r"--recipe\.nothing: no such setting"),
        ("steps", "1", r"learning\.steps or training\.steps"),
        ("discount", "high", r"--recipe\.learning\.discount: could not convert string to float:"),
        ("training.steps", "1.5", r"--recipe\.training\.steps: invalid literal"),
        ("training.steps", "-5", r"--recipe\.training\.steps: -5 is below nought"),
        ("discount", "nan", r"--recipe\.learning\.discount: nan is no finite number"),
        ("training.lr", "inf", r"--recipe\.training\.lr: inf is no finite number"),
    ],
)
def test_a_setting_that_is_none(name: str, value: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        recipes.schedule("residual_rl", {name: value})


def test_a_choice_that_is_none() -> None:
    with pytest.raises(UsageError, match=r"invalid choice 'oracle' .* \('chunk', 'flow'\)\.$"):
        recipes.schedule("bc", {"policy": "oracle"})
    made: Any = recipes.schedule("bc", {"policy": "flow"})[0].recipe
    assert made.policy == "flow"


def test_settings_have_defaults_by_dotted_name() -> None:
    usual = defaults(recipes.find("bc").recipe)
    assert (usual["policy"], usual["training.steps"], usual["training.lr"]) == (
        "chunk",
        "0",
        "0.001",
    )


def test_settings_are_described() -> None:
    text = described(recipes.find("residual_rl").recipe)
    assert "--recipe.learning.discount FLOAT" in text
    assert "a control period (default: 0.99)" in " ".join(text.split())


@pytest.mark.parametrize(("said", "taken"), [("false", False), ("True", True), ("FALSE", False)])
def test_yes_or_no_is_said_as_any_other_value(said: str, taken: bool) -> None:
    (made,) = recipes.schedule("dagger", {"look_again": said})
    assert made.recipe.look_again is taken  # type: ignore[attr-defined]


@pytest.mark.parametrize("said", ["no", "0", ""])
def test_what_is_neither_yes_nor_no_is_refused_with_the_two(said: str) -> None:
    with pytest.raises(UsageError, match="Expected one of"):
        recipes.schedule("dagger", {"look_again": said})
