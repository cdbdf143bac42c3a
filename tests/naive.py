"""Obvious, slow twins of what takeup computes.

Every latent assignment is enumerated, every patient is looped over, every integral goes to scipy or to fractions.
Nothing here uses a table of counts, and nothing here is imported by the package.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import comb, exp, log

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import betainc, expit, gammaln, logsumexp, psi
from scipy.stats import t as student

from takeup import UNSEEN, Event

FloatArray = NDArray[np.float64]
Component = tuple[float, FloatArray, FloatArray]
"""The log probability of one latent assignment, and both blocks given it, [x, a, y] and [x, z, a]."""


def is_latent(event: Event) -> bool:
    """Whether the outcome has been seen and the implemented action has not: who gets a φ."""
    return bool(event.implemented == UNSEEN) and bool(event.outcome != UNSEEN)


def urn(alpha: FloatArray, beta: FloatArray, events: Iterable[Event]) -> Component:
    """Log p(a, y given z) of events without a latent action, one after the other, and the blocks after them.

    An event with a seen contributes β'[z, a] / sum β'[z]; with y seen too, α'[a, y] / sum α'[a]; with neither, nothing.
    """
    alpha, beta = alpha.astype(float), beta.astype(float)
    total = 0.0
    for e in events:
        if e.implemented != UNSEEN:
            row = beta[e.context, e.proposal]
            total += log(row[e.implemented] / row.sum())
            row[e.implemented] += 1
            if e.outcome != UNSEEN:
                row = alpha[e.context, e.implemented]
                total += log(row[e.outcome] / row.sum())
                row[e.outcome] += 1
    return total, alpha, beta


def completions(actions: int, events: Sequence[Event]) -> Iterator[list[Event]]:
    """The events with every assignment of their latent actions."""
    latent = [i for i, e in enumerate(events) if is_latent(e)]
    for assignment in product(range(actions), repeat=len(latent)):
        filled = list(events)
        for i, a in zip(latent, assignment, strict=True):
            filled[i] = replace(events[i], implemented=a)
        yield filled


def mixture(alpha: FloatArray, beta: FloatArray, events: Sequence[Event]) -> list[Component]:
    """The exact posterior: a mixture of Dirichlet blocks with one component for each latent assignment."""
    return [urn(alpha, beta, filled) for filled in completions(alpha.shape[1], events)]


def log_evidence(components: Sequence[Component]) -> float:
    """Log p(a seen, y seen given z), the sum over all latent assignments."""
    return float(logsumexp([weight for weight, _, _ in components]))


def means(components: Sequence[Component]) -> tuple[FloatArray, FloatArray]:
    """E[μ[x, a, y]] and E[π[x, z, a]] under the exact posterior."""
    total = log_evidence(components)
    outcome = sum(exp(w - total) * a / a.sum(axis=-1, keepdims=True) for w, a, _ in components)
    compliance = sum(exp(w - total) * b / b.sum(axis=-1, keepdims=True) for w, _, b in components)
    return np.asarray(outcome), np.asarray(compliance)


def allocation(components: Sequence[Component], context: int = 0) -> float:
    """P(proposal 0 is the best) for two proposals, actions and outcomes: the mixture of A B + (1 - A)(1 - B)."""
    total = log_evidence(components)
    best = 0.0
    for weight, alpha, beta in components:
        a = largest(alpha[context][:, ::-1])[0]
        b = largest(beta[context])[0]
        best += exp(weight - total) * (a * b + (1 - a) * (1 - b))
    return best


def largest(parameters: FloatArray) -> list[float]:
    """P(j is the largest) of independent Beta(a, b) variables, the rows of `parameters`, by adaptive quadrature.

    The integral runs over the logit d beyond the density's own mode, between points where it has dropped below 1e-17.
    The density is normalised by its own integral, since log B(a, b) of large parameters is not precise enough.
    """

    def density(d: float, a: float, b: float) -> float:
        return exp(a * d - (a + b) * np.log1p(a / (a + b) * np.expm1(d)))

    def below(t: float, a: float, b: float) -> float:
        return float(betainc(a, b, expit(t)) if t < 0 else 1 - betainc(b, a, expit(-t)))

    result = []
    for j, (a, b) in enumerate(parameters):
        mode, spread = log(a / b), (1 / a + 1 / b) ** 0.5
        others = [row for i, row in enumerate(parameters) if i != j]
        ends = (-12 * spread - 40 / a, 12 * spread + 40 / b)
        inner = [k * spread for k in (-9, -6, -4, -2, -1, 0, 1, 2, 4, 6, 9)]
        inner += [log(c / d) - mode + k * (1 / c + 1 / d) ** 0.5 for c, d in others for k in (-8, -4, -2, 0, 2, 4, 8)]
        points = sorted({*ends, *(d for d in inner if ends[0] < d < ends[1])})
        won = whole = 0.0
        for s, t in pairwise(points):
            whole += quad(density, s, t, args=(a, b), epsabs=1e-15 * spread, epsrel=1e-11)[0]
            won += quad(
                lambda d, a, b, mode, others: density(d, a, b) * np.prod([below(mode + d, *row) for row in others]),
                s,
                t,
                args=(a, b, mode, others),
                epsabs=1e-15 * spread,
                epsrel=1e-11,
            )[0]
        result.append(won / whole)
    return result


def largest_exactly(parameters: Sequence[tuple[int, int]]) -> list[Fraction]:
    """The same as fractions, for whole parameters: densities and distribution functions are then polynomials.

    Beta(a, b) has the distribution function sum_{i >= a} C(n, i) x^i (1 - x)^(n - i) with n = a + b - 1.
    """
    below = []
    for a, b in parameters:
        n = a + b - 1
        coefficients = [0] * (n + 1)
        for i in range(a, n + 1):
            for k in range(n - i + 1):
                coefficients[i + k] += comb(n, i) * comb(n - i, k) * (-1) ** k
        below.append(coefficients)
    result = []
    for j, own in enumerate(below):
        integrand = [k * c for k, c in enumerate(own)][1:]
        for other in below[:j] + below[j + 1 :]:
            factor, integrand = integrand, [0] * (len(integrand) + len(other) - 1)
            for (k, c), (m, d) in product(enumerate(factor), enumerate(other)):
                integrand[k + m] += c * d
        result.append(sum((Fraction(c, k + 1) for k, c in enumerate(integrand)), Fraction(0)))
    return result


def patients(actions: int, events: Sequence[Event], log_responsibilities: FloatArray) -> FloatArray:
    """φ_i(a) of every patient: that of the cell where a is latent, certain where a was seen, none where nothing was."""
    phi = np.zeros((len(events), actions))
    for i, e in enumerate(events):
        if is_latent(e):
            phi[i] = np.exp(log_responsibilities[e.context, e.proposal, e.outcome])
        elif e.implemented != UNSEEN:
            phi[i, e.implemented] = 1
    return phi


def blocks(
    alpha: FloatArray, beta: FloatArray, events: Sequence[Event], phi: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """α' and β' given φ: Stirn & Jebara (2019), the two sums over patients of algorithm 2."""
    alpha, beta = alpha.astype(float), beta.astype(float)
    x, z, _, y = fields(events)
    seen = y != UNSEEN
    np.add.at(beta, (x, z), phi)
    np.add.at(alpha.swapaxes(1, 2), (x[seen], y[seen]), phi[seen])
    return alpha, beta


def fields(events: Sequence[Event]) -> NDArray[np.int64]:
    """The x, z, a and y of every patient."""
    rows = [(e.context, e.proposal, e.implemented, e.outcome) for e in events]
    return np.array(rows, dtype=np.int64).reshape(-1, 4).T


def elbo(alpha: FloatArray, beta: FloatArray, events: Sequence[Event], phi: FloatArray) -> float:
    """The paper's seven expectations, summed over patients, with the priors' constants, at the best α' and β' for φ."""
    a1, b1 = blocks(alpha, beta, events, phi)
    log_mu = psi(a1) - psi(a1.sum(axis=-1, keepdims=True))
    log_pi = psi(b1) - psi(b1.sum(axis=-1, keepdims=True))
    seen = [(e, share) for e, share in zip(events, phi, strict=True) if e.outcome != UNSEEN]
    first = sum(share @ log_mu[e.context, :, e.outcome] for e, share in seen)
    second = sum(share @ log_pi[e.context, e.proposal] for e, share in zip(events, phi, strict=True))
    third = ((alpha - 1) * log_mu).sum() - log_normaliser(alpha)
    fourth = ((beta - 1) * log_pi).sum() - log_normaliser(beta)
    fifth = -sum(p * log(p) for share in phi for p in share if p > 0)
    sixth = log_normaliser(a1) - ((a1 - 1) * log_mu).sum()
    seventh = log_normaliser(b1) - ((b1 - 1) * log_pi).sum()
    return float(first + second + third + fourth + fifth + sixth + seventh)


def log_normaliser(parameters: FloatArray) -> float:
    """The sum over rows of log B."""
    return float(gammaln(parameters).sum() - gammaln(parameters.sum(axis=-1)).sum())


def coordinate_step(alpha: FloatArray, beta: FloatArray, events: Sequence[Event], phi: FloatArray) -> FloatArray:
    """φ_i(j) in proportion to exp(E[ln μ_j,y_i] + E[ln π_z_i,j]) for the latent patients: one round of algorithm 2."""
    a1, b1 = blocks(alpha, beta, events, phi)
    log_mu = psi(a1) - psi(a1.sum(axis=-1, keepdims=True))
    log_pi = psi(b1) - psi(b1.sum(axis=-1, keepdims=True))
    latent = [i for i, e in enumerate(events) if is_latent(e)]
    x, z, _, y = fields([events[i] for i in latent])
    score = np.exp(log_mu[x, :, y] + log_pi[x, z])
    updated = phi.copy()
    updated[latent] = score / score.sum(axis=1, keepdims=True)
    return updated


def coordinate_ascent(
    alpha: FloatArray, beta: FloatArray, events: Sequence[Event], phi: FloatArray, gain: float = 1e-12
) -> FloatArray:
    """Algorithm 2 until 20 rounds together gain less than `gain`."""
    last = -np.inf
    while (now := elbo(alpha, beta, events, phi)) - last >= gain:
        last = now
        for _ in range(20):
            phi = coordinate_step(alpha, beta, events, phi)
    return phi


def pooled_evidence(alpha: FloatArray, strength: int, outcomes: Sequence[tuple[int, int]]) -> float:
    """P(y given z) of patients (z, y) of one action, when `strength` people whom nobody saw are behind every stick.

    Every fate of the unseen is enumerated, stick by stick: whether each of them stops there. What a patient does at a
    stick is then drawn from an urn that each proposal fills for itself, starting from the prior and the unseen.
    """
    total = 1.0
    for j in range(alpha.size - 1):
        first, others = float(alpha[j]), float(alpha[j + 1 :].sum())
        reached = [(z, y == j) for z, y in outcomes if y >= j]
        stick = 0.0
        for fate in product((False, True), repeat=strength):
            chance, balls = urn_of_two(first, others, fate)
            for z in {z for z, _ in reached}:
                chance *= urn_of_two(*balls, [stopped for its, stopped in reached if its == z])[0]
            stick += chance
        total *= stick
    return total


def urn_of_two(first: float, others: float, draws: Iterable[bool]) -> tuple[float, tuple[float, float]]:
    """The chance of these draws from an urn to which each adds a ball of its colour, and the urn after them."""
    chance = 1.0
    for draw in draws:
        chance *= (first if draw else others) / (first + others)
        first, others = (first + 1, others) if draw else (first, others + 1)
    return chance, (first, others)


def latent_allocation(counts: NDArray[np.int64], grid: int = 800) -> float:
    """P(proposal 0 is the best) for two of each, flat priors, no compliance seen, by quadrature over μ.

    Given μ, π is uniform, so that each value is uniform between the success rates l < h of the two actions. Let F_z be
    the distribution function of Beta(1 + successes, 1 + failures). Both values lie between l and h with likelihood
    ∏_z (F_z(h) - F_z(l)) / (h - l), and v_0 > v_1 with that of ∫_l^h (F_1 - F_1(l)) dF_0 / (h - l)².
    """
    steps = 20
    fine = np.linspace(0, 1, grid * steps + 1)
    first, second = (betainc(row[1] + 1, row[0] + 1, fine) for row in counts)
    below = np.concatenate([[0.0], np.cumsum(np.diff(first) * (second[1:] + second[:-1]) / 2)])[::steps]
    first, second = first[::steps], second[::steps]
    low, high = np.triu_indices(grid + 1, k=1)
    weight = 1.0 / (high - low) ** 2
    won = weight @ (below[high] - below[low] - second[low] * (first[high] - first[low]))
    return float(won / (weight @ ((first[high] - first[low]) * (second[high] - second[low]))))


def linked_normals(
    prior: tuple[float, float, float, float], strength: int, outcomes: Sequence[tuple[int, float]]
) -> float:
    """Log p(y given z) of patients (z, y) of one action: an unseen sample of `strength` people is behind the means.

    Given the variance s the outcomes are jointly normal: two of one proposal have the covariance s / weight, two of
    different ones strength / (strength + weight) of that, and each has s of its own. The integral over s is scipy's.
    """
    mean, weight, freedom, square = prior
    z = np.array([each for each, _ in outcomes])
    y = np.array([each for _, each in outcomes]) - mean
    shared = np.where(z[:, None] == z[None, :], 1.0, strength / (strength + weight)) / weight
    covariance = shared + np.eye(z.size)
    _, log_determinant = np.linalg.slogdet(covariance)
    distance = float(y @ np.linalg.solve(covariance, y))

    def log_density(t: float) -> float:
        """Of the outcomes and of t = log s, whose prior is that of an inverse gamma."""
        half, rate = freedom / 2, freedom * square / 2
        before = half * log(rate) - gammaln(half) - half * t - rate * exp(-t)
        return float(before - (z.size * (log(2 * np.pi) + t) + log_determinant + distance * exp(-t)) / 2)

    peak = log((freedom * square + distance) / (freedom + z.size))
    top = log_density(peak)
    area, _ = quad(
        lambda t: exp(log_density(t) - top), peak - 40, peak + 60, points=[peak], limit=500, epsabs=0, epsrel=1e-12
    )
    return log(area) + top


def linked_times(prior: tuple[float, float], strength: int, outcomes: Sequence[tuple[int, float, bool]]) -> float:
    """Log p(times given z) of patients (z, time, event) of one action: an unseen sample of so many events is behind.

    Its time T is beta-prime before anything is seen. Given T each proposal's patients come one after the other, each
    with a Lomax distribution given those before; a time without an event is known to be at least so long.
    """
    events, exposure = prior

    def given(time: float) -> float:
        log_chance = 0.0
        for those in {z for z, _, _ in outcomes}:
            shape, rate = events + strength, exposure + time
            for z, t, event in outcomes:
                if z == those:
                    log_chance += shape * log(rate) - (shape + event) * log(rate + t) + (log(shape) if event else 0.0)
                    shape, rate = shape + event, rate + t
        return log_chance

    def log_density(v: float) -> float:
        ratio = exp(v) / exposure
        before = strength * log(ratio) - (strength + events) * log(1 + ratio)
        return float(before - gammaln(strength) - gammaln(events) + gammaln(strength + events)) + given(exp(v))

    around = np.linspace(-30, 60, 9001) + log(exposure)
    peak = float(around[np.argmax([log_density(v) for v in around])])
    top = log_density(peak)
    area, _ = quad(
        lambda v: exp(log_density(v) - top), peak - 40, peak + 40, points=[peak], limit=1000, epsabs=0, epsrel=1e-12
    )
    return log(area) + top


def students(values: Iterable[float], prior: tuple[float, ...]) -> tuple[float, tuple[float, ...]]:
    """Log p(values), one after the other, each being Student's t given those before it; and the block after them.

    A block is (mean, weight, freedom, square) of a normal-inverse-gamma distribution.
    """
    m, weight, freedom, square = prior
    total = 0.0
    for y in values:
        total += float(student(freedom, m, np.sqrt(square * (1 + 1 / weight))).logpdf(y))
        square = (freedom * square + weight / (weight + 1) * (y - m) ** 2) / (freedom + 1)
        m, weight, freedom = (weight * m + y) / (weight + 1), weight + 1, freedom + 1
    return total, (m, weight, freedom, square)


def lomaxes(pairs: Iterable[tuple[int, float]], prior: tuple[float, ...]) -> tuple[float, tuple[float, ...]]:
    """Log of the mean of λ^e exp(-λ t) over its gamma distribution, for pairs (e, t) one after the other.

    A block is (shape, rate).
    """
    shape, rate = prior
    total = 0.0
    for events, time in pairs:
        total += shape * log(rate) - (shape + events) * log(rate + time)
        total += float(gammaln(shape + events) - gammaln(shape))
        shape, rate = shape + events, rate + time
    return total, (shape, rate)
