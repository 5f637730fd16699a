"""Stations and trainers on other machines, as actors of a Ray cluster.

Nothing is imported here: a station's process takes what a station needs, and no more.
"""
