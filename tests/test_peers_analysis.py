"""linearmodels and ivmodels say the same of trials with fixed allocation. `make peers` has them."""

from typing import Any

import numpy as np
import pytest

from takeup import Log, Space, stream
from takeup.analysis import naive, regions, regression

SAME = 1e-8
PAIR, ALL = [2, 0], [2, 0, 1]


def trial(seed: int, follow: float, n: int = 900) -> Log:
    """Three arms and two sites; those who do not follow do as they like, and do better."""
    rng = stream(seed, "peers")
    x, z, keen = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.random(n)
    a = np.where(keen < follow, z, rng.integers(0, 3, n))
    y = (rng.random(n) < 0.2 + 0.3 * (a == 2) + 0.2 * (keen > 0.8) + 0.1 * x).astype(np.int64)
    return Log.of(Space(3, contexts=2), z, [1 / 3] * 3, context=x, implemented=a, outcome=y)


def columns(log: Log, proposals: list[int]) -> dict[str, Any]:
    """Outcome, what is exogenous, what is taken and the instruments, as both packages take them."""
    kept = np.isin(log.proposal, proposals)
    z, x = log.proposal[kept], log.context[kept]
    return {
        "y": log.outcome[kept].astype(float),
        "exogenous": np.stack([x == 0, x == 1], axis=1).astype(float),
        "taken": (log.implemented[kept] == 2).astype(float),
        "instruments": np.stack([z == each for each in proposals[:-1]], axis=1).astype(float),
    }


@pytest.mark.parametrize("proposals", [PAIR, ALL])
@pytest.mark.parametrize("method", ["2SLS", "LIML"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_linearmodels(proposals: list[int], method: regression.Method, seed: int) -> None:
    """IV2SLS and IVLIML: the coefficient, its error if all spread alike, and White's, which intervals use."""
    peer: Any = pytest.importorskip("linearmodels.iv", reason="no linearmodels: pip install 'takeup[bench]'")
    log = trial(seed, 0.6)
    given = columns(log, proposals)
    model = peer.IV2SLS if method == "2SLS" else peer.IVLIML
    fitted = model(given["y"], given["exogenous"], given["taken"], given["instruments"])
    plain, robust = (fitted.fit(cov_type=kind) for kind in ("unadjusted", "robust"))
    ours = regression.instrumented(naive.regressed(log, proposals, 2)[0], method)
    assert float(ours.value) == pytest.approx(float(plain.params["endog"]), rel=SAME)
    assert float(ours.error) == pytest.approx(float(plain.std_errors["endog"]), rel=SAME)
    assert float(ours.robust) == pytest.approx(float(robust.std_errors["endog"]), rel=SAME)
    shown = naive.two_stage(log, *proposals, action=2, method=method)
    interval = robust.conf_int(0.95).loc["endog"]
    assert (shown.low, shown.high) == pytest.approx((float(interval.iloc[0]), float(interval.iloc[1])), rel=SAME)


@pytest.mark.parametrize("proposals", [PAIR, ALL])
@pytest.mark.parametrize("follow", [0.6, 0.1, 0.02])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ivmodels(proposals: list[int], follow: float, seed: int) -> None:
    """The region of Anderson & Rubin, whatever its shape, has the ends that the inverted test has there."""
    peer: Any = pytest.importorskip("ivmodels", reason="no ivmodels: pip install 'takeup[bench]'")
    log = trial(seed, follow)
    given = columns(log, proposals)
    matrices = {"Z": given["instruments"], "X": given["taken"][:, np.newaxis], "y": given["y"]}
    site = given["exogenous"][:, :1]  # and a constant
    quadric = peer.tests.inverse_anderson_rubin_test(**matrices, C=site, alpha=0.05)
    theirs = peer.confidence_set.ConfidenceSet.from_quadric(quadric).boundaries
    ours = regions.rays(regression.anderson_rubin_by_regression(naive.regressed(log, proposals, 2)[0]))
    assert len(ours) == len(theirs)
    assert np.ravel(ours) == pytest.approx(np.ravel(theirs), rel=SAME)
    for end in (end for ray in ours for end in ray if np.isfinite(end)):
        _, p = peer.tests.anderson_rubin_test(**matrices, beta=np.array([end]), C=site)
        assert p == pytest.approx(0.05, rel=1e-6)
