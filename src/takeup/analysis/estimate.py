"""What is concluded, and what it assumes."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from takeup.log import Log

Measure: TypeAlias = Literal["mean", "difference", "ratio", "odds ratio", "rate ratio", "hazard ratio"]
"""What an estimate is of: one proposal's mean, or how two compare."""

NEVER_CHANGED = "Randomisation never changed within a context: nobody wrote down its probabilities."

Ray: TypeAlias = tuple[float, float]
"""A part of a confidence region, from low to high; either end may be infinite."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, and what has to be true of the trial for the interval to keep its level.

    Attributes:
        reading: what it is an estimate of, such as "intention to treat".
        contrast: of which proposals, in words: "new drug - usual care".
        measure: how they are compared.
        value: the estimate; NaN where there is none.
        low: the lower end of the interval; NaN where it is withheld.
        high: the upper end.
        level: how often such intervals hold the truth, at least.
        assumes: what has to be true, a sentence each; the first is what is most likely to fail.
        survives_adaptation: whether the interval keeps its level after adaptive allocation.
        survives_drift: whether it does where outcomes change over the trial, whatever is allocated.
        n: how many decisions it rests on.
        missing: how many of those whom it is about were left out, as something about them was never reported.
        left_out: who else was, and why: a clause such as "259 are left out, as drug B was offered to nobody in
            south (259 decisions)"; empty where nobody was. They are in neither of the two counts.
        region: the whole confidence region where it is no interval: two rays, or the whole line.
        any_time: whether it holds at any number of looks, or at one.
        withheld: why there is no interval, or why it is not to be relied upon; empty where it is.
        sided: on how many sides something is looked for. Where that is one, what is better, each end of the interval
            by itself errs by half of what the level leaves, and the other end concludes nothing.
    """

    reading: str
    contrast: str
    measure: Measure
    value: float
    low: float
    high: float
    level: float
    assumes: tuple[str, ...]
    survives_adaptation: bool
    survives_drift: bool
    n: int
    missing: int
    region: tuple[Ray, ...] = ()
    any_time: bool = False
    withheld: str = ""
    left_out: str = ""
    sided: Literal[1, 2] = 2

    @property
    def shown(self) -> bool:
        """Whether there is an interval to be relied upon, given what it assumes."""
        return not self.withheld

    @property
    def conclusion(self) -> int:
        """1 where the interval is above no effect, -1 where it is below, 0 where it is neither, or is withheld."""
        if self.withheld and not self.region:
            return 0
        none = 0.0 if self.measure in ("mean", "difference") else 1.0
        return int(self.low > none) - int(self.high < none)

    def plain(self) -> dict[str, Any]:
        """As JSON has it: numbers that are none, or infinite, are null."""
        region = [[_finite(low), _finite(high)] for low, high in self.region]
        return {
            "reading": self.reading,
            "contrast": self.contrast,
            "measure": self.measure,
            "value": _finite(self.value),
            "low": _finite(self.low),
            "high": _finite(self.high),
            "level": self.level,
            "sided": self.sided,
            "assumes": list(self.assumes),
            "survives_adaptation": self.survives_adaptation,
            "survives_drift": self.survives_drift,
            "n": self.n,
            "missing": self.missing,
            "left_out": self.left_out or None,
            "region": region,
            "any_time": self.any_time,
            "withheld": self.withheld or None,
        }


def honest(log: Log, estimate: Estimate) -> Estimate:
    """An estimate that says where probabilities are but shares of what was proposed: it survives no adaptation."""
    if not log.estimated:
        return estimate
    return replace(estimate, survives_adaptation=False, assumes=(NEVER_CHANGED, *estimate.assumes))


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
