"""Simulated stations, and the phases of an episode: reset, execute, verify."""
