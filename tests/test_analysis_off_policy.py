"""What another policy would have been worth: unbiased by enumeration, and honest about how much the log says of it."""

from itertools import product

import numpy as np
import pytest

import adaptive_kinds
import adaptive_trials
from takeup import UNSEEN, InputError, Log, Number, Space, UnsuitableError
from takeup.analysis import off_policy
from takeup.analysis.off_policy import best_fixed, policy_value, value_under
from takeup.checks import FloatArray
from test_analysis_times import leukaemia

SPACE = Space(["usual", "new"], outcomes=["ill", "well"])


def test_by_scores_it_is_unbiased_over_all_trials_that_there_can_be() -> None:
    """Four decisions by a policy that follows its luck: Σ P(trial) estimate(trial) is the truth."""
    rates, other = (0.3, 0.8), np.array([0.25, 0.75])
    histories = np.array(list(product(product((0, 1), repeat=4), product((0, 1), repeat=4))))
    z, y = histories[:, 0], histories[:, 1]
    lead = np.cumsum(np.where(z == 1, 2 * y - 1, 1 - 2 * y), axis=1)
    new = np.concatenate([np.full((len(z), 1), 0.5), 1 / (1 + np.exp(-lead[:, :-1]))], axis=1)
    p = np.stack([1 - new, new], axis=-1)
    log = Log.of(SPACE, z, p, outcome=y)
    rate = np.where(z == 1, rates[1], rates[0])
    chance = np.prod(log.probability_of_proposal * np.where(y == 1, rate, 1 - rate), axis=1)
    assert chance.sum() == pytest.approx(1)
    found = value_under(log, np.broadcast_to(other, p.shape), "aipw").value
    assert chance @ found == pytest.approx(other @ rates, rel=1e-12)


def one_trial(n: int = 400, floor: float = 0.1, seed: int = 4) -> Log:
    log = adaptive_trials.trials(adaptive_trials.compliant(n, 0.25, 0.45), 1, seed, floor)
    return Log.of(SPACE, log.proposal[0], log.probability[0], outcome=log.outcome[0])


def test_by_weights_it_is_a_weighted_mean() -> None:
    log, other = one_trial(), np.array([0.2, 0.8])
    weight = other[log.proposal] / log.probability_of_proposal
    found = policy_value(log, other, method="ipw")
    assert found.estimate.value == pytest.approx(weight @ log.outcome / weight.sum(), rel=1e-12)
    assert found.effective_size <= weight.sum() ** 2 / np.sum(weight**2) + 1e-9
    assert found.gain.value == pytest.approx(found.estimate.value - log.outcome.mean(), rel=1e-9)
    assert found.estimate.low < found.estimate.value < found.estimate.high


def test_probabilities_may_be_of_all_of_contexts_or_of_decisions() -> None:
    plain = one_trial()
    space = Space(["usual", "new"], outcomes=["ill", "well"], contexts=2)
    x = np.arange(400) % 2
    log = Log.of(space, plain.proposal, plain.probability, outcome=plain.outcome, context=x)
    by_context = np.array([[0.2, 0.8], [1.0, 0.0]])
    found = policy_value(log, by_context), policy_value(log, by_context[x])
    assert found[0].plain() == found[1].plain()
    assert policy_value(log, [0.3, 0.7]).plain() == policy_value(log, [[0.3, 0.7]] * 2).plain()


def test_what_the_trial_did_is_what_came_of_it() -> None:
    log = one_trial()
    found = policy_value(log, log.probability, method="ipw")
    assert found.estimate.value == pytest.approx(log.outcome.mean(), rel=1e-12)
    assert found.effective_size == pytest.approx(400, rel=1e-9)
    assert (found.gain.value, found.gain.low, found.gain.high) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("method", ["aipw", "ipw"])
@pytest.mark.parametrize("trials", [400, pytest.param(4_000, marks=pytest.mark.long)])
def test_values_after_thompson_sampling_cover(trials: int, method: off_policy.Method) -> None:
    """At least 93 % less 4 errors, of the value and of the gain, where the other policy does what the trial avoids."""
    log = adaptive_trials.trials(adaptive_trials.compliant(200, 0.25, 0.45), trials, 5, 0.1)
    other = np.broadcast_to(np.array([0.8, 0.2]), log.probability.shape)
    value = value_under(log, other, method)
    gain = value.minus(value_under(log, log.probability, method))
    truth = np.full(trials, 0.8 * 0.25 + 0.2 * 0.45)
    did = (log.probability @ np.array([0.25, 0.45])).mean(axis=1)
    for figure, true in ((value, truth), (gain, truth - did)):
        low, high = figure.interval(0.95)
        assert ((low <= true) & (true <= high)).mean() > 0.93 - 4 * np.sqrt(0.93 * 0.07 / trials)


@pytest.mark.parametrize(
    ("people", "truths", "until"),
    [
        (adaptive_kinds.pressures(140, 132), (140.0, 132.0), None),
        (adaptive_kinds.relapses(0.02, 0.01), (0.02, 0.01), None),
        (
            adaptive_kinds.times(200, 300, censored=0.2),
            (adaptive_kinds.mean_days(200, 300), adaptive_kinds.mean_days(300, 300)),
            300.0,
        ),
    ],
    ids=["numbers", "counts", "times"],
)
def test_every_kind_of_outcome_has_a_value(
    people: adaptive_kinds.People, truths: FloatArray, until: float | None
) -> None:
    """Within 4.5 errors of the truth; numbers and times in their own units whichever end is the good one."""
    log = adaptive_kinds.as_one(adaptive_kinds.trials(people, 500, 8, 3, 0.1))
    found = policy_value(log, [0.5, 0.5], until=until)
    error = (found.estimate.high - found.estimate.low) / 3.92
    assert abs(found.estimate.value - np.mean(truths)) < 4.5 * error
    assert found.estimate.shown
    assert error < 0.05 * np.mean(truths)


def test_numbers_in_a_wide_range_start_from_what_is_usual() -> None:
    """Half of the range would be 500,000 for values of about 140, and one decision would then decide."""
    space = Space(2, outcomes=Number(0, 1_000_000))
    log = Log.of(space, [0, 1] * 100, [0.5, 0.5], outcome=[140, 130, 150, 140] * 50)
    found = policy_value(log, [0, 1])
    assert found.estimate.value == pytest.approx(135, abs=1)


def test_poor_overlap_is_said_and_none_is_withheld() -> None:
    log = one_trial(floor=0.02)
    found = policy_value(log, [1, 0], name="usual care")
    assert found.estimate.withheld.startswith("usual care was so improbable at times")
    assert np.isnan([found.estimate.low, found.gain.high]).all()
    assert found.warning.startswith("Poor overlap: the 400 decisions are worth")
    assert policy_value(one_trial(), [0, 1]).warning == ""
    p = np.tile([0.5, 0.5], (40, 1))
    p[7] = 0.0, 1.0
    never = policy_value(Log.of(SPACE, [0, 1] * 20, p, outcome=[0, 1, 1, 1] * 10), [1, 0])
    assert "2.5% of what the other policy would have proposed had no chance" in never.estimate.withheld
    assert np.isnan(never.estimate.value)


def test_a_proposal_that_was_never_drawn_does_not_look_well_known() -> None:
    """What was drawn has even weights, Kish's size is 40; but the probabilities say that it is worth less than one."""
    log = Log.of(SPACE, [1] * 40, [1e-3, 1 - 1e-3], outcome=[0, 1] * 20)
    found = policy_value(log, [0.5, 0.5])
    assert found.effective_size < 1
    assert found.estimate.withheld


def test_the_best_in_each_context_is_chosen_before_it_is_valued() -> None:
    """In the first half new is best in x0, usual in x1; what the second half says does not change the choice."""
    space = Space(["usual", "new"], outcomes=["ill", "well"], contexts=2)
    x, z = np.arange(400) // 2 % 2, np.arange(400) % 2
    y = np.where(np.arange(400) < 200, x != z, x == z)
    y[::9] = ~y[::9]
    log = Log.of(space, z, [0.5, 0.5], outcome=y, context=x)
    found = best_fixed(log, method="ipw")
    assert found.proposals == ("new", "usual")
    assert found.estimate.value < 0.2
    assert found.estimate.n == 200


def test_fewer_is_better_where_the_outcome_says_so() -> None:
    log = adaptive_kinds.alone(adaptive_kinds.trials(adaptive_kinds.pressures(150, 120), 200, 1, 3, 0.2), 0)
    found = best_fixed(log)
    assert found.proposals == ("new",)
    assert found.estimate.value == pytest.approx(120, abs=5)
    assert found.gain.high < 0
    times, mixed = leukaemia(), np.argsort(np.arange(42) % 21, kind="stable")
    late = best_fixed(Log.of(times.space, times.proposal[mixed], [0.5, 0.5], outcome=times.outcome[mixed]), until=15)
    assert late.proposals == ("6-MP",)


def test_the_gain_of_times_needs_more_people_than_their_mean() -> None:
    times = leukaemia()
    few, enough = (
        policy_value(Log.of(times.space, times.proposal, [p, 1 - p], outcome=times.outcome), [1, 0], until=15)
        for p in (0.3, 0.5)
    )
    assert not few.estimate.withheld
    assert few.gain.withheld.endswith("an interval needs 5% at most")
    assert not enough.gain.withheld


def test_what_is_not_known_is_left_out() -> None:
    log = one_trial()
    outcome = np.where(np.arange(400) % 5 == 0, UNSEEN, log.outcome)
    found = policy_value(Log.of(SPACE, log.proposal, log.probability, outcome=outcome), [0.5, 0.5]).estimate
    assert (found.n, found.missing) == (320, 80)
    assert policy_value(Log.of(SPACE, [0, 1], [0.5, 0.5]), [0, 1]).estimate.withheld == "no outcome is known"


def test_what_cannot_be_asked_is_refused() -> None:
    log = one_trial()
    with pytest.raises(InputError, match="probability"):
        policy_value(log, [0.5, 0.6])
    with pytest.raises(InputError, match="decision, proposal"):
        policy_value(log, np.full((7, 2), 0.5))
    with pytest.raises(InputError, match="method"):
        policy_value(log, [0, 1], method="doubly robust")  # type: ignore[arg-type]
    with pytest.raises(UnsuitableError, match="has no scores"):
        policy_value(leukaemia(), [0, 1], method="aipw")
    with pytest.raises(InputError, match="first"):
        best_fixed(Log.of(SPACE, [0, 1] * 10, [0.5, 0.5]))
