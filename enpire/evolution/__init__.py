"""Agents change code, the harness decides: experiments, what is known, what is tried next."""
