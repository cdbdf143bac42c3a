"""Every registered policy: its kernel agrees with the reference in distribution, and `simulate` finds the engines."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from kernel_runs import laid_out
from takeup import UNSEEN, Environment, Policy, Reporting, TSLat, TSRobust, World, simulate, stream
from takeup.errors import UnsuitableError
from takeup.policies import registered
from takeup.simulation.compiled import has_kernel
from takeup.simulation.kernels import robust
from takeup.simulation.kernels.robust_tables import block_of
from takeup.simulation.kernels.tables import Observation, State
from takeup.simulation.run import EngineName

COMPILED = tuple(policy for policy in registered() if policy.card.kernels and not policy.card.covariates)
LEVEL = 1e-4 / (2 * 4 * len(COMPILED))
"""Of each test, two for each policy and case, so that all together raise a false alarm in 1 of 10,000 seeds."""

TWO = Environment.from_world(World.bernoulli([[[0.8, 0.2], [0.3, 0.7]]] * 2, [[0.3, 0.6], [0.7, 0.2]]))
ONE = Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.3, 0.6]))
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
    "one context, half seen": (ONE, Reporting(compliance=0.5)),
    "three levels": (THREE, Reporting(compliance=0.6)),
}


ELSEWHERE = ("TS-Bounded", "Hierarchical", "TS borrowing", "TS-Obs borrowing", "TS-Lat-0 Gibbs")
"""Policies whose kernels are held to their twins in test_composites.py, test_borrowing.py and test_kernels_gibbs.py."""


SHARED = ("TS-Lat-0", "TS-Robust")
"""Policies whose machine code for one context and reports at once is that of the README and of `takeup demo`.

Reports come late to TS-Lat-40 and TS-Lat-0 warm, in two contexts; what both are to TS-Robust is below.
"""


def _takes_long(policy: Policy[Any], case: str) -> bool:
    """Whether another case, or another test, has the same policy: building a kernel takes up to half a minute."""
    chosen = "one context, half seen" if policy.name in SHARED else "two arms, half seen, late"
    return case != chosen or policy.name.startswith(ELSEWHERE)


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
    horizon = 30 if policy.name == "TS-Robust" else 60  # the reference takes 8 ms for a decision of all runs
    runs = [simulate(truth, policy, horizon, 1000, seed=8, engine=engine, reporting=reporting) for engine in engines]
    assert [run.setup.engines for run in runs] == [("cpu",), ("reference",)]
    ours, theirs = (run.regret[0, 0, :, -1] for run in runs)
    assert stats.ks_2samp(ours, theirs).pvalue > LEVEL
    first = [run.pulls[0, 0, :, 0, 0] for run in runs]
    edges = np.unique(np.quantile(np.concatenate(first), np.linspace(0, 1, 9)))
    table = np.array([np.histogram(pulls, edges)[0] for pulls in first])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > LEVEL


def test_ts_robust_keeps_contexts_apart_and_learns_the_same_late() -> None:
    """In Python, to the bit: of two contexts, outcomes told later, as in one at once; the other one changes nothing."""
    rng = stream(5)
    prior = 1 + rng.integers(4, size=(2, 2, 2, 2))
    alone, beside = (
        laid_out([truth], TSRobust(sweeps=2, shared=0.5, alpha=prior[0, first:], beta=prior[1, first:]), 1)
        for truth, first in ((ONE, 1), (TWO, 0))
    )
    one, other = (State(*each.memory(1)[:2], 0) for each in (alone, beside))
    here, there = ((each.given.shape, each.given.parameters) for each in (alone, beside))
    robust.begin(one, *here)
    robust.begin(other, *there)
    width = block_of(0, 1, *here) - block_of(0, 0, *here)
    chosen, waiting = [], []
    for i in range(60):
        z, a, y, seen = (int(draw) for draw in rng.integers(2, size=4))
        event = Observation(1, z, a if seen else UNSEEN, y)
        robust.learn(one, event._replace(x=0), *here, None)
        robust.learn(other, event._replace(y=UNSEEN), *there, None)
        robust.learn(other, Observation(0, 1 - z, y, a), *there, None)
        waiting.append(event)
        if i % 5 == 4:
            for each in waiting:
                robust.reveal(other, each, *there, None)
            waiting.clear()
            for action in range(2):
                blocks = (
                    state.real[block_of(x, action, *known) :][:width]
                    for state, x, known in ((one, 0, here), (other, 1, there))
                )
                np.testing.assert_array_equal(*blocks)  # what its models know of the action
            for word in range(3):
                moment = (np.uint32(1), np.uint32(2), np.uint32(word), np.uint32(i))
                with np.errstate(over="ignore"):  # words of 32 bits
                    pair = (
                        robust.propose(one, 0, *here, moment, np.uint32(0)),
                        robust.propose(other, 1, *there, moment, np.uint32(0)),
                    )
                assert pair[0] == pair[1]
                chosen.append(int(pair[0]))
    assert set(chosen) == {0, 1}


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
