"""One episode on a dashboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.dashboard.episode_detail import episode_html
from enpire.errors import StoreError
from enpire.policies import BestOfPolicy
from enpire.store import Run
from enpire.types import Outcome, Predicate, Verdict
from tests.observe.test_critic_values import LENGTH, policy, run
from tests.store.samples import episode

__all__ = ["policy", "run"]


def test_it_has_the_evidence_of_the_verdict(tmp_path: Path) -> None:
    gap = Predicate("gap<b>", 0.003, 0.002, "m", at_least=False)
    lost = Predicate("seated", float("nan"), 0.5, "m")
    with Run.create(tmp_path / "run", {}) as made:
        made.add_episodes([episode("e1", verdict=Verdict(Outcome.FAILURE, (gap, lost)))])
        html = episode_html(made.folder, 1)
        assert html is not None
        assert "gap&lt;b&gt;" in html
        assert "-0.001 m" in html
        assert f"enpire replay {made.folder} e1" in html
        assert "critics" not in html
        assert episode_html(made.folder, 2) is None


def test_it_has_what_critics_think(run: Run, policy: BestOfPolicy) -> None:
    html = episode_html(run.folder, 2)
    assert html is not None
    assert "the critics of policy-1" in html
    assert html.count('class="chosen"') == 3, "in the legend, for a desk and for a phone"
    assert f"values of {LENGTH // policy.head.spec.chunk} decisions" in html
    assert "<svg" not in (episode_html(run.folder, 3) or "")


def test_a_policy_that_was_changed_is_said(run: Run) -> None:
    (run.folder / "policies" / "policy-1.safetensors").write_bytes(b"other")
    with pytest.raises(StoreError, match="policy-1"):
        episode_html(run.folder, 1)
