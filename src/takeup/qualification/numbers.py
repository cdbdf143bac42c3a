"""Operation qualification: numbers that takeup computes here against numbers that are known without it."""

import numpy as np

from takeup.checks import FloatArray
from takeup.conjugates import Dirichlet
from takeup.evidence import Evidence
from takeup.policies import TS, Limits, TSObs
from takeup.qualification import oracles
from takeup.qualification.check import Check, Finding, Group
from takeup.qualification.oracles import Betas
from takeup.randomness import bits, stream
from takeup.space import Space

SAME = 1e-12
"""How far apart two numbers may be that are the same but for rounding."""

KNOWN = (0.29341293773091437, 0.15742537819106162, 2646985007)
"""What `stream(7)`, `stream(1, "x", 3)` and 32 bits of the latter's path have always begun with."""


def group() -> Group:
    """The checks of numbers."""
    return Group(
        "Numbers",
        (
            Check(
                title="P(best) of two arms against the exact sum",
                requirements=("R-1.1",),
                look=lambda: _same(_two(prior=1.0), "1,600 pairs of whole counts"),
            ),
            Check(
                title="P(best) of three and six arms against a polynomial's integral",
                requirements=("R-1.1",),
                look=lambda: _same(oracles.worst(_best, _cases((3, 6), 10)), "20 tables of counts"),
            ),
            Check(
                title="TS-Obs: values with noncompliance against A B + (1 - A)(1 - B)",
                requirements=("R-1.1",),
                look=lambda: _same(_observed(), "50 tables of counts"),
            ),
            Check(
                title="Dirichlet: the log evidence against factorials",
                requirements=("R-1.1",),
                look=lambda: _same(_dirichlet(), "50 tables of counts"),
            ),
            Check(
                title="Floors: published allocations of adaptr",
                requirements=("R-1.3",),
                look=lambda: _same(_limits(), "3 allocations", 5e-8),
            ),
            Check(title="Random streams are what they always were", requirements=("R-1.5",), look=_streams),
            Check(
                title="Control: a prior that is off by a thousandth",
                requirements=("R-1.1",),
                look=lambda: _apart(_two(prior=1.001)),
                control=True,
            ),
        ),
    )


def _same(error: float, over: str, most: float = SAME) -> Finding:
    return Finding(f"at most {most:g} apart", f"{error:.1e} apart, over {over}", error <= most)


def _apart(error: float) -> Finding:
    return Finding(f"more than {SAME:g} apart", f"{error:.1e} apart", error > SAME)


def _cases(arms: tuple[int, ...], each: int) -> list[Betas]:
    rng = stream(1, "qualification", "cases")
    return [[(int(a), int(b)) for a, b in rng.integers(1, 12, (k, 2))] for k in arms for _ in range(each)]


def _best(pairs: Betas, prior: float = 1.0) -> FloatArray:
    """TS's own probabilities where these are the parameters, counts of successes and failures on a prior of one."""
    alpha = np.array([[b - 1 + prior, a - 1 + prior] for a, b in pairs])
    allocation = TS(alpha=alpha).allocation(Evidence.of(Space(len(pairs)), ()), 0, stream(0), 1)
    return allocation.probability if allocation.exact else np.full(len(pairs), np.nan)


def _two(prior: float) -> float:
    tables = [(1 + s, 1 + f) for s in (0, 1, 3, 8, 40) for f in (0, 1, 2, 5, 11, 23, 60, 100)]
    pairs = [(first, second) for first in tables for second in tables]
    return max(abs(float(_best([x, y], prior)[0]) - float(oracles.beats(*x, *y))) for x, y in pairs)


def _observed() -> float:
    rng, error = stream(2, "qualification", "observed"), 0.0
    for _ in range(50):
        alpha, beta = rng.integers(1, 15, (2, 2, 2))
        a = oracles.beats(*map(int, (alpha[0, 1], alpha[0, 0], alpha[1, 1], alpha[1, 0])))
        b = oracles.beats(*map(int, (beta[0, 0], beta[0, 1], beta[1, 0], beta[1, 1])))
        found = TSObs(alpha=alpha, beta=beta).allocation(Evidence.of(Space(2), ()), 0, stream(0), 1)
        error = max(error, abs(found.probability[0] - float(a * b + (1 - a) * (1 - b))))
    return error


def _dirichlet() -> float:
    rng, error = stream(3, "qualification", "dirichlet"), 0.0
    block = Dirichlet(np.ones((1, 1, 4)), np.arange(4.0))
    for _ in range(50):
        counts = rng.integers(0, 30, 4)
        exact = oracles.log_evidence([int(n) for n in counts])
        found = float(block.log_evidence(counts[np.newaxis, np.newaxis])[0, 0])
        error = max(error, abs(found - exact) / max(abs(exact), 1.0))
    return error


def _limits() -> float:
    published = (
        ((0.97, 0.03, 0.0), 0.2, (0.6, 0.2, 0.2)),
        ((0.7, 0.25, 0.05), 0.2, (0.5894737, 0.2105263, 0.2)),
        ((0.5, 0.3, 0.2), 0.1, (0.5, 0.3, 0.2)),
    )
    found = [Limits(floor, rule="proportional").project(p) - np.array(right) for p, floor, right in published]
    return float(np.abs(found).max())


def _streams() -> Finding:
    found = stream(7).random(), stream(1, "x", 3).random(), bits(32, 1, "x", 3)
    return Finding(f"{KNOWN}", f"{found}", found == KNOWN)
