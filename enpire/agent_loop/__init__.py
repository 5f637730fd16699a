"""An agent in a plain loop: a model says which tools to call, and is told what came of them.

A program of its own, which runs in a sandbox (`enpire/evolution/agents/programs.py`) and imports
nothing of the harness: it meets the campaign by MCP alone, and its model by the proxy alone,
without a key.
"""
