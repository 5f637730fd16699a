"""What an answer costs: each token once, by its class, its model and its prompt's length."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.errors import PackError
from enpire.model_gateway.prices import Prices
from enpire.model_gateway.usage import Usage
from enpire.packs.finder import find
from enpire.packs.toml import Table

TOML = """
date = "2026-11-23"
input_tokens = 10.0
output_tokens = 50.0

[within]
"details.cached" = "input_tokens"

[models."small"]
input_tokens = 1.0
"details.cached" = 0.1
output_tokens = 5.0

[models."small".long]
over = 1000
input_tokens = 2.0
"details.cached" = 0.2
output_tokens = 7.5

[models."small-old"]
input_tokens = 4.0
output_tokens = 4.0
"""


@pytest.fixture
def prices(tmp_path: Path) -> Prices:
    path = tmp_path / "prices.toml"
    path.write_text(TOML)
    return Prices.read(Table.read(path))


def used(model: str, **classes: int) -> Usage:
    named = {name.replace("cached", "details.cached"): n for name, n in classes.items()}
    return Usage("api", "/", model, named, 200, True)


def test_a_class_within_another_is_priced_once(prices: Prices) -> None:
    answer = used("small-2026", input_tokens=1000, cached=900, output_tokens=10)
    assert prices.dollars(answer) * 1e6 == pytest.approx(100 * 1.0 + 900 * 0.1 + 10 * 5.0)


def test_a_longer_prompt_is_dearer_as_a_whole(prices: Prices) -> None:
    answer = used("small", input_tokens=1001, cached=900, output_tokens=10)
    assert prices.dollars(answer) * 1e6 == pytest.approx(101 * 2.0 + 900 * 0.2 + 10 * 7.5)


def test_the_longest_name_that_fits_is_the_models(prices: Prices) -> None:
    assert prices.dollars(used("small-older", input_tokens=1_000_000)) == 4.0


def test_a_model_that_is_not_named_has_a_price(prices: Prices) -> None:
    answer = used("other", input_tokens=100, cached=90, output_tokens=1)
    assert prices.dollars(answer) * 1e6 == pytest.approx(100 * 10.0 + 50.0)


def test_prices_for_no_model_but_the_named_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('date = "2026-11-23"\n[models."small"]\ninput_tokens = 1.0\n')
    with pytest.raises(PackError, match="does not name"):
        Prices.read(Table.read(path))


@pytest.mark.parametrize("kind", ["claude_code", "codex", "gemini"])
def test_no_model_of_a_pack_is_dearer_than_what_is_not_named(kind: str) -> None:
    prices = Prices.read(Table.read(find("agents", kind).folder / "agent.toml").table("prices"))
    assert prices.date
    for rates in prices.models.values():
        assert rates.classes.keys() == prices.usual.classes.keys()
        assert all(rates.classes[name] <= prices.usual.classes[name] for name in rates.classes)
