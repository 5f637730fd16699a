"""Agents that improve recipes: campaigns and ablations, the sandbox and its ways out."""
