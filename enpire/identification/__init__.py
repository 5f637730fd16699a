"""Twins that match: an arm's dynamics from what it was sent and what it did."""
