"""Writing the report of a run: asked for by a person, or by itself when a run ends."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.session.loop_settings import BUDGETS, FIRST, HELPER, RECIPE, SETTINGS, as_option, flag

if TYPE_CHECKING:
    from enpire.store import Run

FILE = "report.html"  # in the run's folder


def write_report(run: Run, path: Path | None = None, frames: bool = True) -> Path:
    """Write the report of a run as one HTML file; returns where it is.

    Args:
        run: open for reading or writing.
        path: of the file; by default beside the run's other files.
        frames: have failures carried out again, for pictures of them.

    Raises:
        EnpireError: the run cannot be read, or the file cannot be written.
    """
    from enpire.observe.report.page import page
    from enpire.observe.report.reading import read_report
    from enpire.observe.report.strips import with_strips
    from enpire.store.durable import disk_errors, publish_file

    campaign = None
    if "campaign" in run.config:
        from enpire.evolution.experiments.experiment_tree import experiment_tree

        campaign = experiment_tree(run)
    report = read_report(run, command_of(run.config), campaign)
    if frames:
        report = with_strips(report, run)
    path = path or run.folder / FILE
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    publish_file(path, page(report).encode())
    return path


def report_line(run: Run) -> str:
    """Write the report of a run that has ended; returns a line that says where it is, or why not.

    A run that has ended is not spoilt by a report that cannot be written.
    """
    began = time.monotonic()
    try:
        path = write_report(run)
    except Exception as error:
        again = f"enpire report {run.folder} tries again"
        return f"report: not written ({type(error).__name__}: {error}); {again}"
    return f"report: {path} ({time.monotonic() - began:.1f} s)"


def command_of(config: Mapping[str, Any]) -> str:
    """Return the command that does a run again; empty where its config does not say.

    config: as in the run's `config.toml`. Of a loop only what differs from the defaults is given.
    """
    if "command" in config.get("campaign", {}):
        return shlex.join(config["campaign"]["command"])
    if "loop" not in config or "task" not in config["loop"]:
        return ""
    settings: Mapping[str, Any] = config["loop"]
    words = ["enpire", "loop", "--task", str(settings["task"])]
    for name, (read, default, _) in SETTINGS.items():
        value = settings.get(name)
        if value is None or value == read(default):
            continue
        words += [flag(name)] if read is bool else as_option(name, value)
    for begin, name in ((RECIPE, "recipe"), (FIRST, "first_recipe"), (HELPER, "helper")):
        for key, value in settings.get(f"{name}_settings", {}).items():
            words += [f"{begin}{key}", str(value)]
    for name, value in config.get("budget", {}).items():
        if name in BUDGETS:
            words += as_option(name, value)
    return shlex.join(words)
