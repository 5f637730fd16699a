"""What newcomers read first is short: words, and words in a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMITS = {"README.md": (600, 700), "docs/architecture.md": (0, 2000)}
LONGEST = 20  # words of a sentence, on average
PLAIN = ["README.md", *(str(one.relative_to(ROOT)) for one in sorted(ROOT.glob("docs/**/*.md")))]

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
END = re.compile(r"(?<=[.!?])[)\"]*\s+(?=[\"(`]*[A-Z])")


def sentences(text: str) -> list[str]:
    """Return the sentences of a page's paragraphs and lists.

    Code, tables, pictures and headings are none, and a colon or a semicolon ends none. An item of a
    list ends with its last line.
    """
    text = LINK.sub(r"\1", FENCE.sub("", text)).replace("**", "")
    lines = ["" if line.startswith(("#", "|", "!")) else line for line in text.splitlines()]
    items = re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n", "\n".join(lines), flags=re.MULTILINE)
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", items)]
    found = [one for block in blocks for one in END.split(block)]
    return [one for one in found if any(c.isalpha() for c in one)]


@pytest.mark.parametrize("page", LIMITS)
def test_a_page_is_short(page: str) -> None:
    fewest, most = LIMITS[page]
    assert fewest <= len((ROOT / page).read_text(encoding="utf-8").split()) <= most


@pytest.mark.parametrize("page", PLAIN)
def test_sentences_are_short(page: str) -> None:
    found = sentences((ROOT / page).read_text(encoding="utf-8"))
    assert len(found) > (15 if page in LIMITS else 0)
    assert sum(len(one.split()) for one in found) < LONGEST * len(found)


def test_how_sentences_are_found() -> None:
    page = (
        "# A title\n\nOne thing is said. Another\nfollows: `a.b` is 0.5. Then (so) ends it.\n\n"
        "- An item\n  of two lines\n- **Bold.** And [a link. In two](x.md) parts\n\n"
        "| a | table. With. Ends. |\n\n```\nCode. Is. None.\n```\n"
    )
    assert sentences(page) == [
        "One thing is said.",
        "Another follows: `a.b` is 0.5.",
        "Then (so) ends it.",
        "An item of two lines",
        "Bold.",
        "And a link.",
        "In two parts",
    ]
