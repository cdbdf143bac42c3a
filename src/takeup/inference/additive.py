"""Lines by implemented action and by proposal: y = v'f[a] + v'g[z] + ε, g held to zero as firmly as the data allow.

Where the outcome of an action does not depend on what was proposed, g is zero and all proposals teach what an action is
worth. Where it does, a free g gives every proposal the mean that its outcomes have. How firmly is unknown: in a model
of strength κ every coefficient of g has the prior N(0, σ² / κ), as firm as κ outcomes would make it, and all
strengths are weighed by what they make of the data. The weight of SHARED is the probability that g is zero, among these
models: it tells whether compliance is ignorable given the features.

All is in closed form, from sums by proposal and action. Leading axes are regressions side by side.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from takeup.checks import FloatArray
from takeup.inference.cholesky import back
from takeup.inference.linear import Regression, Sums
from takeup.randomness import Random

SHARED = 1e9
"""The strength with which g is zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    """The coefficients under each strength, and what it weighs.

    Attributes:
        regression: of (f[0], .., f[Ka - 1], g[0], .., g[Kz - 1]); leading axes (.., M).
        weight: of each strength; shape (.., M).
        actions: Ka.
        width: d, how many features there are.
    """

    regression: Regression
    weight: FloatArray
    actions: int
    width: int

    def draw(self, rng: Random, draws: int | None = None) -> tuple[FloatArray, FloatArray]:
        """f[a] and g[z] in draws of a strength and of the coefficients given it: (.., Ka, d) and (.., Kz, d)."""
        repeat = () if draws is None else (draws,)
        batch, size = self.weight.shape[:-1], self.regression.mean.shape[-1]
        mark = rng.random((*repeat, *batch))[..., np.newaxis]
        chosen = (mark >= np.cumsum(self.weight, axis=-1)[..., :-1]).sum(axis=-1)[..., np.newaxis]

        def of(array: FloatArray, trailing: int) -> FloatArray:
            """The chosen strength's."""
            wide = np.broadcast_to(array, (*repeat, *array.shape))
            place = chosen.reshape(chosen.shape + (1,) * trailing)
            return np.take_along_axis(wide, place, axis=-1 - trailing).squeeze(axis=-1 - trailing)

        square, freedom = of(self.regression.square, 0), of(self.regression.freedom, 0)
        noise = np.sqrt(square)
        if not np.isinf(self.regression.freedom).any():
            noise = np.sqrt(square * freedom / 2 / rng.standard_gamma(freedom / 2, size=(*repeat, *batch)))
        away = back(of(self.regression.factor, 2), rng.standard_normal((*repeat, *batch, size)))
        found = of(self.regression.mean, 1) + noise[..., np.newaxis] * away
        both = found.reshape(*found.shape[:-1], size // self.width, self.width)
        return both[..., : self.actions, :], both[..., self.actions :, :]


def believe(
    sums: Sums, prior: Regression, strengths: FloatArray, log_prior: FloatArray, sharpness: float = 1.0
) -> Additive:
    """What sums by proposal and action make of it.

    Args:
        sums: leading axes (.., Kz, Ka).
        prior: of one action's line; without leading axes.
        strengths: κ of each model.
        log_prior: the log prior probability of each.
        sharpness: the power to which the evidence of a model is taken; 1 is Bayesian model averaging.
    """
    together = stacked(sums)
    proposals, actions, width = sums.cross.shape[-3:]
    models = strengths.size
    precision = np.zeros((models, actions + proposals, width, actions + proposals, width))
    for a in range(actions):
        precision[:, a, :, a, :] = prior.precision
    for z in range(actions, actions + proposals):
        precision[:, z, :, z, :] = strengths[:, np.newaxis, np.newaxis] * np.eye(width)
    size = (actions + proposals) * width
    mean = np.concatenate([np.tile(prior.mean, actions), np.zeros(proposals * width)])
    before = Regression.of(
        np.tile(mean, (models, 1)),
        precision.reshape(models, size, size),
        np.tile(prior.square, models),
        np.tile(prior.freedom, models),
    )
    beside = Sums(*(np.expand_dims(each, -1 - n) for each, n in zip(_parts(together), (0, 2, 1, 0), strict=True)))
    after, evidence = before.learnt(beside)
    return Additive(after, np.asarray(softmax(log_prior + sharpness * evidence, axis=-1)), actions, width)


def stacked(sums: Sums) -> Sums:
    """Sums by proposal and action as those of one regression on (1[a] v, 1[z] v)."""
    gram, cross = np.asarray(sums.square), np.asarray(sums.cross)
    proposals, actions, width = cross.shape[-3:]
    batch, parts = cross.shape[:-3], actions + proposals
    square = np.zeros((*batch, parts, width, parts, width))
    for a in range(actions):
        square[..., a, :, a, :] = gram[..., a, :, :].sum(axis=-3)
        for z in range(proposals):
            square[..., a, :, actions + z, :] = square[..., actions + z, :, a, :] = gram[..., z, a, :, :]
    for z in range(proposals):
        square[..., actions + z, :, actions + z, :] = gram[..., z, :, :, :].sum(axis=-3)
    product = np.concatenate([cross.sum(axis=-3), cross.sum(axis=-2)], axis=-2)
    return Sums(
        np.asarray(sums.count).sum(axis=(-2, -1)),
        square.reshape(*batch, parts * width, parts * width),
        product.reshape(*batch, parts * width),
        np.asarray(sums.total).sum(axis=(-2, -1)),
    )


def _parts(sums: Sums) -> tuple[FloatArray, ...]:
    return tuple(np.asarray(each, dtype=np.float64) for each in (sums.count, sums.square, sums.cross, sums.total))
