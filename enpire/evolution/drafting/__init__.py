"""Agents that draft task packs: in a sandbox, checked and certified by the harness, for a person to
sign."""

from enpire.evolution.drafting.session import Drafting, DraftRequest
from enpire.evolution.drafting.taking import DraftError

__all__ = ["DraftError", "DraftRequest", "Drafting"]
