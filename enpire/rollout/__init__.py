"""Rollout: a fleet of stations kept busy, and the statistics of what it saw."""
