"""MABWiser, bayesianbandits and statsmodels find the same regressions. `make peers` has them."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from takeup import Event, Evidence, LinUCB, Measure, Profile, Space, stream
from takeup.inference.linear import Regression, Sums
from takeup.inference.logit import Table, fitted, prior_precision

FloatArray = NDArray[np.float64]
SAME = 1e-8


def rows(many: int, seed: int = 1) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
    """Features, arms and outcomes."""
    rng = stream(seed, "rows")
    features = np.column_stack([np.ones(many), rng.normal(size=(many, 2)).round(2)])
    arm = rng.integers(2, size=many)
    slopes = np.array([[1.0, 0.5, -0.3], [0.2, -1.0, 0.8]])
    return features, arm, ((features * slopes[arm]).sum(axis=1) + rng.normal(size=many)).round(2)


@pytest.mark.parametrize("many", [5, 60])
@pytest.mark.parametrize(("alpha", "ridge"), [(1.0, 1.0), (0.3, 2.5)])
def test_linucb_of_mabwiser(many: int, alpha: float, ridge: float) -> None:
    """What it expects of each arm is the mean plus α times the width."""
    mab: Any = pytest.importorskip("mabwiser.mab", reason="no mabwiser: pip install 'takeup[bench]'")
    features, arm, outcome = rows(many)
    theirs = mab.MAB([0, 1], mab.LearningPolicy.LinUCB(alpha=alpha, l2_lambda=ridge))
    theirs.fit(arm, outcome, features)
    at = np.array([[1.0, 0.4, -0.2], [1.0, -2.0, 3.0]])
    for z in range(2):
        own = arm == z
        ours = Regression.prior(np.full(3, ridge)).plus(Sums.of(features[own], outcome[own]))
        expected = [each[z] for each in theirs.predict_expectations(at)]
        np.testing.assert_allclose(ours.centre(at) + alpha * ours.width(at), expected, rtol=SAME)


@pytest.mark.parametrize(("alpha", "ridge"), [(1.0, 1.0), (0.3, 2.5)])
def test_lints_of_mabwiser(alpha: float, ridge: float) -> None:
    """It draws from N(beta, α² A^-1): the noise is known, and α its standard deviation."""
    mab: Any = pytest.importorskip("mabwiser.mab", reason="no mabwiser: pip install 'takeup[bench]'")
    features, arm, outcome = rows(50)
    theirs = mab.MAB([0, 1], mab.LearningPolicy.LinTS(alpha=alpha, l2_lambda=ridge))
    theirs.fit(arm, outcome, features)
    for z in range(2):
        own = arm == z
        ours = Regression.prior(np.full(3, ridge), square=alpha**2).plus(Sums.of(features[own], outcome[own]))
        model = theirs._imp.arm_to_model[z]
        np.testing.assert_allclose(ours.mean, model.beta, rtol=SAME)
        np.testing.assert_allclose(ours.covariance(), alpha**2 * model.A_inv, rtol=SAME)


def test_policies_propose_what_mabwiser_expects_most_of() -> None:
    """LinUCB of both, from decisions in a space with covariates; rewards are given to it less one half."""
    mab: Any = pytest.importorskip("mabwiser.mab", reason="no mabwiser: pip install 'takeup[bench]'")
    space = Space(2, covariates={"age": Measure(0, 1_000), "severity": Measure(0, 1_000)})
    rng = stream(6)
    features = np.column_stack([np.full(80, 1_000), rng.integers(1_001, size=(80, 2))])
    arm, outcome = rng.integers(2, size=80), rng.integers(2, size=80)
    evidence = Evidence.of(
        space,
        [Event(0, int(z), int(z), int(y), features=v) for z, y, v in zip(arm, outcome, features, strict=True)],
    )
    theirs = mab.MAB([0, 1], mab.LearningPolicy.LinUCB(alpha=0.4, l2_lambda=0.8))
    theirs.fit(arm, outcome - 0.5, features / 1_000)
    units = np.column_stack([np.full(50, 1_000), rng.integers(1_001, size=(50, 2))])
    expected = theirs.predict(units / 1_000)
    for unit, best in zip(units, expected, strict=True):
        found = LinUCB(alpha=0.4, ridge=0.8).allocation(evidence, Profile(0, unit), stream(0)).probability
        assert found[best] == 1.0


@pytest.mark.parametrize("one_by_one", [True, False])
def test_normal_regressor_of_bayesianbandits(one_by_one: bool) -> None:
    """Its precisions are of the coefficients themselves: the prior's is ridge / σ², the noise's 1 / σ²."""
    bandits: Any = pytest.importorskip("bayesianbandits", reason="no bayesianbandits: pip install 'takeup[bench]'")
    features, _, outcome = rows(40)
    noise, ridge = 0.7, 1.3
    theirs = bandits.NormalRegressor(alpha=ridge / noise, beta=1 / noise)
    for part in range(40) if one_by_one else [slice(None)]:
        theirs.partial_fit(np.atleast_2d(features[part]), np.atleast_1d(outcome[part]))
    ours = Regression.prior(np.full(3, ridge), square=noise).plus(Sums.of(features, outcome))
    np.testing.assert_allclose(ours.mean, theirs.coef_, rtol=SAME)
    np.testing.assert_allclose(np.triu(ours.precision / noise), np.triu(theirs.cov_inv_), rtol=SAME)


def test_normal_inverse_gamma_regressor_of_bayesianbandits() -> None:
    """Its lam is the ridge, a = ν / 2 and b = ν s² / 2."""
    bandits: Any = pytest.importorskip("bayesianbandits", reason="no bayesianbandits: pip install 'takeup[bench]'")
    features, _, outcome = rows(40)
    theirs = bandits.NormalInverseGammaRegressor(mu=0.0, lam=1.3, a=2.0, b=3.0)
    theirs.fit(features, outcome)
    ours = Regression.prior(np.full(3, 1.3), square=1.5, freedom=4.0).plus(Sums.of(features, outcome))
    np.testing.assert_allclose(ours.mean, theirs.coef_, rtol=SAME)
    np.testing.assert_allclose(np.triu(ours.precision), np.triu(theirs.cov_inv_), rtol=SAME)  # it keeps that half
    assert ours.freedom == pytest.approx(2 * float(theirs.a_), rel=SAME)
    assert ours.square == pytest.approx(float(theirs.b_) / float(theirs.a_), rel=SAME)


@pytest.mark.parametrize("classes", [2, 3])
def test_multinomial_logit_of_statsmodels(classes: int) -> None:
    """It has no prior: one with a standard deviation of 100,000 moves the mode by less than 1e-8."""
    statsmodels: Any = pytest.importorskip("statsmodels.api", reason="no statsmodels: pip install 'takeup[bench]'")
    features, _, _ = rows(300)
    rng = stream(4)
    scores = features @ rng.normal(size=(3, classes))
    chosen = (scores + rng.gumbel(size=scores.shape)).argmax(axis=-1)
    theirs = statsmodels.MNLogit(chosen, features).fit(disp=False, method="newton", tol=1e-12)
    ours, fit = fitted(Table.of(features, chosen, classes), prior_precision(np.full(3, 1e5), classes))
    assert fit.converged
    np.testing.assert_allclose(ours.mode, theirs.params.T, atol=1e-6)
    np.testing.assert_allclose(ours.covariance(), theirs.cov_params(), atol=1e-6)
    assert ours.log_posterior - fitted(
        Table(np.zeros((0, 3)), np.zeros((0, classes))), prior_precision(np.full(3, 1e5), classes)
    )[0].log_posterior == pytest.approx(theirs.llf, abs=1e-6)


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_penalised_logit_of_scikit_learn(spread: float) -> None:
    """Its C is τ² for two classes, and τ² / 2 for more, of which each has coefficients of its own."""
    linear: Any = pytest.importorskip("sklearn.linear_model", reason="no scikit-learn: pip install 'takeup[bench]'")
    features, _, _ = rows(120)
    rng = stream(5)
    for classes in (2, 3):
        scores = features @ rng.normal(size=(3, classes))
        chosen = (scores + rng.gumbel(size=scores.shape)).argmax(axis=-1)
        c = spread**2 if classes == 2 else spread**2 / 2
        theirs = linear.LogisticRegression(C=c, fit_intercept=False, tol=1e-12, solver="newton-cg", max_iter=1_000)
        theirs.fit(features, chosen)
        expected = theirs.coef_ if classes == 2 else theirs.coef_[1:] - theirs.coef_[0]
        ours, _ = fitted(Table.of(features, chosen, classes), prior_precision(np.full(3, spread), classes))
        np.testing.assert_allclose(ours.mode, expected, atol=1e-6)
