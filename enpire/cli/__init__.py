"""The command line: `enpire VERB ...`. Each verb has a module here or in a room below."""

from __future__ import annotations

from enpire.cli.command_line import main

__all__ = ["main"]
