"""A run that begins where another one stands, to go on in another way."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enpire.errors import StoreError
from enpire.store.durable import disk_errors, make_folder, publish_folder, temporary_name
from enpire.store.layout import CONFIG, LEDGER, LOCK, LOST, RESULT, RESULT_HASH, SEAL
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.run import Run
from enpire.store.run_folder import config_text, facts_of_config


def branch(source: Path, folder: Path, config: Mapping[str, Any], facts: Mapping[str, str]) -> None:
    """Make `folder` a run that holds all that the run `source` does, under another config.

    facts: of its ledger that differ. The folder appears when it is whole.

    Raises:
        StoreError: `source` is no run or is being written, `folder` is there already, or the disk
            does not take it.
    """
    text = config_text(config)
    unfinished = temporary_name(folder)
    with Run.open(source, writable=True), disk_errors(folder):  # nobody else writes meanwhile
        if folder.exists():
            raise StoreError(f"{folder} is there already: choose a new folder")
        try:
            make_folder(unfinished.parent)
            shutil.copytree(
                source, unfinished, ignore=shutil.ignore_patterns(LOCK, RESULT, LOST, SEAL)
            )
            (unfinished / CONFIG).write_text(text, encoding="utf-8")
            with Ledger(LedgerFile(unfinished / LEDGER, writable=True)) as ledger:
                ledger.set_facts({**facts, **facts_of_config(text), RESULT_HASH: ""})
            publish_folder(unfinished, folder)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
