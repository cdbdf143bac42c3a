"""The sweep over noncompliance: its rules on data whose answer is known, and the simulation by hand."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from takeup.checks import FloatArray
from takeup.paper import regret, rules
from takeup.paper.rules import Estimates
from takeup.paper.runner import Runner
from takeup.paper.sweep_claims import Runs, check

RUNS = 400
P = regret.GRID
BELOW, HALF, BEYOND = P < 0.5, P == 0.5, P > 0.5


def good() -> dict[str, FloatArray]:
    """Mean regrets for which every claim is true."""
    apart = np.abs(P - 0.5)
    ts = np.where(HALF, 0.0, 6 / (0.2 + 2 * apart))
    observed = np.where(HALF, 0.0, np.where(apart == 0.5, 5.0, 2 + 20 * (0.45 - apart) ** 2))
    checked = np.where(BELOW, 1 + 8 * apart, np.where(BEYOND, 9_900 * (P - 0.5), 0.0))
    checked[-1] = 2_500
    return {"TS": ts, "TS-Obs": observed, "TS-Check": checked}


def runs(means: dict[str, FloatArray], **changed: Any) -> Runs:
    """Gamma noise around the means: sd 0.3 of the mean for TS, and 0.1 for the others, with one common part."""
    rng = np.random.default_rng(5)
    noise = rng.gamma(4, 0.25, (P.size, RUNS))
    spread = {"TS": 0.6, "TS-Obs": 0.2, "TS-Check": 0.2}
    final = {name: means[name][:, None] * (1 + spread[name] * (noise - 1)) for name in means}
    final["TS-Check"][-1] = 2_500 + 25 * rng.normal(size=RUNS)
    halfway = {name: regret / 2 for name, regret in final.items()}
    return replace(Runs(P, 10_000, 0.5, final=final, halfway=halfway), **changed)


def failing(measured: Runs) -> list[str]:
    return [claim.claim for claim in check(measured) if not claim.holds]


def test_all_claims_hold_on_data_that_fulfil_them() -> None:
    assert failing(runs(good())) == []


def falling_ts(means: dict[str, FloatArray]) -> None:
    means["TS"][9] = means["TS"][5]


def nonzero_at_half(means: dict[str, FloatArray]) -> None:
    means["TS-Obs"][HALF] = 0.1


def rising_check(means: dict[str, FloatArray]) -> None:
    means["TS-Check"][7] = means["TS-Check"][5]


def worse_check(means: dict[str, FloatArray]) -> None:
    means["TS-Check"][0] = 1.2 * means["TS"][0]


def mild_check(means: dict[str, FloatArray]) -> None:
    means["TS-Check"][11] = 1.5 * means["TS"][11]


def curved_check(means: dict[str, FloatArray]) -> None:
    means["TS-Check"][BEYOND] = 60_000 * (P[BEYOND] - 0.5) ** 4 + 200


def worse_observed(means: dict[str, FloatArray]) -> None:
    means["TS-Obs"][-1] = 1.1 * means["TS"][-1]


def penalised_observed(means: dict[str, FloatArray]) -> None:
    means["TS-Obs"][0] = 2 * means["TS"][0]


def monotone_observed(means: dict[str, FloatArray]) -> None:
    means["TS-Obs"] = 0.4 * means["TS"]


@pytest.mark.parametrize(
    ("change", "violated"),
    [
        (falling_ts, "TS: mean regret rises"),
        (nonzero_at_half, "All policies: regret is zero"),
        (rising_check, "TS-Check: mean regret falls"),
        (worse_check, "TS-Check matches or beats TS"),
        (mild_check, "TS-Check: substantially larger"),
        (curved_check, "TS-Check: regret is linear in p"),
        (worse_observed, "TS-Obs matches or beats TS in mean"),
        (penalised_observed, "TS-Obs: no significant penalty"),
        (monotone_observed, "TS-Obs: mean regret is not monotone"),
    ],
)
def test_a_violated_claim_fails(change: Callable[[dict[str, FloatArray]], None], violated: str) -> None:
    means = good()
    change(means)
    assert any(claim.startswith(violated) for claim in failing(runs(means)))


def test_claims_about_variance_time_and_uniform_proposals_can_fail() -> None:
    measured, means = runs(good()), {name: mean[:, None] for name, mean in good().items()}
    steady = dict(measured.final) | {"TS": means["TS"] + measured.final["TS"][:1]}
    assert "TS: the variance of regret rises as p tends to 0.5, from either side" in failing(runs(good(), final=steady))
    wild = dict(measured.final) | {"TS-Obs": means["TS-Obs"] + 3 * (measured.final["TS"] - means["TS"])}
    assert "TS-Obs matches or beats TS in variance at every p" in failing(runs(good(), final=wild))
    logarithmic = {name: 0.93 * regret for name, regret in measured.final.items()}
    assert "TS-Check: regret is linear in T for p > 0.5" in failing(runs(good(), halfway=logarithmic))
    biased = dict(measured.final) | {"TS-Check": measured.final["TS-Check"] + 20}
    assert "TS-Check proposes uniformly at random at p = 1" in failing(runs(good(), final=biased))


def test_the_false_alarm_rate() -> None:
    """Of 4,000 true claims, 21 comparisons each, 1 in 1,000 fails: more than 14 with probability 2e-5."""
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(4000):
        noise = Estimates(tuple(map(str, P)), rng.normal(size=P.size), np.ones(P.size))
        alarms += not rules.never_above(noise).holds
    assert alarms <= 14
    assert rules.threshold(1) == pytest.approx(3.0902, abs=1e-4)


def test_silence_is_no_rise() -> None:
    """Flat estimates neither rise, fall nor turn."""
    flat = Estimates(tuple(map(str, P)), np.ones(P.size), np.full(P.size, 0.1))
    assert not rules.rises(flat).holds
    assert not rules.falls(flat).holds
    assert not rules.turns(flat).holds


def test_variances_by_hand() -> None:
    """Runs 1, 2, 3: variance 1; squares 1.5 * (1, 0, 1), whose mean has the error sd(1.5, 0, 1.5) / sqrt 3 = 0.5."""
    estimate = Estimates.variances([0.5], np.array([[1.0, 2.0, 3.0]]))
    assert estimate.labels == ("p = 0.50",)
    np.testing.assert_allclose([estimate.value[0], estimate.error[0]], [1.0, 0.5])


def test_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """At p = 0.3 the values are 0.7 x 0.75 + 0.3 x 0.25 = 0.6 and 0.4. A seed gives the same 63 points again."""
    np.testing.assert_allclose(regret.environment(0.3).value(), [[0.6, 0.4]])
    monkeypatch.setattr(regret, "HORIZON", 40)
    done: list[int] = []
    first, again = (regret.sweep(Runner(4, 3, "reference", done.append)) for _ in range(2))
    assert [(point.policy, point.p) for point in first.points] == [
        (policy, float(p)) for policy in ("TS", "TS-Obs", "TS-Check") for p in P
    ]
    assert first == again
    assert sum(done) == 2 * regret.decisions(4)
    at_half = [point for point in first.points if point.p == 0.5]
    assert all(point.mean == point.sd == 0 for point in at_half)
    assert len(first.claims) == 13
