"""Agents that draft task packs: in a sandbox, checked and certified by the harness, for a person to
sign."""

from enpire.evolution.drafting.extraction import DraftError
from enpire.evolution.drafting.session import Drafting, DraftRequest

__all__ = ["DraftError", "DraftRequest", "Drafting"]
