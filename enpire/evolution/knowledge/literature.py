"""Method cards, and searching them: offline by BM25; arXiv too, where it is asked for.

A card is a file of `agents/literature/`: between two lines of `+++` what it is about, as TOML, and
then its text, a page at most. What a search gives is quoted: it is data, never an instruction.
"""

from __future__ import annotations

import http.client
import re
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from enpire.errors import CampaignError, PackError
from enpire.evolution.knowledge.bm25 import Bm25Index
from enpire.packs.finder import shipped
from enpire.sandbox.sanitize import NOTE, one_line, quoted

PAGE = 3000  # characters of a card, at most
MOST = 8  # hits of a search, at most
NAMED = 4  # times that a card's name and title count, beside its text

ARXIV = "https://export.arxiv.org/api/query"
ATOM = "{http://www.w3.org/2005/Atom}"
TIMEOUT = 10.0  # [s]
ANSWER = 1_000_000  # bytes of an answer that are read, at most
ABSTRACT = 1200  # characters of a paper that are shown


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
def cards(folder: Path | None = None) -> tuple[MethodCard, ...]:
    """All cards of a folder, by default of those that come with the harness, by name."""
    found = sorted((folder or shipped("agents", "literature")).glob("*.md"))
    return tuple(parsed(path.stem, path.read_text(encoding="utf-8")) for path in found)


def search(query: str, k: int = 4, among: Sequence[MethodCard] | None = None) -> list[MethodCard]:
    """The cards that answer best, `MOST` at most; none where no word of the query is in any."""
    known = cards() if among is None else among
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


# arXiv


@dataclass(frozen=True, slots=True)
class Paper:
    """What arXiv says of a paper; whatever is in it was written by others."""

    number: str
    title: str
    authors: tuple[str, ...]
    year: int
    abstract: str


def search_arxiv(
    query: str, k: int = 4, *, endpoint: str = ARXIV, timeout: float = TIMEOUT
) -> list[Paper]:
    """The papers that arXiv finds, the most relevant first; for who is allowed a network.

    Raises:
        CampaignError: no word to search for, no network, or an answer that is none.
    """
    words = re.findall(r"[A-Za-z0-9][A-Za-z0-9.+-]*", query)[:12]
    if not words:
        raise CampaignError("nothing to search for: give some words")
    asked = {
        "search_query": " AND ".join(f"all:{word}" for word in words),
        "max_results": str(max(1, min(k, MOST))),
        "sortBy": "relevance",
    }
    url = f"{endpoint}?{urllib.parse.urlencode(asked)}"
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            data = answer.read(ANSWER + 1)
    except urllib.error.HTTPError as error:
        raise CampaignError(f"arXiv answers {error.code}: try again later") from error
    except (OSError, http.client.HTTPException) as error:
        raise CampaignError(
            f"arXiv cannot be reached ({getattr(error, 'reason', error)}): there is no network "
            "here, or not to it; search the cards without it"
        ) from error
    if len(data) > ANSWER:
        raise CampaignError(f"arXiv's answer is longer than {ANSWER} bytes: ask for less")
    return _papers(data)


def papers_shown(found: Sequence[Paper]) -> str:
    """Papers as text for an agent, quoted."""
    if not found:
        return "arXiv has nothing with all of these words: use fewer."
    lines = [f"{len(found)} papers. {NOTE}"]
    for paper in found:
        others = " et al." if len(paper.authors) > 1 else ""
        who = paper.authors[0] + others if paper.authors else "unknown"
        said = f"{paper.title} ({who}, {paper.year}, arXiv {paper.number})\n{paper.abstract}"
        lines.append(quoted(said, ABSTRACT))
    return "\n".join(lines)


def _papers(data: bytes) -> list[Paper]:
    try:
        root = ElementTree.fromstring(data)  # expat itself bounds what entities grow to
        return [_paper(entry) for entry in root.iter(f"{ATOM}entry")]
    except (ElementTree.ParseError, ValueError) as error:
        raise CampaignError(f"arXiv's answer cannot be read ({error})") from error


def _paper(entry: Any) -> Paper:
    def text(name: str) -> str:
        return one_line(entry.findtext(f"{ATOM}{name}") or "", ABSTRACT)

    return Paper(
        number=text("id").rpartition("/")[2],
        title=text("title"),
        authors=tuple(one_line(name.text or "", 80) for name in entry.iter(f"{ATOM}name")),
        year=int(text("published")[:4]),
        abstract=text("summary"),
    )
