"""What command line and library share: to improve a policy, to measure one, to read a run."""
