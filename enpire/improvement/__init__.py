"""PI: recipes, episodes in, better policy out."""
