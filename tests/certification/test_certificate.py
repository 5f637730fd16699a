"""A certificate counts for the packs that it was measured for, and is no part of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.certification import certificate
from enpire.certification.row import CheckRow
from enpire.errors import PackError
from enpire.packs import CERTIFICATE, content_hash
from enpire.rollout.evaluation.statistics import Confusion

PACKS = {"tasks/mine": "a" * 64, "robots/so101": "b" * 64, "sim/bench": "c" * 64}
AUDIT = Confusion(200, 2, 3, 195)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A certified pack."""
    folder = tmp_path / "tasks" / "mine"
    folder.mkdir(parents=True)
    (folder / "task.py").write_text("")
    row = CheckRow("nothing", "successes", 0, 200, "0", True)
    kept = certificate.write(folder, PACKS, [row], {"mixed": AUDIT}, {"mujoco": "4.0"})
    assert kept == folder / CERTIFICATE
    return folder


def test_it_is_found_for_its_packs_alone(folder: Path) -> None:
    assert certificate.audit(str(folder), PACKS) == AUDIT
    assert certificate.audit(str(folder), PACKS | {"robots/so101": "d" * 64}) is None
    assert certificate.audit(str(folder.parent / "gone"), PACKS) is None
    (folder / CERTIFICATE).unlink()
    assert certificate.audit(str(folder), PACKS) is None


def test_it_is_no_part_of_the_pack(folder: Path) -> None:
    with_it = content_hash(folder)
    (folder / CERTIFICATE).unlink()
    assert content_hash(folder) == with_it
    (folder / "sub").mkdir()
    (folder / "sub" / CERTIFICATE).write_text("{}")
    assert content_hash(folder) != with_it, "only the pack's own is left out"


def test_a_rate_is_corrected_by_it(folder: Path) -> None:
    figures = certificate.corrected(90, 100, str(folder), PACKS, "sensors only")
    assert figures is not None
    assert figures["audited"] == AUDIT.trials
    low, high = figures["ci95"]
    assert low < figures["success"] < high
    assert figures["success"] == pytest.approx((0.9 - 2 / 197) / (200 / 203 - 2 / 197))
    assert "400 episodes audited" in certificate.text(figures)
    assert certificate.corrected(90, 100, str(folder), {}, "sensors only") is None
    assert certificate.corrected(90, 100, str(folder), PACKS, "cameras") is None


@pytest.mark.parametrize("text", ["", "{}", '{"packs": {}, "verifier": 3}', "[1]"])
def test_a_broken_one_is_told(folder: Path, text: str) -> None:
    (folder / CERTIFICATE).write_text(text)
    with pytest.raises(PackError, match=CERTIFICATE):
        certificate.audit(str(folder), {})
