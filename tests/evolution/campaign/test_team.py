"""Teams, as they are asked for."""

from __future__ import annotations

import pytest

from enpire.errors import UsageError
from enpire.evolution.campaign.team import team


def test_a_team_has_names_of_its_own() -> None:
    assert team("tuner:2,other") == [
        ("tuner-0", "tuner"),
        ("tuner-1", "tuner"),
        ("other-0", "other"),
    ]


@pytest.mark.parametrize("text", ["", "tuner:0", "tuner:2,tuner", "Tuner", "tuner:x", "tuner:65"])
def test_what_is_no_team_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--agents"):
        team(text)
