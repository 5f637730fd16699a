"""A run's folder: what it is called, how it is laid out, and what is asked for in it."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import tomli_w

from enpire.errors import StoreError
from enpire.store import schema
from enpire.store.durable import disk_errors, publish_file
from enpire.store.layout import CONFIG, CONFIG_HASH, EPISODES, LEDGER, LOCK, POLICIES
from enpire.store.lock import is_held
from enpire.store.origin import ORIGIN, mark
from enpire.store.orphans import batches_on_disk


def default_folder(task: str, root: Path = Path("runs"), day: date | None = None) -> Path:
    """The first free `runs/<YYYYMMDD>-<task>-<n>`, counting from 1; today unless `day` is given."""
    stem = f"{day or date.today():%Y%m%d}-{task}"
    number = 1
    while (root / f"{stem}-{number}").exists():
        number += 1
    return root / f"{stem}-{number}"


def is_run(folder: Path) -> bool:
    """Whether a folder is a run, or what is left of one."""
    return any((folder / name).exists() for name in (LEDGER, CONFIG, EPISODES))


def under_way(folder: Path) -> bool:
    """Whether a process writes to the run in `folder` now."""
    return is_held(folder / LOCK)


def lay_out(folder: Path, config: str) -> None:
    """Fill an empty folder, or leave it empty: a full disk must not spoil the name."""
    try:
        with disk_errors(folder):
            (folder / EPISODES).mkdir()
            (folder / POLICIES).mkdir()
        publish_file(folder / CONFIG, config.encode())
        schema.create(folder / LEDGER, facts_of_config(config))
    except StoreError:
        for name in (EPISODES, POLICIES):
            shutil.rmtree(folder / name, ignore_errors=True)
        (folder / CONFIG).unlink(missing_ok=True)
        raise


def require_run(folder: Path) -> None:
    """Raise StoreError for a folder that is no whole run; it says what is there instead."""
    if not folder.is_dir():
        raise StoreError(f"there is no run at {folder}: check the path, or start a new run")
    ledger = folder / LEDGER
    if ledger.is_file() and ledger.stat().st_size:
        for needed in (CONFIG, EPISODES, POLICIES):
            if not (folder / needed).exists():
                raise StoreError(f"{folder} lacks {needed}: copy it from a copy of the run")
        return
    if count := len(batches_on_disk(folder)):
        raise StoreError(
            f"{ledger} is missing or empty, and {count} batches of episodes are beside it: "
            f"enpire fsck {folder} --repair makes a ledger again from them"
        )
    if ledger.exists() or (folder / CONFIG).exists() or (folder / EPISODES).exists():
        raise StoreError(
            f"{folder} is a run that was never fully created ({LEDGER} is missing or empty): "
            "it holds no record; remove the folder and start again"
        )
    raise StoreError(f"{folder} is not a run folder (it has no {LEDGER}): check the path")


def facts_of_config(text: str) -> dict[str, str]:
    """What a ledger says of the configuration it goes with."""
    return {CONFIG_HASH: hashlib.sha256(text.encode()).hexdigest(), ORIGIN: mark(text.encode())}


def config_text(config: Mapping[str, Any]) -> str:
    """What `config.toml` holds; raises StoreError for what TOML has no word for."""
    try:
        return tomli_w.dumps(config)
    except (TypeError, ValueError) as error:
        raise StoreError(f"the configuration cannot be written as TOML: {error}") from error


def read_config(path: Path) -> dict[str, Any]:
    """Return what a `config.toml` says; raises StoreError if it does not parse."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(
            f"{path} does not parse ({error}): correct it, or take the one of a copy of the run"
        ) from error
