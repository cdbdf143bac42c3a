"""Mean-field posterior of a bandit with latent compliance: trust-region Newton in the Fisher geometry of the responsibilities.

Fixed-point map:  T(l) = log-normalised E[log mu_ay] + E[log pi_za]  at the counts n_zy exp(l_zya), where l = log phi.
In the Fisher metric of phi, diag(n phi) - n phi phi', the gradient of the collapsed ELBO is r = T(l) - l, so plain
coordinate ascent is natural-gradient ascent with step one. In orthonormal coordinates w = D dl, D = sqrt(n phi), and with
Q the projector off sqrt(phi) in each cell, the gradient is g = Q D r and minus the Hessian I - M, M = Q D A D Q >= 0, where
A is the Hessian of sum logB(alpha') + sum logB(beta') in the counts (trigammas). Plain ascent converges like max eig(M)^k;
on the ridge Pi mu = const that is 1 - O(1/N). The step maximises the model g'w - w'(I - M)w/2 in a ball by Steihaug's
conjugate gradients. The ball never gets smaller than the plain step |g|: there the step *is* T(l), which cannot lower the ELBO.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

Array = NDArray[np.float64]
TOLERANCE = 1e-8
MAX_EVALUATIONS = 200


class Ascent(NamedTuple):
    log_phi: Array  # [..., z, y, a] log responsibilities
    elbo: Array  # [...] collapsed ELBO, without the terms that do not depend on phi
    evaluations: NDArray[np.int64]  # [...] evaluations of the map with the ELBO
    products: NDArray[np.int64]  # [...] Hessian-vector products (no special functions in them)
    converged: NDArray[np.bool_]  # [...]


# Inside, the batch is the last axis: latent[z, y, b], alpha[y, a, b], beta[z, a, b], l[z, y, a, b].


def _trigamma(x: Array) -> Array:
    """Trigamma: eight steps of the recurrence, then the asymptotic series (relative error below 1e-13)."""
    shifted = np.zeros_like(x)
    for k in range(8):
        shifted += 1 / ((x + k) * (x + k))
    r = 1 / (x + 8)
    q = r * r
    return shifted + r * (1 + r * (0.5 + r * (1 / 6 - q * (1 / 30 - q * (1 / 42 - q * (1 / 30 - q * 5 / 66))))))


def _normalised(l: Array) -> Array:
    l = l - l.max(axis=2, keepdims=True)
    return l - np.log(np.exp(l).sum(axis=2, keepdims=True))


def _evaluate(latent: Array, alpha: Array, beta: Array, l: Array) -> tuple[Array, Array, Array, Array, Array]:
    """ELBO, its rounding error, T(l), alpha' and beta'."""
    counts = latent[:, :, None] * np.exp(l)
    a, b = alpha + counts.sum(axis=0), beta + counts.sum(axis=1)
    a0, b0 = a.sum(axis=0), b.sum(axis=1)
    image = _normalised((psi(a) - psi(a0))[None] + psi(b)[:, None])
    whole = gammaln(a0).sum(axis=0) + gammaln(b0).sum(axis=0)
    elbo = gammaln(a).sum(axis=(0, 1)) + gammaln(b).sum(axis=(0, 1)) - whole - (counts * l).sum(axis=(0, 1, 2))
    return elbo, 1e-15 * (1 + np.abs(whole)), image, a, b


def _dot(u: Array, v: Array) -> Array:
    return (u * v).sum(axis=(0, 1, 2))


def ascend(
    latent: Array,
    alpha: Array,
    beta: Array,
    log_phi: Array,
    tolerance: float = TOLERANCE,
    max_evaluations: int = MAX_EVALUATIONS,
    max_products: int = 100,
) -> Ascent:
    """Ascend the ELBO from log_phi until a full Newton step promises a gain below tolerance (or below rounding).

    latent[..., z, y]: outcomes with unseen compliance; alpha[..., a, y], beta[..., z, a]: prior plus seen counts, positive;
    log_phi[..., z, y, a]: start, normalised over a, not symmetric in a. Leading axes are separate problems; the result for
    one does not depend on the others. The ELBO never falls, but for rounding. max_products caps the products in one step.
    """
    batch = latent.shape[:-2]
    size = int(np.prod(batch))
    latent, alpha, beta, l = (
        np.ascontiguousarray(np.moveaxis(np.reshape(x, (size, *np.shape(x)[len(batch) :])), 0, -1), dtype=float)
        for x in (latent, np.swapaxes(alpha, -1, -2), beta, log_phi)
    )
    kept_l, kept_elbo = l.copy(), np.zeros(size)
    kept_evaluations, kept_products = np.zeros((2, size), dtype=np.int64)
    kept_converged = np.zeros(size, dtype=bool)

    l = _evaluate(latent, alpha, beta, l)[2]  # one plain step first: a random start is far from every factored phi
    elbo, rounding, image, a, b = _evaluate(latent, alpha, beta, l)
    evaluations, products, radius, row = (
        np.full(size, 2),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.arange(size),
    )
    while row.size:
        step, gain, inside, plain, length, used = _newton_step(latent, l, image, a, b, radius, max_products)
        trial = _normalised(l + step)
        new_elbo, new_rounding, new_image, new_a, new_b = _evaluate(latent, alpha, beta, trial)
        evaluations, products = evaluations + 1, products + used
        done = inside & (gain <= np.maximum(tolerance, rounding))
        rise = new_elbo - elbo
        good = (rise >= -rounding) & (plain | done | (rise >= 1e-4 * gain))
        ratio = np.where(plain, 1.0, rise / np.maximum(gain, rounding))
        radius = np.where(
            ratio < 0.5,
            0.25 * length,
            np.where((ratio > 0.9) & ~inside, 2 * length, np.maximum(radius, length)),
        )

        l, image, a, b = (np.where(good, x, y) for x, y in ((trial, l), (new_image, image), (new_a, a), (new_b, b)))
        elbo, rounding = np.where(good, new_elbo, elbo), np.where(good, new_rounding, rounding)
        done |= plain & ~good  # the plain step cannot lower the ELBO: only rounding is left
        stop = done | (evaluations >= max_evaluations)
        if stop.any():
            at, rest = row[stop], ~stop
            kept_l[..., at], kept_elbo[at], kept_converged[at] = (
                l[..., stop],
                elbo[stop],
                done[stop],
            )
            kept_evaluations[at], kept_products[at] = evaluations[stop], products[stop]
            (
                latent,
                alpha,
                beta,
                l,
                image,
                a,
                b,
                elbo,
                rounding,
                evaluations,
                products,
                radius,
                row,
            ) = (
                x[..., rest]
                for x in (
                    latent,
                    alpha,
                    beta,
                    l,
                    image,
                    a,
                    b,
                    elbo,
                    rounding,
                    evaluations,
                    products,
                    radius,
                    row,
                )
            )
    return Ascent(
        np.moveaxis(kept_l, -1, 0).reshape(*batch, *kept_l.shape[:-1]),
        *(x.reshape(batch) for x in (kept_elbo, kept_evaluations, kept_products, kept_converged)),
    )


def _newton_step(latent, l, image, a, b, radius, max_products):
    """Steihaug: (step in l, gain the model promises, whether it is the full Newton step, whether it is the plain one, length, products)."""
    root = np.exp(0.5 * l)
    weight = np.sqrt(latent)[:, :, None] * root
    tri_a, tri_a0, tri_b = _trigamma(a), _trigamma(a.sum(axis=0)), _trigamma(b)

    def respond(w: Array) -> Array:  # A D w: how T moves
        moved = weight * w
        by_a = moved.sum(axis=0)
        return (tri_a * by_a - tri_a0 * by_a.sum(axis=0))[None] + (tri_b * moved.sum(axis=1))[:, None]

    def project(w: Array) -> Array:
        return w - root * (root * w).sum(axis=2, keepdims=True)

    gradient = project(weight * (image - l))
    squared = norm2 = _dot(gradient, gradient)
    radius2 = np.maximum(radius * radius, squared)
    plain = radius * radius <= squared
    w, residual, direction, w2, gain = (
        np.zeros_like(gradient),
        gradient,
        gradient,
        0.0 * norm2,
        0.0 * norm2,
    )
    live, inside, used = (
        ~plain & (norm2 > 0),
        np.ones(norm2.shape, bool),
        np.zeros(norm2.shape, np.int64),
    )
    for _ in range(max_products):
        if not live.any():
            break
        used += live
        image_of = direction - project(weight * respond(direction))
        curve, wd, d2 = _dot(direction, image_of), _dot(w, direction), _dot(direction, direction)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = norm2 / curve
            leaves = (curve <= 0) | (w2 + 2 * t * wd + t * t * d2 >= radius2)
            edge = (np.sqrt(np.maximum(wd * wd + d2 * (radius2 - w2), 0)) - wd) / d2
            t = np.where(live, np.where(leaves, edge, t), 0.0)
            w = w + t * direction
            gain = gain + t * norm2 - 0.5 * t * t * curve
            residual = residual - t * image_of
            new_norm2 = _dot(residual, residual)
            inside &= ~(live & leaves)
            live = live & ~leaves & (new_norm2 > 1e-6 * squared)
            direction = residual + np.where(live, new_norm2 / norm2, 0.0) * direction
        norm2, w2 = new_norm2, _dot(w, w)
    gain = np.where(plain, 0.5 * squared, gain)
    length = np.sqrt(np.where(plain, squared, w2))
    step = image - l + np.where(plain, 0.0, respond(w))
    return step, gain, inside & ~live & (~plain | (squared == 0)), plain, length, used
