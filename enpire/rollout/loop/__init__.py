"""The loop of rounds, and when it ends."""
