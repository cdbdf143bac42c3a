"""What came of the patients of the International Stroke Trial, and how its columns say so."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from takeup import outcomes
from takeup.checks import IntArray
from takeup.datasets.codings import Doubt, Mask, Values, answered, doubts_about
from takeup.outcomes import UNSEEN, Levels, Time

Outcome: TypeAlias = Literal["STS", "LTS", "LTR", "S14", "STATE", "DAYS"]
"""What came of it: docs/datasets.md says what each is."""

LEFT_OUT = "left out"


class Measure(ABC):
    """How an outcome is read.

    Attributes:
        outcome: what it is.
    """

    outcome: outcomes.Outcome

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Sequence[str] | None]:
        """The columns that it reads, with their codes; None where they hold whole numbers or nothing."""

    @abstractmethod
    def read(self, values: Values) -> tuple[IntArray, list[Doubt]]:
        """The code of each patient's outcome, UNSEEN where the patient is left out, and what is in doubt."""


@dataclass(frozen=True, slots=True)
class LevelMeasure(Measure):
    """A level for each code.

    Attributes:
        column: where it is recorded.
        codes: the code of each level.
        others: codes that say neither.
        outcome: the levels.
        otherwise: the level that those are taken for; UNSEEN where such patients are left out.
    """

    column: str
    codes: tuple[str, ...]
    others: tuple[str, ...]
    outcome: Levels
    otherwise: int = 0

    @property
    def columns(self) -> Mapping[str, Sequence[str] | None]:
        """One column."""
        return {self.column: (*sorted(self.codes), *self.others)}

    def read(self, values: Values) -> tuple[IntArray, list[Doubt]]:
        """By the codes, in upper or lower case."""
        y = np.full(values[self.column].shape, self.otherwise, dtype=np.int64)
        clear = np.zeros(y.shape, dtype=np.bool_)
        for level, code in enumerate(self.codes):
            here = answered(values, self.column, code)
            y[here] = level
            clear |= here
        taken_as = LEFT_OUT if self.otherwise == UNSEEN else self.outcome.names[self.otherwise]
        return y, doubts_about(values, (self.column,), ~clear, taken_as)


@dataclass(frozen=True, slots=True)
class TimeMeasure(Measure):
    """Days to death, or until a patient was last known to live; whoever lives longer than the watch is censored then.

    Attributes:
        outcome: the time.
    """

    outcome: Time

    @property
    def columns(self) -> Mapping[str, Sequence[str] | None]:
        """Whether the patient died, and when that was or when the patient was last seen."""
        return {"DIED": ("0", "1"), "TD": None}

    def read(self, values: Values) -> tuple[IntArray, list[Doubt]]:
        """Two for each day, and one more where censored; without a day the watch ended at once."""
        unknown: Mask = values["TD"] == ""
        doubts = doubts_about(values, ("TD",), unknown, "watched for 0 days")
        seen = np.where(unknown, "0", values["TD"]).astype(np.int64)
        watched = np.minimum(seen, int(self.outcome.longest))
        died = answered(values, "DIED", "1") & (seen <= self.outcome.longest) & ~unknown
        return np.asarray(2 * watched + ~died), doubts


_SEEN = ("U", "")
STATES = Levels(("dead", "dependent", "not recovered", "recovered"), (0.0, 0.33, 0.84, 1.0))
"""The four states at six months, with what each is worth: the utilities of the modified Rankin scale of Chaisinanunkul
et al. (Stroke 46:2238, 2015), averaged over the steps that each takes in: 3 to 5 for dependent, 1 and 2 for independent
and not recovered, 0 for recovered."""

DAYS = Time(183, "days")
"""Days to death, watched for six months: who died later counts as dependent on the scale of states, not as dead."""

MEASURES: Mapping[Outcome, Measure] = {
    "STS": LevelMeasure("DDEAD", ("Y", "N"), _SEEN, Levels(("died", "alive"))),
    "LTS": LevelMeasure("FDEAD", ("Y", "N"), _SEEN, Levels(("died", "alive"))),
    "LTR": LevelMeasure("FRECOVER", ("N", "Y"), _SEEN, Levels(("not recovered", "recovered"))),
    "S14": LevelMeasure("ID14", ("1", "0"), (), Levels(("died", "alive"))),
    "STATE": LevelMeasure("OCCODE", ("1", "2", "3", "4"), ("0", "9"), STATES, UNSEEN),
    "DAYS": TimeMeasure(DAYS),
}
"""Short-term survival, to discharge or day 14 by the hospital's form; long-term survival and full recovery, at six
months; survival to day 14 by the date of death, which is known for everybody; the state at six months; days to
death."""
