"""What is shown of a policy: seeds, comparisons, sealed evaluations, statistics."""
