"""Every registered policy: its kernel agrees with the reference in distribution, and `simulate` finds the engines."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from takeup import Environment, Policy, Reporting, TSLat, World, simulate
from takeup.errors import UnsuitableError
from takeup.policies import registered
from takeup.simulation.compiled import has_kernel
from takeup.simulation.run import EngineName

COMPILED = tuple(policy for policy in registered() if policy.card.kernels and not policy.card.covariates)
LEVEL = 1e-4 / (2 * 3 * len(COMPILED))
"""Of each test, two for each policy and case, so that all together raise a false alarm in 1 of 10,000 seeds."""

TWO = Environment.from_world(World.bernoulli([[[0.8, 0.2], [0.3, 0.7]]] * 2, [[0.3, 0.6], [0.7, 0.2]]))
THREE = Environment.from_world(
    World(
        np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]),
        np.array([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]]),
        np.array([0.0, 0.3, 1.0]),
    ),
)
CASES = {
    "two arms, nothing seen": (TWO, Reporting(compliance=0)),
    "two arms, half seen, late": (TWO, Reporting(compliance=0.5, delay=3, batch=2)),
    "three levels": (THREE, Reporting(compliance=0.6)),
}


ELSEWHERE = ("TS-Bounded", "Hierarchical", "TS borrowing", "TS-Obs borrowing", "TS-Lat-0 Gibbs")
"""Policies whose kernels are held to their twins in test_composites.py, test_borrowing.py and test_kernels_gibbs.py."""


def _takes_long(policy: Policy[Any], case: str) -> bool:
    """Whether another case, or another test, has the same policy: building a kernel takes up to half a minute."""
    return "half" not in case or policy.name.startswith(ELSEWHERE)


@pytest.mark.requirement("R-1.6")
@pytest.mark.parametrize(
    ("policy", "case"),
    [
        pytest.param(
            policy, case, marks=pytest.mark.long if _takes_long(policy, case) else (), id=f"{policy.name}-{case}"
        )
        for policy in COMPILED
        for case in CASES
    ],
)
def test_kernels_agree_with_the_reference(policy: Policy[Any], case: str) -> None:
    """Kolmogorov-Smirnov on the final regret of 1,000 runs, and chi-square on the pulls of the first proposal."""
    truth, reporting = CASES[case]
    try:
        policy.start(truth.space)
    except UnsuitableError:
        truth = TWO  # three actions for two proposals do not say what complying means
    engines: tuple[EngineName, ...] = ("cpu", "reference")
    runs = [simulate(truth, policy, 60, 1000, seed=8, engine=engine, reporting=reporting) for engine in engines]
    assert [run.setup.engines for run in runs] == [("cpu",), ("reference",)]
    ours, theirs = (run.regret[0, 0, :, -1] for run in runs)
    assert stats.ks_2samp(ours, theirs).pvalue > LEVEL
    first = [run.pulls[0, 0, :, 0, 0] for run in runs]
    edges = np.unique(np.quantile(np.concatenate(first), np.linspace(0, 1, 9)))
    table = np.array([np.histogram(pulls, edges)[0] for pulls in first])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > LEVEL


def test_every_policy_has_a_kernel() -> None:
    assert all(has_kernel(policy, TWO.space) for policy in COMPILED)
    assert len(COMPILED) >= 27


def test_auto_takes_the_kernel_where_there_is_one() -> None:
    trace = simulate(TWO, [TSLat(), TSLat(soft_start=1, restarts=2)], 5, 3)
    assert trace.setup.engines == ("cpu", "reference")
    with pytest.raises(UnsuitableError, match="TS-Lat-1 has no kernel"):
        simulate(TWO, TSLat(soft_start=1, restarts=2), 5, 3, engine="cpu")


def test_soft_start_in_the_kernel_explores_first() -> None:
    """Before 40 outcomes of a context every proposal is as good as any: a share within 4.5 errors of one half."""
    trace = simulate(TWO, TSLat(soft_start=40), 40, 2000, reporting=Reporting(compliance=0), engine="cpu")
    share = trace.pulls[0, 0, :, :, 0].sum() / 80_000
    assert abs(share - 0.5) < 4.5 * 0.5 / np.sqrt(80_000)
