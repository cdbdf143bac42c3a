"""The patients of the International Stroke Trial, read from the database that its authors publish."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from takeup.checks import IntArray, one_of
from takeup.datasets import codings
from takeup.datasets.codings import ALLOWED, ARMS, Coding, Doubt
from takeup.datasets.columns import Columns, DatasetError, read
from takeup.datasets.measures import MEASURES, Outcome
from takeup.environment import Environment
from takeup.evidence import Evidence
from takeup.outcomes import UNSEEN
from takeup.space import Space

ATTRIBUTION = (
    "Sandercock P, Niewada M, Czlonkowska A (2011). International Stroke Trial database (version 2)."
    " University of Edinburgh, doi 10.7488/ds/104, Open Data Commons Attribution licence (ODC-By)."
    " Described in Sandercock et al., Trials 12:101 (2011). The trial: International Stroke Trial Collaborative Group,"
    " Lancet 349:1569-1581 (1997)."
)
"""Where the figures come from."""

PATIENTS = 19_435
"""Patients who were randomised, all of whom are in the published file."""


@dataclass(frozen=True, slots=True, eq=False)
class StrokeTrial:
    """The patients in one coding.

    Attributes:
        coding: how the columns were read.
        proposals: z, the assigned arm of each patient, an index of `space(..).proposals`.
        implemented: a, the arm that each patient got, likewise.
        outcomes: y of each patient by outcome: the index of a level, 1 being success where there are two, or the code
            of a time; UNSEEN where the patient is left out.
        doubts: the patients whose record is not clear, and how it was read.
        kept: which of the file's patients these are.
    """

    coding: Coding
    proposals: IntArray
    implemented: IntArray
    outcomes: Mapping[Outcome, IntArray]
    doubts: tuple[Doubt, ...]
    kept: NDArray[np.bool_]

    def counts(self, outcome: Outcome) -> IntArray:
        """n[z, a, y]: how many patients were assigned z, got a and fared y."""
        y = self.outcomes[one_of("outcome", outcome, MEASURES)]
        arms, seen = len(ARMS[self.coding]), y != UNSEEN
        shape = (arms, arms, MEASURES[outcome].outcome.size)
        cells = np.ravel_multi_index((self.proposals[seen], self.implemented[seen], y[seen]), shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    def evidence(self, outcome: Outcome) -> Evidence:
        """The counts as evidence, with the names of arms and outcomes."""
        return evidence_of(self.counts(outcome), outcome, self.coding)


def ist(path: str | Path, coding: Coding = "paper", *, patients: int | None = PATIENTS) -> StrokeTrial:
    """Read the International Stroke Trial database: all 112 columns, or a file with only those needed.

    Args:
        path: the CSV file, plain or gzip.
        coding: what the columns mean: "paper" for Stirn & Jebara (2019), "as-treated" for what was given,
            "recorded-aspirin" and "recorded-heparin" for Della Penna et al. (2016).
        patients: how many the file must hold, so that one that was cut off between two lines is noticed; None for a
            part of it.

    Raises:
        DatasetError: a file that cannot be read, is damaged, or holds something else. It names line and value.
    """
    codes_of = ALLOWED[one_of("coding", coding, ALLOWED)]
    allowed: dict[str, Sequence[str] | None] = {**codes_of}
    for measure in MEASURES.values():
        allowed |= measure.columns
    columns = read(path, list(allowed))
    _check_whole(columns, patients)
    for column, codes in allowed.items():
        columns.check(column, codes)
    coded = codings.assign(columns.values, coding)
    values = {name: each[coded.kept] for name, each in columns.values.items()}
    doubts = list(coded.doubts)
    outcomes: dict[Outcome, IntArray] = {}
    for outcome, measure in MEASURES.items():
        outcomes[outcome], unclear = measure.read(values)
        doubts += unclear
    for array in (coded.proposals, coded.implemented, *outcomes.values()):
        array.setflags(write=False)
    return StrokeTrial(coding, coded.proposals, coded.implemented, outcomes, tuple(doubts), coded.kept)


def space_of(outcome: Outcome, coding: Coding) -> Space:
    """The arms and the outcome, with their names."""
    return Space(ARMS[coding], outcomes=MEASURES[outcome].outcome)


def evidence_of(counts: IntArray, outcome: Outcome, coding: Coding) -> Evidence:
    """n[z, a, y] as evidence in which everything was seen."""
    space = space_of(outcome, coding)
    statistic = counts @ space.outcome.amounts(np.arange(space.outcome.size))
    return Evidence(space, np.pad(statistic, ((0, 0), (0, 1), (0, 0)))[np.newaxis])


def environment_of(counts: IntArray, outcome: Outcome, coding: Coding) -> Environment:
    """The patients as they are: what happened to those who were assigned z is what happens."""
    return Environment.from_counts(space_of(outcome, coding), counts[np.newaxis])


def _check_whole(columns: Columns, patients: int | None) -> None:
    found = len(columns.lines)
    if found == 0 or (patients is not None and found != patients):
        line = columns.lines[-1] if found else 1
        wanted = f"{patients:,}" if patients is not None else "at least one"
        raise DatasetError(
            f"{columns.path}, line {line}",
            f"the last of {found:,} patients",
            wanted,
            "fetch the file again, or pass patients=None to read a part",
        )
