"""The verbs of the command line, a module each: DESCRIPTION, `add_options`, `run`."""
