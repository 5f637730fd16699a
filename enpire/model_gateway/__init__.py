"""The one way from a sandbox to its model: what may pass, what it has used, what that costs."""
