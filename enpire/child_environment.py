"""The environment that a child process gets: this one's, without keys.

A trainer, a gym worker, a supervisor or a helper's command needs no key of a model's API, and each
runs code that others wrote. Agents' programs get an environment of their own (`evolution/sandbox`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping

WORDS = frozenset(
    {
        *("apikey", "credential", "credentials", "key", "keys", "pass", "passphrase", "passwd"),
        *("password", "secret", "secrets", "token", "tokens"),
    }
)
"""A variable with one of these among the parts of its name is taken for a secret."""

ENDINGS = ("apikey", "password", "secret", "token")

_named: set[str] = set()


def is_secret(name: str) -> bool:
    """Whether a variable is kept from children, by its name: `ANTHROPIC_API_KEY`, `HF_TOKEN`."""
    low = name.lower()
    return name in _named or not WORDS.isdisjoint(low.split("_")) or low.endswith(ENDINGS)


def keep_from_children(name: str) -> None:
    """Name a variable that holds a secret, whatever it is called."""
    _named.add(name)


def named_secrets() -> dict[str, str]:
    """The variables that were named to `keep_from_children` and are set: keys of our own agents."""
    return {name: os.environ[name] for name in _named if name in os.environ}


def child_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """All variables of this process that are no secrets, and `more`."""
    return {name: value for name, value in os.environ.items() if not is_secret(name)} | dict(
        more or {}
    )
