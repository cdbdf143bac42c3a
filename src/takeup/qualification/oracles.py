"""Numbers that are known without takeup: closed forms in whole numbers, sums over every history, plain loops."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np
from scipy.special import betainc

from takeup.checks import FloatArray, IntArray
from takeup.randomness import stream

Betas: TypeAlias = list[tuple[int, int]]
"""Parameters of several of them, in whole numbers."""


def beats(a: int, b: int, c: int, d: int) -> Fraction:
    """P(X > Y) of X ~ Beta(a, b) and Y ~ Beta(c, d) with whole parameters, as a fraction.

    Σ_{i < a} B(c + i, b + d) / ((b + i) B(1 + i, b) B(c, d)).
    """
    terms = (_beta(c + i, b + d) / ((b + i) * _beta(1 + i, b) * _beta(c, d)) for i in range(a))
    return sum(terms, Fraction(0))


def _beta(p: int, q: int) -> Fraction:
    return Fraction(math.factorial(p - 1) * math.factorial(q - 1), math.factorial(p + q - 1))


def largest(parameters: Betas) -> FloatArray:
    """The probability that each of several betas is the largest, for whole parameters.

    The integrand f_j Π F_i is then a polynomial, which Gauss and Legendre integrate without an error of method.
    """
    degree = sum(a + b for a, b in parameters)
    nodes, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
    x, w = (nodes + 1) / 2, weights / 2
    below = [betainc(a, b, x) for a, b in parameters]
    density = [x ** (a - 1) * (1 - x) ** (b - 1) / float(_beta(a, b)) for a, b in parameters]
    others = [np.prod([each for i, each in enumerate(below) if i != j], axis=0) for j in range(len(parameters))]
    return np.array([float((own * rest) @ w) for own, rest in zip(density, others, strict=True)])


def log_evidence(counts: Sequence[int]) -> float:
    """The log of (Y - 1)! Π n_y! / (n + Y - 1)!: what Dir(1, .., 1) makes of these counts, in whole numbers."""
    levels, total = len(counts), sum(counts)
    above = math.factorial(levels - 1) * math.prod(map(math.factorial, counts))
    return math.log(above) - math.log(math.factorial(total + levels - 1))


def superior(rates: tuple[float, float], looks: Sequence[int], threshold: float) -> float:
    """How often a trial of two arms by Thompson sampling calls one of them superior: the sum over every history."""
    total, units = 0.0, looks[-1]
    for history in product(product((0, 1), repeat=2), repeat=units):
        chance, table = 1.0, [[1, 1], [1, 1]]
        for step, (z, y) in enumerate(history, start=1):
            p = float(beats(*table[0], *table[1]))
            chance *= (p if z == 0 else 1 - p) * (rates[z] if y else 1 - rates[z])
            table[z][1 - y] += 1
            best = float(beats(*table[0], *table[1]))
            if step in looks and max(best, 1 - best) > threshold:
                # The histories that go on from here differ in what never happens: one of them counts for all.
                total += chance if all(rest == (0, 0) for rest in history[step:]) else 0.0
                break
    return total


def adaptive_trials(
    trials: int, units: int, rates: tuple[float, float], floor: float, seed: int
) -> tuple[IntArray, FloatArray, IntArray]:
    """Trials side by side that offer the better mean so far with 1 - floor, and the other with floor.

    Returns what was proposed, the probabilities of both, and what came of it.
    """
    rng, every = stream(seed, "adaptive trials"), np.arange(trials)
    seen, good = np.ones((2, trials, 2)) * [[[2.0]], [[1.0]]]
    proposal, outcome = np.empty((2, trials, units), dtype=np.int64)
    probability = np.empty((trials, units, 2))
    for unit in range(units):
        mean = good / seen
        second = np.where(mean[:, 0] == mean[:, 1], 0.5, np.where(mean[:, 1] > mean[:, 0], 1 - floor, floor))
        z = (rng.random(trials) < second).astype(np.int64)
        y = (rng.random(trials) < np.asarray(rates)[z]).astype(np.int64)
        probability[:, unit] = np.stack([1 - second, second], axis=1)
        proposal[:, unit], outcome[:, unit] = z, y
        seen[every, z] += 1
        good[every, z] += y
    return proposal, probability, outcome


def plain_coverage(proposal: IntArray, outcome: IntArray, truth: float) -> float:
    """How often the textbook's 95 % interval of the difference of two shares holds the truth."""
    n = np.stack([(proposal == z).sum(axis=1) for z in (0, 1)])
    good = np.stack([((proposal == z) & (outcome == 1)).sum(axis=1) for z in (0, 1)])
    share = good / n
    half = 1.959963984540054 * np.sqrt((share * (1 - share) / n).sum(axis=0))
    return float(np.mean(np.abs(share[1] - share[0] - truth) <= half))


def worst(found: Callable[[Betas], FloatArray], cases: Sequence[Betas]) -> float:
    """The largest difference between what is found and what is true, over these betas."""
    return max(float(np.abs(found(pairs) - largest(pairs)).max()) for pairs in cases)
