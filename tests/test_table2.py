"""The published table of Stirn & Jebara (2019): every median and mean, by the rule of takeup.paper.agreement."""

import numpy as np
import pytest

from takeup.paper import contextual
from takeup.paper.agreement import Comparison, Published, compare

SEED = 2019


RUNS = {"cpu": 1000, "reference": 100}
"""Of our side. With 4,000 runs the published figures of TS-Lat lie up to 3.65 errors from ours (environment 2, M = 40),
so that the noise of a hundred runs of our own carries some seeds over the line."""


@pytest.fixture(scope="module", params=list(RUNS))
def cells(request: pytest.FixtureRequest) -> dict[tuple[int, str], contextual.Cell]:
    table = contextual.table(replications=RUNS[request.param], seed=SEED, engine=request.param)
    return {(cell.environment, cell.policy): cell for cell in table}


@pytest.mark.parametrize(("environment", "policy"), list(contextual.PUBLISHED))
def test_agrees_with_the_paper(cells: dict[tuple[int, str], contextual.Cell], environment: int, policy: str) -> None:
    """Four standard errors of both sides, by the rule: under normal errors 1 false alarm in 16,000 comparisons."""
    for comparison in cells[environment, policy].comparisons:
        assert comparison.agrees, comparison


def test_the_rule_can_fail() -> None:
    """Regrets of TS in environment 1 are not those that the paper prints for environment 3."""
    regret = np.random.default_rng(0).gamma(6, 1.7, 100)
    published = contextual.PUBLISHED[3, "TS"]
    assert not all(comparison.agrees for comparison in compare(regret, published))


def test_the_rule_by_hand() -> None:
    """Ours 1..100: mean 50.5, error 2.901; theirs sd 30 over 100 runs: 3. Together 4.173, so 4 errors are 16.69."""
    regret = np.arange(1.0, 101.0)
    _, mean = compare(regret, Published(50, 50.5 + 16.6, 30))
    assert mean.error == pytest.approx(np.hypot(np.std(regret, ddof=1) / 10, 3))
    assert mean.agrees
    assert not Comparison("mean", 50.5 + 16.8, 50.5, mean.error).agrees


def test_the_environments_are_those_of_the_paper() -> None:
    """Environment 3, context 0: 0.7 x 0.65 + 0.3 x 0.35 = 0.56 against 0.47; context 1: 0.45 against 0.6."""
    np.testing.assert_allclose(contextual.environment(3).value(), [[0.56, 0.47], [0.45, 0.6]])
    np.testing.assert_allclose(contextual.environment(1).value(), [[0.65, 0.35], [0.25, 0.75]])
    for one, other in ((1, 2), (3, 4)):  # not the same values, but what is best in one costs as much in the other
        mirrored = contextual.environment(other).regret()[:, ::-1]
        np.testing.assert_allclose(contextual.environment(one).regret(), mirrored, atol=1e-15)
