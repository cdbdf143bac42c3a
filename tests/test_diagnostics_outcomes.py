"""Diagnostics of outcomes that are numbers, counts and times: against scipy, and against the same bins as levels."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

import naive
from takeup import UNSEEN, Event, Evidence, InputError, Space, check_exclusion, check_ignorable, stream, weak_instrument
from takeup.conjugates import Bootstrap, Exponential, Likelihood, Normal, Poisson
from takeup.diagnostics.cases import complete_cases
from takeup.diagnostics.exclusion import MOST_INEQUALITIES, levels_of
from takeup.outcomes import Count, Number, Outcome, Time

NUMBER = Number(0, 19)
OUTCOMES: list[Outcome] = [
    NUMBER,
    Number(1, 400, 0.5, bins=1_000, better="lower"),
    Number(1, 100, scale="log", utility=((1, 0), (50, 1), (100, 0.5))),
    Count(9),
    Count(30, exposure="days", longest=90),
    Time(365, unit="days"),
]
every_outcome = pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: f"{outcome.kind} {outcome.size}")


def some(outcome: Outcome, size: int, seed: int = 1, *, proposals: int = 2) -> list[Event]:
    """Decisions of which a fifth has nothing more known of; outcomes are larger after the later proposals."""
    rng = stream(seed)
    events = []
    for _ in range(size):
        z, a = (int(each) for each in rng.integers((proposals, 2)))
        y = int(rng.integers(outcome.size // 2) + z * outcome.size // 2 // proposals)
        hidden = rng.random(2) < 0.1
        events.append(Event(0, z, UNSEEN if hidden[0] else a, UNSEEN if hidden[1] else y))
    return events


def complete(events: list[Event]) -> list[Event]:
    return [event for event in events if UNSEEN not in (event.implemented, event.outcome)]


@every_outcome
def test_every_decision_is_used_or_left_out(outcome: Outcome) -> None:
    """Sums of the statistic are no decisions: 200 of these there are, and no more."""
    events = some(outcome, 200)
    cases = complete_cases(Evidence.of(Space(2, outcomes=outcome), events), 8)
    assert cases.used == len(complete(events)) == cases.counts.sum()
    assert cases.used + cases.left_out == 200
    assert 2 <= cases.counts.shape[-1] == len(cases.labels) == len(set(cases.labels)) <= 8
    found = [check(Evidence.of(Space(2, outcomes=outcome), events)) for check in (check_ignorable, check_exclusion)]
    assert {(each.used, each.left_out) for each in found} == {(cases.used, cases.left_out)}


def test_a_grid_whose_points_are_bins_is_as_levels() -> None:
    """Numbers from 0 to 19 in 20 bins, and 20 levels worth as much: the same tables, so the same tests of them."""
    events = some(NUMBER, 300)
    space = Space(2, outcomes=20, utility=range(20))
    ours, theirs = (check_ignorable(Evidence.of(s, events)) for s in (Space(2, outcomes=NUMBER), space))
    for one, other in ((ours.cells, theirs.cells), (ours.complied, theirs.complied)):
        assert one is not None
        assert other is not None
        assert (one.statistic, one.p_value) == (other.statistic, other.p_value)
        assert [part.groups for part in one.parts] == [part.groups for part in other.parts]
    assert (ours.bins, ours.model, theirs.bins, theirs.model) == (20, "normal", 0, "")
    by_bin = check_ignorable(Evidence.of(Space(2, outcomes=NUMBER), events), likelihood=Bootstrap(alpha=1.0))
    assert by_bin.cells.log_bayes_factor == pytest.approx(theirs.cells.log_bayes_factor, rel=1e-12)


def merged(events: list[Event], starts: list[int]) -> list[Event]:
    """With the index of the bin for the outcome."""
    return [
        Event(0, e.proposal, e.implemented, UNSEEN if e.outcome == UNSEEN else sum(s <= e.outcome for s in starts) - 1)
        for e in events
    ]


def test_e_values_are_means_over_bins_of_every_width() -> None:
    """Each is that of a space with as many levels; a mean of e-values is one."""
    events = some(NUMBER, 300)
    found = check_ignorable(Evidence.of(Space(2, outcomes=NUMBER), events))
    by_hand = []
    for starts in (list(range(20)), [0, 3, 5, 8, 10, 13, 15, 18], [0, 5, 10, 15], [0, 10]):
        space = Space(2, outcomes=len(starts), utility=range(len(starts)))
        by_hand.append(check_ignorable(Evidence.of(space, merged(events, starts))).cells.parts[1].log_e_value)
    assert np.exp(found.cells.parts[1].log_e_value) == pytest.approx(np.exp(by_hand).mean(), rel=1e-12)


def test_the_exclusion_check_is_that_of_the_wide_bins_as_levels() -> None:
    """20 points and two proposals: 8 bins, the first of points 0 to 2 and the last of 18 and 19."""
    events = some(NUMBER, 300)
    ours = check_exclusion(Evidence.of(Space(2, outcomes=NUMBER), events))
    binned = merged(events, [0, 3, 5, 8, 10, 13, 15, 18])
    theirs = check_exclusion(Evidence.of(Space(2, outcomes=8, utility=range(8)), binned))
    assert (ours.p_value, ours.log_e_value, ours.largest) == (theirs.p_value, theirs.log_e_value, theirs.largest)
    assert (ours.inequalities, ours.bins, theirs.bins) == (theirs.inequalities, 8, 0)
    assert "0 to 2 given" in ours.worst
    assert "Outcomes are taken by 8 bins." in ours.summary()


@every_outcome
@pytest.mark.parametrize(("proposals", "actions", "contexts"), [(2, 2, 1), (3, 3, 2), (5, 4, 20)])
def test_bins_are_so_few_that_a_page_can_wait(outcome: Outcome, proposals: int, actions: int, contexts: int) -> None:
    space = Space(proposals, actions, contexts=contexts, outcomes=outcome, intended=[0] * proposals)
    assert contexts * actions * proposals ** levels_of(space) <= MOST_INEQUALITIES


def by_quadrature(gamma: tuple[float, float], events: float, exposure: float) -> float:
    """Log of the integral of λ^e exp(-λ t) over a Gamma: what Poisson counts and exponential times share."""
    shape, rate = gamma
    peak = (shape + events) / (rate + exposure)
    constant = shape * np.log(rate) - gammaln(shape)

    def log_integrand(v: float) -> float:
        return float(constant + (shape + events - 1) * np.log(v) - v * (rate + exposure))

    top = log_integrand(peak)
    area, _ = quad(lambda v: np.exp(log_integrand(v) - top), 0, 20 * peak, points=[peak], epsabs=0, limit=500)
    return float(np.log(area) + top)


@pytest.mark.parametrize(
    ("outcome", "likelihood", "gamma"),
    [
        (Number(0, 40, 0.5), Normal(mean=18.0, sd=9.0, weight=0.7, freedom=2.5), ()),
        (Count(20, exposure="days", longest=30), Poisson(rate=0.4, weight=3.0), (1.2, 3.0)),
        (Time(30, unit="days"), Exponential(mean=12.0, weight=1.5), (1.5, 18.0)),
    ],
    ids=["number", "count", "time"],
)
def test_bayes_factors_are_those_of_the_model(outcome: Any, likelihood: Likelihood, gamma: Any) -> None:
    """Groups apart against all together, with densities from scipy: one by one, or by quadrature."""
    events = complete(some(outcome, 60, proposals=3))
    found = check_ignorable(
        Evidence.of(Space(3, 2, outcomes=outcome, intended=[0, 1, 1]), events), likelihood=likelihood
    )

    def log_p(some: list[Event]) -> float:
        codes = [int(event.outcome) for event in some]
        if isinstance(likelihood, Normal):
            return naive.students([float(outcome.plain(code)) for code in codes], (18.0, 0.7, 2.5, 81.0))[0]
        _, sums = outcome.parts_of(np.array(codes, dtype=np.int64))
        happened, steps = sums.sum(axis=0)
        return by_quadrature(gamma, happened, steps * outcome.step)

    assert found.complied is not None
    for a in range(2):
        here = [event for event in events if event.implemented == a]
        apart = [[event for event in here if event.proposal == z] for z in range(3)]
        expected = sum(map(log_p, apart)) - log_p(here)
        assert found.cells.parts[a].log_bayes_factor == pytest.approx(expected, rel=1e-8, abs=1e-8)
        followed = apart[0] if a == 0 else apart[1] + apart[2]
        others = [event for event in here if event not in followed]
        expected = log_p(followed) + log_p(others) - log_p(here)
        assert found.complied.parts[a].log_bayes_factor == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(
    ("outcome", "given", "expected"),
    [
        (Number(0, 10, better="lower"), [2, 5], -3.5),
        (Number(0, 10, utility=((0, 0), (5, 1), (10, 0))), [2, 10], 0.2),
        (Count(9), [2, 3], -2.5),
        (Count(9, exposure="days", longest=30), [{"events": 2, "exposure": 10}, {"events": 1, "exposure": 20}], 0.1),
        (Time(30), ["10+", 20], 1 / 30),
    ],
)
def test_groups_are_described_by_worth_or_rate(outcome: Outcome, given: list[Any], expected: float) -> None:
    space = Space(2, outcomes=outcome)
    found = check_ignorable(Evidence.of(space, [Event(0, 0, 0, outcome.code(each)) for each in given]))
    assert found.cells.parts[0].groups[0].mean == pytest.approx(expected, rel=1e-4)
    assert np.isnan(found.cells.parts[0].groups[1].mean)


def test_it_speaks_up_and_says_by_what() -> None:
    """Those who follow a proposal to do 1 are 3 higher than those who do 1 anyway: with 600 that cannot be missed."""
    rng = stream(3)
    space = Space(2, outcomes=Number(0, 40))
    events = [
        Event(0, z, 1, int(np.clip(np.rint(rng.normal(18 + 3 * z, 4)), 0, 40)))
        for z in rng.integers(2, size=600).tolist()
    ]
    found = check_ignorable(Evidence.of(space, events))
    assert found.doubtful_at_any_time
    assert "p-values and e-values are by up to 20 bins, Bayes factors by the normal model." in found.summary()
    assert "complied: mean 2" in found.summary()
    timed = check_ignorable(Evidence.of(Space(2, outcomes=Time(40)), events), level=0.9)
    assert "complied: rate 0." in timed.summary()


def test_a_model_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="likelihood: got normal"):
        check_ignorable(Evidence.empty(Space(2)), likelihood=Normal())


def test_the_instrument_needs_compliance_alone() -> None:
    """Whatever the outcome is, the same compliance gives the same limits."""
    found = []
    for space in (Space(2), *(Space(2, outcomes=outcome) for outcome in OUTCOMES)):
        events = [Event(0, e.proposal, e.implemented, UNSEEN if e.outcome == UNSEEN else 1) for e in some(NUMBER, 100)]
        found.append(weak_instrument(Evidence.of(space, events), stream(1)))
    assert {each.lower[0] for each in found} == {found[0].lower[0]}
    assert {each.smallest[0] for each in found} == {found[0].smallest[0]}
