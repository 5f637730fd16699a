"""Write `docs/reference/certificates.md`, a table for each certified task of this repository.

    python launch/generate_certificates.py

`tests/docs/test_certificates.py` holds the page against what this script makes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enpire.packs.certificates import certificate_state

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "certificates.md"
MARKS = {True: "pass", False: "**missed**", None: ""}
HEAD = """\
# Certificates

What `enpire task check TASK --full` measured of each task: counts with 95% intervals, on twins.
[What is checked](../new-task.md) says what each row is, and [tasks](../tasks.md) what was found.
A certificate counts for the packs that it was measured of. After any change to task, robot or world
it is old."""


def page() -> str:
    """Return the whole page, as Markdown."""
    folders = sorted(path.parent for path in ROOT.glob("tasks/*/certificate.json"))
    return "\n".join([HEAD, *(line for folder in folders for line in _section(folder)), ""])


def _section(folder: Path) -> list[str]:
    """Return the lines on the task in `folder`."""
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    return [
        "",
        f"## {folder.name}",
        "",
        f"{certificate_state(folder).capitalize()}. Measured with {versions}.",
        "",
        "| check | measured | bar | | detail |",
        "|---|---|---|---|---|",
        *(_row(check) for check in content["checks"]),
    ]


def _row(check: dict[str, Any]) -> str:
    """Return the line of one check; a share of many thousand looks has no use for an interval."""
    (low, high), hits, trials = check["ci95"], check["k"], check["n"]
    share = f", {hits / trials:.3f} [{low:.3f}, {high:.3f}]" if trials else ""
    measured = f"{hits} of {trials}{share} {check['counted']}" if trials else "not measured"
    cells = [check["check"], measured, check["bar"], MARKS[check["passed"]], check["detail"]]
    return f"| {' | '.join(cell.strip() for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
