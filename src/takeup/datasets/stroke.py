"""The patients of the International Stroke Trial, read from the database that its authors publish."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.checks import IntArray, one_of
from takeup.datasets import codings
from takeup.datasets.codings import ALLOWED, ARMS, Coding, Doubt, answered, doubts_about
from takeup.datasets.columns import Columns, DatasetError, read
from takeup.evidence import Evidence
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

Outcome: TypeAlias = Literal["STS", "LTS", "LTR", "S14"]


@dataclass(frozen=True, slots=True)
class Measure:
    """How an outcome is read.

    Attributes:
        column: where it is recorded.
        success: the code of success; every other one is failure.
        clear: the codes that say yes or no.
        allowed: all codes.
        levels: what failure and success are called.
    """

    column: str
    success: str
    clear: tuple[str, ...]
    allowed: tuple[str, ...]
    levels: tuple[str, str]


_ANSWERS = (("Y", "N"), ("Y", "N", "U", ""))

MEASURES: dict[Outcome, Measure] = {
    "STS": Measure("DDEAD", "N", *_ANSWERS, ("died", "alive")),
    "LTS": Measure("FDEAD", "N", *_ANSWERS, ("died", "alive")),
    "LTR": Measure("FRECOVER", "Y", *_ANSWERS, ("not recovered", "recovered")),
    "S14": Measure("ID14", "0", ("0", "1"), ("0", "1"), ("died", "alive")),
}
"""Short-term survival, to discharge or day 14 by the hospital's form; long-term survival and full recovery, at six
months; and survival to day 14 by the date of death, which is known for everybody."""


@dataclass(frozen=True, slots=True, eq=False)
class StrokeTrial:
    """The patients in one coding.

    Attributes:
        coding: how the columns were read.
        proposals: z, the assigned arm of each patient, an index of `space(..).proposals`.
        implemented: a, the arm that each patient got, likewise.
        outcomes: y of each patient by outcome, 1 being success.
        doubts: the patients whose record is not clear, and how it was read.
    """

    coding: Coding
    proposals: IntArray
    implemented: IntArray
    outcomes: Mapping[Outcome, IntArray]
    doubts: tuple[Doubt, ...]

    def counts(self, outcome: Outcome) -> IntArray:
        """n[z, a, y]: how many patients were assigned z, got a and fared y."""
        y = self.outcomes[one_of("outcome", outcome, MEASURES)]
        arms = len(ARMS[self.coding])
        cells = np.ravel_multi_index((self.proposals, self.implemented, y), (arms, arms, 2))
        return np.bincount(cells, minlength=arms * arms * 2).reshape(arms, arms, 2)

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
    allowed = codes_of | {measure.column: measure.allowed for measure in MEASURES.values()}
    columns = read(path, list(allowed))
    _check_whole(columns, patients)
    for column, codes in allowed.items():
        columns.check(column, codes)
    coded = codings.assign(columns.values, coding)
    values = {name: each[coded.kept] for name, each in columns.values.items()}
    doubts = list(coded.doubts)
    outcomes: dict[Outcome, IntArray] = {}
    for outcome, measure in MEASURES.items():
        outcomes[outcome] = answered(values, measure.column, measure.success).astype(np.int64)
        clear: NDArray[np.bool_] = np.isin(np.char.upper(values[measure.column]), measure.clear)
        doubts += doubts_about(values, (measure.column,), ~clear, measure.levels[0])
    for array in (coded.proposals, coded.implemented, *outcomes.values()):
        array.setflags(write=False)
    return StrokeTrial(coding, coded.proposals, coded.implemented, outcomes, tuple(doubts))


def evidence_of(counts: IntArray, outcome: Outcome, coding: Coding) -> Evidence:
    """n[z, a, y] as evidence in which everything was seen."""
    space = Space(ARMS[coding], outcomes=MEASURES[outcome].levels)
    return Evidence(space, np.pad(counts, ((0, 0), (0, 1), (0, 1)))[np.newaxis])


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
