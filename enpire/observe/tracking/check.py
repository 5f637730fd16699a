"""Whether the event files of a run can be read; nothing of a run depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from enpire.observe.tracking.events import event_files, read_scalars
from enpire.store.fsck import Damage
from enpire.store.layout import TENSORBOARD

REMEDY = f"remove {TENSORBOARD}/: the run's next start writes all of it again"


def damaged_events(run: Path) -> Iterator[Damage]:
    """Yield the event files of a run that are not what was written."""
    for path in event_files(run / TENSORBOARD):
        try:
            for _ in read_scalars(path):
                pass
        except (OSError, ValueError) as error:
            yield Damage(path.relative_to(run).as_posix(), str(error), REMEDY)
