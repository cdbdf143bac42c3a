"""The second core table: decisions in order, with the probabilities that every proposal had."""

from takeup.log.files import read_log
from takeup.log.table import SOURCES, Log

__all__ = [
    "SOURCES",
    "Log",
    "read_log",
]
