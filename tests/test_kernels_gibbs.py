"""Draws of the Gibbs kernel against scipy's distributions, and its chains against the enumerated posterior.

Tests run at the level `LEVEL` each with fixed seeds; there are fewer than 100, so that together they would raise fewer
than one false alarm in 10,000 choices of the seed.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import naive
from kernel_runs import interpreted, laid_out, run_cpu
from takeup import Reporting, TSLat
from takeup.simulation.kernels import cpu, gibbs
from takeup.simulation.kernels.binomials import binomial
from takeup.simulation.kernels.compile_cpu import build
from takeup.simulation.kernels.dirichlets import dirichlet_row
from takeup.simulation.kernels.lane_binomials import binomial_lanes
from takeup.simulation.kernels.lane_streams import opened, round_keys
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.tables import State
from test_gibbs import CASES, TABLES, table
from test_kernels_agree import environment

LEVEL = 1e-6
DRAWS = 50_000
CHAINS = 20_000


def _binomials(out: NDArray[np.int64], n: int, p: float) -> None:
    for i in range(out.size):
        out[i] = binomial(n, p, (np.uint32(1), np.uint32(2), np.uint32(i), np.uint32(3)), 7)


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (1, 0.3),
        (7, 0.5),
        (30, 0.02),
        (39, 0.25),
        (41, 0.25),
        (41, 0.75),
        (95, 0.25),
        (97, 0.75),
        (100, 0.5),
        (1000, 0.999),
        (1025, 0.02),
        (100_000, 0.31),
        (1_000_000, 3e-6),
        (1_000_000, 0.5),
        (1_000_000, 0.99),
        (2_000_000_000, 1e-7),
        (2_000_000_000, 0.123),
    ],
)
def test_binomials_have_their_probabilities(n: int, p: float) -> None:
    """Chi-square in up to 40 bins of about equal probability, by inversion and by rejection, on both sides of 1/2."""
    draws = np.zeros(DRAWS, dtype=np.int64)
    build(_binomials, {}, {})(draws, n, p)
    assert draws.min() >= 0
    assert draws.max() <= n
    edges = np.unique(stats.binom.ppf(np.linspace(0, 1, 41)[1:-1], n, p))  # up to and with the edge
    expected = DRAWS * np.diff(np.concatenate([[0.0], stats.binom.cdf(edges, n, p), [1.0]]))
    found = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
    kept = expected > 5
    observed = np.append(found[kept], found[~kept].sum())
    wanted = np.append(expected[kept], expected[~kept].sum())
    if wanted[-1] < 5:  # too rare for a bin of its own
        observed, wanted = observed[:-1], wanted[:-1]
    wanted *= observed.sum() / wanted.sum()
    assert stats.chisquare(observed, wanted).pvalue > LEVEL


def test_binomials_at_the_edges() -> None:
    draws = np.zeros(100, dtype=np.int64)
    for n, p, expected in ((0, 0.5, 0), (9, 0.0, 0), (9, 1.0, 9), (10**9, 1.0, 10**9), (10**9, 1e-300, 0)):
        build(_binomials, {}, {})(draws, n, p)
        assert (draws == expected).all()


def _lane_binomials(out: NDArray[np.float64], n: NDArray[np.int64], p: NDArray[np.float64], slot: int) -> None:
    keys = round_keys((np.uint32(1), np.uint32(2)))
    work, words, late = np.zeros(7 * LANES), opened(keys, np.uint32(4)), np.zeros(LANES, np.uint32)
    work[:LANES], work[LANES : 2 * LANES] = n, p
    none = np.zeros(LANES, np.float32)
    binomial_lanes(LaneDraws(work, words, none, none, late, late), np.uintp(0), (keys, 4, 3), slot)
    out[0] = work[2 * LANES : 3 * LANES]
    for i in range(LANES):
        out[1, i] = binomial(n[i], p[i], (np.uint32(1), np.uint32(2), np.uint32(4 + i), np.uint32(3)), slot)


def test_lanes_draw_the_same_binomials() -> None:
    """In Python: none and many, by products and by logarithms, and with chances that rounding put beyond 0 and 1."""
    rng = np.random.default_rng(3)
    out = np.zeros((2, LANES))
    for slot in range(200):
        n = rng.choice([0, 1, 7, 40, 97, 1024, 1025, 10**6, 2 * 10**9], LANES)
        p = rng.choice([-1e-17, 0.0, 1e-300, 1e-8, 1e-3, 0.1, 0.5, 0.9, 0.99999, 1.0, 1 + 1e-15], LANES)
        with np.errstate(over="ignore"):  # words of 32 bits
            _lane_binomials(out, n, p, slot)
        np.testing.assert_array_equal(out[0], out[1])


LANE_CASES = {
    "two": (TSLat(inference="gibbs"), 0.0),
    "contexts": (TSLat(inference="gibbs", soft_start=7, sweeps=5, alpha=1.5, beta=2.0), 0.3),
    "four": (TSLat(inference="gibbs", sweeps=4), 0.5),
    "two in contexts": (TSLat(inference="gibbs", sweeps=8), 0.1),
}


@pytest.mark.parametrize("name", ["two", "contexts", "two in contexts", pytest.param("four", marks=pytest.mark.long)])
def test_lanes_and_scalars_give_the_same_numbers_in_python(name: str) -> None:
    """And the machine code of lanes gives them for two arms, for which the snippets of howto.md are compiled too."""
    policy, compliance = LANE_CASES[name]
    layout = laid_out([environment(name)], policy, 12, 1, reporting=Reporting(compliance=compliance))
    plain = interpreted(layout, range(5, 11))
    parts = [interpreted(layout, range(5, 11), "lanes")]
    if name == "two":
        parts.append(cpu.run(layout, range(5, 11), form="lanes"))
    for part in parts:
        np.testing.assert_array_equal(part.pulls, plain.pulls)
        np.testing.assert_array_equal(part.regret, plain.regret)


@pytest.mark.long
@pytest.mark.parametrize("name", LANE_CASES)
def test_lanes_and_scalars_give_the_same_numbers(name: str) -> None:
    policy, compliance = LANE_CASES[name]
    lanes, plain = (
        run_cpu(
            [environment(name)], policy, 250, range(5, 75), 1, reporting=Reporting(compliance=compliance), form=form
        )
        for form in ("lanes", "plain")
    )
    np.testing.assert_array_equal(lanes.pulls, plain.pulls)
    np.testing.assert_array_equal(lanes.regret, plain.regret)


def test_priors_below_one_have_no_lanes() -> None:
    space = environment("two").space
    assert gibbs.in_lanes(space.shape, gibbs.parameters(TSLat(inference="gibbs"), space))
    assert not gibbs.in_lanes(space.shape, gibbs.parameters(TSLat(inference="gibbs", beta=0.5), space))


def _rows(out: NDArray[np.float64], shapes: NDArray[np.float64]) -> None:
    width = shapes.size
    real = np.zeros((2 * width, 1))
    real[:width, 0] = shapes
    for i in range(out.shape[0]):
        dirichlet_row(State(out, real, 0), 0, width, width, (np.uint32(3), np.uint32(2), np.uint32(i), np.uint32(3)), 5)
        out[i] = real[width:, 0]


@pytest.mark.parametrize(
    "shapes", [(1.0, 1.0), (1.0, 7.5), (20_000.0, 10.0), (3.0, 1.0, 2.0), (0.5, 0.5), (0.02, 0.3), (4.0, 0.2, 1.0)]
)
def test_rows_are_dirichlet_draws(shapes: tuple[float, ...]) -> None:
    """Every entry j of Dir(s) is Beta(s_j, S - s_j); one that is nearly 1 is told by the others, without rounding."""
    draws = np.zeros((DRAWS, len(shapes)))
    build(_rows, {}, {})(draws, np.array(shapes))
    np.testing.assert_allclose(draws.sum(axis=1), 1, rtol=1e-12)
    for j, shape in enumerate(shapes):
        if shape > sum(shapes) / 2:
            continue
        assert stats.kstest(draws[:, j], stats.beta(shape, sum(shapes) - shape).cdf).pvalue > LEVEL


def _proposals(
    out: NDArray[np.int64], counts: NDArray[np.int32], real: NDArray[np.float64], shape: Any, parameters: Any
) -> None:
    for i in range(out.size):
        moment = (np.uint32(5), np.uint32(6), np.uint32(i), np.uint32(0))
        out[i] = gibbs_propose(State(counts, real, 0), 0, shape, parameters, moment, np.uint32(0))


gibbs_propose = gibbs.propose


def share_of_the_first(policy: TSLat, evidence: Any) -> float:
    """How often the kernel proposes 0 after this evidence, in a space of one context."""
    shape = evidence.space.shape
    rows, reals = gibbs.size(policy, evidence.space)
    counts = np.zeros((rows, 1), dtype=np.int32)
    parts = (evidence.latent_outcomes, evidence.implemented_outcomes, evidence.compliance, evidence.seen_outcomes)
    counts[:, 0] = np.concatenate([part.ravel() for part in parts])
    out = np.zeros(CHAINS, dtype=np.int64)
    build(_proposals, {}, {})(out, counts, np.zeros((reals, 1)), shape, gibbs.parameters(policy, evidence.space))
    return float((out == 0).mean())


@pytest.mark.parametrize(
    "name",
    [pytest.param("nothing seen", marks=pytest.mark.long), "some seen", "priors", "small priors"],
)
def test_the_kernel_has_the_allocation_of_the_enumerated_posterior(name: str) -> None:
    """After 60 sweeps, within five standard errors of 20,000 chains."""
    case = CASES[name]
    policy = TSLat(inference="gibbs", sweeps=60, alpha=case.alpha, beta=case.beta)
    expected = naive.allocation(naive.mixture(*case.arrays, case.events))
    found = share_of_the_first(policy, case.evidence)
    assert abs(found - expected) < 5 * (expected * (1 - expected) / CHAINS) ** 0.5


@pytest.mark.parametrize(
    "counts",
    [pytest.param(counts, marks=pytest.mark.long if i % 3 else ()) for i, counts in enumerate(TABLES)],
    ids=str,
)
def test_the_kernel_is_exact_at_any_size(counts: list[list[int]]) -> None:
    """After 80 sweeps, against quadrature, whose own error is below 5e-4; five standard errors."""
    found = share_of_the_first(TSLat(inference="gibbs", sweeps=80), table(counts))
    expected = naive.latent_allocation(np.array(counts))
    assert abs(found - expected) < 5e-4 + 5 * (expected * (1 - expected) / CHAINS) ** 0.5
