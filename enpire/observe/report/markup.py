"""Pieces of HTML that several sections are made of. What they are given is escaped here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from enpire.types import Estimate

WIDE, NARROW = 1000.0, 350.0  # widths that charts are drawn in, for a desk and for a phone [px]


def section(title: str, *parts: str) -> str:
    """Return a section; parts: HTML, of which empty ones are left out."""
    body = "\n".join(part for part in parts if part)
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>"


def paragraph(words: str, class_: str = "") -> str:
    """Return a paragraph of plain words."""
    attribute = f' class="{class_}"' if class_ else ""
    return f"<p{attribute}>{escape(words)}</p>"


def chart(draw: Callable[[float], str], wide: float = WIDE) -> str:
    """Return a chart in both widths, of which the style sheet shows the one that fits."""
    return (
        f'<figure><div class="wide">{draw(wide)}</div>'
        f'<div class="narrow">{draw(NARROW)}</div></figure>'
    )


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Return a legend; entries: an SVG shape in a box of 22 by 12, and its words."""
    items = "".join(
        f'<li><svg width="22" height="12" viewBox="0 0 22 12" aria-hidden="true">{shape}</svg>'
        f"{escape(words)}</li>"
        for shape, words in entries
    )
    return f'<ul class="legend">{items}</ul>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return a table of plain words; numbers: columns that are set to the right."""

    def cell(tag: str, at: int, words: str) -> str:
        class_ = "n" if at in numbers else "words" if tag == "td" and len(words) > 40 else ""
        attribute = f' class="{class_}"' if class_ else ""
        return f"<{tag}{attribute}>{escape(words)}</{tag}>"

    top = "".join(cell("th", at, words) for at, words in enumerate(head))
    body = "".join(
        "<tr>" + "".join(cell("td", at, words) for at, words in enumerate(row)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def folded(summary: str, *parts: str) -> str:
    """Return what is shown when somebody asks for it; parts: HTML."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def percent(measured: Estimate) -> str:
    """Return a rate for a headline: `95.0%`."""
    return f"{measured.rate:.1%}" if measured.trials else "not measured"


def interval(measured: Estimate) -> str:
    """Return its 95% interval and count: `86.1 to 99.0%, of 60`."""
    if not measured.trials:
        return ""
    return f"{100 * measured.low:.1f} to {measured.high:.1%}, of {measured.trials}"


def count_of(number: int, noun: str) -> str:
    """Return a number of something: `1 round`, `1,200 episodes`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def sentence(words: str) -> str:
    """Return words as a sentence: with a capital, and a full stop."""
    return words[0].upper() + words[1:] + ("" if words.endswith(".") else ".")
