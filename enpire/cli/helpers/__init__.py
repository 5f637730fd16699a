"""What several verbs do: run others of them, say how something ended, write a page."""
