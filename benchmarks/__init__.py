"""Benches of `enpire bench` that need a checkout: the documents report what they measure."""
