"""Logs from data frames of somebody else's trial: polars or pandas, a row a decision."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from takeup.errors import UnsuitableError
from takeup.log.table import Log
from takeup.space import Space

Frame: TypeAlias = Any
"""A polars or a pandas data frame."""


def log_of(
    frame: Frame,
    *,
    assigned: str,
    outcome: str,
    taken: str | None = None,
    context: str | None = None,
    probability: "str | list[str] | Mapping[str, float] | None" = None,
    unit: str | None = None,
    space: Space | None = None,
) -> Log:
    """The log of a frame."""
    raise UnsuitableError("not yet")
