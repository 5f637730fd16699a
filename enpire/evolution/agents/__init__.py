"""Agents: programs of the command line and the tuner, with their tools and workspaces."""
