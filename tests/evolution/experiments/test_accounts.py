"""What a campaign used, by the formulas of the documents, from a ledger written by hand."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from enpire.cli import show
from enpire.evolution.campaign import report
from enpire.evolution.experiments.accounts import Accounts, Costs, accounts, millions, used_by
from enpire.evolution.experiments.events import USED, ModelUse
from enpire.store import EventRow, Interval, Phase, Run, SealedRow
from enpire.types import Purpose
from tests.evolution.moving import TINY, config
from tests.store.samples import episode


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Two stations, 40 s; an agent that used 1500 tokens, then a policy that passed."""
    with Run.create(tmp_path / "run", config(TINY)) as made:
        for used in (ModelUse(1200, 0.5), ModelUse(300, 0.25)):
            made.ledger.add_event(EventRow(0, USED, used.as_json("a")))
        intervals = [
            Interval(0, Phase.EXECUTE, 0.0, 12.0),
            Interval(0, Phase.IDLE, 12.0, 20.0),
            Interval(1, Phase.RESET, 0.0, 16.0),
            Interval(1, Phase.EXECUTE, 16.0, 20.0),
        ]
        made.add_episodes([episode("one"), episode("two")], intervals)
        made.ledger.set_facts({"wall_s": "90.0"})
        yield made


def examined(run: Run, attempt: int, successes: int) -> None:
    shown = {"policy": "a-0", "round": attempt, "purpose": Purpose.SEALED}
    run.add_episodes([episode(f"sealed-{attempt}-{i}", **shown) for i in range(2)], [])
    run.ledger.add_sealed(SealedRow(attempt, "a-0", 7, successes, 27, 0.0, 1.0))
    time.sleep(0.01)


def test_robots_and_tokens_are_shares_of_all_time(run: Run) -> None:
    found = accounts(run)
    assert found.mru == pytest.approx(16.0 / 40.0)
    assert found.mtu == pytest.approx(1500 / 1.5)
    assert found.total == Costs(90.0, 2 * 3.5, 1500, 0.75)
    assert (found.gpu, found.success) == (None, None)
    assert str(found) == "MRU 40%, no GPU, MTU 1000 tokens/min, tokens to success >1500"
    assert show.report(run)["campaign"] == found.as_json()
    assert str(found) in report.report(run)


def test_tokens_to_success_are_those_before_a_policy_first_passed(run: Run) -> None:
    examined(run, 1, 24)  # below the target
    run.ledger.add_event(EventRow(0, USED, ModelUse(1_000_000, 2.0).as_json("a")))
    examined(run, 2, 25)
    run.add_episodes([episode("three")], [])
    run.ledger.add_event(EventRow(0, USED, ModelUse(5_000_000, 9.0).as_json("a")))
    examined(run, 3, 27)
    found = accounts(run)
    assert found.total.tokens == 6_001_500
    assert found.success == Costs(90.0, 2 * 3.5, 1_001_500, 2.75)
    assert found.as_json()["to_success"]["tokens"] == 1_001_500
    assert str(found).endswith("tokens to success 1.0M")


def test_before_any_time_has_passed_there_is_no_rate() -> None:
    nothing = Accounts(0.5, None, Costs(0.0, 0.0, 0, 0.0), None)
    assert math.isnan(nothing.mtu)
    assert str(nothing) == "MRU 50%, no GPU, no tokens"


def test_what_was_used_by_a_time(run: Run) -> None:
    first, second = run.ledger.events()
    assert used_by([first, second], first.at).tokens in (1200, 1500)  # one clock tick for both
    assert used_by([first, second], first.at - 1.0) == ModelUse()


@pytest.mark.parametrize(
    ("tokens", "text"), [(2_480_000, "2.5M"), (47_600, "48k"), (9_999, "9999"), (0, "0")]
)
def test_tokens_are_printed_as_in_the_paper(tokens: int, text: str) -> None:
    assert millions(tokens) == text
