"""Options that several verbs have, and how all of them are read."""
