"""Readings that are right with fixed allocation alone, against means and regressions by hand."""

import numpy as np
import pytest

import adaptive_trials
from takeup import UNSEEN, InputError, Log, Space, stream
from takeup.analysis import naive, regression
from takeup.checks import FloatArray, IntArray

SPACE = Space(["none", "low", "high"], contexts=2, outcomes=3, utility=[0, 1, 3])


def trial(p: "list[float] | FloatArray", seed: int = 1, n: int = 600) -> tuple[Log, dict[str, IntArray]]:
    """Three arms, two sites, a fifth who do as they like, some of whom are never heard of again."""
    rng = stream(seed, "naive")
    x, z = rng.integers(0, 2, n), rng.integers(0, 3, n)
    a = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), z)
    y = np.clip(rng.integers(0, 3, n) + (rng.random(n) < 0.5 * (a == 2)) - (rng.random(n) < 0.4) * x, 0, 2)
    a, y = (np.where(rng.random(n) < 0.05, UNSEEN, each) for each in (a, y))
    return Log.of(SPACE, z, p, context=x, implemented=a, outcome=y), {"x": x, "z": z, "a": a, "y": y}


def compared(values: FloatArray, one: FloatArray, other: FloatArray) -> tuple[float, float]:
    groups = values[one], values[other]
    spread = sum(each.var(ddof=1) / each.size for each in groups)
    return float(groups[0].mean() - groups[1].mean()), float(1.959963984540054 * np.sqrt(spread))


def test_plain_differences_are_what_they_are_by_hand() -> None:
    log, of = trial([1 / 3] * 3)
    z, a, y = of["z"], of["a"], of["y"]
    worth, seen, both = np.array([0.0, 1.0, 3.0])[y], y != UNSEEN, (a != UNSEEN) & (y != UNSEEN)
    for found, one, other, missing in (
        (naive.naive_difference(log, "high", "none"), seen & (z == 2), seen & (z == 0), ~seen & (z != 1)),
        (
            naive.per_protocol(log, "high", "none"),
            both & (z == 2) & (a == 2),
            both & (z == 0) & (a == 0),
            ~both & (z != 1),
        ),
        (naive.as_treated(log, "high", "none"), both & (a == 2), both & (a == 0), ~both),
    ):
        value, half = compared(worth, one, other)
        assert (found.value, found.low, found.high) == pytest.approx((value, value - half, value + half), rel=1e-12)
        assert (found.n, found.missing) == (int((one | other).sum()), int(missing.sum()))
        assert not found.survives_adaptation
        assert not found.survives_drift
        assert found.shown


def test_regressions_are_what_they_are_by_least_squares() -> None:
    """The first stage fits taking by proposals and contexts, the second the outcome by that fit and contexts."""
    log, of = trial([1 / 3] * 3)
    both = (of["a"] != UNSEEN) & (of["y"] != UNSEEN)
    x, z, a, y = (of[name][both] for name in "xzay")
    worth, taken = np.array([0.0, 1.0, 3.0])[y], 1.0 * (a == 2)
    exogenous = np.stack([x == 0, x == 1], axis=1).astype(float)
    first = np.column_stack([exogenous, z == 2, z == 0])
    fit = first @ np.linalg.lstsq(first, taken)[0]
    second = np.linalg.lstsq(np.column_stack([fit, exogenous]), worth)[0]
    found = naive.two_stage(log, "high", "none", "low")
    assert found.value == pytest.approx(second[0], rel=1e-10)
    assert found.n == both.sum()
    pair = naive.two_stage(log, "high", "none", method="LIML")
    assert pair.value == pytest.approx(naive.two_stage(log, "high", "none").value, rel=1e-10)
    assert naive.anderson_rubin(log, "high", "none").value == pytest.approx(pair.value, rel=1e-10)


def test_the_region_by_regression_holds_what_explains_nothing() -> None:
    """At its ends the instruments explain of y - β d what chi-squared allows, by one regression each."""
    log, of = trial([1 / 3] * 3)
    both = (of["a"] != UNSEEN) & (of["y"] != UNSEEN)
    x, z, a, y = (of[name][both] for name in "xzay")
    found = naive.anderson_rubin(log, "high", "none", "low", level=0.9)
    exogenous = np.stack([x == 0, x == 1], axis=1).astype(float)
    whole = np.column_stack([exogenous, z == 2, z == 0])
    for end in (found.low, found.high):
        rest = np.array([0.0, 1.0, 3.0])[y] - end * (a == 2)
        less, more = (np.sum((rest - of @ np.linalg.lstsq(of, rest)[0]) ** 2) for of in (whole, exogenous))
        assert (more - less) / (less / (both.sum() - 4)) == pytest.approx(4.605170185988091, rel=1e-9)


@pytest.mark.requirement("R-7.8")
def test_what_adapted_is_not_to_be_relied_upon() -> None:
    """Where probabilities changed, or differed between contexts that are mixed, it says so."""
    log = adaptive_trials.trials(adaptive_trials.refusing(100, (0.3, 0.6), 0.1, 0.6), 1, 3, floor=0.1)
    one = Log.of(log.space, log.proposal[0], log.probability[0], implemented=log.implemented[0], outcome=log.outcome[0])
    for each in (naive.naive_difference, naive.per_protocol, naive.as_treated, naive.two_stage, naive.anderson_rubin):
        found = each(one, "new", "usual")
        assert "probabilities changed" in found.withheld or "too little" in found.withheld
        assert not found.shown
        assert np.isfinite(found.value)
    _, of = trial([1 / 3] * 3)
    p = np.where(of["x"][:, np.newaxis] == 0, [0.2, 0.2, 0.6], [0.5, 0.25, 0.25])
    by_site, _ = trial(p)
    assert "plain means mix these" in naive.naive_difference(by_site, "high", "none").withheld
    assert naive.two_stage(by_site, "high", "none").shown


def test_many_trials_side_by_side_are_each_alone() -> None:
    log = adaptive_trials.trials(adaptive_trials.refusing(80, (0.3, 0.6), 0.1, 0.6), 4, 3, floor=0.2)
    together = regression.instrumented(naive.regressed(log, [1, 0], 1)[0])
    for i in range(4):
        columns = {name: getattr(log, name)[i] for name in ("proposal", "probability", "implemented", "outcome")}
        alone = naive.two_stage(Log.of(log.space, **columns), "new", "usual")
        assert alone.value == pytest.approx(together.value[i], rel=1e-10)
        assert alone.high - alone.value == pytest.approx(1.959963984540054 * together.robust[i], rel=1e-10)


def test_what_is_asked_for_is_checked() -> None:
    log, _ = trial([1 / 3] * 3)
    with pytest.raises(InputError, match="another action than high"):
        naive.as_treated(log, "high", "high")
    with pytest.raises(InputError, match="proposals that are all different"):
        naive.two_stage(log, "high", "none", "high")
    many = adaptive_trials.trials(adaptive_trials.compliant(20, 0.3, 0.5), 2, 1)
    for each in (naive.as_treated, naive.per_protocol, naive.two_stage):
        with pytest.raises(InputError, match="a single trial"):
            each(many, "new", "usual")
