"""The version of takeup, in one place for the build and for every result."""

__version__ = "0.2.0.dev0"
"""Of this takeup."""
