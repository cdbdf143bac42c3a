"""Features as they are passed around."""

from typing import TypeAlias

from takeup.checks import IntArray

Features: TypeAlias = tuple[int, ...] | IntArray
"""The features of one unit, or an array (.., d) of them, one row for each of many replications side by side."""
