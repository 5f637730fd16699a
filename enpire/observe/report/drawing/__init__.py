"""Charts of a report: pure functions from data and a width in pixels to SVG text.

Colours are left to the page's style sheet, by class, so that one drawing does for light and dark.
"""
