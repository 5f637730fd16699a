"""Recipes and policies that are agents' code: trained and run in sandboxes of their own."""
