"""Trials of two proposals by Thompson sampling, many side by side, with the probabilities that were drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from takeup import Log, Space, stream
from takeup.checks import FloatArray

SPACE = Space(["usual", "new"], outcomes=["ill", "well"])


@dataclass(frozen=True)
class People:
    """Who comes: cells P(a, y | z) of each decision, (n, 2, 2, 2), and the value of each proposal."""

    cells: FloatArray

    @property
    def effect(self) -> float:
        """By intention to treat, over all who come."""
        value = self.cells[..., 1].sum(axis=-1).mean(axis=0)
        return float(value[1] - value[0])


def compliant(n: int, usual: float, new: float, drift: float = 0.0) -> People:
    """All do as they are told; both rates rise by `drift` from the first to the last."""
    rise = drift * np.linspace(0.0, 1.0, n)
    cells = np.zeros((n, 2, 2, 2))
    for z, rate in enumerate((usual, new)):
        cells[:, z, z, 1] = rate + rise
        cells[:, z, z, 0] = 1.0 - rate - rise
    return People(cells)


def refusing(n: int, takers: tuple[float, float], refusers: float, take_up: float, drift: float = 0.0) -> People:
    """Some never take the new one: takers have one rate without and one with it, refusers their own."""
    rise = drift * np.linspace(0.0, 1.0, n)
    cells = np.zeros((n, 2, 2, 2))
    without = take_up * takers[0] + (1 - take_up) * refusers + rise
    cells[:, 0, 0, 1], cells[:, 0, 0, 0] = without, 1 - without
    cells[:, 1, 1, 1] = take_up * (takers[1] + rise)
    cells[:, 1, 1, 0] = take_up * (1 - takers[1] - rise)
    cells[:, 1, 0, 1] = (1 - take_up) * (refusers + rise)
    cells[:, 1, 0, 0] = (1 - take_up) * (1 - refusers - rise)
    return People(cells)


def trials(
    people: People | Sequence[People],
    many: int,
    seed: int,
    floor: float = 0.0,
    *,
    even: bool = False,
    delay: int = 0,
    batch: int = 1,
) -> Log:
    """`many` trials of these people: TS by what was proposed, Beta(1, 1), within a floor; or evenly randomised.

    Probabilities stay the same for `batch` decisions. Where there are several kinds of people each is a context, which
    is learnt by itself.

    P(θ_0 > θ_1) is kept up to date by its recurrence, see `takeup.simulation.kernels.two_arm`.
    """
    kinds = (people,) if isinstance(people, People) else tuple(people)
    rng, n, contexts = stream(seed, "adaptive trials"), len(kinds[0].cells), len(kinds)
    marks = np.stack([kind.cells.reshape(n, 2, 4).cumsum(axis=-1) for kind in kinds])
    context = stream(seed, "contexts").integers(0, contexts, (many, n))
    table = np.ones((many, contexts, 2, 2))  # of z and j, j = 0 being well
    p, h = np.full((many, contexts), 0.5), np.full((many, contexts), 1 / 6)
    every, shares = np.arange(many), p
    probability = np.empty((many, n, 2))
    proposal, taken, outcome = (np.empty((many, n), dtype=np.int64) for _ in range(3))
    for t in range(n):
        if t > delay:
            x, z, j = context[:, t - delay - 1], proposal[:, t - delay - 1], 1 - outcome[:, t - delay - 1]
            own = table[every, x]
            near, total = own[every, z, j], own.sum(axis=(1, 2))
            p[every, x] += np.where(z == j, h[every, x], -h[every, x]) / near
            h[every, x] *= own[every, :, j].sum(axis=1) * own[every, z].sum(axis=1) / (total * near)
            table[every, x, z, j] += 1.0
        if t % batch == 0:
            shares = np.full_like(p, 0.5) if even else np.clip(p, max(floor, 1e-12), 1 - max(floor, 1e-12))
        x = context[:, t]
        share = shares[every, x]
        z = (rng.random(many) >= share).astype(np.int64)
        cell = (rng.random(many)[:, np.newaxis] >= marks[x, t, z] / marks[x, t, z, -1:]).sum(axis=1)
        probability[:, t, 0], probability[:, t, 1] = share, 1 - share
        proposal[:, t], taken[:, t], outcome[:, t] = z, cell // 2, cell % 2
    by = np.minimum(np.arange(n) + 1 + delay, n)
    space = SPACE if contexts == 1 else Space(SPACE.proposals, contexts=contexts, outcomes=SPACE.outcomes)
    return Log.of(space, proposal, probability, context=context, implemented=taken, outcome=outcome, outcome_by=by)
