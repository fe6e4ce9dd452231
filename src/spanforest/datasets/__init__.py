"""Data sets: generated, read from files, and by name."""

from spanforest.datasets._circle import make_circle

__all__ = ["make_circle"]
