"""What there is to know of one episode, as HTML: the evidence of its verdict, critics' values."""

from __future__ import annotations

import math
from pathlib import Path

from enpire.observe.report.drawing.critic_chart import critic_chart
from enpire.observe.report.markup import chart, legend, paragraph, table
from enpire.store import Run
from enpire.store.episodes import read_episode
from enpire.types import Predicate


def episode_html(folder: Path, number: int) -> str | None:
    """Return an episode of the run in `folder` as HTML; None where it has none of that number.

    number: of the episode, as the ledger counts.

    Raises:
        StoreError: it cannot be read.
    """
    from enpire.observe.critic_values import stored_critics, values_by  # takes seconds at first

    with Run.glance(folder) as run:
        rows = [row for at, row in run.ledger.episodes_since(number - 1)[:1] if at == number]
        if not rows:
            return None
        row, predicates = rows[0], run.ledger.predicates(rows[0].id)
        critics = stored_critics(run, row.policy)
    head = ("predicate", "state", "value", "threshold", "margin")
    parts = [table(head, [_line(one) for one in predicates], (2, 3, 4))] if predicates else []
    found = critics and values_by(critics, read_episode(folder / row.path, row.index))
    if found and len(found.periods):
        parts += [
            paragraph(f"What the critics of {found.policy} expect at each decision", "soft"),
            legend(
                [
                    ('<path class="chosen" d="M0 6H22"/>', "of the chunk that was carried out"),
                    ('<path class="base" d="M0 6H22"/>', "of what the base draws there"),
                ]
            ),
            chart(lambda width: critic_chart(found, width)),
        ]
    parts.append(paragraph(f"enpire replay {folder} {row.id}", "command"))
    return "\n".join(parts)


def _line(one: Predicate) -> tuple[str, ...]:
    def number(value: float) -> str:
        return f"{value:.4g} {one.unit}".rstrip() if math.isfinite(value) else "–"

    state = str(one.state)
    return one.name, state, number(one.value), number(one.threshold), number(one.margin)
