"""The mean-field fit of `meanfield` for two proposals, two actions and two levels, in registers.

Three potentials are left of (U, V): the logit of φ[z, y, 1] is U[y] + V [z = 1]. The step is found by factoring the
three by three Hessian instead of conjugate gradients, and vectors are tuples, so no memory is touched.
"""

import math
from typing import NamedTuple

from takeup.simulation.kernels.machine import inlined
from takeup.simulation.kernels.meanfield import START, gammas, judge

Three = tuple[float, float, float]
Four = tuple[float, float, float, float]
Five = tuple[float, float, float, float, float]

MAX_SHIFTS = 8
"""Factorisations in one step; a step needs 1.6 on average, and is a plain one where these are not enough."""


class Iterate(NamedTuple):
    """An iterate of two by two by two: what is known at the logits of a = 1, (U[0], U[1]) at z = 0, plus V at z = 1.

    Attributes:
        potential: (U[0], U[1], V).
        change: T(θ) - θ, the gradient.
        spread: n φ (1 - φ) of the cells (z, y), the Fisher metric.
        curvature: ψ' summed over a, of α'[., 0], α'[., 1], β'[0], β'[1] and the totals of α'.
        elbo: the ELBO, less what does not depend on φ.
        rounding: the error of the ELBO.
        outcome: α'[a, y].
        compliance: β'[z, a].
    """

    potential: Three
    change: Three
    spread: Four
    curvature: Five
    elbo: float
    rounding: float
    outcome: Four
    compliance: Four


class Step(NamedTuple):
    """A step: the gain it promises, its length, whether it is the full Newton step or the plain one, T."""

    change: Three
    gain: float
    length: float
    full: bool
    plain: bool


def _cell(n: float, logit: float) -> Four:
    """What n and φ make in a cell: n (1 - φ), n φ, n φ (1 - φ) and n times the entropy of φ."""
    e = math.exp(-abs(logit))
    s = 1.0 / (1.0 + e)
    large, small = n * s, n * e * s
    entropy = small * abs(logit) - n * math.log(s)
    if logit > 0.0:
        return small, large, small * s, entropy
    return large, small, small * s, entropy


class Contrast(NamedTuple):
    """What two numbers x and y make together: ψ(y) - ψ(x), ψ'(x) + ψ'(y), log Γ(x) Γ(y) + log p and p, see `gammas`."""

    psi: float
    curvature: float
    log_gamma: float
    product: float


def _contrast(x: float, y: float) -> Contrast:
    log_x, product_x, psi_x, curvature_x = gammas(x)
    log_y, product_y, psi_y, curvature_y = gammas(y)
    return Contrast(psi_y - psi_x, curvature_x + curvature_y, log_x + log_y, product_x * product_y)


def contrasts(first: Four, second: Four, totals: tuple[float, float]) -> tuple[Five, Five, float, float, float]:
    """The five contrasts of an iterate: ψ and ψ' of each, and log Γ of the four, of the totals, and log p of all.

    Args:
        first: α'[0, 0], α'[0, 1], β'[0, 0], β'[1, 0].
        second: the same of a = 1.
        totals: of α' by action.
    """
    c0, c1 = _contrast(first[0], second[0]), _contrast(first[1], second[1])
    c2, c3 = _contrast(first[2], second[2]), _contrast(first[3], second[3])
    whole = _contrast(totals[0], totals[1])
    parts = c0.log_gamma + c1.log_gamma + c2.log_gamma + c3.log_gamma
    product = c0.product * c1.product * c2.product * c3.product
    return (
        (c0.psi, c1.psi, c2.psi, c3.psi, whole.psi),
        (c0.curvature, c1.curvature, c2.curvature, c3.curvature, whole.curvature),
        parts,
        whole.log_gamma,
        whole.product / product,
    )


def contrasts_in_turn(first: Four, second: Four, totals: tuple[float, float]) -> tuple[Five, Five, float, float, float]:
    """`contrasts` one after the other: a tenth of its instructions, which a GPU has to fetch again and again."""
    p0 = p1 = p2 = p3 = t0 = t1 = t2 = t3 = parts = 0.0
    product, whole, one = 1.0, Contrast(0.0, 0.0, 0.0, 1.0), Contrast(0.0, 0.0, 0.0, 1.0)
    for i in range(10):
        half = i // 2
        x = totals[i % 2]
        if half < 4:
            x = second[half] if i % 2 == 1 else first[half]
        log, by, psi, curvature = gammas(x)
        if i % 2 == 0:
            one = Contrast(psi, curvature, log, by)
            continue
        whole = Contrast(psi - one.psi, one.curvature + curvature, one.log_gamma + log, one.product * by)
        if half < 4:
            parts += whole.log_gamma
            product *= whole.product
        p0, t0 = (whole.psi, whole.curvature) if half == 0 else (p0, t0)
        p1, t1 = (whole.psi, whole.curvature) if half == 1 else (p1, t1)
        p2, t2 = (whole.psi, whole.curvature) if half == 2 else (p2, t2)
        p3, t3 = (whole.psi, whole.curvature) if half == 3 else (p3, t3)
    last = whole.product / product
    return (p0, p1, p2, p3, whole.psi), (t0, t1, t2, t3, whole.curvature), parts, whole.log_gamma, last


@inlined
def _image_two(psi: Five) -> Three:
    """T as potentials, from the contrasts of ψ."""
    base = psi[2] - psi[4]
    return psi[0] + base, psi[1] + base, psi[3] - psi[2]


def _psi_two(outcome: Four, compliance: Four) -> Five:
    """The contrasts of ψ of these blocks."""
    first = (outcome[0], outcome[1], compliance[0], compliance[2])
    second = (outcome[2], outcome[3], compliance[1], compliance[3])
    return contrasts(first, second, (outcome[0] + outcome[1], outcome[2] + outcome[3]))[0]


def cells(latent: Four, at: Three) -> tuple[Four, Four, Four, float]:
    """N φ summed by action and outcome, and by proposal and action; n φ (1 - φ) of the cells; n times their entropy."""
    n00, m00, s00, h00 = _cell(latent[0], at[0])
    n01, m01, s01, h01 = _cell(latent[1], at[1])
    n10, m10, s10, h10 = _cell(latent[2], at[0] + at[2])
    n11, m11, s11, h11 = _cell(latent[3], at[1] + at[2])
    outcome = (n00 + n10, n01 + n11, m00 + m10, m01 + m11)
    compliance = (n00 + n01, m00 + m01, n10 + n11, m10 + m11)
    return outcome, compliance, (s00, s01, s10, s11), h00 + h10 + h01 + h11


def cells_in_turn(latent: Four, at: Three) -> tuple[Four, Four, Four, float]:
    """`cells` outcome by outcome, as in `contrasts_in_turn`."""
    o0 = o1 = o2 = o3 = c0 = c1 = c2 = c3 = s0 = s1 = s2 = s3 = entropy = 0.0
    for y in range(2):
        logit = at[1] if y else at[0]
        n0, m0, spread0, h0 = _cell(latent[1] if y else latent[0], logit)
        n1, m1, spread1, h1 = _cell(latent[3] if y else latent[2], logit + at[2])
        c0, c1, c2, c3 = c0 + n0, c1 + m0, c2 + n1, c3 + m1
        entropy += h0
        entropy += h1
        if y:
            o1, o3, s1, s3 = n0 + n1, m0 + m1, spread0, spread1
        else:
            o0, o2, s0, s2 = n0 + n1, m0 + m1, spread0, spread1
    return (o0, o1, o2, o3), (c0, c1, c2, c3), (s0, s1, s2, s3), entropy


def _evaluate_two(latent: Four, alpha: Four, beta: Four, at: Three) -> Iterate:
    """The ELBO, its gradient and its curvature."""
    taken, followed, spread, entropy = cells(latent, at)
    outcome = (alpha[0] + taken[0], alpha[1] + taken[1], alpha[2] + taken[2], alpha[3] + taken[3])
    compliance = (beta[0] + followed[0], beta[1] + followed[1], beta[2] + followed[2], beta[3] + followed[3])
    first = (outcome[0], outcome[1], compliance[0], compliance[2])
    second = (outcome[2], outcome[3], compliance[1], compliance[3])
    totals = (outcome[0] + outcome[1], outcome[2] + outcome[3])
    psi, curvature, parts, whole, product = contrasts(first, second, totals)
    image = _image_two(psi)
    return Iterate(
        at,
        (image[0] - at[0], image[1] - at[1], image[2] - at[2]),
        spread,
        curvature,
        (parts - whole) + math.log(product) + entropy,
        2e-15 * (1.0 + abs(whole)),
        outcome,
        compliance,
    )


def _dot(u: Three, v: Three) -> float:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def _counts_two(spread: Four, v: Three) -> Three:
    """G v: how the potentials v move the counts of a = 1, by outcome, and at z = 1."""
    s00, s01, s10, s11 = spread
    return (s00 + s10) * v[0] + s10 * v[2], (s01 + s11) * v[1] + s11 * v[2], s10 * (v[0] + v[2]) + s11 * (v[1] + v[2])


def _answered(point: Iterate, moved: Three, scale: float) -> Three:
    """(T(θ) - θ + S G v) / (1 + λ), which is v, and right also where φ is so sure of itself that G v says nothing."""
    t0, t1, t2, t3, total = point.curvature
    both = moved[0] + moved[1]
    v0 = t2 * (both - moved[2])
    base = v0 - total * both
    return (
        scale * (point.change[0] + t0 * moved[0] + base),
        scale * (point.change[1] + t1 * moved[1] + base),
        scale * (point.change[2] + t3 * moved[2] - v0),
    )


def _newton_two(point: Iterate, radius: float) -> Step:
    """The maximum of g'v - v'H v / 2 in a ball: (H + λ G) v = g by factoring L D L', λ by Newton's method.

    Where H + λ G is indefinite, the pivot shows a direction in which it is, and so a lower bound for λ.
    """
    s00, s01, s10, s11 = point.spread
    t0, t1, t2, t3, total = point.curvature
    gradient = _counts_two(point.spread, point.change)
    squared, bound = _dot(gradient, point.change), radius * radius
    plain = Step(point.change, 0.5 * squared, math.sqrt(max(squared, 0.0)), squared <= 0.0, True)
    if bound <= squared or squared <= 0.0:
        return plain
    y0, y1, z1 = s00 + s10, s01 + s11, s10 + s11
    tiny = 1e-13 * (y0 + y1)  # empty cells leave directions in which nothing changes
    h00 = y0 - (t0 - total) * y0 * y0 - t2 * s00 * s00 - t3 * s10 * s10 + tiny
    h11 = y1 - (t1 - total) * y1 * y1 - t2 * s01 * s01 - t3 * s11 * s11 + tiny
    h22 = z1 - (t3 - total) * z1 * z1 - t0 * s10 * s10 - t1 * s11 * s11 + tiny
    h01 = total * y0 * y1 - t2 * s00 * s01 - t3 * s10 * s11
    h02 = s10 - t0 * y0 * s10 - t3 * s10 * z1 + total * y0 * z1
    h12 = s11 - t1 * y1 * s11 - t3 * s11 * z1 + total * y1 * z1
    shift, least, most = 0.0, 0.0, math.inf
    for _ in range(MAX_SHIFTS):
        d0, a01, a02, a12 = h00 + shift * y0, h01, h02 + shift * s10, h12 + shift * s11
        i0 = 1.0 / d0 if d0 > 0.0 else 0.0
        l1, l2 = a01 * i0, a02 * i0
        d1, e = h11 + shift * y1 - l1 * a01, a12 - l1 * a02
        i1 = 1.0 / d1 if d1 > 0.0 else 0.0
        l3 = e * i1
        d2 = h22 + shift * z1 - l2 * a02 - l3 * e
        if d0 > 0.0 and d1 > 0.0 and d2 > 0.0:
            i2 = 1.0 / d2
            b1 = gradient[1] - l1 * gradient[0]
            v2 = (gradient[2] - l2 * gradient[0] - l3 * b1) * i2
            v1 = b1 * i1 - l3 * v2
            v = (gradient[0] * i0 - l1 * v1 - l2 * v2, v1, v2)
            moved = _counts_two(point.spread, v)
            length2 = _dot(moved, v)
            if length2 <= 2.0 * bound and (shift == 0.0 or 2.0 * length2 >= bound):
                gain = 0.5 * (_dot(gradient, v) + shift * length2)
                change = _answered(point, moved, 1.0 / (1.0 + shift))
                return Step(change, gain, math.sqrt(length2), shift == 0.0, False)
            b1 = moved[1] - l1 * moved[0]
            b2 = moved[2] - l2 * moved[0] - l3 * b1
            if length2 > bound:
                least = shift
            else:
                most = shift
            shift += (
                (math.sqrt(length2) / radius - 1.0) * length2 / (moved[0] * moved[0] * i0 + b1 * b1 * i1 + b2 * b2 * i2)
            )
        else:
            v, pivot = (l1 * l3 - l2, -l3, 1.0), d2
            if d0 <= 0.0:
                v, pivot = (1.0, 0.0, 0.0), d0
            elif d1 <= 0.0:
                v, pivot = (-l1, 1.0, 0.0), d1
            least = shift - pivot / _dot(_counts_two(point.spread, v), v)
            shift = least + 0.5 * math.sqrt(squared) / radius
        if shift <= least or shift >= most:
            shift = 0.5 * (least + most)
    return plain


def _settled(change: Three) -> bool:
    """Whether T(θ) is so near that gains are what the model says."""
    c0, c1, c2 = change
    return max(abs(c0), abs(c1), abs(c0 + c2), abs(c1 + c2)) <= 1.0


def ascend_two(
    latent: Four, alpha: Four, beta: Four, outcome: Four, compliance: Four, tolerance: float, max_evaluations: int
) -> tuple[Iterate, int, bool]:
    """Ascend the ELBO of two proposals, actions and levels: the last point, the evaluations, whether it converged.

    Args:
        latent: n[z, y], outcomes with unseen compliance.
        alpha: α[a, y], prior plus seen outcomes.
        beta: β[z, a], prior plus seen compliance.
        outcome: α'[a, y] to start from, which must not be symmetric in a.
        compliance: β'[z, a] to start from.
        tolerance: a fit has converged when a full Newton step, which is not made, promises no more than this.
        max_evaluations: when to give up.
    """
    at = _image_two(_psi_two(outcome, compliance))
    none = (0.0, 0.0, 0.0)
    point = Iterate(at, none, beta, (0.0, 0.0, 0.0, 0.0, 0.0), 0.0, 0.0, outcome, compliance)
    step = Step(none, 0.0, 0.0, False, True)
    radius, evaluations, done = START * math.sqrt((latent[0] + latent[1]) + (latent[2] + latent[3])), 1, False
    while not done and evaluations < max_evaluations:
        trial = _evaluate_two(latent, alpha, beta, at)  # in one place: machine code has to be fetched
        evaluations += 1
        accepted = True
        if evaluations > 2:
            rise = trial.elbo - point.elbo
            accepted, factor, kept = judge(rise, step.gain, point.rounding, step.plain, step.full)
            radius = max(kept * radius, factor * step.length)
        if accepted:
            point = trial
        done = step.plain and not accepted  # a plain step cannot lower the ELBO: what is left is rounding
        if not done:
            step = _newton_two(point, radius)
            done = step.full and _settled(point.change) and step.gain <= max(tolerance, point.rounding)
            by = step.change
            at = (point.potential[0] + by[0], point.potential[1] + by[1], point.potential[2] + by[2])
    return point, evaluations, done
