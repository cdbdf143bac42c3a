"""The mean-field fit of `takeup.inference.ascent`, one problem at a time: plain functions that numba compiles.

What goes in and out are the blocks α'[a, y] and β'[z, a], not φ. A plain step, with which every fit begins, sees φ
through the blocks alone: a cold start is the prior plus n φ for a drawn φ, a warm start is the last fit plus the
newcomer's own φ. After that step log φ[z, y, a] = U[y, a] + V[z, a] but for normalising, and so it stays: points, steps
and the vectors of conjugate gradients are such potentials θ = (U, V). Let c = U + V - E_φ[U + V] in each cell, and
G θ = (sum_z n φ c, sum_y n φ c): how θ moves the counts. Then θ'G θ is the squared length in the Fisher metric,
T(θ) - θ the gradient of the ELBO and θ - S G θ its negative Hessian, where S, made of trigammas, says how T moves with
the counts. A product with it passes over the cells once.

A step is accepted only where the ELBO does not fall. `meanfield_two` does the same for two proposals, actions and
levels, several times faster.
"""

import math
from typing import NamedTuple

from takeup.checks import FloatArray

START = 0.25
"""The first radius, in units of sqrt(n): over about that length the model of the ELBO can be trusted."""

MAX_PRODUCTS = 100
"""Products with the Hessian in one step: more than there are slow directions."""

_HALF_LOG_TAU = 0.9189385332046727


class FitProblem(NamedTuple):
    """What is fitted.

    Attributes:
        latent: n[z, y], flat, as all arrays are.
        alpha: α[a, y], prior plus seen outcomes.
        beta: β[z, a], prior plus seen compliance.
        actions: how many.
        levels: how many.
    """

    latent: FloatArray
    alpha: FloatArray
    beta: FloatArray
    actions: int
    levels: int


def gammas(x: float) -> tuple[float, float, float, float]:
    """(log Γ(x) + log p, p, ψ(x), ψ'(x)) for x > 0, to 1e-13: together, as they share all that costs.

    p = x (x + 1) .. (x + 7) where x < 8, else 1; many log p need one logarithm. The recurrence from x to x + 8 adds
    -p'/p to ψ and its derivative to ψ', and p = u (u + 6) (u + 10) (u + 12) with u = x (x + 7). Then asymptotic series.
    """
    far, product, first, second, v = x, 1.0, 0.0, 0.0, 0.0
    if x < 8.0:
        u = x * (x + 7.0)
        v = 2.0 * x + 7.0
        low, high = u * (u + 6.0), (u + 10.0) * (u + 12.0)
        by_low, by_high = 2.0 * u + 6.0, 2.0 * u + 22.0
        first, second = by_low * high + low * by_high, 2.0 * (low + high + by_low * by_high)
        product = low * high
        far = x + 8.0
    both = 1.0 / (far * product)  # a division costs as much as all that follows
    r, p = both * product, both * far
    slope = first * v * p
    bend = slope * slope - (second * v * v + 2.0 * first) * p
    q = r * r
    log = math.log(far)
    s0 = 1 / 12 - q * (1 / 360 - q * (1 / 1260 - q * (1 / 1680 - q * (1 / 1188 - q * (691 / 360360 - q / 156)))))
    s1 = 1 / 12 - q * (1 / 120 - q * (1 / 252 - q * (1 / 240 - q * (1 / 132 - q * (691 / 32760 - q / 12)))))
    s2 = 1 / 30 - q * (1 / 42 - q * (1 / 30 - q * (5 / 66 - q * (691 / 2730 - q * (7 / 6 - q * (3617 / 510))))))
    return (
        (far - 0.5) * log - far + _HALF_LOG_TAU + r * s0,
        product,
        log - 0.5 * r - q * s1 - slope,
        r * (1.0 + r * (0.5 + r * (1 / 6 - q * s2))) + bend,
    )


def judge(rise: float, gain: float, rounding: float, plain: bool, full: bool) -> tuple[bool, float, float]:
    """Whether to accept a step, and the next radius: a multiple of its length, and of the last radius at least."""
    trusted = plain or gain <= rounding  # too small to be measured: the model knows better
    accepted = rise >= -rounding and (trusted or rise >= 1e-4 * gain)
    if not accepted or (rise < 0.25 * gain and not trusted):
        return accepted, 0.25, 0.0
    if not full and (trusted or rise > 0.7 * gain):
        return accepted, 2.0, 0.0
    return accepted, 1.0, 1.0


def work_size(proposals: int, actions: int, levels: int) -> int:
    """The length of `work`: two points and seven vectors.

    A point holds θ, T(θ) - θ, the blocks and their ψ', each α'[y, a] above β'[z, a], the ψ' of the totals, and n φ.
    """
    cells, size = proposals * levels * actions, (levels + proposals) * actions
    return 2 * (4 * size + actions + cells) + 7 * size


def _respond(point: FloatArray, actions: int, levels: int, size: int) -> tuple[float, float]:
    """ψ' and T(θ) - θ from θ and the blocks of the point; the log Γ of the blocks, and of the totals by action."""
    split = levels * actions
    change, blocks, curvature = point[size : 2 * size], point[2 * size : 3 * size], point[3 * size :]
    value, whole, products = 0.0, 0.0, 1.0
    for i in range(size):
        log_gamma, product, psi, curvature[i] = gammas(blocks[i])
        change[i] = psi - point[i]
        value += log_gamma
        products *= product
        if products > 1e200 or products < 1e-200:
            value -= math.log(products)
            products = 1.0
    for a in range(actions):
        total = 0.0
        for i in range(a, split, actions):
            total += blocks[i]
        log_gamma, product, psi, curvature[size + a] = gammas(total)
        whole += log_gamma - math.log(product)
        for i in range(a, split, actions):
            change[i] -= psi
    return value - math.log(products), whole


def _evaluate(problem: FitProblem, point: FloatArray) -> tuple[float, float]:
    """The ELBO at the point's θ, and its rounding error; fills in the rest of the point."""
    latent, alpha, beta, actions, levels = problem
    split, size = levels * actions, levels * actions + beta.size
    blocks, mass = point[2 * size : 3 * size], point[4 * size + actions :]
    for i in range(size):
        blocks[i] = alpha[i % actions * levels + i // actions] if i < split else beta[i - split]
    entropy = 0.0
    for cell in range(latent.size):
        u, v, at = cell % levels * actions, split + cell // levels * actions, cell * actions
        top, total, mean = -math.inf, 0.0, 0.0
        for a in range(actions):
            top = max(top, point[u + a] + point[v + a])
        for a in range(actions):
            x = point[u + a] + point[v + a] - top
            e = math.exp(x)
            mass[at + a] = e
            total += e
            mean += e * x
        scale = latent[cell] / total
        entropy += latent[cell] * math.log(total) - scale * mean
        for a in range(actions):
            mass[at + a] *= scale
            blocks[u + a] += mass[at + a]
            blocks[v + a] += mass[at + a]
    value, whole = _respond(point, actions, levels, size)
    return value - whole + entropy, 2e-15 * (1.0 + abs(whole))


def _counts(
    latent: FloatArray, mass: FloatArray, theta: FloatArray, out: FloatArray, actions: int, levels: int
) -> None:
    """G θ: how the potentials θ move the counts, by outcome and action, and by proposal and action."""
    split = levels * actions
    for i in range(theta.size):
        out[i] = 0.0
    for cell in range(latent.size):
        if latent[cell] > 0.0:
            u, v, at = cell % levels * actions, split + cell // levels * actions, cell * actions
            mean = 0.0
            for a in range(actions):
                mean += mass[at + a] * (theta[u + a] + theta[v + a])
            mean /= latent[cell]
            for a in range(actions):
                moved = mass[at + a] * (theta[u + a] + theta[v + a] - mean)
                out[u + a] += moved
                out[v + a] += moved


def _gauge(theta: FloatArray, actions: int, levels: int) -> None:
    """Take from θ what does not change φ: a constant in each row of U and V, and one by action that U and V share."""
    rows = theta.size // actions
    for row in range(rows):
        mean = 0.0
        for i in range(row * actions, (row + 1) * actions):
            mean += theta[i]
        mean /= actions
        for i in range(row * actions, (row + 1) * actions):
            theta[i] -= mean
    for a in range(actions):
        mean = 0.0
        for row in range(levels, rows):
            mean += theta[row * actions + a]
        mean /= rows - levels
        for row in range(rows):
            theta[row * actions + a] += mean if row < levels else -mean


def _product(u: FloatArray, v: FloatArray) -> float:
    total = 0.0
    for i in range(u.size):
        total += u[i] * v[i]
    return total


def _newton(
    latent: FloatArray, point: FloatArray, work: FloatArray, radius: float, actions: int, levels: int
) -> tuple[float, float, bool, bool, bool]:
    """Steihaug's conjugate gradients; the step is left at the front of `work`.

    Returns the promised gain, the length, whether it is the full Newton step or the plain one, and whether T(θ) is so
    near that gains are what the model says, even in cells that are so sure of their action that they weigh nothing.
    """
    size, split = work.size // 7, levels * actions
    curvature, mass = point[3 * size : 4 * size + actions], point[4 * size + actions :]
    w, residual, g_residual = work[:size], work[size : 2 * size], work[2 * size : 3 * size]
    direction, g_direction = work[3 * size : 4 * size], work[4 * size : 5 * size]
    bent, g_bent = work[5 * size : 6 * size], work[6 * size : 7 * size]
    for i in range(size):
        residual[i] = point[size + i]
    _gauge(residual, actions, levels)
    _counts(latent, mass, residual, g_residual, actions, levels)
    settled = True
    for i in range(size):
        w[i], direction[i], g_direction[i] = 0.0, residual[i], g_residual[i]
        settled = settled and abs(residual[i]) <= 0.25
    squared, bound = max(_product(residual, g_residual), 0.0), radius * radius
    plain, full = bound <= squared or squared == 0.0, squared == 0.0
    left, reach, along, products, leaves = squared, squared, 0.0, 0, plain
    length2, gain = (squared, 0.5 * squared) if plain else (0.0, 0.0)
    while not (leaves or full) and products < MAX_PRODUCTS:
        products += 1
        for i in range(split, size):
            bent[i] = direction[i] - curvature[i] * g_direction[i]
        for a in range(actions):
            total = 0.0
            for i in range(a, split, actions):
                total += g_direction[i]
            for i in range(a, split, actions):
                bent[i] = direction[i] - curvature[i] * g_direction[i] + curvature[size + a] * total
        _gauge(bent, actions, levels)
        _counts(latent, mass, bent, g_bent, actions, levels)
        curve = _product(direction, g_bent)
        far = left / curve if curve > 0.0 else 0.0
        leaves = curve <= 0.0 or length2 + far * (2.0 * along + far * reach) >= bound
        if leaves:
            far = (math.sqrt(max(along * along + reach * (bound - length2), 0.0)) - along) / reach
        gain += far * (left - 0.5 * far * curve)
        length2 += far * (2.0 * along + far * reach)
        for i in range(size):
            w[i] += far * direction[i]
            residual[i] -= far * bent[i]
            g_residual[i] -= far * g_bent[i]
        still = max(_product(residual, g_residual), 0.0)
        full = not leaves and still <= 1e-6 * squared
        ratio = still / left
        along = ratio * (along + far * reach)
        reach = still + ratio * ratio * reach
        left = still
        for i in range(size):
            direction[i] = residual[i] + ratio * direction[i]
            g_direction[i] = g_residual[i] + ratio * g_direction[i]
    for i in range(size):
        w[i] += residual[i]  # S G w is w + residual less the plain step
    return gain, math.sqrt(length2), full, plain, settled


def ascend(
    problem: FitProblem,
    outcome: FloatArray,
    compliance: FloatArray,
    tolerance: float,
    max_evaluations: int,
    work: FloatArray,
) -> tuple[float, int, bool]:
    """Ascend the ELBO: its value but for what does not depend on φ, the evaluations, whether it converged.

    Args:
        problem: the counts and the prior.
        outcome: α'[a, y] to start from, flat, not symmetric in a; on return that of the fit.
        compliance: β'[z, a] to start from, flat; on return that of the fit.
        tolerance: as in `ascend_two`.
        max_evaluations: when to give up.
        work: at least `work_size` numbers.
    """
    latent, _, beta, actions, levels = problem
    split, size = levels * actions, levels * actions + beta.size
    half = 4 * size + actions + latent.size * actions
    here, there, vectors = work[:half], work[half : 2 * half], work[2 * half : 2 * half + 7 * size]
    total = 0.0
    for cell in range(latent.size):
        total += latent[cell]
    for i in range(size):
        here[i] = 0.0
        here[2 * size + i] = outcome[i % actions * levels + i // actions] if i < split else compliance[i - split]
    _respond(here, actions, levels, size)
    for i in range(size):
        here[i] = here[size + i]
    elbo, rounding = _evaluate(problem, here)
    evaluations, done, radius = 2, False, START * math.sqrt(total)
    while not done and evaluations < max_evaluations:
        gain, length, full, plain, settled = _newton(latent, here, vectors, radius, actions, levels)
        done = full and settled and gain <= max(tolerance, rounding)
        if not done:
            for i in range(size):
                there[i] = here[i] + vectors[i]
            found, error = _evaluate(problem, there)
            evaluations += 1
            accepted, factor, kept = judge(found - elbo, gain, rounding, plain, full)
            radius = max(kept * radius, factor * length)
            done = plain and not accepted  # a plain step cannot lower the ELBO: what is left is rounding
            if accepted:
                here, there, elbo, rounding = there, here, found, error
    for i in range(split):
        outcome[i % actions * levels + i // actions] = here[2 * size + i]
    for i in range(split, size):
        compliance[i - split] = here[2 * size + i]
    return elbo, evaluations, done
