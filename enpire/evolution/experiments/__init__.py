"""Experiments: what one is, what it came to, and what a campaign's events say of all of them."""
