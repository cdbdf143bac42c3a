"""Likelihoods and their priors, in people's units: what they say, what they are written down as, what they refuse."""

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from takeup import (
    TS,
    Bootstrap,
    Count,
    Exponential,
    InputError,
    LogNormal,
    Normal,
    Number,
    Poisson,
    Space,
    Time,
    TSObs,
    UnsuitableError,
)
from takeup.conjugates import LIKELIHOODS, Likelihood, likelihood_for, likelihood_of
from takeup.policies import description
from takeup.policies.registry import policy_of

PRESSURE = Number(60, 220, 1, "mmHg")
MONEY = Number(1, 5000, 1, scale="log")


@pytest.mark.parametrize(("low", "high"), [(90, 160), (90, 150), (119, 400), (110, 120.5)])
@pytest.mark.parametrize(("weight", "freedom"), [(1.0, 3.0), (0.1, 1.0), (20.0, 50.0)])
def test_about_says_where_19_of_20_outcomes_are(low: float, high: float, weight: float, freedom: float) -> None:
    """The prior predictive, Student's t with scale s sqrt(1 + 1/κ), has 0.95 between the two, also if one is nearer."""
    prior = Normal.about(120, low, high, weight=weight, freedom=freedom).prior(PRESSURE, (1, 1))
    foreseen = stats.t(freedom, 120, np.sqrt(prior.square * (1 + 1 / prior.weight)).item())
    assert prior.centre.item() == 120
    assert foreseen.cdf(high) - foreseen.cdf(low) == pytest.approx(0.95, abs=1e-10)
    logs = LogNormal.about(120, low, high, weight=weight, freedom=freedom).prior(MONEY, (1, 1))
    foreseen = stats.t(freedom, np.log(120), np.sqrt(logs.square * (1 + 1 / logs.weight)).item())
    assert foreseen.cdf(np.log(high)) - foreseen.cdf(np.log(low)) == pytest.approx(0.95, abs=1e-10)


@pytest.mark.parametrize(("low", "high"), [(1, 3), (0.5, 4), (0, 5), (0, 8), (1e-6, 8), (1.9, 2.1), (1e-9, 1e9)])
def test_about_says_where_a_rate_or_a_mean_time_is_with_19_in_20(low: float, high: float) -> None:
    """Gamma distributions of mean 2, and of mean 1/2; with nothing below it is the end above that is rarely passed."""
    rate = Poisson.about(2, low, high).prior(Count(20), (1, 1))
    believed = stats.gamma(rate.events.item(), scale=1 / rate.exposure.item())
    assert believed.mean() == pytest.approx(2)
    assert believed.cdf(high) - believed.cdf(low) == pytest.approx(0.95, abs=1e-10)
    if low > 0:
        time = Exponential.about(2, low, high).prior(Time(90), (1, 1))
        believed = stats.gamma(time.events.item(), scale=1 / time.exposure.item())
        assert believed.mean() == pytest.approx(1 / 2)
        assert believed.cdf(1 / low) - believed.cdf(1 / high) == pytest.approx(0.95, abs=1e-10)


BAD_ABOUT: list[tuple[type[Any], tuple[Any, ...], str]] = [
    (Normal, (80, 90, 160), "about: got 80, expected a number between 90 and 160"),
    (Normal, (120, 160, 90), "rarely_outside: got 160 to 90, expected a lower number"),
    (Normal, ("120", 90, 160), "about: got"),
    (Normal, (float("nan"), 90, 160), "about: got nan"),
    (Normal, ([120, 130], 90, 160), "about: got"),
    (LogNormal, (120, 0, 160), "expected numbers above 0"),
    (LogNormal, (-1, -2, 160), "expected numbers above 0"),
    (Poisson, (0, 0, 3), "about: got 0, expected a number between"),
    (Poisson, (-1, -2, 3), "expected numbers above 0"),
    (Poisson, (1, 0, 21), "rarely_outside: got 0 to 21, expected a narrower range around 1"),
    (Poisson, (1, 1 - 1e-6, 1 + 1e-6), "rarely_outside: got .*, expected a wider range around 1"),
    (Exponential, (90, 0, 300), "expected numbers above 0"),
    (Exponential, (90, 100, 300), "about: got"),
]


@pytest.mark.parametrize(("family", "given", "words"), BAD_ABOUT, ids=[str(i) for i in range(len(BAD_ABOUT))])
def test_a_range_that_is_none_is_refused(family: type[Any], given: tuple[Any, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        family.about(*given)


SOME: list[tuple[Likelihood, Any]] = [
    (Normal(), PRESSURE),
    (Normal(mean=[120, 130], sd=12.5), PRESSURE),
    (Normal.about(120, 90, 160), PRESSURE),
    (Normal(mean=[[61.1, 62.2]], sd=np.array([[0.1, 0.2]]), weight=[[1e-12, 1e15]], freedom=1), PRESSURE),
    (LogNormal(median=50, spread=2.5), MONEY),
    (Bootstrap(), PRESSURE),
    (Bootstrap(alpha=np.linspace(0.1, 2, 20)), PRESSURE),
    (Poisson(), Count(20)),
    (Poisson.about(2, 1, 5), Count(20, exposure="days", longest=30)),
    (Exponential(mean=[30, 60], weight=0.1), Time(90)),
]


@pytest.mark.parametrize(("likelihood", "outcome"), SOME, ids=[str(i) for i in range(len(SOME))])
def test_likelihoods_are_written_and_read_again(likelihood: Likelihood, outcome: Any) -> None:
    """Alone, and in a policy, through JSON, to the bit."""
    space = Space(2, outcomes=outcome)
    written = json.loads(json.dumps(likelihood.described()))
    again = likelihood_of(written)
    assert again.described() == written
    for kind in (TS, TSObs):
        policy = kind(likelihood=likelihood)
        stored = json.loads(json.dumps(description.describe(policy)))
        assert stored["likelihood"] == written
        same: Any = policy_of(stored)
        assert json.loads(json.dumps(description.describe(same))) == stored
        one, other = (each.prior(space).block for each in (policy, same))
        for name in ("centre", "weight", "freedom", "square", "events", "exposure", "alpha"):
            if hasattr(one, name):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_policy_without_a_likelihood_is_written_as_it_always_was() -> None:
    assert "likelihood" not in description.describe(TS())


def test_a_spec_says_it_in_words() -> None:
    """`[policy.likelihood] kind = "normal" about = 120 rarely_outside = [90, 160]`."""
    table = {"kind": "normal", "about": 120, "rarely_outside": [90, 160], "weight": 2}
    policy: Any = policy_of({"kind": "TSObs", "likelihood": table})
    assert policy.likelihood.described() == Normal.about(120, 90, 160, weight=2).described()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"kind": "nermal"}, "likelihood.kind: got 'nermal', expected one of normal, lognormal, bootstrap, poisson"),
    ({"mean": 3}, "likelihood.kind is missing"),
    ({"kind": "normal", "maen": 3}, "likelihood.maen: got 3, .* did you mean mean?"),
    ({"kind": "normal", "about": 120}, "likelihood.rarely_outside is missing; expected two numbers"),
    ({"kind": "normal", "about": 120, "rarely_outside": 90}, "likelihood.rarely_outside: got 90"),
    ({"kind": "normal", "rarely_outside": [1, 2]}, "likelihood.about is missing"),
    ({"kind": "bootstrap", "about": 1}, "likelihood.about: got 1, expected alpha, as bootstrap has no such prior"),
    (
        {"kind": "poisson", "about": 1, "rarely_outside": [0.1, 2], "weight": 3},
        "likelihood.weight: got 3, expected one of about, rarely_outside",
    ),
    ({"kind": "normal", "about": 1, "rarely_outside": [0, 2], "weight": [1, 2]}, "weight, freedom: got shapes"),
    ({"kind": "normal", "sd": 0}, "sd: got 0.0, expected numbers from 1e-12 to 1e.15"),
    ({"kind": "normal", "sd": []}, "sd: got"),
    ({"kind": "normal", "mean": 1e300}, "mean: got 1e.300, expected numbers from -1e.12 to 1e.12"),
    ({"kind": "normal", "mean": float("nan")}, "mean: got nan, expected finite numbers"),
    ({"kind": "normal", "mean": True}, "mean: got True, expected numbers"),
    ({"kind": "normal", "mean": [[1], [2, 3]]}, "mean"),
    ({"kind": "normal", "weight": None}, "weight: got nan"),
    ({"kind": "normal", "freedom": 0.99}, "freedom: got 0.99, expected numbers from 1 to"),
    ({"kind": "lognormal", "spread": 1}, "spread: got 1.0, expected factors from 1.000001"),
    ({"kind": "poisson", "rate": 10**400}, "rate"),
]


@pytest.mark.parametrize(("table", "words"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_a_table_of_no_likelihood_is_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        likelihood_of(table)


def test_priors_that_do_not_fit_the_space_are_refused_before_the_first_decision() -> None:
    space = Space(2, outcomes=PRESSURE)
    with pytest.raises(InputError, match=r"mean: got shape \(3,\), expected a number or an array of shape \(1, 2\)"):
        TS(likelihood=Normal(mean=[1, 2, 3])).start(space)
    with pytest.raises(InputError, match=r"^likelihood.mean: got .*16.0.*, expected numbers from .* mmHg, as outcomes"):
        TSObs(likelihood=Normal.about(16, 12, 21)).start(space)
    with pytest.raises(InputError, match=r"^likelihood.median: got .*; priors are in the units of the outcome$"):
        TS(likelihood=LogNormal(median=1e9)).start(Space(2, outcomes=MONEY))
    with pytest.raises(UnsuitableError, match="likelihood poisson is of an outcome that is a count, not a number"):
        TS(likelihood=Poisson()).start(space)
    with pytest.raises(UnsuitableError, match=r'likelihood lognormal needs sums of logarithms; .* scale="log"'):
        TS(likelihood=LogNormal()).start(space)
    with pytest.raises(InputError, match="likelihood: got normal, expected nothing: outcomes with levels"):
        TS(likelihood=Normal()).start(Space(2))
    with pytest.raises(
        InputError, match="alpha: got 2, expected nothing: an outcome that is a number has a likelihood"
    ):
        TS(alpha=2).start(space)
    with pytest.raises(InputError, match=r"weight: got 0.05 events, expected a prior that is worth 0.1 events or more"):
        TS(likelihood=Poisson(rate=0.5, weight=0.1)).start(Space(2, outcomes=Count(9)))
    with pytest.raises(InputError, match=r"weight: got 0.09 events, .* 0.1 events or more"):
        TS(likelihood=Exponential(weight=0.09)).start(Space(2, outcomes=Time(90)))
    with pytest.raises(InputError, match="likelihood: got 'normal', expected a likelihood, such as Normal"):
        TS(likelihood="normal")  # type: ignore[arg-type]


DEFAULTS = [
    Number(60, 220, 1),
    Number(-1e6, 1e6, 2),
    Number(1e9, 1e9 + 1, 0.5),
    Count(1),
    Count(1_000_000),
    Count(100, exposure="days", longest=90),
    Time(0.5, step=0.5),
    Time(3650),
]


@pytest.mark.parametrize("outcome", DEFAULTS, ids=str)
def test_defaults_are_in_the_range_and_worth_little(outcome: Any) -> None:
    """The guess is within the range, and worth one outcome (three, of a spread) or one event."""
    prior: Any = likelihood_for(outcome).prior(outcome, (1, 1))
    if isinstance(outcome, Number):
        assert outcome.low <= prior.centre.item() <= outcome.high
        assert (prior.weight.item(), prior.freedom.item()) == (1, 3)
        assert 0 < np.sqrt(prior.square.item()) <= outcome.high - outcome.low
    else:
        assert prior.events.item() == pytest.approx(1)
        rate = prior.events.item() / prior.exposure.item()
        most = outcome.most / outcome.step if isinstance(outcome, Count) else 1 / outcome.step
        assert 0 < rate <= most
    assert set(LIKELIHOODS) == {"normal", "lognormal", "bootstrap", "poisson", "exponential"}


def test_a_pilot_of_the_largest_size_makes_a_prior() -> None:
    """Ten million outcomes, all alike or at both ends of the widest ranges, are still within the bounds of a prior."""
    wide, many = Number(1e-3, 1e3, 1e-3, scale="log"), 10_000_000
    time, count = Time(1_000_000), Count(1, exposure="days", longest=1_000_000)
    cases: list[tuple[Any, Any]] = [(LogNormal(), wide), (Normal(), wide), (Exponential(), time), (Poisson(), count)]
    for likelihood, outcome in cases:
        last = outcome.size - 1
        for codes in ([last, last], [0, last]):
            given = outcome.amounts(codes)[:, :-1].sum(axis=0)[np.newaxis, np.newaxis] * (many // 4)
            likelihood.informed(likelihood.prior(outcome, (1, 1)).plus(given)).prior(outcome, (1, 1))


def test_logarithms_that_were_rounded_up_make_a_prior() -> None:
    """log(900,001) is 13.710151, kept as 13.7102: a median of 900,045 is above all outcomes, and still a pilot's."""
    money = Number(1, 900_001, 1, scale="log")
    given = money.amounts([money.size - 1])[:, :-1][np.newaxis] * 1_000_000
    posterior = LogNormal().prior(money, (1, 1)).plus(given)
    assert np.exp(posterior.centre.item()) > 900_001.5
    LogNormal().informed(posterior).prior(money, (1, 1))
    with pytest.raises(InputError, match=r"median: got \[\[900200\.0\]\], expected numbers from 1 to 900001, as"):
        LogNormal(median=900_200.0).prior(money, (1, 1))
