"""Datasets of CDISC: variables with their labels, and rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["string", "integer", "float", "date", "datetime"]
"""What a variable holds, as Dataset-JSON says it; a date of ADaM is a number in SAS, a date and time of SDTM a text."""

Cell: TypeAlias = str | int | float | None
"""A value; dates are ISO 8601, and None is missing."""

Columns: TypeAlias = Mapping["Variable", Sequence[Cell]]
"""Variables in their order, each with its values."""

DATE_FORMAT = "DATE9."
"""How SAS shows its numbers of days."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable.

    Attributes:
        name: at most eight letters and digits.
        label: at most 40 characters.
        kind: what it holds.
        says: where its values come from.
        key: its place among the variables that tell rows apart.
    """

    name: str
    label: str
    kind: Kind
    says: str
    key: int | None = None

    @property
    def numeric(self) -> bool:
        """Whether it is a number in SAS."""
        return self.kind in ("integer", "float", "date")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset.

    Attributes:
        name: such as DM.
        label: what it is, in at most 40 characters.
        variables: in their order.
        rows: a value for each variable.
    """

    name: str
    label: str
    variables: tuple[Variable, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, name: str, label: str, columns: "Columns") -> "Dataset":
        """A dataset of columns."""
        return cls(name, label, tuple(columns), tuple(zip(*columns.values(), strict=True)))

    def column(self, name: str) -> list[Cell]:
        """The values of a variable."""
        place = [variable.name for variable in self.variables].index(name)
        return [row[place] for row in self.rows]

    def lengths(self) -> Iterator[int | None]:
        """How long the longest text of each variable is, at least 1; None of numbers."""
        for variable in self.variables:
            texts = [] if variable.numeric else self.column(variable.name)
            yield None if variable.numeric else max([1, *(len(str(text)) for text in texts if text is not None)])
