"""Ranges of settings, from recipes' types and defaults."""

from __future__ import annotations

import pytest

from enpire.errors import UsageError
from enpire.evolution.agents.search_space import FACTOR, TunableSetting, choice, repertoire
from enpire.improvement import recipe_finding as recipes

RESIDUAL = {setting.name: setting for setting in choice("residual_rl").settings}


def test_settings_have_ranges_around_their_defaults() -> None:
    steps, rate = RESIDUAL["training.steps"], RESIDUAL["training.lr"]
    assert (steps.scale, steps.low, steps.high) == ("whole", 800 / FACTOR, 800 * FACTOR)
    assert (rate.scale, rate.low, rate.high) == ("real", 1e-3 / FACTOR, 1e-3 * FACTOR)


def test_what_is_near_one_varies_by_its_distance_to_it() -> None:
    discount = RESIDUAL["learning.discount"]
    assert discount.scale == "near one"
    assert (discount.low, discount.high) == pytest.approx((0.96, 0.9975))
    assert discount.value("0.98") == pytest.approx(0.02)
    assert discount.text(0.0123456) == "0.9877"


def test_a_part_stays_below_one() -> None:
    assert RESIDUAL["training.noise"].high == pytest.approx(0.2)
    assert RESIDUAL["learning.warm_up"].high == 0.9


def test_words_have_choices() -> None:
    (policy,) = (s for s in choice("bc").settings if s.name == "policy")
    assert policy.choices == ("chunk", "flow")
    assert policy.value("flow") == "flow"
    assert policy.value("tree") is None


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_takes_the_ends_of_its_ranges(name: str) -> None:
    settings = choice(name).settings
    assert settings
    for end in (0, -1):
        ends = {s.name: s.text((s.choices or s.bounds)[end]) for s in settings}
        assert all(s.value(ends[s.name]) is not None for s in settings)
        recipes.schedule(name, ends)


def test_what_is_out_of_range_or_no_number_has_no_value() -> None:
    setting = TunableSetting("x", "real", "1.0", 0.25, 4.0)
    assert [setting.value(text) for text in ("5", "0.1", "many", "nan")] == [None] * 4
    assert setting.value("4.0001") == 4.0


def test_settings_that_a_recipe_does_not_have_have_no_place() -> None:
    made = choice("bc")
    assert made.values((("training.lr", "2e-3"),)) is not None
    assert made.values((("training.rate", "2e-3"),)) is None
    assert made.values((("training.lr", "7"),)) is None


def test_the_repertoire_is_the_recipes_asked_for_and_the_variants() -> None:
    made = repertoire(["bc"])
    assert [c.recipe for c in made] == ["bc", "fast_successes", "further_cloning", "own_successes"]
    assert made[0].source == ""
    assert all("RECIPE = " in c.source for c in made[1:])
    assert "share" in {s.name for s in made[1].settings}


def test_an_unknown_recipe_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown recipe"):
        repertoire(["residal_rl"])
