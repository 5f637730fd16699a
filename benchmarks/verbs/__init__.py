"""Subjects of `enpire bench`, a module each: `add_options` where it has some, `run`."""
