"""What a round collects: where it begins, when it ends, who helps, who learns meanwhile."""
