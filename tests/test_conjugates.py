"""Conjugate blocks against exact fractions, against quadrature of likelihood times prior, and step by step."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betaln, gammaln

from takeup import Bootstrap, Count, Exponential, LogNormal, Normal, Number, Poisson, Time, stream
from takeup.conjugates import Conjugate, Dirichlet, GammaRate, Likelihood, NormalGamma
from takeup.conjugates.normal import moments
from takeup.outcomes import Outcome
from takeup.outcomes.number import LOG_STEPS

FloatArray = NDArray[np.float64]
TIGHT = 1e-10

PRESSURE = Number(60, 220, 1, "mmHg", better="lower")
FAR = Number(1e9, 1e9 + 2000, 0.25)
MONEY = Number(1, 5000, 1, scale="log")
VISITS = Count(40, exposure="days", longest=90, step=0.5)
DAYS = Time(90, "days", step=0.5)


def statistic(outcome: Outcome, given: Sequence[object]) -> Any:
    """Of outcomes as people give them, of one arm in one context; shape (1, 1, W)."""
    codes = np.array([outcome.code(each) for each in given], dtype=np.int64)
    return outcome.amounts(codes)[:, :-1].sum(axis=0)[np.newaxis, np.newaxis]


def block(likelihood: Likelihood, outcome: Outcome) -> Any:
    return likelihood.prior(outcome, (1, 1))


numbers = st.lists(st.integers(0, 8000), min_size=1, max_size=12)


@given(st.lists(st.integers(999_000, 1_000_000), min_size=1, max_size=12), st.sampled_from([1, 17, 700_000]))
def test_moments_are_exact_far_from_zero(steps: list[int], times: int) -> None:
    """n, the mean and Σ (y - mean)^2 in fractions, at the end of the finest grid; up to 8.4 million outcomes.

    In floating point Σ k^2 - n mean^2 would have no digit left.
    """
    fine = Number(1e9, 1e9 + 250_000, 0.25)
    given = statistic(fine, [fine.plain(k) for k in steps]) * times
    n, mean, squares = (each.item() for each in moments(fine, given))
    values = [Fraction(10**9) + Fraction(k, 4) for k in steps]
    exact = sum(values, start=Fraction(0)) / len(values)
    assert n == times * len(values)
    assert abs(Fraction(mean) - exact) <= Fraction(1e9) * Fraction(2, 2**52)
    left = times * sum(((value - exact) ** 2 for value in values), start=Fraction(0))
    assert abs(Fraction(squares) - left) <= left * Fraction(1, 10**13)


@given(numbers)
def test_moments_of_decisions_that_count_less_than_one(steps: list[int]) -> None:
    given = statistic(PRESSURE, [60 + k % 161 for k in steps])
    whole, half = moments(PRESSURE, given), moments(PRESSURE, given * 0.5)
    for times, one, other in zip((0.5, 1, 0.5), whole, half, strict=True):
        np.testing.assert_allclose(other, times * one, rtol=1e-12, atol=1e-9)


def test_nothing_seen_changes_nothing() -> None:
    for likelihood, outcome in CASES.values():
        before = block(likelihood, outcome)
        empty = np.zeros((1, 1, outcome.width), dtype=np.int64)
        for each in (empty, empty.astype(np.float64)):
            after = before.plus(each)
            for name in ("centre", "weight", "freedom", "square", "events", "exposure", "alpha"):
                if hasattr(before, name):
                    np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
            assert before.log_evidence(each).item() == 0


@given(numbers, st.integers(1, 40), st.integers(4, 40))
def test_the_normal_posterior_in_exact_fractions(steps: list[int], weight4: int, freedom4: int) -> None:
    """κ' = κ + n, m' = (κ m + Σ y) / κ', ν' = ν + n, ν' s'^2 = ν s^2 + κ m^2 + Σ y^2 - κ' m'^2."""
    prior = Normal(mean=1e9 + 900.5, sd=3.5, weight=weight4 / 4, freedom=freedom4 / 4)
    after = block(prior, FAR).plus(statistic(FAR, [FAR.plain(k) for k in steps]))
    exact = exact_normal([Fraction(10**9) + Fraction(k, 4) for k in steps], prior)
    assert_same(after, exact, FAR.low)


@given(numbers)
def test_the_lognormal_posterior_in_exact_fractions_of_logarithms(steps: list[int]) -> None:
    """Logarithms are kept in steps of 1/10,000, and log 1 = 0: sums are of fractions."""
    prior = LogNormal(median=1.0, spread=float(np.exp(0.5)), weight=0.75, freedom=2.5)
    values = [1 + k % 5000 for k in steps]
    after = block(prior, MONEY).plus(statistic(MONEY, values))
    logs = [Fraction(round(LOG_STEPS * np.log(value)), LOG_STEPS) for value in values]
    exact = exact_normal(logs, Normal(mean=0.0, sd=0.5, weight=0.75, freedom=2.5))
    assert_same(after, exact, 1.0)


def exact_normal(values: list[Fraction], prior: Normal) -> tuple[Fraction, ...]:
    m, s, kappa, nu = (Fraction(float(each)) for each in (prior.mean, prior.sd, prior.weight, prior.freedom))  # type: ignore[arg-type]
    more = kappa + len(values)
    centre = (kappa * m + sum(values)) / more
    squares = nu * s**2 + kappa * m**2 + sum(y**2 for y in values) - more * centre**2
    return centre, more, nu + len(values), squares / (nu + len(values))


def assert_same(found: NormalGamma, exact: tuple[Fraction, ...], scale: float) -> None:
    for name, right in zip(("centre", "weight", "freedom", "square"), exact, strict=True):
        size = max(abs(right), Fraction(scale) if name == "centre" else 0)
        rounding = Fraction(1, 10**15 if name == "centre" else 10**12)
        assert abs(Fraction(getattr(found, name).item()) - right) <= size * rounding, name


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 180)), min_size=1, max_size=12))
def test_the_posterior_of_a_rate_in_exact_fractions(pairs: list[tuple[int, int]]) -> None:
    """Gamma(a + Σ events, b + Σ exposure), with exposures in half days."""
    given = [{"events": e, "exposure": t / 2} for e, t in pairs]
    after = block(Poisson(rate=0.125, weight=16.0), VISITS).plus(statistic(VISITS, given))
    assert Fraction(after.events.item()) == 2 + sum(e for e, _ in pairs)
    assert Fraction(after.exposure.item()) == 16 + sum(Fraction(t, 2) for _, t in pairs)


@given(st.lists(st.tuples(st.integers(0, 180), st.booleans()), min_size=1, max_size=12))
def test_the_posterior_of_a_time_in_exact_fractions(pairs: list[tuple[int, bool]]) -> None:
    """Gamma(a + events, b + Σ time): who is censored adds time and no event, an event at 0 an event and no time."""
    given = [{"time": t / 2, "censored": censored} for t, censored in pairs]
    after = block(Exponential(mean=64.0, weight=1.5), DAYS).plus(statistic(DAYS, given))
    assert Fraction(after.events.item()) == Fraction(3, 2) + sum(not censored for _, censored in pairs)
    assert Fraction(after.exposure.item()) == 96 + sum(Fraction(t, 2) for t, _ in pairs)


BLOOD = [118, 125, 131, 99, 140, 122, 122]
SPENT = [3, 40, 12, 900, 75, 20]
SEEN = [(3, 30.0), (0, 12.5), (7, 90.0), (1, 4.0)]
STAYS = [(12.0, False), (0.0, False), (90.0, True), (33.5, True), (47.0, False)]
CASES: dict[str, tuple[Likelihood, Outcome]] = {
    "normal": (Normal(mean=120, sd=12, weight=0.5, freedom=3), PRESSURE),
    "normal by default": (Normal(), PRESSURE),
    "lognormal": (LogNormal(median=30, spread=3, weight=2, freedom=4), MONEY),
    "poisson": (Poisson(rate=0.1, weight=8), VISITS),
    "exponential": (Exponential(mean=60, weight=1.5), DAYS),
    "bootstrap": (Bootstrap(alpha=0.4), Number(0, 1, 0.5)),
}
DATA: dict[str, list[object]] = {
    "normal": list(BLOOD),
    "normal by default": list(BLOOD),
    "lognormal": list(SPENT),
    "poisson": [{"events": e, "exposure": t} for e, t in SEEN],
    "exponential": [{"time": t, "censored": c} for t, c in STAYS],
    "bootstrap": [0, 0, 1, 0.5, 1, 1],
}


def trapezoid(log: FloatArray, step: float, *moments: FloatArray) -> list[float]:
    """Log of the integral of exp(log), and means of the moments; analytic integrands that vanish at both ends."""
    weight = np.exp(log - log.max())
    return [
        float(np.log(weight.sum() * step) + log.max()),
        *(float((weight * m).sum() / weight.sum()) for m in moments),
    ]


@pytest.mark.parametrize("name", ["normal", "normal by default", "lognormal"])
def test_the_normal_posterior_and_its_evidence_by_quadrature(name: str) -> None:
    """Over u = log σ^2 and v, where μ = ȳ + v σ; the prior and the likelihood as densities of scipy.stats."""
    likelihood, outcome = CASES[name]
    prior: NormalGamma = block(likelihood, outcome)
    given = statistic(outcome, DATA[name])
    after = prior.plus(given)
    y = np.array(DATA[name], dtype=np.float64)
    y = np.rint(LOG_STEPS * np.log(y)) / LOG_STEPS if name == "lognormal" else y
    du, dv = 0.02, 0.02
    u = np.arange(np.log(y.var()) - 9, np.log(y.var()) + 16, du)[:, np.newaxis]
    v = np.arange(-9, 9, dv)[np.newaxis]
    sigma = np.exp(u / 2)
    mu = y.mean() + v * sigma
    m, kappa, nu, square = (getattr(prior, each).item() for each in ("centre", "weight", "freedom", "square"))
    log = stats.invgamma.logpdf(np.exp(u), nu / 2, scale=nu * square / 2) + stats.norm.logpdf(
        mu, m, sigma / np.sqrt(kappa)
    )
    for each in y:
        log = log + stats.norm.logpdf(each, mu, sigma)
    log = log + u + np.log(sigma)  # what du and dv are of the variance and of the mean
    z, mean, precision = trapezoid(log, du * dv, mu - y.mean(), np.exp(-u) + 0 * v)
    assert prior.log_evidence(given).item() == pytest.approx(z, rel=TIGHT)
    assert after.centre.item() == pytest.approx(y.mean() + mean, rel=TIGHT)
    assert 1 / after.square.item() == pytest.approx(precision, rel=TIGHT)
    spread = trapezoid(log, 1, (mu - after.centre.item()) ** 2)[1]
    nu, kappa, square = after.freedom.item(), after.weight.item(), after.square.item()
    assert nu / (nu - 2) * square / kappa == pytest.approx(spread, rel=1e-9)
    below = trapezoid(log, 1, (np.sign(mu - (y.mean() + 0.3 * y.std())) < 0) * 1.0)[1]
    assert stats.t.cdf((y.mean() + 0.3 * y.std() - after.centre.item()) / np.sqrt(square / kappa), nu) == pytest.approx(
        below, abs=0.005
    )


def log_rates(rate: float) -> FloatArray:
    return np.arange(np.log(rate) - 60, np.log(rate) + 8, 0.004)


def test_the_posterior_of_a_rate_and_its_evidence_by_quadrature() -> None:
    """Over log λ; the evidence is that of the counts but for their Π t^e / e!, which depends on them alone."""
    likelihood, outcome = CASES["poisson"]
    prior: GammaRate = block(likelihood, outcome)
    given = statistic(outcome, DATA["poisson"])
    after = prior.plus(given)
    t = log_rates(0.1)
    log = stats.gamma.logpdf(np.exp(t), prior.events.item(), scale=1 / prior.exposure.item()) + t
    known = 0.0
    for events, exposure in SEEN:
        log = log + stats.poisson.logpmf(events, np.exp(t) * exposure)
        known += events * np.log(exposure) - gammaln(events + 1)
    z, mean, square = trapezoid(log, 0.004, np.exp(t), np.exp(2 * t))
    assert prior.log_evidence(given).item() + known == pytest.approx(z, rel=TIGHT)
    a, b = after.events.item(), after.exposure.item()
    assert (a / b, a * (a + 1) / b**2) == pytest.approx((mean, square), rel=TIGHT)


def test_the_posterior_of_a_time_and_its_evidence_by_quadrature() -> None:
    """Density where the event came, survival where the watch ended."""
    likelihood, outcome = CASES["exponential"]
    prior: GammaRate = block(likelihood, outcome)
    given = statistic(outcome, DATA["exponential"])
    after = prior.plus(given)
    t = log_rates(0.02)
    log = stats.gamma.logpdf(np.exp(t), prior.events.item(), scale=1 / prior.exposure.item()) + t
    for time, censored in STAYS:
        times = stats.expon(scale=np.exp(-t))
        log = log + (times.logsf(time) if censored else times.logpdf(time))
    z, mean, square = trapezoid(log, 0.004, np.exp(t), np.exp(2 * t))
    assert prior.log_evidence(given).item() == pytest.approx(z, rel=TIGHT)
    a, b = after.events.item(), after.exposure.item()
    assert (a / b, a * (a + 1) / b**2) == pytest.approx((mean, square), rel=TIGHT)


def test_the_bootstrap_posterior_and_its_evidence_by_quadrature() -> None:
    """Three bins by sticks: v on the first, w on what is left, both logits; Dir(α) is Beta times Beta."""
    likelihood, outcome = CASES["bootstrap"]
    prior: Dirichlet = block(likelihood, outcome)
    given = statistic(outcome, DATA["bootstrap"])
    counts = [2, 1, 3]
    assert prior.plus(given).alpha.ravel().tolist() == [0.4 + n for n in counts]
    t = np.arange(-90, 90, 0.05)
    v, stick, rest = 1 / (1 + np.exp(-t)), -np.log1p(np.exp(-t)), -np.log1p(np.exp(t))
    one = (0.4 + 2) * stick + (0.8 + 4) * rest - betaln(0.4, 0.8)
    two = (0.4 + 1) * stick + (0.4 + 3) * rest - betaln(0.4, 0.4)
    (z1, mean1), (z2, mean2) = trapezoid(one, 0.05, v), trapezoid(two, 0.05, v)
    assert prior.log_evidence(given).item() == pytest.approx(z1 + z2, rel=TIGHT)
    shares = [mean1, (1 - mean1) * mean2, (1 - mean1) * (1 - mean2)]
    np.testing.assert_allclose(prior.plus(given).mean().probability.ravel(), shares, rtol=TIGHT)


def predictive(name: str, now: Any, given: Any) -> float:
    """The log density of the next outcome: Student's t, negative binomial, Lomax, or a share."""
    if name == "bootstrap":
        alpha = now.alpha.ravel()
        return float(np.log(alpha[round(2 * given)] / alpha.sum()))
    if name == "poisson":
        events, exposure = given["events"], given["exposure"]
        share = now.exposure.item() / (now.exposure.item() + exposure)
        known = events * np.log(exposure) - gammaln(events + 1)
        return float(stats.nbinom.logpmf(events, now.events.item(), share) - known)
    if name == "exponential":
        lomax = stats.lomax(now.events.item(), scale=now.exposure.item())
        return float(lomax.logsf(given["time"]) if given["censored"] else lomax.logpdf(given["time"]))
    y = np.rint(LOG_STEPS * np.log(given)) / LOG_STEPS if name == "lognormal" else given
    scale = np.sqrt(now.square.item() * (1 + 1 / now.weight.item()))
    return float(stats.t.logpdf(y, now.freedom.item(), now.centre.item(), scale))


@pytest.mark.parametrize("name", CASES)
def test_evidence_is_the_product_of_what_was_foreseen_step_by_step(name: str) -> None:
    likelihood, outcome = CASES[name]
    prior = now = block(likelihood, outcome)
    total = 0.0
    for each in DATA[name]:
        total += predictive(name, now, each)
        now = now.plus(statistic(outcome, [each]))
    assert prior.log_evidence(statistic(outcome, DATA[name])).item() == pytest.approx(total, rel=TIGHT)


def distribution(name: str, after: Any) -> Any:
    """The posterior of what an outcome is worth on average, by scipy.stats, or of what decides it."""
    if name.startswith("normal"):
        return stats.t(after.freedom.item(), -after.centre.item(), np.sqrt(after.square / after.weight).item())
    return stats.gamma(after.events.item(), scale=1 / after.exposure.item())


@pytest.mark.parametrize("name", ["normal", "normal by default", "poisson", "exponential"])
def test_draws_come_from_the_posterior(name: str) -> None:
    """Kolmogorov-Smirnov on 20,000 draws at 1e-5 each, so that fewer than one seed in 25,000 sounds an alarm."""
    likelihood, outcome = CASES[name]
    after = block(likelihood, outcome).plus(statistic(outcome, DATA[name]))
    draws = after.sample_rewards(stream(11), (20_000,)).ravel()
    if name == "poisson":
        draws = -draws
    if name == "exponential":  # what is worth m (1 - exp(-90 / m)) has the rate 1 / m, and falls with it
        rate = np.geomspace(1e-8, 10, 200_000)
        draws = np.interp(-draws, rate**-1 * np.expm1(-90 * rate), rate)
    assert stats.kstest(draws, distribution(name, after).cdf).pvalue > 1e-5


@pytest.mark.parametrize("name", CASES)
def test_what_a_block_can_do(name: str) -> None:
    """Shapes, contexts and replications; and a prior that has the parameters of a posterior."""
    likelihood, outcome = CASES[name]
    prior: Conjugate = likelihood.prior(outcome, (2, 3))
    assert prior.shape == (2, 3)
    assert prior.at(1).shape == (1, 3)
    given = np.broadcast_to(statistic(outcome, DATA[name]), (5, 2, 3, outcome.width))
    after = prior.plus(given)
    assert after.shape == (5, 2, 3)
    assert after.at(np.array([0, 1, 1, 0, 1])).shape == (5, 1, 3)
    assert after.sample_rewards(stream(1)).shape == after.mean().mean_worth().shape == (5, 2, 3)
    assert prior.sample(stream(1), (7,)).mean_worth().shape == (7, 2, 3)
    np.testing.assert_array_equal(prior.sample(stream(1), (7,)).mean_worth(), prior.sample_rewards(stream(1), (7,)))
    one = prior.plus(given[0])
    again: Any = likelihood.informed(one).prior(outcome, (2, 3))
    for each in ("centre", "weight", "freedom", "square", "events", "exposure", "alpha"):
        if hasattr(one, each):
            np.testing.assert_allclose(getattr(again, each), getattr(one, each), rtol=1e-13)


@settings(max_examples=30)
@given(st.sampled_from([1.0, 1.5, 3.0, 1e6]), st.sampled_from([1e-6, 1.0, 1e9]), st.sampled_from([1.000001, 4.0, 1e12]))
def test_draws_are_numbers_whatever_the_prior(freedom: float, weight: float, spread: float) -> None:
    """With few degrees of freedom a spread may be drawn whose exponential no computer has."""
    for likelihood, outcome in (
        (LogNormal(spread=spread, weight=weight, freedom=freedom), MONEY),
        (
            LogNormal(spread=spread, weight=weight, freedom=freedom),
            Number(1e-3, 1e3, 1e-3, scale="log", utility=((1, 0), (2, 1))),
        ),
        (Normal(sd=spread, weight=weight, freedom=freedom), PRESSURE),
        (Normal(sd=spread, weight=weight, freedom=freedom), Number(0, 9, utility=((1, 0), (2, 1)))),
        (Exponential(mean=spread, weight=max(weight, 0.1)), DAYS),
        (Poisson(rate=1 / spread, weight=max(weight, spread)), VISITS),
    ):
        draws = block(likelihood, outcome).sample_rewards(stream(1), (2_000,))
        assert np.isfinite(draws).all()
        if outcome is MONEY or outcome is DAYS or (isinstance(outcome, Number) and outcome.utility):
            assert outcome.lowest - 1 <= draws.min()
            assert draws.max() <= outcome.highest * (1 + 1e-9)
