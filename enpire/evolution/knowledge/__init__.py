"""What agents know: findings and their similarity, literature, what other runs have found out."""
