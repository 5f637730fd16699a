"""Simulated stations: a task's twin in a process of its own, in real time, behind a wire."""
