"""Trials of two proposals among people who differ, many side by side, with the probabilities that were drawn from.

TS learns from what was proposed alone, LinTS from covariates too: probabilities follow covariates then.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr

from takeup import Category, Log, Measure, Space, stream
from takeup.checks import FloatArray
from takeup.outcomes import Number

KNOWN = {"age": Measure(0, 100, step=5), "site": Category(["a", "b", "c"])}
LEVELS = Space(["usual", "new"], outcomes=["ill", "well"], covariates=KNOWN)
NUMBERS = Space(["usual", "new"], outcomes=Number(0, 100, step=1), covariates=KNOWN)
SITES = np.array([0.5, 0.3, 0.2])


@dataclass(frozen=True)
class People:
    """What becomes of people by age from -1 to 1 and by site.

    Attributes:
        age: how much an outcome rises with age.
        effect: of the new proposal, by site.
        by_age: how much the effect rises with age.
        refusing: the share of those who refuse what is new; they fare better either way, so that compliance confounds.
        usual: the mean of the usual proposal.
    """

    age: float = 0.25
    effect: tuple[float, float, float] = (0.0, 0.0, 0.0)
    by_age: float = 0.0
    refusing: float = 0.0
    usual: float = 0.45


@dataclass(frozen=True)
class Trials:
    """Logs side by side, and what each proposal is worth to each person by intention to treat, (many, n, 2)."""

    log: Log
    value: FloatArray

    @property
    def effect(self) -> FloatArray:
        """Over those who came, of each trial."""
        return np.asarray((self.value[..., 1] - self.value[..., 0]).mean(axis=-1))


def trials(
    people: People,
    many: int,
    n: int,
    seed: int,
    policy: Literal["TS", "LinTS", "even"] = "LinTS",
    floor: float = 0.1,
    *,
    numbers: bool = False,
) -> Trials:
    """`many` trials of n such people; both policies are normal Thompson sampling of a linear model, within a floor."""
    rng = stream(seed, "covariate trials")
    space = NUMBERS if numbers else LEVELS
    place, site = rng.integers(0, 21, (many, n)), rng.choice(3, (many, n), p=SITES)
    age = place / 10.0 - 1.0
    refuses = rng.random((many, n)) < people.refusing
    base = people.usual + people.age * age + 0.15 * refuses
    helped = np.array(people.effect)[site] + people.by_age * age
    took_new = np.stack([base, base + np.where(refuses, 0.0, helped)], axis=-1)  # of each proposal
    blocks = [KNOWN["age"].table()[place], KNOWN["site"].table()[site]]
    assert space.covariates is not None
    features = space.covariates.combined(blocks)
    w = features / 1000.0 if policy == "LinTS" else np.ones((many, n, 1))
    d, noise = w.shape[-1], 0.1 if numbers else 0.25
    gram, product = np.broadcast_to(np.eye(d), (many, 2, d, d)).copy(), np.zeros((many, 2, d))
    every, probability = np.arange(many), np.empty((many, n, 2))
    proposal, outcome = (np.empty((many, n), dtype=np.int64) for _ in range(2))
    for t in range(n):
        unit = w[:, t]
        inverse = np.linalg.inv(gram)
        mean = np.einsum("kzde,kze,kd->kz", inverse, product, unit)
        variance = np.einsum("kzde,kd,ke->kz", inverse, unit, unit) * noise
        share = ndtr((mean[:, 1] - mean[:, 0]) / np.sqrt(variance.sum(axis=-1)))
        share = np.full(many, 0.5) if policy == "even" else np.clip(share, floor, 1 - floor)
        z = (rng.random(many) < share).astype(np.int64)
        probability[:, t, 0], probability[:, t, 1] = 1 - share, share
        chance = took_new[every, t, z]
        if numbers:
            y = np.clip(np.rint(100 * chance + 12 * rng.standard_normal(many)), 0, 100)
            gain, outcome[:, t] = y / 100, y
        else:
            gain = (rng.random(many) < chance).astype(np.float64)
            outcome[:, t] = gain
        proposal[:, t] = z
        gram[every, z] += unit[:, :, np.newaxis] * unit[:, np.newaxis, :]
        product[every, z] += unit * gain[:, np.newaxis]
    taken = np.where(refuses, 0, proposal)
    log = Log.of(space, proposal, probability, outcome=outcome, implemented=taken, features=features)
    return Trials(log, took_new * (100 if numbers else 1))
