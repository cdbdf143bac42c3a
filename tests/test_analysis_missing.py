"""What is missing: counted, at its worst, and made up for by weights."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import adaptive_trials
from takeup import UNSEEN, Log, Space, stream
from takeup.analysis import scores, targets
from takeup.analysis.missing import (
    followed_up_weights,
    missing,
    scores_at_random,
    worst_case,
    worst_case_scores,
)
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
    ends = [replace(log, outcome=np.where(log.outcome == UNSEEN, end, log.outcome)) for end in (0, 1)]
    ill, well = (scores(each, of).score for each in ends)
    low, high = worst_case_scores(log, of, 1, 0)
    np.testing.assert_array_equal(low, ill[..., 1] - well[..., 0])
    np.testing.assert_array_equal(high, well[..., 1] - ill[..., 0])
    found = worst_case(some(), of, 1)
    assert found.interval[0] < found.low < found.high < found.interval[1]
    assert found.missing == (some().outcome == UNSEEN).sum()


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
    found = scores_at_random(log, of).score
    assert abs(off(found[..., 1] - found[..., 0], 0.2)) < 4.5
    plain = scores(log, of).score
    value = np.nanmean(plain[..., 1] - plain[..., 0], axis=1)
    assert abs(value.mean() - 0.2) > 4.5 * value.std() / np.sqrt(value.size)


def test_weights_and_their_scores_are_what_their_definition_says() -> None:
    log = some(40)
    of = targets.outcome(SPACE)
    weight, found, plain = followed_up_weights(log, of), scores_at_random(log, of), scores(log, of)
    for t in range(40):
        like = (log.context == log.context[t]) & (log.proposal == log.proposal[t])
        seen = like & (log.outcome != UNSEEN)
        known = log.outcome[t] != UNSEEN
        assert weight[t] == pytest.approx(like.sum() / seen.sum() if known else 0.0)
        for z in range(2):
            own = known and log.proposal[t] == z
            more = weight[t] * (log.outcome[t] - plain.guess[t, z]) / log.probability[t, z] if own else 0.0
            assert found.score[t, z] == pytest.approx(plain.guess[t, z] + more, rel=1e-12)
    assert found.known.all()
    whole = replace(log, outcome=np.maximum(log.outcome, 0))
    np.testing.assert_allclose(scores_at_random(whole, of).score, scores(whole, of).score, rtol=1e-12)
