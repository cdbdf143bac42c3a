"""What a promise is worth in simulated trials: power and error of the bounded reading, kept, and broken twofold."""

from typing import Any

import numpy as np
import pytest
from scipy.special import betainc, betaln, ndtr

from takeup.checks import FloatArray, IntArray
from takeup.design.bounded import bounded, reading_of
from takeup.design.cells import Cells
from takeup.design.plan import Plan
from takeup.design.promise_trials import promise_trials
from takeup.design.promises import BROKEN, broken, promise_curve, promised
from takeup.errors import InputError
from takeup.policies.bounded_reading import BoundedReading, CellMeans
from takeup.randomness import stream
from takeup.trial.rules import BoundedTable

REWARD = np.array([0.0, 1.0])
NORMAL = 0.004
"""By how much the normal formulas, which take shares and variances as known, may be off in trials of this size."""


def _two(rng: np.random.Generator, units: int, take_up: float, refusers: float, takers: float, untreated: float) -> Any:
    """A function that draws n[trial, z, a, y] of trials with two arms, in which nobody has the treatment uninvited."""

    def draw(trials: int) -> IntArray:
        arm, counts = units // 2, np.zeros((trials, 2, 2, 2), dtype=np.int64)
        taken = rng.binomial(arm, take_up, trials)
        for z, a, many, rate in ((0, 0, arm, untreated), (1, 1, taken, takers), (1, 0, arm - taken, refusers)):
            counts[:, z, a, 1] = rng.binomial(many, rate, trials)
            counts[:, z, a, 0] = many - counts[:, z, a, 1]
        return counts

    return draw


def _claims(reading: BoundedReading, counts: IntArray, one: int = 1) -> float:
    """How often `one` is called better than the control at 0.975."""
    return float((reading.of(CellMeans.of_counts(counts, REWARD)).probability()[:, one, 0] > 0.975).mean())


def _alike(take_up: float, difference: float, rate: float = 0.25) -> tuple[float, float, float]:
    """The rates of refusers, takers and all, where nothing has an effect and takers fare better by this much."""
    refusers = rate - take_up * difference
    return refusers, refusers + difference, rate


@pytest.mark.parametrize("trials", [20_000, pytest.param(400_000, marks=pytest.mark.long)])
def test_simulated_trials_have_the_power_and_the_errors_that_others_found(trials: int) -> None:
    """Power, and errors at Δ, none and 2 Δ, in 60,000 trials each elsewhere; within four errors of both together.

    One in 16,000 figures is beyond by chance, and there are twelve. Printed digits add up to .0005.
    """
    rng = stream(1, "promises")
    for take_up, bound, units, theirs in (
        (0.6, 0.02, 1_012, (0.801, 0.023, 0.010, 0.047)),
        (0.6, 0.05, 1_387, (0.798, 0.024, 0.004, 0.092)),
        (0.8, 0.05, 914, (0.795, 0.024, 0.011, 0.047)),
    ):
        reading = bounded(Cells.rates(0.25, 0.35, take_up), bound).reading()
        truths = [(0.25, 0.35, 0.25), *(_alike(take_up, times * bound) for times in (1, 0, 2))]
        for truth, right in zip(truths, theirs, strict=True):
            found = _claims(reading, _two(rng, units, take_up, *truth)(trials))
            error = np.sqrt(right * (1 - right) * (1 / trials + 1 / 60_000))
            assert abs(found - right) < 4 * error + 0.0005, (take_up, bound, truth)


def test_formulas_say_what_simulated_trials_do() -> None:
    """Power, and errors at none, Δ and 2 Δ, of 20,000 trials; beyond four errors in 1 of 4,000 runs."""
    rng, trials = stream(2, "promises"), 20_000
    cells = Cells.rates(0.25, 0.35, 0.6)
    found = bounded(cells, 0.03)
    units = found.size.whole
    pairs = [(found.power(units), (0.25, 0.35, 0.25))]
    pairs += [(found.error(times * 0.03), _alike(0.6, times * 0.03)) for times in (0, 1, 2)]
    for right, truth in pairs:
        seen = _claims(found.reading(), _two(rng, units, 0.6, *truth)(trials))
        assert abs(seen - right) < NORMAL + 4 * np.sqrt(right * (1 - right) / trials)


@pytest.mark.parametrize("take_up", [0.35, 0.5, 0.75, 0.95])
def test_the_error_is_kept_whatever_the_take_up_turns_out_to_be(take_up: float) -> None:
    """Weights for 60 % and 1,012 units, shares as they are seen; 40,000 trials, four errors, and all of the bias.

    At 95 % there are 25 who refuse: with the weight that was planned for 200 the error would be .044.
    """
    reading = bounded(Cells.rates(0.25, 0.35, 0.6), 0.02).reading()
    counts = _two(stream(3, f"promises {take_up}"), 1_012, take_up, *_alike(take_up, 0.02))(40_000)
    assert _claims(reading, counts) < 0.025 + 4 * np.sqrt(0.025 * 0.975 / 40_000)


def test_a_bound_at_the_estimated_share_errs_as_one_at_the_true_share() -> None:
    """The same 40,000 trials read with both: the error differs by less than a thousandth."""
    found = bounded(Cells.rates(0.25, 0.35, 0.6), 0.05)
    compared = found.reading().of(
        CellMeans.of_counts(_two(stream(4, "promises"), 1_387, 0.6, *_alike(0.6, 0.05))(40_000), REWARD)
    )
    estimate, bias, error = (each[:, 1, 0] for each in (compared.estimate, compared.bias, compared.error))
    assert np.std(bias) > 0
    seen, true = (((estimate - each) / error > 1.959964).mean() for each in (bias, found.bias))
    assert abs(seen - true) < 0.001


PLAN: dict[str, Any] = {
    "name": "Promised",
    "space": {"proposals": ["usual", "new", "other"]},
    "policy": {"kind": "Uniform"},
    "looks": {"at": [1_200]},
    "stopping": {"superiority": 0.975, "control": "usual", "replace": False, "reading": {"bounded": 0.03}},
    "scenarios": {
        "null": {"role": "null", "success": [0.3] * 3},
        "better": {"success": [0.3, 0.42, 0.4], "take_up": 0.7, "two_sided": 0.1},
    },
}


def _drawn(plan: Plan, name: str, trials: int, rng: np.random.Generator) -> IntArray:
    """n[trial, z, a, y] of a scenario, as many with each proposal."""
    response = plan.scenarios[name].environment.response[0]
    arm = int(plan.looks.at[-1]) // len(response)
    rows = [rng.multinomial(arm, each.ravel(), trials).reshape(trials, *each.shape) for each in response]
    return np.stack(rows, axis=1)


def test_several_arms_and_compliance_of_two_sides_keep_the_error_until_the_promise_is_broken() -> None:
    """Three arms, some of whose control take the treatment: 40,000 trials; all of the bias is there, both times.

    At the promise the error is that which was asked for, .025 and not less than .019; at twice as much that of the
    bias that is left over. Four errors: beyond in 1 of 4,000 runs.
    """
    plan, rng, trials = Plan.of(PLAN), stream(5, "promises"), 40_000
    reading = reading_of(plan)
    kept = broken(plan, 0.03)
    counts = _drawn(kept, BROKEN, trials, rng)
    for one in (1, 2):
        assert np.abs(reading.moved[one, 0]).sum() > 0.3
        seen = _claims(reading, counts, one)
        assert 0.019 < seen < 0.025 + 4 * np.sqrt(0.025 * 0.975 / trials)
    compared = reading.of(CellMeans.of_counts(_drawn(broken(plan, 0.06), BROKEN, trials, rng), REWARD))
    for one in (1, 2):
        bias, error = np.median(compared.bias[:, one, 0]), np.median(compared.error[:, one, 0])
        right = ndtr(bias / error - 1.959964)
        seen = (compared.probability()[:, one, 0] > 0.975).mean()
        assert seen > 0.045
        assert abs(seen - right) < 0.006 + 4 * np.sqrt(right * (1 - right) / trials)


def test_means_keep_the_error_too() -> None:
    """Normal outcomes of which takers would have more by Δ: 40,000 trials of as many units as are needed."""
    rng, trials, take_up, bound = stream(6, "promises"), 40_000, 0.6, 0.1
    found = bounded(Cells.means(0.0, 0.5, 1.0, take_up), bound)
    arm = found.size.whole // 2
    for difference, right in ((bound, 0.025), (2 * bound, found.error(2 * bound))):
        refusers, takers, rate = _alike(take_up, difference, 0.0)
        taken = rng.binomial(arm, take_up, trials)
        units = np.zeros((trials, 2, 2))
        units[:, 0, 0], units[:, 1, 0], units[:, 1, 1] = arm, arm - taken, taken
        many = np.maximum(units, 2)
        truth = np.array([[rate, 0.0], [refusers, takers]])
        within = np.array([[1 + take_up * (1 - take_up) * difference**2, 1], [1, 1]])
        mean = truth + rng.standard_normal(units.shape) * np.sqrt(within / many)
        variance = within * rng.chisquare(many - 1) / (many - 1)
        seen = (found.reading().of(CellMeans(units, mean, variance)).probability()[:, 1, 0] > 0.975).mean()
        assert abs(seen - right) < NORMAL + 4 * np.sqrt(right * (1 - right) / trials)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


def _better(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """P(one beta variable > another), (2, trials) each; to 1e-6 near 0.975, normal elsewhere, where it is far off."""
    mean, other = ours[0] / ours.sum(axis=0), theirs[0] / theirs.sum(axis=0)
    spread, spread_ = (np.sqrt(m * (1 - m) / (ab.sum(axis=0) + 1)) for m, ab in ((mean, ours), (other, theirs)))
    z = (mean - other) / np.hypot(spread, spread_)
    found, near = ndtr(z), np.abs(z - 1.96) < 0.12
    a, b = ours[:, near, np.newaxis]
    low, high = np.clip((mean + np.array([[-9], [9]]) * spread)[:, near], 1e-9, 1 - 1e-9)
    x = low[:, np.newaxis] + (high - low)[:, np.newaxis] / 2 * (1 + _NODES)
    density = np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b))
    c, d = theirs[:, near, np.newaxis]
    below = betainc(c, d, x)
    found[near] = (high - low) / 2 * ((density * below) @ _WEIGHTS)
    return np.asarray(found)


@pytest.mark.parametrize("trials", [10_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_compliance_and_outcomes_apart(trials: int) -> None:
    """How many are enough where those who refuse are as those who take, at 60 % take-up and at 80 %.

    Three answers are in use. 805 (692) is the formula with known shares. 816 (696) has the chance of the shares as
    well; 820 (700) is that in tens. And the posterior of TS-Obs, by which v_1 > v_0 where the action's rate is better,
    has its 80 % at 769 (679) already, the size of a pooled test of takers against all others, with an error of .026.
    Of 100,000 trials each: TS-Obs .818, .824 and .824 at 805, 816, 820; the weighted sum of means .802, .806, .808.
    """
    rng = stream(7, "promises")
    for take_up, sizes in ((0.6, (769, 805, 816, 820)), (0.8, (679, 692, 696, 700))):
        apart = bounded(Cells.rates(0.25, 0.35, take_up), 0.0)
        between = 2 * take_up * (1 - take_up) * 0.1**2 * ((1.959964 + 0.841621) / (take_up * 0.1)) ** 2
        np.testing.assert_allclose((apart.size.units, apart.size.units + between), sizes[1:3], atol=0.6)
        for units in sizes:
            counts = _two(rng, units, take_up, 0.25, 0.35, 0.25)(trials)
            takers, others = counts[:, 1, 1], counts[:, :, 0].sum(axis=1)
            observed = (_better(takers.T[::-1] + 1.0, others.T[::-1] + 1.0) > 0.975).mean()
            summed = _claims(apart.reading(), counts)
            error = 4 * np.sqrt(0.16 / trials)
            if units == sizes[0]:
                assert abs(observed - 0.8) < 0.003 + error
            else:
                assert 0.798 - error < summed < observed < 0.83 + error


def test_a_curve_over_promises_goes_from_apart_to_intention_to_treat() -> None:
    """Size rises until nothing is promised; the error of a broken promise rises first, and is α at both ends."""
    curve = promise_curve(Cells.rates(0.25, 0.35, 0.6), (0, 0.02, 0.05, 0.1, 0.3))
    np.testing.assert_allclose([each["size"] for each in curve], [805, 1_012, 1_387, 1_740, 1_740], atol=0.5)
    np.testing.assert_allclose([each["error"] for each in curve], [0.025, 0.0502, 0.0943, 0.025, 0.025], atol=5e-5)
    assert (curve[1]["promise"], curve[1]["alpha"]) == (0.02, 0.025)
    assert curve[-1]["bias"] == 0


def test_a_plan_can_be_given_a_promise_and_a_truth_that_breaks_it() -> None:
    """Refusers, those who comply and those who insist are apart by the difference, and all proposals alike."""
    plan = broken(promised(Plan.of(PLAN), 0.01), 0.05)
    assert plan.reading == BoundedTable(bounded=0.01)
    truth = plan.scenarios[BROKEN]
    assert truth.role == "null"
    np.testing.assert_allclose(truth.values, 0.3, atol=1e-12)
    share, mean = (getattr(Cells.of_environment(truth.environment, (0, 1, 2)), name) for name in ("share", "mean"))
    np.testing.assert_allclose(share, [[0.9, 0.1, 0], [0.3, 0.7, 0], [0.3, 0, 0.7]], atol=1e-12)
    refusers, insist = mean[1, 0], mean[0, 1]
    comply = (mean[0, 0] * 0.9 - refusers * 0.3) / 0.6
    np.testing.assert_allclose([comply - refusers, insist - comply], 0.05, atol=1e-12)
    with pytest.raises(InputError, match=r"difference: got 0\.9"):
        broken(plan, 0.9)
    alone = {name: PLAN["scenarios"][name] for name in ("null",)}
    with pytest.raises(InputError, match="scenarios: got null"):
        broken(Plan.of({**PLAN, "scenarios": alone}), 0.1)
    with pytest.raises(InputError, match=r"space\.outcomes"):
        broken(_levels(), 0.1)


def test_what_was_said_of_an_error_is_not_said_of_other_truths() -> None:
    falling = {**PLAN["scenarios"]["better"], "take_up": {"from": 0.9, "to": 0.5}}
    plain = broken(Plan.of({**PLAN, "scenarios": {**PLAN["scenarios"], "better": falling}}), 0.05)
    for scenario in (BROKEN, "better"):
        told = {"target": 0.05, "found": 0.049, "error": 0.001, "trials": 1_000, "seed": 1, "scenario": scenario}
        told |= {"version": "1", "digest": plain.design.digest(scenario)}
        plan = Plan.of({**plain.content, "stopping": {**plain.content.get("stopping", {}), "error": told}})
        assert plan.design.spec.stopping.error is not None
        assert broken(plan, 0.02).design.spec.stopping.error is None


@pytest.mark.parametrize("take_up", [[0.9, 0.5], {"from": 0.9, "to": 0.5}])
def test_a_promise_is_broken_at_the_mean_of_a_take_up_that_changes(take_up: object) -> None:
    """Half of 1,200 at .9 and half at .5, or ten steps between: 70 % of all."""
    better = {**PLAN["scenarios"]["better"], "take_up": take_up}
    plan = Plan.of({**PLAN, "looks": {"at": [600, 1_200]}, "scenarios": {"better": better}})
    truth = broken(plan, 0.05).scenarios[BROKEN].environment
    np.testing.assert_allclose(Cells.of_environment(truth, (0, 1)).share[1], [0.3, 0.7, 0], atol=1e-12)


def _levels() -> Plan:
    space = {"proposals": ["usual", "new"], "outcomes": ["bad", "fair", "good"], "utility": [0, 1, 2]}
    same = {"compliance": [[1, 0], [0, 1]], "outcome": [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]}
    return Plan.of(
        {
            **{name: PLAN[name] for name in ("name", "policy", "looks")},
            "space": space,
            "stopping": {"control": "usual"},
            "scenarios": {"null": {"role": "null", **same}},
        }
    )


@pytest.mark.long
def test_trials_of_a_plan_need_as_many_as_the_formula_says() -> None:
    """Two arms, even allocation, one look: size, and errors where the promise is kept and broken, of 40,000 trials."""
    tables = {
        "space": {"proposals": ["usual", "new"]},
        "looks": {"last": 900},
        "scenarios": {"better": {"success": [0.25, 0.35], "take_up": 0.6}},
    }
    plan, promises = Plan.of({**PLAN, **tables}), (0.0, 0.02, 0.05)
    right = promise_curve(Cells.rates(0.25, 0.35, 0.6), promises)
    for ours, formula in zip(promise_trials(plan, promises, 0.8, 40_000, 1), right, strict=True):
        assert abs(ours["size"] - formula["size"]) < 4 * ours["size_error"] + 0.02 * formula["size"]
        assert abs(ours["kept"] - 0.025) < NORMAL + 4 * ours["kept_error"]
        assert abs(ours["error"] - formula["error"]) < 2 * NORMAL + 4 * ours["error_error"]


@pytest.mark.long
def test_an_adaptive_plan_of_three_arms_keeps_its_error_until_the_promise_is_broken() -> None:
    """TS with a floor, four looks, arms that are dropped: calibrated to .05 where groups differ by Δ; 20,000 trials."""
    stopping = {"superiority": 0.98, "inferiority": 0.02, "control": "usual", "replace": False}
    tables = {
        "policy": {"kind": "TS"},
        "limits": {"floor": 0.15},
        "looks": {"first": 600, "every": 300, "last": 1_500},
        "stopping": stopping,
    }
    none, some = promise_trials(Plan.of({**PLAN, **tables}), (0.12, 0.02), 0.8, 20_000, 2, calibrate_to=0.05)
    assert some["size"] < none["size"] - 4 * np.hypot(some["size_error"], none["size_error"])
    assert some["kept"] < 0.05 + 4 * some["kept_error"]
    assert some["error"] > some["kept"] + 4 * some["error_error"]
