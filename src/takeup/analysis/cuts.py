"""Into which groups a covariate puts people: levels of a category, thirds of a measure or what lies between cuts."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.covariates import ONE, Category, Covariates, Measure
from takeup.covariates.kinds import MISSING
from takeup.errors import InputError
from takeup.log import Log

Cuts = Mapping[str, Sequence[float]]
"""Of some measures, where one group ends and the next begins: the first value of the latter."""


class Part(NamedTuple):
    """A group: what it is called, and which decisions are of it, (.., n)."""

    label: str
    rows: NDArray[np.bool_]


def parts(log: Log, name: str, cuts: Cuts | None = None) -> list[Part]:
    """The groups of one covariate, those without anybody left out."""
    covariates = log.space.covariates
    assert covariates is not None
    assert log.features is not None
    kind, (first, last) = covariates.kind(name), _place(covariates, name)
    own = log.features[..., first:last]
    lost = own[..., -1] == ONE if kind.missing == "kept" else np.zeros(own.shape[:-1], dtype=np.bool_)
    if isinstance(kind, Category):
        found = _levels(kind, own)
    else:
        assert isinstance(kind, Measure)
        found = _ranges(name, kind, own[..., 0], lost, cuts)
    every = [Part(label, rows & ~lost) for label, rows in found] + [Part(MISSING, lost)]
    return [each for each in every if each.rows.any()]


def check_cuts(log: Log, cuts: Cuts | None) -> None:
    """An InputError for cuts of what is no measure, or that are not within its range in their order."""
    covariates = log.space.covariates
    for name, given in (cuts or {}).items():
        known = (
            []
            if covariates is None
            else [
                each for each, kind in zip(covariates.names, covariates.kinds, strict=True) if isinstance(kind, Measure)
            ]
        )
        if name not in known:
            allowed = f"one of the measures {', '.join(known)}" if known else "nothing: the log has no measures"
            raise InputError("cuts", checks.shown(name), allowed)
        assert covariates is not None
        kind = covariates.kind(name)
        assert isinstance(kind, Measure)
        numbers = checks.real(f"cuts.{name}", given)
        inside = numbers.size and numbers.ndim == 1 and kind.low < numbers.min() and numbers.max() <= kind.high
        if not inside or (np.diff(numbers) <= 0).any():
            allowed = (
                f"rising numbers above {kind.low:g} and up to {kind.high:g}, the first of each group but the lowest"
            )
            raise InputError(f"cuts.{name}", checks.shown(list(given)), allowed)


def _place(covariates: Covariates, name: str) -> tuple[int, int]:
    """Where the features of a covariate are."""
    widths = [len(kind.parts) for kind in covariates.kinds]
    place = covariates.names.index(name)
    first = 1 + sum(widths[:place])
    return first, first + widths[place]


def _levels(kind: Category, own: NDArray[np.int16]) -> list[Part]:
    many = len(kind.levels) - 1
    named = own[..., :many] == ONE
    return [
        Part(kind.levels[0], ~named.any(axis=-1)),
        *(Part(level, named[..., k]) for k, level in enumerate(kind.levels[1:])),
    ]


def _ranges(name: str, kind: Measure, own: NDArray[np.int16], lost: NDArray[np.bool_], cuts: Cuts | None) -> list[Part]:
    """Thirds of those who came, as nearly as values allow, or what lies between cuts."""
    width = kind.high - kind.low
    if cuts is not None and name in cuts:
        ends = [float(each) for each in cuts[name]]
        marks = [int(np.ceil(ONE * (each - kind.low) / width - 0.5)) for each in ends]
    else:
        marks = _thirds(own[~lost])
        ends = [float(kind.value([mark])) for mark in marks]
    unit = f" {kind.unit}" if kind.unit else ""
    edges = [-1, *marks, ONE + 1]
    names = [f"below {ends[0]:g}{unit}"] if ends else [f"all{unit}"]
    names += [f"{low:g} to below {high:g}{unit}" for low, high in pairwise(ends)]
    names += [f"{ends[-1]:g}{unit} or more"] if ends else []
    ranges = zip(names, pairwise(edges), strict=True)
    return [Part(label, (own >= low) & (own < high)) for label, (low, high) in ranges]


def _thirds(own: NDArray[np.int16]) -> list[int]:
    """The features from which the second and the last third begin; fewer where most have the same value."""
    if not own.size:
        return []
    values, many = np.unique(own, return_counts=True)
    before = np.concatenate([[0], np.cumsum(many)[:-1]]) / own.size  # the share of those below each value
    found = {int(np.argmin(np.abs(before - share))) for share in (1 / 3, 2 / 3)}
    return [int(values[k]) for k in sorted(found) if k > 0]
