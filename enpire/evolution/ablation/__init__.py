"""Ablations: campaigns side by side that differ in one thing, and how they compare."""
