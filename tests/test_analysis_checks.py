"""Checks of what analyses assume: the same as by hand, quiet where nothing is wrong, loud where something is."""

from dataclasses import fields, replace

import numpy as np
import pytest

import adaptive_trials
from takeup import UNSEEN, Log, Space, Time, stream
from takeup.analysis import trial_checks


def trial(log: Log, number: int) -> Log:
    """One of many trials side by side."""
    arrays = {each.name: getattr(log, each.name) for each in fields(log)}
    return replace(log, **{name: each[number] for name, each in arrays.items() if isinstance(each, np.ndarray)})


def test_alarms_are_as_rare_as_they_should_be_after_adaptation() -> None:
    """400 trials by TS without an effect: one in a hundred alarms, within 4 errors; and drift is found."""
    log = adaptive_trials.trials(adaptive_trials.compliant(200, 0.3, 0.3), 400, seed=5)
    each = [trial(log, number) for number in range(400)]
    most = 0.01 + 4 * np.sqrt(0.01 * 0.99 / 400)
    assert np.mean([bool(trial_checks.sample_ratio(one).alarm) for one in each]) < most
    assert np.mean([bool(trial_checks.drift(one).alarm) for one in each]) < most
    moving = adaptive_trials.trials(adaptive_trials.compliant(400, 0.2, 0.2, drift=0.6), 20, seed=5)
    assert all(trial_checks.drift(trial(moving, number)).alarm for number in range(20))


def test_a_ratio_that_is_not_the_logged_one_is_found() -> None:
    """1,000 decisions of which a tenth more than half are the first: 6.3 standard errors."""
    log = Log.of(Space(2), [0] * 600 + [1] * 400, [0.5, 0.5], outcome=[0, 1] * 500)
    found = trial_checks.sample_ratio(log)
    assert found.alarm
    assert found.p == pytest.approx(2.54e-10, rel=0.01)
    assert "0 600 times (500.0 expected)" in found.detail
    assert "6.32 standard errors" in found.detail
    certain = Log.of(Space(2), [0] * 9, [1.0, 0.0])
    assert trial_checks.sample_ratio(certain).alarm is None
    assert trial_checks.sample_ratio(certain).sentence.startswith("There are too few decisions")
    ruled = Log.of(Space(2), [0] * 90, [1.0, 0.0])
    assert trial_checks.sample_ratio(ruled).sentence.startswith("Too little was left to chance")


def test_halves_of_a_trial_are_compared_within_proposals() -> None:
    """Proposals move from the worse to the better one, and nothing changes: means would rise, and drift does not."""
    z = np.repeat([0, 1, 0, 1], [90, 10, 10, 90])
    y = np.concatenate([np.arange(90) % 3 == 0, np.arange(10) % 3 > 0, np.arange(10) % 3 == 0, np.arange(90) % 3 > 0])
    found = trial_checks.drift(Log.of(Space(2), z, [0.5, 0.5], outcome=y))
    assert found.p is not None
    assert found.p > 0.5
    watched = Space(2, outcomes=Time(longest=90))
    assert trial_checks.drift(Log.of(watched, [0, 1], [0.5, 0.5], outcome=[3, 4])).alarm is None


def test_small_probabilities_are_told() -> None:
    log = Log.of(Space(2), [0, 1] * 50, [[0.98, 0.02], [0.5, 0.5]] * 50)
    found = trial_checks.overlap(log)
    assert found.alarm
    assert "anything had to be offered was 2 %, and in 50 % of decisions one was below 5 %" in found.sentence


def test_compliance_that_is_not_ignorable_is_told_and_the_rest_is_quiet() -> None:
    people = adaptive_trials.refusing(800, (0.3, 0.6), 0.1, 0.6)
    log = trial(adaptive_trials.trials(people, 1, seed=2, even=True), 0)
    found = {each.check: each for each in trial_checks.check_all(log, 0, 1)}
    assert found["ignorable compliance"].alarm
    assert not found["exclusion"].alarm
    assert not found["instrument strength"].alarm
    assert "changes how many take new by +" in found["instrument strength"].sentence
    assert found == {each.check: each for each in trial_checks.check_all(log, 0, 1)}
    rng = stream(1, "nobody follows")
    anyway = replace(log, implemented=rng.integers(0, 2, len(log)))
    weak = {each.check: each for each in trial_checks.check_all(anyway, 0, 1)}["instrument strength"]
    assert weak.alarm
    assert "too little to tell an effect among compliers" in weak.sentence
    never = Log.of(log.space, log.proposal, log.probability, outcome=log.outcome)
    unchecked = [each.check for each in trial_checks.check_all(never, 0, 1) if each.alarm is None]
    assert unchecked[:3] == ["ignorable compliance", "exclusion", "instrument strength"]


def test_that_known_actions_go_with_outcomes_is_told() -> None:
    """Of 80 % with the better outcome it is known what they took, of 20 % with the other: 400 people."""
    people = adaptive_trials.refusing(400, (0.3, 0.6), 0.1, 0.6)
    log = trial(adaptive_trials.trials(people, 1, seed=2, even=True), 0)
    assert "seen by outcome" not in {each.check for each in trial_checks.check_all(log, 0, 1)}
    report = stream(3, "known").random(len(log))
    for seen, alarm in ((np.where(log.outcome == 1, 0.8, 0.2), True), (np.full(len(log), 0.5), False)):
        some = replace(log, implemented=np.where(report < seen, log.implemented, UNSEEN))
        found = {each.check: each for each in trial_checks.check_all(some, 0, 1)}["seen by outcome"]
        assert found.alarm is alarm
        assert found.sentence.startswith("Of those of whom it is known what they took, ")
        assert ("Whether it is known goes with the outcome (p < " in found.sentence) is alarm
    few = replace(log, implemented=np.where(np.arange(len(log)) < 5, log.implemented, UNSEEN))
    unchecked = {each.check: each for each in trial_checks.check_all(few, 0, 1)}["seen by outcome"]
    assert unchecked.alarm is None
    assert "there should be 10 of each at least" in unchecked.detail
