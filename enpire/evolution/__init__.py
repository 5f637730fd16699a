"""Coding agents that improve recipes; so far, what they stand on: the sandbox and its ways out."""
