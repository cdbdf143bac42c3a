"""Models of compliance and outcomes that are fitted to a trial's decisions."""

import numpy as np
from scipy.special import logsumexp, softmax

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.covariates import ONE
from takeup.errors import InputError, UnsuitableError
from takeup.outcomes import Levels, Number
from takeup.populations.models import Linear, Logit
from takeup.rows import Rows
from takeup.space import UNSEEN

STEPS = 100
NEAR = 1e-10
"""Newton's steps end where the penalised likelihood gains less than this, a decision."""


def fitted(rows: Rows, *, exclusion: bool, ridge: float) -> tuple[Logit, Logit | Linear]:
    """Compliance and outcomes; see `CovariateEnvironment.fitted`."""
    if not float(checks.real("ridge", ridge)) > 0:
        raise InputError("ridge", ridge, "a number above 0")
    contexts, proposals, actions, outcomes = rows.space.shape
    v, d = rows.features / ONE, rows.features.shape[-1]
    x, z, a, y = rows.context, rows.proposal, rows.implemented, rows.outcome
    took = np.zeros((1, contexts, proposals, actions, d))
    for i in range(contexts):
        for j in range(proposals):
            here = (x == i) & (z == j) & (a != UNSEEN)
            took[0, i, j] = logit(v[here], a[here], actions, ridge)
    outcome, seen = rows.space.outcome, (a != UNSEEN) & (y != UNSEEN)
    groups = np.zeros_like(z) if exclusion else z
    shape = (1, contexts, 1 if exclusion else proposals, actions)
    if isinstance(outcome, Levels):
        fared = np.zeros((*shape, outcomes, d))
        for i, j, k in np.ndindex(shape[1:]):
            here = seen & (x == i) & (groups == j) & (a == k)
            fared[0, i, j, k] = logit(v[here], y[here], outcomes, ridge)
        return Logit(took), Logit(fared)
    if not isinstance(outcome, Number):
        raise UnsuitableError(f"a {outcome.kind} has no such model; fit levels or numbers, or give an outcome model")
    mean, left = np.zeros((*shape, d)), np.zeros(rows.size)
    number = outcome.grid.at(y.astype(np.int64))
    for i, j, k in np.ndindex(shape[1:]):
        here = seen & (x == i) & (groups == j) & (a == k)
        mean[0, i, j, k] = least_squares(v[here], number[here], ridge)
        left[here] = number[here] - v[here] @ mean[0, i, j, k]
    sd = float(np.sqrt(np.mean(left[seen] ** 2))) if seen.any() else 0.0
    return Logit(took), Linear(mean, max(sd, outcome.step / 10))


def logit(v: FloatArray, level: IntArray, levels: int, ridge: float) -> FloatArray:
    """The coefficients of a multinomial logit, (levels, d), of which the first has none, by Newton's method.

    Nothing keeps the intercept from running off where a level was never seen, so half a decision in each is added at
    features of zero.
    """
    d = v.shape[1]
    v = np.vstack([v, np.tile(np.eye(1, d), (levels, 1))])
    weight = np.append(np.ones(len(level)), np.full(levels, 0.5))
    hit = np.eye(levels)[np.append(level, np.arange(levels))] * weight[:, np.newaxis]
    cost = np.tile(np.append(0.0, np.full(d - 1, ridge)), levels - 1)
    beta = np.zeros((levels, d))

    def worth(beta: FloatArray) -> float:
        score = v @ beta.T
        return float((hit * score).sum() - weight @ logsumexp(score, axis=1) - cost @ beta[1:].ravel() ** 2 / 2)

    now = worth(beta)
    for _ in range(STEPS):
        p = softmax(v @ beta.T, axis=1)
        slope = ((hit - p * weight[:, np.newaxis])[:, 1:].T @ v).ravel() - cost * beta[1:].ravel()
        bend = np.zeros((levels - 1, d, levels - 1, d))
        for i, j in np.ndindex(levels - 1, levels - 1):
            each = weight * p[:, i + 1] * ((i == j) - p[:, j + 1])
            bend[i, :, j] = (v * each[:, np.newaxis]).T @ v
        step = np.linalg.solve(bend.reshape(slope.size, -1) + np.diag(cost + 1e-9), slope).reshape(levels - 1, d)
        length, then = 1.0, now
        while length > 1e-6:
            tried = beta + np.vstack([np.zeros(d), length * step])
            if (then := worth(tried)) >= now:
                beta = tried
                break
            length /= 2
        if then - now < NEAR * len(v):
            break
        now = then
    return beta


def least_squares(v: FloatArray, number: FloatArray, ridge: float) -> FloatArray:
    """The coefficients of a linear model, with a ridge on all but the intercept."""
    penalty = np.diag(np.append(1e-9, np.full(v.shape[1] - 1, ridge)))
    return np.asarray(np.linalg.solve(v.T @ v + penalty, v.T @ number))
