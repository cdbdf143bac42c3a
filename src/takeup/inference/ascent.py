"""Ascent of the mean-field ELBO: trust-region Newton in the Fisher geometry of the responsibilities.

Let l = log φ and T(l) the coordinate ascent map: E[log μ] + E[log π], normalised, under the counts n φ.
The Fisher metric of φ is n (diag φ - φ φ'), and in it T(l) - l is the gradient of the ELBO: plain coordinate ascent is
natural gradient ascent with steps of one. In the orthonormal coordinates w = D dl, D = sqrt(n φ), and with Q projecting
off sqrt(φ) in each cell, the gradient is g = Q D (T(l) - l) and the negative Hessian is I - M with M = Q D A D Q >= 0,
where A, made of trigammas, says how T moves with the counts. Plain ascent converges like the powers of the largest
eigenvalue of M, which is 1 - O(1 / N) along the ridge on which Π μ does not change: thousands of steps.

A step maximises the model g'w - w'(I - M)w / 2 within a ball, by Steihaug's conjugate gradients, which need
products with M alone. The ball is never smaller than the plain step |g|; where it would have to be, the step is T(l)
itself, which cannot lower the ELBO. A dozen evaluations do what took thousands.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from takeup.checks import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

TOLERANCE = 1e-8
"""A fit has converged when a full Newton step promises to raise the ELBO by less than this."""

MAX_EVALUATIONS = 200
"""Eight times what any fit of the paper's simulations needs; where it is not enough, `converged` is False."""

MAX_PRODUCTS = 100
"""Products with the Hessian in one step: more than there are slow directions."""


class Ascent(NamedTuple):
    """Where an ascent ended, problem by problem.

    Attributes:
        log_phi: log responsibilities, (.., z, y, a).
        elbo: the ELBO but for the terms that do not depend on φ.
        evaluations: evaluations of the map and the ELBO.
        products: products with the Hessian, which need no special functions.
        converged: whether a full Newton step promised less than the tolerance.
    """

    log_phi: FloatArray
    elbo: FloatArray
    evaluations: IntArray
    products: IntArray
    converged: BoolArray


class _Problem(NamedTuple):
    """Many problems along the last axis: inner loops are long, and the order of sums does not depend on their number.

    Attributes:
        latent: n[z, y].
        blocks: α[y, a] above β[z, a], stacked along the first axis: prior and seen counts.
    """

    latent: FloatArray
    blocks: FloatArray

    @property
    def levels(self) -> int:
        return int(self.latent.shape[1])


class _Point(NamedTuple):
    """An iterate and what is known there: log φ, ELBO and its rounding error, T(log φ), and α' above β'."""

    log_phi: FloatArray
    elbo: FloatArray
    rounding: FloatArray
    image: FloatArray
    blocks: FloatArray


class _Step(NamedTuple):
    """A step in log φ: the gain it promises, its length, and whether it is the full Newton step or the plain one."""

    change: FloatArray
    gain: FloatArray
    length: FloatArray
    full: BoolArray
    plain: BoolArray
    products: IntArray


def ascend(
    latent: FloatArray | IntArray,
    alpha: FloatArray,
    beta: FloatArray,
    log_phi: FloatArray,
    tolerance: float = TOLERANCE,
    max_evaluations: int = MAX_EVALUATIONS,
) -> Ascent:
    """Ascend the ELBO from log_phi; it never falls, but for rounding.

    Leading axes are problems of their own, and the result of one does not depend on the others.

    Args:
        latent: n[.., z, y], outcomes with unseen compliance.
        alpha: α[.., a, y], prior plus seen outcomes.
        beta: β[.., z, a], prior plus seen compliance.
        log_phi: where to start, [.., z, y, a]; it must not be symmetric in a, for a saddle point is never left.
        tolerance: the promised gain below which a fit has converged.
        max_evaluations: when to give up; at least three are made.
    """
    batch, cells = log_phi.shape[:-3], log_phi.shape[-3:]
    last = [
        np.moveaxis(array.reshape(-1, *array.shape[len(batch) :]), 0, -1)
        for array in (latent, np.swapaxes(alpha, -1, -2), beta, log_phi)
    ]
    size = last[0].shape[-1]
    rows = _at_least_two(np.arange(size))
    problem = _Problem(_rows(last[0], rows), _rows(np.concatenate(last[1:3]), rows))
    found, elbo, converged = np.empty((*cells, size)), np.empty(size), np.zeros(size, dtype=np.bool_)
    spent = np.zeros((2, size), dtype=np.int64)
    # One plain step first: a random start is far from every φ that factors.
    point = _evaluate(problem, _evaluate(problem, _rows(last[3], rows)).image)
    radius = np.zeros(rows.size)
    cost = np.array([[2], [0]]).repeat(rows.size, axis=1)  # evaluations and products
    while rows.size:
        step = _newton(problem, point, radius)
        trial = _evaluate(problem, _normalised(point.log_phi + step.change))
        cost = cost + np.stack([np.ones_like(step.products), step.products])
        accepted, radius = _judge(point, trial, step, radius)
        done = step.full & (step.gain <= np.maximum(tolerance, point.rounding))
        done |= step.plain & ~accepted  # the plain step cannot lower the ELBO: what is left is rounding
        point = _Point(*(np.where(accepted, new, old) for new, old in zip(trial, point, strict=True)))
        stop = done | (cost[0] >= max_evaluations)
        if stop.any():
            ended = rows[stop]
            found[..., ended], elbo[ended] = point.log_phi[..., stop], point.elbo[stop]
            spent[:, ended], converged[ended] = cost[:, stop], done[stop]
            rest = _at_least_two(np.flatnonzero(~stop))
            problem = _Problem(*(_rows(array, rest) for array in problem))
            point = _Point(*(_rows(array, rest) for array in point))
            rows, radius, cost = rows[rest], radius[rest], cost[:, rest]
    return Ascent(
        np.moveaxis(found, -1, 0).reshape(batch + cells),
        elbo.reshape(batch),
        spent[0].reshape(batch),
        spent[1].reshape(batch),
        converged.reshape(batch),
    )


def _evaluate(problem: _Problem, log_phi: FloatArray) -> _Point:
    """The ELBO and T at log φ."""
    counts = problem.latent[:, :, np.newaxis] * np.exp(log_phi)
    blocks = problem.blocks + np.concatenate([counts.sum(axis=0), counts.sum(axis=1)])
    levels = problem.levels
    by_action, by_proposal = blocks[:levels].sum(axis=0), blocks[levels:].sum(axis=1)
    expected = psi(blocks)  # but for the total of β', which normalising removes
    image = _normalised((expected[:levels] - psi(by_action))[np.newaxis] + expected[levels:, np.newaxis])
    totals = gammaln(np.concatenate([by_action, by_proposal])).sum(axis=0)
    elbo = gammaln(blocks).sum(axis=(0, 1)) - totals - (counts * log_phi).sum(axis=(0, 1, 2))
    return _Point(log_phi, elbo, 1e-15 * (1 + np.abs(totals)), image, blocks)


def _judge(point: _Point, trial: _Point, step: _Step, radius: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Whether to accept a step by what it gained against what it promised, and the radius of the next."""
    rise = trial.elbo - point.elbo
    promised = np.maximum(step.gain, point.rounding)
    trusted = step.plain | (step.gain <= point.rounding)  # too small to be measured: the model knows better
    accepted = (rise >= -point.rounding) & (trusted | (rise >= 1e-4 * step.gain))
    ratio = np.where(step.plain | (accepted & trusted), 1.0, rise / promised)
    held = np.maximum(radius, step.length)
    grown = np.where((ratio > 0.9) & ~step.full, 2 * step.length, held)
    return accepted, np.where(ratio < 0.5, 0.25 * step.length, grown)


def _newton(problem: _Problem, point: _Point, radius: FloatArray) -> _Step:
    """Steihaug's conjugate gradients for the maximum of g'w - w'(I - M)w / 2 in a ball of radius max(radius, |g|)."""
    levels = problem.levels
    root = np.exp(0.5 * point.log_phi)
    weight = np.sqrt(problem.latent)[:, :, np.newaxis] * root
    curvature = _trigamma(np.concatenate([point.blocks, point.blocks[:levels].sum(axis=0, keepdims=True)]))
    of_outcome, of_compliance, of_total = curvature[:levels], curvature[levels:-1], curvature[-1]

    def moves(w: FloatArray) -> FloatArray:
        """A D w: how T changes with w."""
        moved = weight * w
        by_outcome = moved.sum(axis=0)
        outcome = of_outcome * by_outcome - of_total * by_outcome.sum(axis=0)
        return np.asarray(outcome + (of_compliance * moved.sum(axis=1))[:, np.newaxis])

    def project(w: FloatArray) -> FloatArray:
        """Q w: what keeps every φ normalised."""
        return np.asarray(w - root * (root * w).sum(axis=2, keepdims=True))

    change = point.image - point.log_phi
    # Where φ is as good as one-hot the metric vanishes and with it every promise; there T itself must have settled.
    settled = (np.abs(change) * (problem.latent[:, :, np.newaxis] > 0)).max(axis=(0, 1, 2)) <= 1.0
    gradient = project(weight * change)
    squared = _dot(gradient, gradient)
    plain = radius * radius <= squared
    bound = np.maximum(radius * radius, squared)
    w, gain, w_squared = np.zeros_like(gradient), np.zeros_like(squared), np.zeros_like(squared)
    residual, direction, left = gradient, gradient, squared
    products, inside, going = np.zeros(squared.shape, dtype=np.int64), np.ones(squared.shape, bool), ~plain
    for _ in range(MAX_PRODUCTS):
        if not going.any():
            break
        products += going
        bent = direction - project(weight * moves(direction))
        curve, along, length = _dot(direction, bent), _dot(w, direction), _dot(direction, direction)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = left / curve
            leaves = (curve <= 0) | (w_squared + 2 * far * along + far * far * length >= bound)
            edge = (np.sqrt(np.maximum(along * along + length * (bound - w_squared), 0)) - along) / length
            far = np.where(going, np.where(leaves, edge, far), 0.0)
            gain = gain + far * left - 0.5 * far * far * curve
            w, residual = w + far * direction, residual - far * bent
            still = _dot(residual, residual)
            inside &= ~(going & leaves)
            going = going & ~leaves & (still > 1e-6 * squared)
            direction = residual + np.where(going, still / left, 0.0) * direction
        left, w_squared = still, _dot(w, w)
    return _Step(
        change + np.where(plain, 0.0, moves(w)),
        np.where(plain, 0.5 * squared, gain),
        np.sqrt(np.where(plain, squared, w_squared)),
        inside & ~going & settled & (~plain | (squared == 0)),
        plain,
        products,
    )


def _trigamma(x: FloatArray) -> FloatArray:
    """ψ'(x) for x > 0, to a relative 1e-13: its recurrence up to x + 8, and from there the asymptotic series."""
    near = (1 / np.square(x + np.arange(8).reshape(8, *(1,) * x.ndim))).sum(axis=0)
    r = 1 / (x + 8)
    q = r * r
    far = r * (1 + r * (1 / 2 + r * (1 / 6 - q * (1 / 30 - q * (1 / 42 - q * (1 / 30 - q * 5 / 66))))))
    return np.asarray(near + far)


def _normalised(log_phi: FloatArray) -> FloatArray:
    """Log probabilities over the actions."""
    log_phi = log_phi - log_phi.max(axis=2, keepdims=True)
    return np.asarray(log_phi - np.log(np.exp(log_phi).sum(axis=2, keepdims=True)))


def _dot(u: FloatArray, v: FloatArray) -> FloatArray:
    return np.asarray((u * v).sum(axis=(0, 1, 2)))


def _at_least_two(rows: IntArray) -> IntArray:
    """A lone row twice: along an axis of one numpy adds in another order, and results must not depend on the batch."""
    return np.repeat(rows, 2) if rows.size == 1 else rows


def _rows(array: NDArray[np.generic], rows: IntArray) -> FloatArray:
    """These problems alone, contiguous in memory, which indexing would not make them."""
    return np.ascontiguousarray(np.take(array, rows, axis=-1), dtype=np.float64)
