"""When a figure of a cited paper agrees with ours. The rule is fixed here, before any run.

A difference may be four standard errors of both sides together, plus what the figure itself leaves open: half a unit of
its last printed digit, or what cannot be read off a chart.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from takeup.checks import FloatArray
from takeup.paper.agreement import STANDARD_ERRORS, Mean

Basis: TypeAlias = Literal["printed", "read off", "authors' code", "written anew"]
"""Where a figure is from: the text or a table, a chart, the authors' code when run again, or a program that was written
from the paper independently of this one."""


class Published(NamedTuple):
    """A figure as published.

    Attributes:
        value: the figure.
        tolerance: how far it may be from what was measured: rounding, or reading.
        error: its standard error; 0 where that is within the tolerance.
        basis: where it is from.
        note: what has to be known about it.
    """

    value: float
    tolerance: float
    error: float
    basis: Basis
    note: str = ""


@dataclass(frozen=True, slots=True)
class Sourced:
    """Something from a paper; `source` names the paper and the place in it."""

    source: str

    @property
    def paper(self) -> str:
        """Authors and year."""
        return self.source.partition(",")[0]


@dataclass(frozen=True, slots=True)
class FigureComparison(Sourced):
    """A published figure beside ours.

    Attributes:
        experiment: what was run.
        policy: the policy's name, or the arm's.
        quantity: what was measured.
        published: the published figure.
        measured: ours; `mcse` is its Monte Carlo error.
    """

    experiment: str
    policy: str
    quantity: str
    published: Published
    measured: float
    mcse: float

    @property
    def allowed(self) -> float:
        """How far the two may be apart: the tolerance and four standard errors of both sides."""
        return self.published.tolerance + STANDARD_ERRORS * float(np.hypot(self.mcse, self.published.error))

    @property
    def distance(self) -> float:
        """How far ours is above the published one, as a share of what is allowed."""
        return (self.measured - self.published.value) / self.allowed

    @property
    def agrees(self) -> bool:
        """Whether the difference is at most what is allowed."""
        return abs(self.measured - self.published.value) <= self.allowed

    def as_json(self) -> dict[str, Any]:
        """For machines, the verdict included."""
        judged = {"allowed": self.allowed, "agrees": self.agrees}
        return asdict(self) | {"published": self.published._asdict()} | judged


@dataclass(frozen=True, slots=True)
class Statement(Sourced):
    """What a paper says in words, whether our runs confirm it, the figures that decided, and by which rule."""

    claim: str
    holds: bool
    found: str
    rule: str


LARGER = f"the difference is of the right sign by more than {STANDARD_ERRORS:g} standard errors"
AT_MOST = f"it is not exceeded by more than {STANDARD_ERRORS:g} standard errors"
COMPUTED = "by computation, without a run"


def larger(source: str, claim: str, one: Mean, other: Mean, names: tuple[str, str]) -> Statement:
    """That one mean is larger than another."""
    margin = one.value - other.value
    holds = margin > STANDARD_ERRORS * float(np.hypot(one.error, other.error))
    return Statement(source, claim, holds, f"{names[0]} {one}, {names[1]} {other}", LARGER)


def ahead(source: str, claim: str, one: FloatArray, other: FloatArray, names: tuple[str, str]) -> Statement:
    """That one mean is larger than another, of runs on the same patients: the error is that of the difference."""
    margin = Mean.of(one - other)
    found = f"{names[0]} {Mean.of(one)}, {names[1]} {Mean.of(other)}, difference {margin}"
    return Statement(source, claim, margin.value > STANDARD_ERRORS * margin.error, found, LARGER)


def at_most(source: str, claim: str, one: Mean, factor: float, other: Mean, names: tuple[str, str]) -> Statement:
    """That one mean is at most `factor` times another."""
    margin = one.value - factor * other.value
    holds = margin <= STANDARD_ERRORS * float(np.hypot(one.error, factor * other.error))
    return Statement(source, claim, holds, f"{names[0]} {one}, {names[1]} {other}", AT_MOST)
