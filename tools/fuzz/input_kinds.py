"""..."""

TARGETS = []
