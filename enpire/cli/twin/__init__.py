"""`enpire twin ...`: an arm's dynamics from what it did, and how far a twin is from it."""
