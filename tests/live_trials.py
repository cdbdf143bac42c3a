"""Trials of any live policy, many side by side, in which proposals do nothing to the outcome."""

from typing import Any

import numpy as np

from takeup import UNSEEN, Event, Log, Space, stream
from takeup.policies.beliefs import Exact, highest

SPACE = Space(["usual", "new"], contexts=["mild", "severe"], outcomes=["ill", "well"])


def null_trials(policy: Any, many: int, n: int, seed: int, *, delay: int = 0, draws: int = 20) -> Log:
    """The outcome is known before the proposal, and follows the context and the time; takers do better than refusers.

    Probabilities are those of the policy's beliefs, exact or from `draws` of them, and what is proposed is drawn from
    just these. Compliance is reported at once, the outcome `delay` decisions later.
    """
    rng = stream(seed, "live trials", policy.name)
    x = rng.integers(0, 2, (n, many))
    rate = np.linspace(0.2, 0.5, n)[:, np.newaxis] + 0.3 * x
    y = (rng.random((n, many)) < rate).astype(np.int64)
    taker = rng.random((n, many)) < np.where(y == 1, 0.8, 0.4)
    z, a, probability = np.empty_like(y), np.empty_like(y), np.empty((n, many, 2))
    state = policy.start(SPACE, (many,))
    for t in range(n):
        if t > delay:
            i = t - delay - 1
            before = Event(x[i], z[i], a[i], np.full(many, UNSEEN), number=i)
            state = policy.report(state, before, Event(x[i], z[i], a[i], y[i], number=i), rng)
        beliefs = policy.beliefs(state, x[t], rng)
        if isinstance(beliefs, Exact):
            probability[t] = beliefs.probability
        else:
            best = highest(beliefs.scores(rng, draws))
            probability[t, :, 1] = best.mean(axis=0)
            probability[t, :, 0] = 1 - probability[t, :, 1]
        z[t] = rng.random(many) >= probability[t, :, 0]
        a[t] = np.where(taker[t], z[t], 0)
        state = policy.learn(state, Event(x[t], z[t], a[t], np.full(many, UNSEEN), number=t), rng)
    by = np.minimum(np.arange(n) + 1 + delay, n)
    p = probability.transpose(1, 0, 2)
    return Log.of(SPACE, z.T, p, context=x.T, implemented=a.T, outcome=y.T, outcome_by=by)
