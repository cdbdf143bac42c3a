"""Effects after adaptive allocation: what intervals are made of, and that they keep their level at trial sizes."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import adaptive_trials
from takeup import UNSEEN, InputError, Log, Space, UnsuitableError, stream
from takeup.analysis import scores, targets
from takeup.analysis.effects import CAME, LIKELY, compliance, effect, value
from takeup.analysis.intervals import Comparison, distance
from takeup.analysis.mean_intervals import intervals
from takeup.analysis.moments import moments
from takeup.analysis.scores import predictable_scores
from takeup.analysis.weights import batches

ONE_ERROR = math.erf(1 / math.sqrt(2))  # the level at which limits are one error away, and skewness does not matter


def a_trial(contexts: int = 1, outcomes: int = 2, n: int = 120, seed: int = 3) -> Log:
    """A trial of three proposals with probabilities that move, and one decision in ten without an outcome."""
    space = Space(["a", "b", "c"], ["not", "taken"], contexts=contexts, outcomes=outcomes, utility=range(outcomes))
    rng = stream(seed, "a trial")
    p = rng.dirichlet([4, 4, 4], n)
    z = (rng.random(n)[:, np.newaxis] > p.cumsum(axis=1)).sum(axis=1)
    x, a = rng.integers(0, contexts, n), rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.1, UNSEEN, rng.binomial(outcomes - 1, 0.3 + 0.1 * z + 0.2 * x / contexts))
    return Log.of(space, z, p, context=x, implemented=a, outcome=y)


def test_variance_of_a_score_by_enumeration() -> None:
    """One decision: all that may be proposed and come of it, with its probability; guesses are 1/2 then."""
    space, p, mean = Space(3), np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.35, 0.8])
    values, chances = [], []
    for z, y in itertools.product(range(3), range(2)):
        log = Log.of(space, [z], p, outcome=[y])
        score = predictable_scores(log, targets.outcome(space)).score[0]
        values.append([score[2] - score[0], score[1]])
        chances.append(p[z] * (mean[z] if y else 1 - mean[z]))
    expected = np.average(values, axis=0, weights=chances)
    variance = np.average((np.array(values) - expected) ** 2, axis=0, weights=chances)
    np.testing.assert_allclose(expected, [mean[2] - mean[0], mean[1]])
    of = predictable_scores(log, targets.outcome(space))
    for proposals, along, truth in (((0, 2), [-1.0, 1.0], variance[0]), ((1,), [1.0], variance[1])):
        known = moments(of, proposals, "uniform")
        # one decision says little about rates: from what is known to the truth is a shift, as hypotheses are
        assert known.cumulants(mean[list(proposals)], np.array(along))[0] == pytest.approx(truth, rel=1e-12)


def distance_by_hand(log: Log, pair: tuple[int, int], how: str, at: float) -> tuple[float, float]:
    """How many errors a difference is from a hypothesis, and its skewness, decision by decision, by definition."""
    of = scores(log, targets.outcome(log.space))
    rows = [t for t in range(len(log)) if log.outcome[t] != UNSEEN]
    contexts = sorted({int(log.context[t]) for t in rows})
    weight = {t: 1.0 if how == "uniform" else 1 / math.sqrt(sum(1 / log.probability[t, z] for z in pair)) for t in rows}
    u = {t: weight[t] / sum(weight.values()) for t in rows}
    overall = (sum(of.value[t] for t in rows) + 0.5) / (len(rows) + 1)
    rate, mean, seen = {}, [0.0, 0.0], [0, 0]
    for j, z in enumerate(pair):
        for x in contexts:
            same = [of.value[t] for t in rows if log.context[t] == x and log.proposal[t] == z]
            rate[x, j] = (sum(same) + overall) / (len(same) + 1)
            mean[j] += rate[x, j] * sum(u[t] for t in rows if log.context[t] == x)
            seen[j] += len(same)

    def unlikely(first: float) -> float:
        pairs = zip(mean, seen, (first, first + at), strict=True)
        return -sum((n + 1) * (m * math.log(q) + (1 - m) * math.log(1 - q)) for m, n, q in pairs)

    ends = max(0, -at) + 1e-9, min(1, 1 - at) - 1e-9
    first = minimize_scalar(unlikely, bounds=ends, method="bounded", options={"xatol": 1e-10}).x
    variance, third = 0.0, 0.0
    for t in rows:
        x = int(log.context[t])
        q = [rate[x, j] + (first, first + at)[j] - mean[j] for j in (0, 1)]
        missed = [q[j] - of.guess[t, z] for j, z in enumerate(pair)]
        for j, z in enumerate(pair):
            p = log.probability[t, z]
            variance += u[t] ** 2 * (q[j] * (1 - q[j]) / p + missed[j] ** 2 * (1 / p - 1))
            third += (-1, 1)[j] * u[t] ** 3 * q[j] * (1 - q[j]) * (1 - 2 * q[j]) / p**2
        variance += 2 * u[t] ** 2 * missed[0] * missed[1]
    apart = {t: of.score[t, pair[1]] - of.score[t, pair[0]] for t in rows}
    estimate = sum(u[t] * apart[t] for t in rows)
    if len(contexts) > 1:
        squares = 0.0
        for x in contexts:
            own = [t for t in rows if log.context[t] == x]
            middle = sum(u[t] * apart[t] for t in own) / sum(u[t] for t in own)
            squares += sum((u[t] * (apart[t] - middle)) ** 2 for t in own) * len(own) / (len(own) - 1)
        variance = max(variance, squares)
    return float((estimate - at) / math.sqrt(variance)), float(third / variance**1.5)


@pytest.mark.parametrize("how", ["uniform", "stabilised"])
@pytest.mark.parametrize(("contexts", "seed"), [(1, 3), (2, 3), (4, 1)])
def test_distance_is_what_its_definition_says(how: str, contexts: int, seed: int) -> None:
    """With several contexts the squares of scores are the larger variance in one of these, and not in the other."""
    log = a_trial(contexts, seed=seed)
    known = moments(scores(log, targets.outcome(log.space)), (0, 2), how)  # type: ignore[arg-type]
    for at in (-0.1, 0.0, 0.25):
        found = distance(known, Comparison("difference"), np.array(at))
        assert found == pytest.approx(distance_by_hand(log, (0, 2), how, at), rel=1e-5)


def test_interval_of_one_proposal_that_everybody_had_is_wilsons() -> None:
    """7 of 20, one error to either side: (p + 1/2n ± sqrt(p (1 - p) / n + 1 / 4n²)) / (1 + 1/n)."""
    space, n = Space(2), 20
    log = Log.of(space, np.zeros(n, dtype=int), [1.0, 0.0], outcome=np.arange(n) < 7)
    told = value(log, 0, level=ONE_ERROR)
    p = 7 / n
    half = math.sqrt(p * (1 - p) / n + 1 / (4 * n * n))
    assert told.value == pytest.approx(p)
    assert (told.low, told.high) == pytest.approx([(p + 1 / (2 * n) + s * half) / (1 + 1 / n) for s in (-1, 1)])
    assert told.shown
    assert told.contrast == "0"
    assert told.reading == "value"


def test_what_is_kept_is_an_interval_with_the_ends_that_were_found() -> None:
    """Every value on a fine grid is rejected or kept as its side of the ends says, for every measure."""
    log = a_trial(contexts=2)
    of = scores(log, targets.outcome(log.space))
    known = moments(of, (0, 2), "stabilised")
    for measure, grid in (
        ("difference", np.linspace(-0.99, 0.99, 199)),
        ("ratio", np.linspace(-4, 4, 161)),
        ("odds ratio", np.linspace(-5, 5, 161)),
    ):
        told = intervals(of, (0, 2), measure, weights="stabilised", level=ONE_ERROR)  # type: ignore[arg-type]
        t = np.array([distance(known, Comparison(measure), np.array(at))[0] for at in grid])  # type: ignore[arg-type]
        shown = grid if measure == "difference" else np.exp(grid)
        np.testing.assert_array_equal(
            np.abs(t) <= known.quantile(ONE_ERROR), (told.low <= shown) & (shown <= told.high)
        )
        assert told.low < told.value < told.high


def test_ends_are_moved_for_skewness_where_that_makes_the_interval_longer() -> None:
    """1.96 errors, and skewness (1.96² - 1) / 6 more on the side that it is on."""
    log = a_trial()
    known = moments(scores(log, targets.outcome(log.space)), (0,), "stabilised")
    told, z = value(log, 0, weights="stabilised"), 1.959964
    below, right = distance(known, Comparison("mean"), np.array(told.low))
    above, left = distance(known, Comparison("mean"), np.array(told.high))
    assert right > 0.05
    assert below == pytest.approx(z + right * (z * z - 1) / 6, rel=1e-6)
    assert above == pytest.approx(-z + min(float(left), 0.0) * (z * z - 1) / 6, rel=1e-6)


def test_swapped_proposals_and_turned_outcomes() -> None:
    log = a_trial()
    back = Log.of(
        log.space, log.proposal, log.probability, outcome=np.where(log.outcome == UNSEEN, UNSEEN, 1 - log.outcome)
    )
    there, swapped, turned = effect(log, "c", "a"), effect(log, "a", "c"), effect(back, "c", "a")
    for other in (swapped, turned):
        assert (other.value, other.low, other.high) == pytest.approx((-there.value, -there.high, -there.low))
    for measure in ("ratio", "odds ratio"):
        one, two = effect(log, "c", "a", measure=measure), effect(log, "a", "c", measure=measure)
        assert (two.value, two.low, two.high) == pytest.approx((1 / one.value, 1 / one.high, 1 / one.low))
    odds, turned = effect(log, "c", "a", measure="odds ratio"), effect(back, "c", "a", measure="odds ratio")
    assert (turned.value, turned.low, turned.high) == pytest.approx((1 / odds.value, 1 / odds.high, 1 / odds.low))
    assert there.contrast == "c - a"
    assert odds.contrast == "c / a"
    assert there.reading == "intention to treat"


def test_outcomes_on_another_scale() -> None:
    """Outcomes of 2 and 5 in place of 0 and 1: means are 2 + 3 m, differences 3 times as large."""
    log = a_trial()
    other = Space(["a", "b", "c"], ["not", "taken"], outcomes=2, utility=[2, 5])
    far = Log.of(other, log.proposal, log.probability, outcome=log.outcome)
    near, wide = effect(log, "b", "a"), effect(far, "b", "a")
    assert (wide.value, wide.low, wide.high) == pytest.approx([3 * each for each in (near.value, near.low, near.high)])
    near, wide = value(log, "b"), value(far, "b")
    assert (wide.low, wide.high) == pytest.approx((2 + 3 * near.low, 2 + 3 * near.high))
    ratio = effect(far, "b", "a", measure="ratio")
    assert ratio.value == pytest.approx(value(far, "b").value / value(far, "a").value)
    assert ratio.low < ratio.value < ratio.high < 2.5


def test_contexts_apart_and_together() -> None:
    log = a_trial(contexts=2)
    whole, parts = effect(log, "b", "a"), [effect(log, "b", "a", context=x) for x in (0, 1)]
    assert whole.n == sum(part.n for part in parts)
    assert whole.missing == sum(part.missing for part in parts) > 0
    assert whole.value == pytest.approx(sum(part.value * part.n for part in parts) / whole.n)
    assert parts[1].contrast == "b - a (1)"
    assert "never reported" in whole.assumes[0]
    assert any("those who came" in each for each in whole.assumes)
    taken = compliance(log, "b", "taken")
    score = scores(log, targets.took(log.space, 1)).score[:, 1]
    assert taken.value == pytest.approx(score.mean())
    assert taken.missing == 0
    assert taken.low < taken.value < taken.high
    stable = effect(log, "b", "a", weights="stabilised")
    assert not whole.survives_drift  # as some are missing
    assert not stable.survives_drift
    assert "throughout" in stable.assumes[1]


def test_trials_side_by_side_are_trials_one_by_one() -> None:
    logs = [a_trial(contexts=2, outcomes=3, seed=seed) for seed in (1, 2)]
    z, p, x, y = (
        np.stack([getattr(log, name) for log in logs]) for name in ("proposal", "probability", "context", "outcome")
    )
    both = Log.of(logs[0].space, z, p, context=x, outcome=y)
    for how in ("uniform", "stabilised"):
        of = scores(both, targets.outcome(both.space))
        together = intervals(of, (1, 2), "difference", weights=how, level=0.9)
        for i, log in enumerate(logs):
            told = effect(log, 2, 1, weights=how, level=0.9)
            assert (told.value, told.low, told.high) == (together.value[i], together.low[i], together.high[i])


def test_batches_end_at_fixed_times() -> None:
    """Probabilities that change after 8 and 12 decisions: batches of 4, though some had the same ones as the next."""
    first = np.repeat([0.5, 0.5, 0.3, 0.2, 0.2], 4)
    p = np.stack([first, 1 - first], axis=-1)
    z, y = np.tile([0, 1], 10), np.arange(20) % 3 == 0
    log = Log.of(Space(2), z, p, outcome=y)
    np.testing.assert_array_equal(batches(log), np.arange(20) // 4)
    told = effect(log, 1, 0, weights="batch", level=ONE_ERROR)
    means = [[np.mean(y[4 * b : 4 * b + 4][z[4 * b : 4 * b + 4] == k]) for k in (0, 1)] for b in range(5)]
    assert told.value == pytest.approx(np.mean(np.diff(means)))
    assert told.shown
    assert not told.survives_drift
    lone = Log.of(Space(2), [0, 0, 1, 1], p[[0, 0, 8, 8]], outcome=[0, 1, 0, 1])
    assert "only one was offered" in effect(lone, 1, 0, weights="batch").withheld
    assert not math.isfinite(effect(lone, 1, 0, weights="batch").low)


@pytest.mark.requirement("R-7.2")
def test_five_people_effectively_are_enough() -> None:
    """With a constant probability it is how many had it: of 100 people five are, and four are not."""
    n = np.arange(100)
    for every, enough in ((20, True), (25, False)):
        told = effect(Log.of(Space(2), n % every == 3, [0.95, 0.05], outcome=n % 3 == 0), 1, 0)
        assert told.shown is enough
        assert enough or "effectively to 4.0, and an interval needs 5" in told.withheld


def test_it_is_said_which_contexts_an_effect_is_about() -> None:
    """Stabilised weights count a context by how likely both were there, unless that never changed."""
    log = a_trial(contexts=2)
    even = Log.of(log.space, log.proposal, [1 / 3] * 3, context=log.context, outcome=log.outcome)
    said = [
        {CAME, LIKELY} & {*effect(of, "a", "b", weights=how, context=context).assumes}  # type: ignore[arg-type]
        for of, how, context in (
            (log, "uniform", None),
            (log, "stabilised", None),
            (log, "stabilised", 1),
            (even, "stabilised", None),
        )
    ]
    assert said == [{CAME}, {LIKELY}, set(), {CAME}]


@pytest.mark.requirement("R-7.2")
def test_withheld_where_too_few_were_offered_it() -> None:
    """One in 200 on average had the second: nobody knows what comes of it."""
    n = 200
    log = Log.of(Space(2), (np.arange(n) == 77).astype(int), [0.995, 0.005], outcome=np.arange(n) % 4 == 0)
    told = effect(log, 1, 0)
    assert "1 was offered to too few: effectively to 1.0" in told.withheld
    assert not told.survives_adaptation
    assert math.isnan(told.low)
    assert math.isfinite(told.value)
    assert value(log, 0).shown
    assert not value(log, 1).shown
    plain = effect(adaptive_one(), 1, 0, method="normal")
    assert "plain method" in plain.withheld
    assert math.isfinite(plain.low)
    never = Log.of(Space(2), np.arange(n) % 2, np.full(2, 0.5))
    assert effect(never, 1, 0).withheld == "no decision has all that it needs"


def test_an_arm_that_was_dropped() -> None:
    """Even weights have nothing to say of those who could not be offered it; stabilised ones leave them out."""
    n = 120
    many = np.where(np.arange(n) % 4 < 2, 0.5, 0.6)
    p = np.where(np.arange(n)[:, np.newaxis] < 80, np.stack([many, 1 - many], axis=-1), [1.0, 0.0])
    z = np.where(np.arange(n) < 80, np.arange(n) % 2, 0)
    log = Log.of(Space(2), z, p, outcome=np.arange(n) % 3 == 0)
    assert "a probability was 0" in effect(log, 1, 0).withheld
    assert value(log, 0).shown
    told, early = effect(log, 1, 0, weights="stabilised"), effect(log.only(slice(0, 80)), 1, 0, weights="stabilised")
    assert told.shown
    assert told.value == pytest.approx(early.value)


def adaptive_one() -> Log:
    people = adaptive_trials.compliant(100, 0.25, 0.45)
    log = adaptive_trials.trials(people, 1, seed=8, floor=0.1)
    return Log.of(log.space, log.proposal[0], log.probability[0], outcome=log.outcome[0])


def test_errors_say_what_is_allowed() -> None:
    log = a_trial(outcomes=3)
    with pytest.raises(InputError, match="another proposal than a"):
        effect(log, "a", 0)
    with pytest.raises(InputError, match="more than two values"):
        effect(log, "b", "a", measure="odds ratio")
    with pytest.raises(InputError, match="one of difference, ratio, odds ratio"):
        effect(log, "b", "a", measure="mean")
    with pytest.raises(InputError, match="mean or difference with the plain method"):
        effect(log, "b", "a", measure="ratio", method="normal")
    with pytest.raises(InputError, match="a single trial"):
        effect(adaptive_trials.trials(adaptive_trials.compliant(5, 0.2, 0.2), 3, 1), 1, 0)
    with pytest.raises(UnsuitableError, match="what complying means"):
        compliance(log, "a")


def test_ratios_do_not_show_what_rounding_leaves_of_a_mean() -> None:
    """Means of 0 and 1 but for 1e-15, and one below its range."""
    means = np.array([[0.3, 1e-15], [0.3, -1e-15], [0.3, 1 - 1e-15], [1e-15, 0.3], [0.3, 0.3]])
    np.testing.assert_allclose(Comparison("odds ratio").estimate(means), [0, 0, np.inf, np.inf, 1], rtol=1e-12)
    np.testing.assert_allclose(Comparison("ratio").estimate(means[:2]), [0, 0], atol=0)
