"""Two proposals and two outcomes: the probability of every table that a trial can have seen, from step to step.

A table is (n_0, s_0, s_1): how many were offered proposal 0, and how many successes each proposal had; after t outcomes
n_1 = t - n_0. Arrays have these three axes, and may leave out tables with more successes than some number.
P(θ_0 > θ_1) is carried along by the recurrence that `takeup.simulation.kernels.two_arm` states.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln
from scipy.stats import binom

from takeup.checks import FloatArray
from takeup.conjugates.quadrature import largest_beta
from takeup.policies import TS, Uniform
from takeup.policies.limits import softened
from takeup.trial.design import Design


@dataclass(slots=True, eq=False)
class Best:
    """P(θ_0 > θ_1) of every table of t outcomes, and the h of its recurrence.

    Attributes:
        prior: (a, b) of each proposal.
        p: P(θ_0 > θ_1).
        h: what it changes by.
        most: tables with more successes than this, of either proposal, are left out; None for none.
    """

    prior: FloatArray
    p: FloatArray
    h: FloatArray
    most: int | None = None

    @classmethod
    def begin(cls, prior: FloatArray, most: int | None = None) -> "Best":
        """Before the first outcome."""
        log_h = betaln(*prior.sum(axis=0)) - betaln(*prior[0]) - betaln(*prior[1])
        first = np.full((1, 1, 1), largest_beta(prior)[0])
        return cls(prior, first, np.full((1, 1, 1), np.exp(log_h)), most)

    def step(self) -> None:
        """One more outcome: every table has one that it comes from."""
        t, old = self.p.shape[:2]
        new = _successes(t, self.most)
        p, h = np.zeros((t + 1, new, new)), np.zeros((t + 1, new, new))
        every, first, fewer = slice(None), slice(1), slice(new - 1)
        p[1:, 1:, :old], h[1:, 1:, :old] = self._seen(0, 0, (every, fewer, every))
        p[1:, :1, :old], h[1:, :1, :old] = self._seen(0, 1, (every, first, every))
        p[:1, :1, 1:], h[:1, :1, 1:] = self._seen(1, 0, (first, first, fewer))
        p[:1, :1, :1], h[:1, :1, :1] = self._seen(1, 1, (first, first, first))
        self.p, self.h = p, h

    def _seen(self, z: int, j: int, where: tuple[slice, slice, slice]) -> tuple[FloatArray, FloatArray]:
        """P and h of some tables after one more outcome j, 0 being a success, of proposal z.

        Where a table has more successes than units it cannot occur, and what is computed for it is not read.
        """
        t = self.p.shape[0] - 1
        n_0, s_0, s_1 = (axis[part] for axis, part in zip(axes_of(t, self.most), _along(where), strict=True))
        counts = ((s_0, n_0 - s_0), (s_1, t - n_0 - s_1))
        near = self.prior[z, j] + np.maximum(counts[z][j], 0)
        other = self.prior[1 - z, j] + counts[1 - z][j]
        row = self.prior[z].sum() + (t - n_0 if z else n_0)
        part = self.h[where] / near
        grown = part * ((near + other) * row / (self.prior.sum() + t))
        return self.p[where] + (part if z == j else -part), grown


def _along(where: tuple[slice, slice, slice]) -> tuple[tuple[slice, ...], ...]:
    """The parts of the three axes."""
    every = slice(None)
    return (where[0], every, every), (every, where[1], every), (every, every, where[2])


def one_more(here: FloatArray, p: FloatArray, true: FloatArray, most: int | None = None) -> FloatArray:
    """One more outcome from every table, by the probability of proposing 0 and the true rates."""
    t, old = here.shape[:2]
    new = _successes(t, most)
    there = np.zeros((t + 1, new, new))
    zero, one = here * p, here * (1 - p)
    there[1:, 1:, :old] += zero[:, : new - 1] * true[0]
    there[1:, :old, :old] += zero * (1 - true[0])
    there[:t, :old, 1:] += one[..., : new - 1] * true[1]
    there[:t, :old, :old] += one * (1 - true[1])
    return there


def many_more(here: FloatArray, p: FloatArray, true: FloatArray, units: int, most: int | None = None) -> FloatArray:
    """So many more outcomes from every table, with the probability that goes with it."""
    t, old = here.shape[0] - 1, here.shape[1]
    new = _successes(t + units, most)
    there = np.zeros((t + units + 1, new, new))
    for k in range(units + 1):  # on proposal 0
        rise_0 = _rising(old, min(old + k, new), k, true[0])
        rise_1 = _rising(old, min(old + units - k, new), units - k, true[1])
        moved = rise_0.T @ (here * binom.pmf(k, units, p)) @ rise_1
        there[k : k + t + 1, : rise_0.shape[1], : rise_1.shape[1]] += moved
    return there


def _rising(old: int, new: int, units: int, rate: float) -> FloatArray:
    """The probability that s successes become s', of so many more units; shape (old, new)."""
    return np.asarray(binom.pmf(np.arange(new) - np.arange(old)[:, np.newaxis], units, rate))


def share_of(design: Design, best: FloatArray, place: int, known: int) -> FloatArray:
    """The probability of proposing 0 in every table, within the limits; `place` is that of the power."""
    if isinstance(design.policy, Uniform) or known < design.spec.burn_in:
        return np.full(best.shape, design.even[0])
    p = np.clip(best, 0.0, 1.0)
    power = 1.0 if design.soften is None else float(design.soften[place])
    if power != 1:
        p = (
            softened(np.stack([p, 1 - p]).reshape(2, -1).T, power)[:, 0].reshape(p.shape)
            if power
            else np.full(p.shape, 0.5)
        )
    return np.asarray(np.clip(p, *limits_of(design)))


def limits_of(design: Design) -> tuple[float, float]:
    """The least and the greatest probability of proposal 0 of two."""
    floor, ceiling = (
        np.broadcast_to(np.asarray(each, dtype=np.float64), 2) for each in (design.limits.floor, design.limits.ceiling)
    )
    return float(max(floor[0], 1 - ceiling[1])), float(min(ceiling[0], 1 - floor[1]))


def prior_of(design: Design) -> FloatArray:
    """(a, b) of each proposal, a being of the better outcome."""
    space, policy = design.space, design.policy
    good = int(np.argmax(space.utility))
    outcome = (policy if isinstance(policy, TS) else TS()).prior(space).outcome[0]
    return np.asarray(outcome[:, [good, 1 - good]], dtype=np.float64)


def axes_of(units: int, most: int | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three axes of the tables of so many outcomes."""
    n, s = np.arange(units + 1, dtype=np.float64), np.arange(_successes(units, most), dtype=np.float64)
    return n[:, np.newaxis, np.newaxis], s[np.newaxis, :, np.newaxis], s[np.newaxis, np.newaxis, :]


def _successes(units: int, most: int | None) -> int:
    """How many numbers of successes there are."""
    return (units if most is None else min(units, most)) + 1
