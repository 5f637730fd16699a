"""What agents know: findings and their likeness, literature, what other runs have found out."""
