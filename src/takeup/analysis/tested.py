"""What a test of "no effect" says, and what it assumes."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray

Alternative: TypeAlias = Literal["two-sided", "larger", "smaller"]
"""What speaks against no effect: either direction, or that outcomes of the first proposal are larger, or smaller."""


def directed(statistic: ArrayLike, alternative: Alternative) -> FloatArray:
    """How much a statistic speaks against no effect: its size, or itself in the direction that is looked for."""
    checks.one_of("alternative", alternative, get_args(Alternative))
    found = np.asarray(statistic, dtype=np.float64)
    return np.abs(found) if alternative == "two-sided" else found if alternative == "larger" else -found


@dataclass(frozen=True, slots=True)
class Tested:
    """The result of one test.

    Attributes:
        test: its name: "re-randomisation", "conditional exact", "betting" or "martingale score".
        contrast: of which proposals, in words.
        statistic: what it was computed from, in words.
        p: the p-value; for betting one that holds at any time, 1 by the highest e so far; NaN where it was
            refused.
        e: the e-value as it is now, where there is one.
        two_sided: whether both directions count.
        replays: how many trials were replayed; 0 where none had to be.
        error: the Monte Carlo error of p; 0 where it does not rest on replays.
        null: the hypothesis, in a sentence.
        assumes: what has to be true, a sentence each.
        survives_adaptation: whether it keeps its error after adaptive allocation.
        survives_drift: whether it does where outcomes change over the trial.
        any_time: whether it may be looked at again and again.
        refused: why it cannot be had, and what can; empty where it was done.
    """

    test: str
    contrast: str
    statistic: str
    p: float
    two_sided: bool
    null: str
    assumes: tuple[str, ...]
    survives_adaptation: bool
    survives_drift: bool
    e: float | None = None
    replays: int = 0
    error: float = 0.0
    any_time: bool = False
    refused: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "test": self.test,
            "contrast": self.contrast,
            "statistic": self.statistic,
            "p": None if self.refused else self.p,
            "e": self.e,
            "two_sided": self.two_sided,
            "replays": self.replays,
            "p_error": None if self.refused else self.error,
            "null": self.null,
            "assumes": list(self.assumes),
            "survives_adaptation": self.survives_adaptation,
            "survives_drift": self.survives_drift,
            "any_time": self.any_time,
            "refused": self.refused or None,
        }
