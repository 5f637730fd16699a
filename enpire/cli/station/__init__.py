"""`enpire station ...`: stations of a run, and stations with arms."""
