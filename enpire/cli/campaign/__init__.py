"""`enpire campaign ...` and `enpire ablate`: agents that propose experiments, alone or compared."""
