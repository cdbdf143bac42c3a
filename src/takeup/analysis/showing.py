"""From figures to what people are shown: two proposals compared, with what that assumes, or why it is withheld."""

from dataclasses import dataclass

import numpy as np

from takeup import checks
from takeup.analysis.compliers import LARGE as LARGE
from takeup.analysis.effects import COMPLETE, LOGGED, SEPARATE
from takeup.analysis.estimate import Estimate, Measure, honest
from takeup.analysis.overlap import Overlap
from takeup.checks import FloatArray
from takeup.errors import InputError, UnsuitableError
from takeup.log import Log
from takeup.space import UNSEEN, Label

READING = "intention to treat"
BOTH = "It is about those who came while both could be proposed; {} others are left out."
NEVER_BOTH = "there is no decision in which both {} could have been offered"


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two proposals of a single trial.

    Attributes:
        log: the decisions in which both could have been proposed.
        one: the proposal that is compared.
        other: with which one.
        level: of the interval.
        left_out: in how many decisions one of them had no chance, as after a proposal is dropped.
    """

    log: Log
    one: int
    other: int
    level: float
    left_out: int

    @classmethod
    def of(cls, log: Log, one: Label, other: Label, level: float) -> "Pair":
        """Checked: one trial, two different proposals."""
        if log.batch:
            raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
        places = log.space.index("proposal", one), log.space.index("proposal", other)
        if places[0] == places[1]:
            raise InputError("other", repr(other), f"another proposal than {log.space.proposals[places[0]]}")
        both = np.all(log.probability[:, list(places)] > 0, axis=-1)
        if not both.any():
            names = " and ".join(log.space.proposals[place] for place in places)
            raise UnsuitableError(NEVER_BOTH.format(names))
        shared = log if both.all() else log.only(both)
        return cls(shared, *places, checks.share("level", level), len(log) - len(shared))

    @property
    def known(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which decisions have an outcome."""
        return np.asarray(self.log.outcome != UNSEEN)

    @property
    def policies(self) -> tuple[FloatArray, FloatArray]:
        """Always the one, always the other: probabilities of every decision, (n, Kz)."""
        return always(self.log, self.one), always(self.log, self.other)

    def names(self) -> tuple[str, str]:
        """Of both proposals."""
        return self.log.space.proposals[self.one], self.log.space.proposals[self.other]

    def withheld(self) -> str:
        """Why there is no interval for either of them; empty where there is."""
        for name, policy in zip(self.names(), self.policies, strict=True):
            if reason := Overlap.of(self.log, policy, self.known).withheld(name):
                return reason
        return ""


def always(log: Log, z: int) -> FloatArray:
    """The probabilities of a policy that proposes the same to everybody, (.., n, Kz)."""
    return np.broadcast_to(np.eye(len(log.space.proposals))[z], log.probability.shape)


def compared(
    which: Pair,
    measure: Measure,
    value: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    *,
    assumes: tuple[str, ...],
    survives_drift: bool,
    nothing: str,
) -> Estimate:
    """How two proposals compare, as an estimate.

    Args:
        which: the two proposals.
        measure: how they are compared.
        value: the estimate; of ratios the logarithm.
        ends: of its interval, likewise.
        assumes: what this assumes beyond what all do.
        survives_drift: whether it keeps its level where outcomes change.
        nothing: why there is no value or no error, should there be none.
    """
    ratio = measure != "difference"
    with np.errstate(over="ignore"):  # of few decisions an end may be beyond all numbers
        middle, low, high = (float(np.exp(each) if ratio else each) for each in (value, *ends))
    reason = nothing if np.isnan(middle) else which.withheld() or (nothing if np.isnan(low) else "")
    n = int(which.known.sum())
    return honest(
        which.log,
        Estimate(
            READING,
            (" / " if ratio else " - ").join(which.names()),
            measure,
            middle,
            np.nan if reason else low,
            np.nan if reason else high,
            which.level,
            assumes=(
                *assumes,
                *((BOTH.format(which.left_out),) if which.left_out else ()),
                *((COMPLETE,) if n < len(which.log) else ()),
                LARGE,
                SEPARATE,
                LOGGED,
            ),
            survives_adaptation=not reason,
            survives_drift=survives_drift and not reason and n == len(which.log),
            n=n,
            missing=len(which.log) - n,
            withheld=reason,
        ),
    )
