"""Gymnasium environments as stations, and functions as policies."""
