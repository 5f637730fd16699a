"""Where a twin and a recording part is said by time, joint and phase."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enpire.cli import main
from enpire.identification.arms import ArmsModel
from enpire.identification.gap import PHASES, by_phase, gap
from enpire.identification.recording import Recording

from .conftest import HIDDEN, NAMES

TRUE = np.array([HIDDEN[name] for name in NAMES])


def test_the_right_parameters_leave_no_gap_and_the_packs_do(arms: ArmsModel, recording) -> None:
    right, packs = (gap(arms, recording, values) for values in (TRUE, arms.nominal))
    assert right.parted(1e-3) == [None] * 5
    assert any(packs.parted(1e-3))
    small, large = (by_phase([each])["all"] for each in (right, packs))
    assert (small < large).all()


def test_a_bump_is_found_where_it_was(arms: ArmsModel, recording: Recording) -> None:
    position = recording.position.copy()
    position[300:310, 2] += 0.02
    found = gap(arms, replace(recording, position=position), TRUE)
    at, joint, phase = found.parted(0.01)[2] or (0.0, "", "")
    assert (joint, round(at, 2)) == ("arm/joint3", 3.0)
    assert phase in PHASES
    assert [each for k, each in enumerate(found.parted(0.01)) if k != 2] == [None] * 4


def test_phases_are_those_of_the_setpoint_and_of_the_hand(arms: ArmsModel, recording) -> None:
    stamps = recording.stamps
    sent = np.tile(recording.sent[0], (len(stamps), 1))
    sent[:, 0] += 0.3 * np.clip(1.0 - abs(stamps - 2.0), 0.0, None)  # there from 1 s on, and back
    position = sent.copy()
    sent[400:, 5] = -0.17  # shut on something that does not give way
    found = gap(arms, replace(recording, sent=sent, position=position), TRUE)
    phase = [PHASES[int(number)] for number in found.phase[:, 0]]
    assert (phase[50], phase[150], phase[210], phase[280], phase[350]) == (
        *("still", "moving", "turning"),
        *("moving", "still"),
    )
    assert phase[410] == "still"  # it may yet arrive
    assert phase[450] == "holding"


def test_commands_play_fit_and_compare(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = "--robot so101 --seconds 3 --evaluations 0 --out rec --times 2"
    assert main(["twin", "explore", *words.split()]) == 0
    assert main(["twin", "gap", "rec", "--plot", "gap.png", "--json"]) == 0
    assert (tmp_path / "gap.png").stat().st_size > 1000
    said = capsys.readouterr().out
    assert "twin of so101 in bench" in said
    assert '"parted": []' in said
    assert main(["twin", "fit", "rec", "--held-out", "2"]) == 2
    assert main(["twin", "fit"]) == 2
    assert main(["twin", "explore", "--seconds", "3"]) == 2
