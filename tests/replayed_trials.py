"""Trials decided as a live one decides, decision by decision, so that replays have something to be held against."""

from typing import Any

import numpy as np

from takeup import Log, stream
from takeup.checks import FloatArray
from takeup.evidence import Event
from takeup.space import UNSEEN
from takeup.trial import Design
from takeup.trial.allotment import allotment, proposed_between_looks
from takeup.trial.events import Looked
from takeup.trial.looking import conclude, told
from takeup.trial.proposal import propose
from takeup.trial.secret import Secret

SPACE = {"proposals": ["usual", "new"], "outcomes": ["ill", "well"]}


def design_of(space: dict[str, Any] | None = None, policy: Any = "TS", **tables: Any) -> Design:
    """A design of two proposals and two outcomes, unless a space says otherwise."""
    kind = {"kind": policy} if isinstance(policy, str) else policy
    return Design.of({"name": "Replayed", "space": space or SPACE, "policy": kind, **tables})


def lived(design: Design, n: int, seed: int, rates: FloatArray, delay: int = 0, fallback: int | None = None) -> Log:
    """A trial as it would have been decided live, of people whose outcomes have these rates by context and proposal.

    Outcomes are known after `delay` more decisions, give or take one; every `fallback`-th was drawn by a client.
    """
    rng, secret, space = stream(seed, "lived"), Secret(f"{seed:064x}", "0" * 32), design.space
    state, last = design.policy.start(space), None
    by = np.minimum(np.arange(n) + 1 + rng.integers(max(0, delay - 1), delay + 2, n) * (delay > 0), n)
    context, taken = rng.integers(len(space.contexts), size=n), np.full(n, UNSEEN)
    z, y, source, probability = np.zeros(n, int), np.zeros(n, int), np.zeros(n, int), np.zeros((n, len(design.even)))
    known = 0
    for t in range(n):
        for i in np.flatnonzero(by == t):
            now = Event(context[i], z[i], taken[i], y[i])
            state, known = design.policy.report(state, Event(context[i], z[i]), now, rng), known + 1
            last = _looked(design, secret, state.counts, known, t, last)
        number = t + 1
        if fallback and number % fallback == 0:
            source[t], probability[t] = 2, design.fallback
            z[t] = rng.choice(len(design.fallback), p=design.fallback)
        else:
            if design.looks is None:
                found = propose(design, secret, state.counts, int(context[t]), number)
            else:
                found = proposed_between_looks(design, secret, state.counts, number, last)
            z[t], probability[t], source[t] = found.index, found.probability, int(number <= design.spec.burn_in)
        y[t] = rng.random() < rates[context[t], z[t]]
        taken[t] = rng.integers(len(space.implemented))
        state = design.policy.learn(state, Event(context[t], z[t]), rng)
    return Log.of(
        space,
        z,
        probability,
        outcome=y,
        implemented=taken,
        context=context,
        outcome_by=by,
        implemented_by=by,
        source=source,
    )


def _looked(design: Design, secret: Secret, counts: Any, known: int, t: int, last: Looked | None) -> Looked | None:
    looks, held = design.looks, 0 if last is None else last.look
    if looks is None or held >= looks.at.size or known < looks.at[held]:
        return last
    before = allotment(design, secret, counts, t + 1, last)
    verdict, after = conclude(design, secret, counts, held, last, before)
    return told(design, held, verdict, after, at=0, outcomes=known, version=1)


def side_by_side(
    design: Design, many: int, n: int, seed: int, drift: float = 0.0, delay: int = 0, batch: int = 1
) -> Log:
    """Many trials in which proposals make no difference, by a policy without limits; its probabilities are not kept.

    The rate of success is .25 and rises by `drift` to the end. An outcome is known at the first end of a batch that is
    `delay` decisions later.
    """
    rng, policy = stream(seed, "side by side"), design.policy
    by = np.minimum((np.arange(n) + delay + batch) // batch * batch, n)
    rates = 0.25 + drift * np.linspace(0.0, 1.0, n)
    state, z = policy.start(design.space, (many,)), np.zeros((many, n), int)
    y = (rng.random((many, n)) < rates).astype(int)
    for t in range(n):
        for i in np.flatnonzero(by == t):
            state = policy.learn(state, Event(np.zeros(many, int), z[:, i], UNSEEN, y[:, i]), rng)
        z[:, t] = policy.propose(state, np.zeros(many, int), rng)
    return Log.of(design.space, z, np.full(len(design.even), 1 / len(design.even)), outcome=y, outcome_by=by)
