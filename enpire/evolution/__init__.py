"""Agents that improve recipes: campaigns and ablations, what they know, audits, drafts of tasks."""
