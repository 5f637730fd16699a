"""Rows come back as they went in."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from enpire.errors import StoreError
from enpire.store import schema
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.rows import (
    EventRow,
    Interval,
    LogEntry,
    Phase,
    PolicyRow,
    RoundRow,
    SealedRow,
)
from enpire.types import Outcome, Predicate, Purpose, Verdict

from .samples import episode, same


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    schema.create(tmp_path / "ledger.sqlite")
    with Ledger(LedgerFile(tmp_path / "ledger.sqlite", writable=True)) as opened:
        yield opened


def test_episode_row(ledger: Ledger) -> None:
    ledger.add_batch("episodes/1", "ab", 7, [episode("a"), episode("b", seed=0)])
    row = ledger.episodes()[1]
    assert (row.id, row.seed, row.purpose, row.outcome) == (
        "b",
        0,
        Purpose.COLLECTION,
        Outcome.SUCCESS,
    )
    assert (row.path, row.index, row.sha256, row.bytes) == ("episodes/1", 1, "ab", 7)
    assert (row.reset_s, row.execute_s, row.verify_s) == (1.0, 2.0, 0.5)
    assert ledger.episodes()[0].seed == 2**63 - 1


def test_predicates_keep_what_is_not_a_number(ledger: Ledger) -> None:
    predicates = (
        Predicate("a", math.nan, 0.1, "m"),
        Predicate("b", math.inf, math.nan, "rad", at_least=False),
    )
    ledger.add_batch("1", "", 0, [episode("a", verdict=Verdict(Outcome.FAILURE, predicates))])
    assert same(ledger.predicates("a"), predicates)
    assert ledger.predicates("other") == ()
    ledger.add_batch("2", "", 0, [episode("b"), episode("c", verdict=Verdict(Outcome.INVALID))])
    both = {"a": predicates, "b": episode("b").verdict.predicates}
    found = ledger.all_predicates()
    assert same(list(found.items()), list(both.items())), "an episode without any is not in it"


def test_filters(ledger: Ledger) -> None:
    ledger.add_batch(
        "1",
        "",
        0,
        [
            episode("a", purpose=Purpose.COLLECTION, policy="p", round=1),
            episode("b", purpose=Purpose.EVALUATION, policy="q", round=2),
            episode("c", purpose=Purpose.SEALED, policy="q", round=2),
        ],
    )

    def ids(**filters: object) -> str:
        return "".join(row.id for row in ledger.episodes(**filters))  # type: ignore[arg-type]

    assert ids() == "abc"
    assert ids(purposes=[Purpose.COLLECTION, Purpose.SEALED]) == "ac"
    assert ids(policies=["q"], without=Purpose.SEALED) == "b"
    assert ids(rounds=[2], purposes=[Purpose.SEALED]) == "c"
    assert ids(rounds=[]) == ""


def test_a_batch_goes_in_whole_or_not_at_all(ledger: Ledger) -> None:
    ledger.add_batch("1", "", 0, [episode("a")])
    with pytest.raises(StoreError, match="recorded already"):
        ledger.add_batch(
            "2", "", 0, [episode("b"), episode("a")], [Interval(0, Phase.IDLE, 0.0, 1.0)]
        )
    assert [row.id for row in ledger.episodes()] == ["a"]
    assert ledger.batches() == {"1"}
    assert ledger.intervals() == []
    ledger.add_batch("2", "", 0, [episode("b")])


def test_robot_time(ledger: Ledger) -> None:
    given = [
        Interval(0, Phase.RESET, 0.0, 1.0, "a"),
        Interval(0, Phase.EXECUTE, 1.0, 4.0, "a"),
        Interval(1, Phase.EXECUTE, 0.0, 2.0, "b"),
        Interval(1, Phase.IDLE, 2.0, 2.5),
    ]
    ledger.add_intervals(given)
    assert ledger.intervals() == given
    assert ledger.intervals(1) == given[2:]
    assert ledger.robot_seconds() == {
        Phase.RESET: 1.0,
        Phase.EXECUTE: 5.0,
        Phase.VERIFY: 0.0,
        Phase.IDLE: 0.5,
        Phase.ASIDE: 0.0,
    }
    with pytest.raises(StoreError, match="end_s >= start_s"):
        ledger.add_intervals([Interval(0, Phase.IDLE, 1.0, 0.5)])


def test_other_rows_round_trip(ledger: Ledger) -> None:
    round_ = RoundRow(1, "p1", 3, 5, 0.2, 0.9, 60.0, 7.0, {"loss": 0.1})
    ledger.put_round(RoundRow(1, "p0"))
    ledger.put_round(round_)
    assert ledger.rounds() == [round_]
    policy = PolicyRow("p1", "ab", "policies/p1.safetensors", "p0", "bc", 1)
    ledger.add_policy(policy)
    assert ledger.policies() == [policy]
    ledger.set_policy_state("p1", "incumbent")
    changed = ledger.policy("p1")
    assert changed is not None
    assert changed.state == "incumbent"
    with pytest.raises(StoreError, match="no policy 'p9'"):
        ledger.set_policy_state("p9", "incumbent")
    decision = LogEntry(1, "promote", "p1 replaces p0", "p0", "p1", {"p_value": 0.01})
    ledger.add_decision(decision)
    assert ledger.decisions() == [decision]
    sealed = SealedRow(1, "p1", 2**128 - 1, 9, 10, 0.6, 0.99)
    ledger.add_sealed(sealed)
    with pytest.raises(StoreError, match="recorded already"):
        ledger.add_sealed(sealed)
    assert ledger.sealed() == [sealed]
    ledger.set_facts({"task": "zip_tie"})
    ledger.set_facts({"task": "push", "robot": "so101"})
    assert ledger.facts() == {"task": "push", "robot": "so101"}


def test_a_decision_says_when_it_was_made(ledger: Ledger) -> None:
    before = time.time()
    ledger.add_decision(LogEntry(1, "kept", "text", numbers={"wins": 2.0}))
    (found,) = ledger.decisions()
    assert before <= found.at <= time.time()
    assert found.numbers == {"wins": 2.0}
    assert found.time.startswith(f"{datetime.fromtimestamp(found.at):%Y-}")
    with ledger.file.reading() as connection:
        connection.execute("UPDATE decisions SET numbers = '{}'")  # of an earlier version
    assert (ledger.decisions()[0].at, ledger.decisions()[0].time) == (0.0, "")


def test_events_of_a_campaign(ledger: Ledger) -> None:
    ledger.add_event(EventRow(1, "experiment", "{}"))
    ledger.add_event(EventRow(0, "used", "text"))
    rows = ledger.events()
    assert [(r.experiment, r.kind, r.text) for r in rows] == [
        (1, "experiment", "{}"),
        (0, "used", "text"),
    ]
    assert 0.0 < rows[0].at <= rows[1].at
