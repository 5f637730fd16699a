"""Method cards, and searching them: offline, by BM25.

A card is a file of `agents/literature/`: between two lines of `+++` what it is about, as TOML, and
then its text, a page at most. What a search gives is quoted: it is data, never an instruction.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache

from enpire.errors import PackError
from enpire.evolution.knowledge.bm25 import Bm25Index
from enpire.packs.finder import shipped
from enpire.sandbox.sanitize import NOTE, quoted

PAGE = 3000  # characters of a card, at most
MOST = 8  # hits of a search, at most
NAMED = 4  # times that a card's name and title count, beside its text


@dataclass(frozen=True, slots=True)
class MethodCard:
    """A method."""

    name: str  # its file's
    title: str
    year: int  # of publication
    citation: str  # authors and where
    helps_when: str  # one sentence
    body: str  # the text
    arxiv: str = ""  # its number there, where it is known for sure
    # Modules of enpire, and files of agents, that do it or part of it.
    implemented_by: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """One line: what it is, who wrote it, what of it is here."""
        number = f", arXiv {self.arxiv}" if self.arxiv else ""
        here = f"; here: {', '.join(self.implemented_by)}" if self.implemented_by else ""
        return f"{self.name}: {self.title} ({self.citation}, {self.year}{number}){here}"


def parsed(name: str, text: str) -> MethodCard:
    """The card in a file's text.

    Raises:
        PackError: it has no head, or the head lacks a key, has another one, or a wrong type.
    """
    parts = re.split(r"^\+\+\+\n", text, maxsplit=2, flags=re.MULTILINE)
    if len(parts) != 3 or parts[0]:
        raise PackError(f"{name}: a card begins with a head between two lines of +++")
    try:
        head = tomllib.loads(parts[1])
    except tomllib.TOMLDecodeError as error:
        raise PackError(f"{name}: its head is no TOML: {error}") from error
    types: dict[str, type] = {
        "title": str,
        "year": int,
        "citation": str,
        "helps_when": str,
        "arxiv": str,
        "implemented_by": list,
    }
    for key, value in head.items():
        if not isinstance(value, types.get(key, type(None))):
            raise PackError(f"{name}: {key} is no key of a card, or of another type")
    needed = {f.name for f in fields(MethodCard)} - {"name", "body", "arxiv", "implemented_by"}
    if missing := needed - head.keys():
        raise PackError(f"{name}: its head lacks {', '.join(sorted(missing))}")
    if "implemented_by" in head:
        head["implemented_by"] = tuple(map(str, head["implemented_by"]))
    return MethodCard(name=name, body=parts[2].strip(), **head)


@cache
def cards() -> tuple[MethodCard, ...]:
    """All cards that come with the harness, by name."""
    found = sorted(shipped("agents", "literature").glob("*.md"))
    return tuple(parsed(path.stem, path.read_text(encoding="utf-8")) for path in found)


def search(query: str, k: int = 4) -> list[MethodCard]:
    """The cards that answer best, `MOST` at most; none where no word of the query is in any."""
    known = cards()
    texts = (f"{' '.join([c.name, c.title] * NAMED)} {c.helps_when} {c.body}" for c in known)
    return [known[at] for at in Bm25Index(list(texts)).best(query, min(k, MOST))]


def cards_text(found: Sequence[MethodCard]) -> str:
    """Cards as text for an agent, quoted."""
    if not found:
        return "No card has any of these words: try the name of a method, or of what goes wrong."
    lines = [f"{len(found)} cards. {NOTE}"]
    for card in found:
        lines += [card.heading, quoted(f"Helps when: {card.helps_when}\n{card.body}", PAGE)]
    return "\n".join(lines)
