"""Scores: unbiased whatever the policy did, and the same as by hand."""

import numpy as np
import pytest

import adaptive_trials
from takeup import UNSEEN, Log, Space, stream
from takeup.analysis import scores, targets


def by_hand(log: Log, of: targets.Target) -> list[list[float]]:
    """The scores of one trial, decision by decision, as their definition reads."""
    value, found = of.values(log), []
    for t in range(len(log)):
        past = [i for i in range(t) if not np.isnan(value[i])]
        begun = [value[i] for i in range(len(log)) if not np.isnan(value[i])]
        start = of.middle if of.two_valued else begun[0]
        overall = (sum(value[i] for i in past) + start) / (len(past) + 1)
        row = []
        for z in range(len(log.space.proposals)):
            same = [i for i in past if log.proposal[i] == z and log.context[i] == log.context[t]]
            guess = (sum(value[i] for i in same) + overall) / (len(same) + 1)
            weight = 1 / log.probability[t, z] if log.proposal[t] == z else 0.0
            row.append(guess + weight * (value[t] - guess) if weight else guess + 0 * value[t])
        found.append(row)
    return found


def test_scores_are_what_their_definition_says() -> None:
    space = Space(3, 2, contexts=2, outcomes=3, utility=[0, 1, 5])
    rng = stream(5, "scores")
    p = rng.dirichlet([2, 2, 2], 40)
    z = (rng.random(40)[:, np.newaxis] > p.cumsum(axis=1)).sum(axis=1)
    x, a, y = rng.integers(0, 2, 40), rng.integers(UNSEEN, 2, 40), rng.integers(UNSEEN, 3, 40)
    log = Log.of(space, z, p, context=x, implemented=a, outcome=y)
    for of in (targets.outcome(space), targets.took(space, 1), targets.outcome_of_takers(space, 0)):
        found = scores(log, of)
        first = 0 if of.two_valued else int(np.argmax(found.known)) + 1
        np.testing.assert_allclose(found.score[first:], by_hand(log, of)[first:], rtol=1e-12)
        np.testing.assert_array_equal(np.isnan(found.score[first:]).any(axis=-1), ~found.known[first:])
        assert np.isnan(found.score[:first]).all()


@pytest.mark.requirement("R-7.3")
def test_scores_are_unbiased_after_thompson_sampling_and_with_drift() -> None:
    """Within 4.5 errors, which 1 run in 150,000 misses; naive means of the same trials are off by far more."""
    people = adaptive_trials.compliant(100, 0.25, 0.45, drift=0.3)
    log = adaptive_trials.trials(people, 4_000, seed=3, floor=0.05)
    score = scores(log, targets.outcome(log.space)).score
    effect = (score[..., 1] - score[..., 0]).mean(axis=1)
    assert abs(effect.mean() - people.effect) < 4.5 * effect.std() / np.sqrt(effect.size)
    worse = log.outcome.mean(axis=1, where=log.proposal == 0)
    truth = people.cells[:, 0, :, 1].sum(axis=-1).mean()
    assert abs(worse.mean() - truth) > 9 * worse.std() / np.sqrt(worse.size)
