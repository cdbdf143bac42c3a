"""What is missing: counted, at its worst, and made up for by weights."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import adaptive_trials
from takeup import UNSEEN, InputError, Log, Space, stream
from takeup.analysis import effect, scores, targets, value
from takeup.analysis.bounded import bounded_effect
from takeup.analysis.bounds import POOLED, action_bounds
from takeup.analysis.compliers import complier_effect
from takeup.analysis.effects import AT_RANDOM, COMPLETE
from takeup.analysis.mean_intervals import intervals
from takeup.analysis.missing import missing, worst_case, worst_case_intervals, worst_case_scores
from takeup.checks import FloatArray

SPACE = Space(["usual", "new"], ["usual", "new", "other"], contexts=["young", "old"], outcomes=["ill", "well"])


def some(n: int = 60, batch: tuple[int, ...] = (), seed: int = 3) -> Log:
    rng = stream(seed, "missing")
    p = rng.dirichlet([4, 4], (*batch, n))
    z = (rng.random((*batch, n)) > p[..., 0]).astype(int)
    x, a = rng.integers(0, 2, (*batch, n)), rng.integers(UNSEEN, 3, (*batch, n))
    y, source = rng.integers(UNSEEN, 2, (*batch, n)), rng.integers(0, 3, (*batch, n))
    return Log.of(SPACE, z, p, context=x, implemented=a, outcome=y, source=source)


def test_missing_is_counted_by_context_and_proposal_of_each_trial() -> None:
    log = some(40, (3,))
    found = missing(log)
    for i, x, z in itertools.product(range(3), range(2), range(2)):
        here = (log.context[i] == x) & (log.proposal[i] == z)
        assert found.decisions[i, x, z] == here.sum()
        assert found.implemented[i, x, z] == (here & (log.implemented[i] == UNSEEN)).sum()
        assert found.outcome[i, x, z] == (here & (log.outcome[i] == UNSEEN)).sum()
    assert sum(row["decisions"] for row in missing(some()).plain()) == 60


def test_the_worst_case_is_that_of_trials_in_which_all_that_is_missing_was_at_one_end() -> None:
    log = some(50, (2,))
    of = targets.outcome(SPACE)
    for end, score in enumerate(worst_case_scores(log, of, 1, 0)):
        worst = np.where(log.proposal == 1, end, 1 - end)
        right = scores(replace(log, outcome=np.where(log.outcome == UNSEEN, worst, log.outcome)), of).score
        np.testing.assert_array_equal(score, right[..., 1] - right[..., 0])
    found = worst_case(some(), of, 1)
    assert found.interval[0] < found.low < found.high < found.interval[1]
    assert found.missing == (some().outcome == UNSEEN).sum()
    assert not found.withheld


def test_the_worst_case_keeps_its_level() -> None:
    """TS with a floor of .1, 60 people, one of them missing, 500 trials: .97 of them hold the truth.

    One seed in 10,000 falls below .94, and 1.96 errors to either side hold it in .90. What it says is never inside the
    interval of those who are known.
    """
    log = adaptive_trials.trials(adaptive_trials.compliant(60, 0.1, 0.4), 500, seed=4, floor=0.1)
    log = replace(log, outcome=np.where(np.arange(60) == 30, UNSEEN, log.outcome))
    of = targets.outcome(log.space)
    least, most = worst_case_intervals(log, of, 1, 0)
    assert np.mean((least.low <= 0.3) & (most.high >= 0.3)) > 0.94
    plain = intervals(scores(log, of), (0, 1), "difference")
    assert np.all((least.low <= plain.low) & (most.high >= plain.high) | ~plain.shown)
    low, high = worst_case_scores(log, of, 1, 0)
    ends = [each.mean(axis=-1) + way * 1.96 * each.std(axis=-1) / np.sqrt(60) for each, way in ((low, -1), (high, 1))]
    assert np.mean((ends[0] <= 0.3) & (ends[1] >= 0.3)) < 0.94
    assert worst_case(one_trial(log, 3), of, 1).interval == pytest.approx((least.low[3], most.high[3]))


def one_trial(log: Log, place: int) -> Log:
    return Log.of(log.space, log.proposal[place], log.probability[place], outcome=log.outcome[place])


def lacking(rate: FloatArray, many: int = 3_000) -> Log:
    """Adaptive trials of which outcomes are missing at these rates, by proposal and outcome."""
    people = adaptive_trials.compliant(60, 0.3, 0.5)
    log = adaptive_trials.trials(people, many, seed=4, floor=0.1)
    lost = stream(6, "lost").random(log.proposal.shape) < rate[log.proposal, log.outcome]
    return replace(log, outcome=np.where(lost, UNSEEN, log.outcome))


def off(score: FloatArray, truth: float) -> float:
    """How many errors the mean over trials is from the truth."""
    each = score.mean(axis=-1)
    return float((each.mean() - truth) / (each.std(ddof=1) / np.sqrt(each.size)))


def test_worst_case_bounds_are_unbiased_whoever_is_missing() -> None:
    """Each end within 4.5 errors of what follows from the rates; 1 run in 70,000 misses."""
    rate = np.array([[0.1, 0.4], [0.3, 0.05]])
    log = lacking(rate)
    seen = [0.3 * (1 - rate[0, 1]), 0.5 * (1 - rate[1, 1])]
    gone = [0.7 * rate[0, 0] + 0.3 * rate[0, 1], 0.5 * rate[1].sum()]
    low, high = worst_case_scores(log, targets.outcome(log.space), 1, 0)
    assert abs(off(low, seen[1] - seen[0] - gone[0])) < 4.5
    assert abs(off(high, seen[1] + gone[1] - seen[0])) < 4.5


def test_weights_make_up_for_what_is_missing_at_random() -> None:
    """Within 4.5 errors, which 1 run in 150,000 misses; complete cases alone are off by more, as one arm lacks more."""
    log = lacking(np.array([[0.0, 0.0], [0.5, 0.5]]))
    of = targets.outcome(log.space)
    found = scores(log, of, "weighted").score
    assert abs(off(found[..., 1] - found[..., 0], 0.2)) < 4.5
    plain = scores(log, of).score
    value = np.nanmean(plain[..., 1] - plain[..., 0], axis=1)
    assert abs(value.mean() - 0.2) > 4.5 * value.std() / np.sqrt(value.size)


@pytest.mark.parametrize(
    ("rates", "drift"),
    [pytest.param((0.0, 0.5), 0.0, marks=pytest.mark.long), ((0.0, 0.5), 0.4), ((0.4, 0.1), 0.0)],
)
def test_weighted_intervals_keep_their_level_where_complete_cases_do_not(
    rates: tuple[float, float], drift: float
) -> None:
    """TS with a floor of .1, 200 people, 800 trials: .95 of them hold the truth; 1 seed in 2,000 falls below .93."""
    people = adaptive_trials.compliant(200, 0.3, 0.5, drift)
    log = adaptive_trials.trials(people, 800, seed=11, floor=0.1)
    lost = stream(6, "lost").random(log.proposal.shape) < np.array(rates)[log.proposal]
    log = replace(log, outcome=np.where(lost, UNSEEN, log.outcome))
    of = targets.outcome(log.space)
    for weights in ("uniform", "stabilised"):
        weighted = intervals(scores(log, of, "weighted"), (0, 1), "difference", weights=weights)
        assert weighted.covers(people.effect).mean() > 0.93
    if drift:  # guesses never catch up, and leaving out half of an arm makes it as rare again as it was
        assert intervals(scores(log, of), (0, 1), "difference").covers(people.effect).mean() < 0.9


def test_effects_and_values_can_be_weighted() -> None:
    log = some(200)
    of = scores(log, targets.outcome(SPACE), "weighted")
    told = effect(log, "new", "usual", missing="weighted")
    assert told.value == pytest.approx(float((of.score[:, 1] - of.score[:, 0]).mean()))
    assert told.missing == (log.outcome == UNSEEN).sum() == 200 - told.n
    assert "Within a context and a proposal" in told.assumes[0]
    assert value(log, "new", missing="weighted").value == pytest.approx(of.score[:, 1].mean())
    assert effect(log, "new", "usual", of=of).plain() == told.plain()
    with pytest.raises(InputError, match="weights='batch'"):
        effect(log, "new", "usual", missing="weighted", weights="batch")
    with pytest.raises(InputError, match="missing"):
        effect(log, "new", "usual", missing="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("fixed", [False, True])
def test_all_readings_say_the_same_of_those_who_are_left_out(fixed: bool) -> None:
    """After adaptation they need more than that those who are missing are like the others of their proposal."""
    log = some(200)
    log = replace(log, probability=np.full_like(log.probability, 0.5)) if fixed else log
    both = [complier_effect(log, "new", "usual"), bounded_effect(log, "new", "usual", 0.1), effect(log, "new", "usual")]
    for told in both:
        assert (COMPLETE in told.assumes, AT_RANDOM in told.assumes) == (not fixed, fixed)
        assert told.missing
        assert not told.survives_drift
    found = action_bounds(log, "new", "usual")
    assert (COMPLETE in found.assumes, POOLED in found.assumes) == (not fixed, fixed)
    assert not found.survives_drift


def test_weights_and_their_scores_are_what_their_definition_says() -> None:
    log = some(40)
    of = targets.outcome(SPACE)
    found, plain = scores(log, of, "weighted"), scores(log, of)
    for t in range(40):
        like = (log.context == log.context[t]) & (log.proposal == log.proposal[t])
        seen = like & (log.outcome != UNSEEN)
        known = log.outcome[t] != UNSEEN
        weight = like.sum() / seen.sum()
        for z in range(2):
            own = known and log.proposal[t] == z
            more = weight * (log.outcome[t] - plain.guess[t, z]) / log.probability[t, z] if own else 0.0
            assert found.score[t, z] == pytest.approx(plain.guess[t, z] + more, rel=1e-12)
    assert found.counted((0, 1)).all()
    whole = replace(log, outcome=np.maximum(log.outcome, 0))
    np.testing.assert_allclose(scores(whole, of, "weighted").score, scores(whole, of).score, rtol=1e-12)


def test_a_worst_case_of_few_has_no_interval() -> None:
    """Ten people, of whom one in ten is offered the new one: effectively 10² / (5 / .1 + 5 / .5) = 1.7 of them."""
    p = np.array([[0.9, 0.1], [0.5, 0.5]] * 5)
    log = Log.of(Space(2), [0, 1] * 5, p, outcome=[0, 1, UNSEEN, 1, 0] * 2)
    found = worst_case(log, targets.outcome(log.space), 1)
    assert "1 was offered to too few: effectively to 1.7, and an interval needs 5" in found.withheld
    assert np.isnan(found.interval).all()
    assert found.low < found.high
    dropped = Log.of(Space(2), [0, 1, 0], [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]], outcome=[0, 1, UNSEEN])
    assert worst_case(dropped, targets.outcome(log.space), 1).withheld.startswith("some could not have been offered 1")
