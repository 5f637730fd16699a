"""The package's version, the same as in `pyproject.toml`: a file of its own, for every layer."""

__version__ = "0.1.0"
