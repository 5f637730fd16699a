"""The recipes, a file each."""
