"""What a scenario says of outcomes in its short form, as a distribution for each kind of person and each action."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.conjugates.rate import log_rate
from takeup.errors import NOTHING, InputError
from takeup.families import Exponentials, Family, Normals, Poissons, family_of
from takeup.families.base import Parametric
from takeup.outcomes import Count, Levels, Number, Outcome, Time
from takeup.space import Space

OFF = 0.01
"""By how many standard deviations the mean of what is recorded may differ from what is written."""
KEYS: Mapping[str, str] = {
    "success": Levels.kind,
    "mean": Number.kind,
    "rate": Count.kind,
    "hazard": Time.kind,
    "median": Time.kind,
}
"""What may be written, and which kind of outcome it is of."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What outcomes each action leads to.

    Attributes:
        key: what was written.
        centre: what it means for each action, (Ka,): a rate, a mean, or a mean time within the longest watch.
        limits: between which it must stay, where some have more and others less.
        table: the probability of each outcome, (U, Ka, Y), where the centre is so much, (U, Ka).
    """

    key: str
    centre: FloatArray
    limits: tuple[float, float]
    table: Callable[[FloatArray], FloatArray]

    def shifted(self, rise: FloatArray, confounded: float) -> FloatArray:
        """The probability of each outcome, (U, Ka, Y), where the centres are higher by `rise`, (U,)."""
        each = self.centre + rise[:, np.newaxis]
        low, high = self.limits
        if each.min() < low or each.max() > high:
            allowed = f"a difference that leaves each {self.key} in {low:g} to {high:g}"
            raise InputError("confounded", confounded, f"{allowed}; they are {each.round(4).tolist()}")
        return self.table(each)


def truth_of(given: Mapping[str, Any], space: Space) -> Truth:
    """The truth of what is written: one of KEYS, or `outcome`, a distribution for each action or a family of them."""
    outcome, actions = space.outcome, len(space.implemented)
    suited = " or ".join(keys_for(outcome))
    keys = [key for key in (*KEYS, "outcome") if given.get(key) is not None]
    if len(keys) != 1:
        told = ", ".join(sorted(key for key, value in given.items() if value is not None)) or NOTHING
        raise InputError("keys", told, f"{suited}, perhaps with take_up; or what takeup simulate takes")
    (key,) = keys
    if key == "outcome":
        return _distributions(given["outcome"], space)
    if key not in keys_for(outcome):
        raise InputError(key, given[key], f"{suited}, as an outcome is a {outcome.kind}")
    if given.get("sd") is None and key == "mean":
        raise InputError("sd", NOTHING, "the standard deviation of outcomes, for all actions or for each")
    if given.get("sd") is not None and key != "mean":
        raise InputError("sd", given["sd"], f"nothing beside {key}")
    written = checks.rates(key, given[key]) if key == "success" else checks.real(key, given[key])
    if written.shape != (actions,):
        raise InputError(key, given[key], f"a number for each of the {actions} actions")
    if key in ("rate", "hazard", "median"):
        checks.positive(key, written)
    return _MAKERS[key](key, written, outcome, given)


def keys_for(outcome: Outcome) -> list[str]:
    """What may be written of such outcomes."""
    if isinstance(outcome, Levels) and outcome.size > 2:
        return ["outcome"]
    return [key for key, kind in KEYS.items() if kind == outcome.kind]


def _success(key: str, written: FloatArray, outcome: Levels, given: Mapping[str, Any]) -> Truth:
    good = int(np.argmax(outcome.utility))

    def table(rates: FloatArray) -> FloatArray:
        both = np.empty((*rates.shape, 2))
        both[..., good], both[..., 1 - good] = rates, 1 - rates
        return both

    return Truth(key, written, (0.0, 1.0), table)


def _mean(key: str, written: FloatArray, outcome: Number, given: Mapping[str, Any]) -> Truth:
    sd = checks.positive("sd", given["sd"])
    if sd.ndim and sd.shape != written.shape:
        raise InputError("sd", given["sd"], f"one number, or one for each of the {written.size} actions")
    limits = (outcome.low, outcome.high)
    return Truth(key, written, limits, lambda means: _recorded(key, Normals(means, sd, outcome)))


def _rate(key: str, written: FloatArray, outcome: Count, given: Mapping[str, Any]) -> Truth:
    limits = (np.finfo(float).tiny, outcome.highest - outcome.lowest)
    return Truth(key, written, limits, lambda rates: _recorded(key, Poissons(rates, outcome)))


def _times(key: str, written: FloatArray, outcome: Time, given: Mapping[str, Any]) -> Truth:
    """Exponential times: the hazard is log 2 by the median. Centres are mean times within the longest watch."""
    longest = outcome.longest
    rate = longest * (written if key == "hazard" else np.log(2) / written)
    centre = -longest * np.expm1(-rate) / rate

    def table(within: FloatArray) -> FloatArray:
        mean = longest / np.exp(log_rate(within / longest))
        return _recorded(key, Exponentials(mean, outcome))

    return Truth(key, centre, (1e-6 * longest, (1 - 1e-6) * longest), table)


_MAKERS: Mapping[str, Callable[[str, FloatArray, Any, Mapping[str, Any]], Truth]] = {
    "success": _success,
    "mean": _mean,
    "rate": _rate,
    "hazard": _times,
    "median": _times,
}


def _distributions(given: Any, space: Space) -> Truth:
    """A distribution for each action, or a family of them: nothing that could be shifted."""
    if isinstance(given, Mapping):
        with checks.inside("outcome"):
            family = family_of(given)
            kind = family.of if isinstance(family, Parametric) else Outcome
            if not isinstance(space.outcome, kind):
                raise InputError("kind", repr(given["kind"]), f"distributions of a {space.outcome.kind}")
            each = family.worth(space.outcome).table()[0]
    else:
        each = checks.probabilities("outcome", given)
    checks.shaped("outcome", each, (len(space.implemented), space.outcome.size), "implemented, outcome")
    return Truth(
        "outcome", np.zeros(len(each)), (0.0, 0.0), lambda none: np.broadcast_to(each, (len(none), *each.shape))
    )


def _recorded(key: str, family: Family) -> FloatArray:
    """The table of a family, if the means of what is recorded are those that are written.

    What is recorded is rounded to the steps of the outcome, and cut off at the ends of its range.
    """
    outcome = family.outcome
    assert outcome is not None
    table, worth = family.table(), outcome.worths
    mean, written = table @ worth, family.mean_worth()
    off = np.abs(mean - written) > OFF * np.sqrt(np.maximum(table @ worth**2 - mean**2, 0.0))
    if off.any():
        sign = outcome.shown.sign
        told = ", ".join(
            f"{sign * one:.6g} for {sign * other:.6g}" for one, other in zip(mean[off], written[off], strict=True)
        )
        raise InputError(
            key,
            f"what is recorded as {told} on average",
            "outcomes that keep their mean where they are rounded and cut off as the space says",
            "widen the range, take smaller steps, or give compliance with outcome, where nothing is promised",
        )
    return np.asarray(table / table.sum(axis=-1, keepdims=True))
