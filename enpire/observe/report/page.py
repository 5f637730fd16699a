"""The page: sections of HTML, in the order in which a person asks, and one template around them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from html import escape
from importlib import resources
from string import Template

from enpire.observe.report import episode_sections, result_sections
from enpire.observe.report.reading import RunReport

Section = Callable[[RunReport], str]

ORDER: tuple[Section, ...] = (
    result_sections.answer,
    result_sections.lineage,
    result_sections.success,
    result_sections.experiments,
    episode_sections.failures,
    episode_sections.conditions,
    episode_sections.stations,
    episode_sections.verifier,
    episode_sections.incidents,
    episode_sections.decisions,
    result_sections.repeat_section,
)


def page(report: RunReport) -> str:
    """Return the whole report as one HTML document that needs no other file."""
    body = "\n".join(text for section in ORDER if (text := section(report)))
    script = _file("page.js")
    # No other script may run: a page quotes what agents wrote.
    digest = hashlib.sha256(script.encode()).digest()
    return Template(_file("page.html")).substitute(
        title=escape(f"{report.summary.task}: {result_sections.headline(report.summary)}"),
        style=_file("page.css"),
        body=body,
        script=script,
        script_hash=f"sha256-{base64.b64encode(digest).decode()}",
    )


def _file(name: str) -> str:
    return resources.files("enpire.observe.report").joinpath(name).read_text(encoding="utf-8")
