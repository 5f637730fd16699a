"""Whether a run was made by this user on this machine, or came from elsewhere.

A run folder may come from anybody, and its `config.toml` may name code by a path: a task pack, an
interpreter, a recipe. So a run gets a mark over its configuration, under a key that never leaves
the user's state folder. Whoever only hands over a folder cannot make that mark.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

ORIGIN = "made_here"  # fact of a ledger: the mark over the configuration
KEY = "made-here.key"
_BYTES = 32


def mark(config: bytes) -> str:
    """The mark of a configuration; empty where no key can be kept."""
    key = _key()
    return hmac.new(key, config, hashlib.sha256).hexdigest() if key else ""


def made_here(config: bytes, facts: Mapping[str, str]) -> bool:
    """Whether the facts of a ledger hold the mark of this configuration."""
    said, own = facts.get(ORIGIN, ""), mark(config)
    return bool(own) and hmac.compare_digest(said.encode(), own.encode())


def code_paths(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings of a run that name code by its path, and not by a name that is looked up here."""
    found = {}
    for name in ("task", "python", "demonstrator", "world", "recipe", "first_recipe"):
        value = str(settings.get(name) or "")
        parts = value.split(",") if name.endswith("recipe") else [value]
        if any(part and is_path(part, name) for part in parts):
            found[name] = value
    return found


def is_path(text: str, setting: str) -> bool:
    """Whether a value of a setting is a path; `gym:a/b` is a name, an interpreter never is."""
    if setting in ("python", "demonstrator"):
        return True
    if text.startswith("gym:"):
        return False
    return os.sep in text or text.startswith(".") or text.endswith(".py")


def _key() -> bytes:
    """The user's key, made at first use; empty where it cannot be read or kept."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state, "enpire", KEY)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            _publish(path, secrets.token_bytes(_BYTES))
        key = path.read_bytes()
        return key if len(key) == _BYTES else b""
    return b""


def _publish(path: Path, key: bytes) -> None:
    """Write a key whole, or not at all: two processes may be the first at one time."""
    if path.exists():
        return
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, key)
    finally:
        os.close(handle)
    try:
        os.link(temporary, path)  # refuses to replace
    finally:
        temporary.unlink()
