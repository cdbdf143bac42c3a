"""The learners of bayesianbandits give the same posteriors where the models coincide. `make peers` has them."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from takeup import TS, Count, Event, Evidence, Normal, Number, Poisson, Space, TSObs, stream

bandits: Any = pytest.importorskip("bayesianbandits", reason="no bayesianbandits: pip install 'takeup[bench]'")

SAME = 1e-8
PRESSURE = Space(3, outcomes=Number(60, 220, 0.5, "mmHg"))
FALLS = Space(3, outcomes=Count(40))


def decisions(space: Space, many: int, seed: int) -> list[tuple[int, Any]]:
    """Proposals that all complied with, and what came of them."""
    rng = stream(seed)
    z = rng.integers(3, size=many)
    y = np.clip(rng.normal(118 + 4 * z, 14), 60, 220).round(0) if space is PRESSURE else rng.poisson(2.0 + z)
    return list(zip(z.tolist(), y.tolist(), strict=True))


def gathered(space: Space, log: list[tuple[int, Any]]) -> Evidence:
    return Evidence.of(space, [Event(0, z, z, space.index("outcome", y)) for z, y in log])


@pytest.mark.parametrize("policy", [TS, TSObs])
@pytest.mark.parametrize("many", [1, 12, 400])
@pytest.mark.parametrize("one_by_one", [True, False])
def test_normal_inverse_gamma(policy: Any, many: int, one_by_one: bool) -> None:
    """Its weights are of an intercept for each arm: lam = κ, a = ν / 2, b = ν s^2 / 2, and so are the posterior's."""
    prior = Normal(mean=120.0, sd=15.0, weight=0.5, freedom=4.0)
    log = decisions(PRESSURE, many, seed=many)
    ours = policy(likelihood=prior).posterior(gathered(PRESSURE, log), stream(0)).block
    for arm in range(3):
        theirs = bandits.NormalInverseGammaRegressor(mu=120.0, lam=0.5, a=2.0, b=4.0 * 15.0**2 / 2)
        y = np.array([value for z, value in log if z == arm], dtype=np.float64)
        if not y.size:
            continue
        if one_by_one:
            for value in y:
                theirs.partial_fit(np.ones((1, 1)), np.array([value]))
        else:
            theirs.fit(np.ones((y.size, 1)), y)
        centre, weight, freedom, square = (
            getattr(ours, name)[0, arm] for name in ("centre", "weight", "freedom", "square")
        )
        assert centre == pytest.approx(float(theirs.coef_[0]), rel=SAME)
        assert weight == pytest.approx(float(np.asarray(theirs.cov_inv_).ravel()[0]), rel=SAME)
        assert freedom == pytest.approx(2 * float(theirs.a_), rel=SAME)
        assert square == pytest.approx(float(theirs.b_) / float(theirs.a_), rel=SAME)
        mean = stats.t(2 * theirs.a_, theirs.coef_[0], np.sqrt(theirs.b_ / theirs.a_ / weight))
        assert stats.t(freedom, centre, np.sqrt(square / weight)).ppf(0.9) == pytest.approx(
            float(mean.ppf(0.9)), rel=SAME
        )


@pytest.mark.parametrize("policy", [TS, TSObs])
@pytest.mark.parametrize("one_by_one", [True, False])
def test_gamma(policy: Any, one_by_one: bool) -> None:
    """Its groups are our arms: alpha and beta are events and exposure."""
    log = decisions(FALLS, 300, seed=9)
    ours = policy(likelihood=Poisson(rate=2.5, weight=0.8)).posterior(gathered(FALLS, log), stream(0)).block
    theirs = bandits.GammaRegressor(alpha=2.0, beta=0.8)
    arms, counts = np.array([[z] for z, _ in log]), np.array([y for _, y in log])
    if one_by_one:
        for arm, count in zip(arms, counts, strict=True):
            theirs.partial_fit(arm[np.newaxis], np.array([count]))
    else:
        theirs.fit(arms, counts)
    for arm in range(3):
        events, exposure = theirs.coef_[arm]
        assert ours.events[0, arm] == pytest.approx(float(events), rel=SAME)
        assert ours.exposure[0, arm] == pytest.approx(float(exposure), rel=SAME)
