"""Four ways to read assigned and implemented treatment from the columns of the International Stroke Trial.

| coding | arms | implemented |
|---|---|---|
| paper | aspirin x heparin | as in Stirn & Jebara (2019): heparin counts as assigned unless another dose was given |
| as-treated | aspirin x heparin | what is recorded as given, and nothing else |
| recorded-aspirin | aspirin | as in Della Penna et al. (2016): the opposite of what was assigned where CMPLASP is N |
| recorded-heparin | heparin | likewise by CMPLHEP: medium and low become none, none becomes low |
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.checks import IntArray

Coding: TypeAlias = Literal["paper", "as-treated", "recorded-aspirin", "recorded-heparin"]
"""What counts as taken: docs/datasets.md says what each makes of the records."""

Values: TypeAlias = Mapping[str, NDArray[np.str_]]
Mask: TypeAlias = NDArray[np.bool_]

_ASPIRIN = ("no aspirin", "aspirin")
_HEPARIN = ("no heparin", "medium heparin", "low heparin")
_NONE, _MEDIUM, _LOW = range(3)
_BOTH = tuple(f"{aspirin}, {heparin}" for aspirin in _ASPIRIN for heparin in _HEPARIN)

ARMS: dict[Coding, tuple[str, ...]] = {
    "paper": _BOTH,
    "as-treated": _BOTH,
    "recorded-aspirin": _ASPIRIN,
    "recorded-heparin": _HEPARIN,
}
"""The arms in the order of the paper's matrix, in which medium comes before low."""

_ANSWERS = ("Y", "N", "U", "")

_ASSIGNED: dict[str, tuple[str, ...]] = {"RXASP": ("Y", "N"), "RXHEP": ("N", "L", "M", "H")}
_GIVEN = _ASSIGNED | dict.fromkeys(("DASP14", "DLH14", "DMH14", "DHH14"), _ANSWERS)
_COMPLIED = _ASSIGNED | dict.fromkeys(("CMPLASP", "CMPLHEP"), ("Y", "N", ""))

ALLOWED: dict[Coding, dict[str, tuple[str, ...]]] = {
    "paper": _GIVEN,
    "as-treated": _GIVEN,
    "recorded-aspirin": _COMPLIED,
    "recorded-heparin": _COMPLIED,
}
"""The columns that a coding reads and their codes; U and an empty field mean unknown. In RXHEP the pilot wrote H for
M."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Patients whose record does not say, contradicts itself, or is overruled by the coding.

    Attributes:
        columns: the columns in question.
        codes: what they hold; an empty field is "".
        patients: how many patients have these codes.
        taken_as: how the coding reads them.
    """

    columns: tuple[str, ...]
    codes: tuple[str, ...]
    patients: int
    taken_as: str


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Assigned and implemented arm of each patient who is kept.

    Attributes:
        proposals: z, an index of the coding's arms.
        implemented: a, likewise.
        kept: which of the file's patients these are.
        doubts: what was not clear.
    """

    proposals: IntArray
    implemented: IntArray
    kept: Mask
    doubts: tuple[Doubt, ...]


def assign(values: Values, coding: Coding) -> Coded:
    """The assigned and implemented arms by this coding."""
    return _CODINGS[coding](values)


def doubts_about(values: Values, columns: tuple[str, ...], where: Mask, taken_as: str) -> list[Doubt]:
    """The codes of the patients in question, most frequent first."""
    rows = zip(*(values[column][where].tolist() for column in columns), strict=True)
    counts = sorted(Counter(rows).items(), key=lambda item: (-item[1], item[0]))
    return [Doubt(columns, codes, patients, taken_as) for codes, patients in counts]


def answered(values: Values, column: str, code: str) -> Mask:
    """Where a column holds this code, in upper or lower case."""
    return np.asarray(np.char.upper(values[column]) == code)


def known(values: Values, column: str) -> Mask:
    """Where a column says yes or no."""
    return answered(values, column, "Y") | answered(values, column, "N")


def _dose(values: Values) -> IntArray:
    """The assigned dose."""
    doses = {"N": _NONE, "M": _MEDIUM, "H": _MEDIUM, "L": _LOW}
    return np.array([doses[code] for code in np.char.upper(values["RXHEP"]).tolist()], dtype=np.int64)


def _paper(values: Values) -> Coded:
    """Aspirin was given where DASP14 is a capital Y; the assigned dose where no dose is recorded as given.

    One patient has a small y. Only as "not given" do all 54 figures of the paper come out as printed.
    """
    dose = _dose(values)
    given = values["DASP14"] == "Y"
    unclear = ~(given | answered(values, "DASP14", "N"))
    overruled = _no_dose(values) & _dose_known(values) & (dose != _NONE)
    doubts = [
        *doubts_about(values, ("DASP14",), unclear, "no aspirin"),
        *doubts_about(values, _HEPARIN_COLUMNS, overruled, "the assigned dose"),
    ]
    return _two_drugs(values, given, dose, "the assigned dose", doubts)


def _as_treated(values: Values) -> Coded:
    """What is recorded as given was given, and nothing else."""
    given = answered(values, "DASP14", "Y")
    doubts = doubts_about(values, ("DASP14",), ~known(values, "DASP14"), "no aspirin")
    return _two_drugs(values, given, np.full(given.shape, _NONE), "no heparin", doubts)


_HEPARIN_COLUMNS = ("RXHEP", "DLH14", "DMH14", "DHH14")


def _low(values: Values) -> Mask:
    return answered(values, "DLH14", "Y")


def _medium(values: Values) -> Mask:
    """The pilot asked in DHH14 what the main trial asked in DMH14."""
    return answered(values, "DMH14", "Y") | answered(values, "DHH14", "Y")


def _no_dose(values: Values) -> Mask:
    return ~_low(values) & ~_medium(values)


def _dose_known(values: Values) -> Mask:
    """Whether both questions have an answer."""
    return known(values, "DLH14") & (known(values, "DMH14") | known(values, "DHH14"))


def _two_drugs(values: Values, aspirin: Mask, silent: IntArray, taken_as: str, doubts: list[Doubt]) -> Coded:
    """Both drugs; where no dose is recorded as given, `silent` is taken as given."""
    low, medium = _low(values), _medium(values)
    heparin = np.where(medium, _MEDIUM, np.where(low, _LOW, silent))
    doubts += doubts_about(values, _HEPARIN_COLUMNS, _no_dose(values) & ~_dose_known(values), taken_as)
    doubts += doubts_about(values, _HEPARIN_COLUMNS, low & medium, "medium heparin")
    doses = len(_HEPARIN)
    return Coded(
        answered(values, "RXASP", "Y") * doses + _dose(values),
        aspirin * doses + heparin,
        np.ones(aspirin.shape, dtype=np.bool_),
        tuple(doubts),
    )


def _recorded_aspirin(values: Values) -> Coded:
    """Patients who did not comply count as having taken the opposite."""
    assigned = answered(values, "RXASP", "Y").astype(np.int64)
    return _recorded(values, assigned, 1 - assigned, "CMPLASP")


def _recorded_heparin(values: Values) -> Coded:
    """Patients who did not comply count as having taken none, or the low dose where none was assigned."""
    assigned = _dose(values)
    return _recorded(values, assigned, np.where(assigned == _NONE, _LOW, _NONE), "CMPLHEP")


def _recorded(values: Values, assigned: IntArray, instead: IntArray, column: str) -> Coded:
    both = ("CMPLASP", "CMPLHEP")
    kept = known(values, "CMPLASP") & known(values, "CMPLHEP")
    implemented = np.where(answered(values, column, "Y"), assigned, instead)
    return Coded(assigned[kept], implemented[kept], kept, tuple(doubts_about(values, both, ~kept, "left out")))


_CODINGS: dict[Coding, Callable[[Values], Coded]] = {
    "paper": _paper,
    "as-treated": _as_treated,
    "recorded-aspirin": _recorded_aspirin,
    "recorded-heparin": _recorded_heparin,
}
