"""What a rule that proposes by covariates is worth, as told by a randomised trial.

Each patient scores every proposal (augmented inverse probability weighting),

    s[i, z] = m(v_i, z) + 1{z_i = z} (r_i - m(v_i, z)) / share[z],

with m fitted to other patients. As the shares are those that patients were assigned by, E s[i, z] = E[r given z],
however wrong m is and however compliance is confounded; and the mean of s[i, rule(v_i)] is what the rule is worth if it
was chosen without patient i.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from takeup import CovariateEnvironment, stream
from takeup.checks import FloatArray, IntArray
from takeup.covariates import ONE, Profile
from takeup.evidence import Event
from takeup.populations import Logit, Resampled
from takeup.populations.fitting import fitted, logit
from takeup.randomness import Random
from takeup.rows import Rows

LEVEL, WIDTH = 0.95, 1.96
STARTS, STEPS = 20, 300
"""From where, and how long, `most` climbs."""


def scores(proposal: IntArray, reward: FloatArray, mean: FloatArray, share: Sequence[float]) -> FloatArray:
    """s[i, z], as above; `mean` is m(v_i, z)."""
    hit = np.eye(len(share))[proposal]
    return np.asarray(mean + hit * (reward[:, np.newaxis] - mean) / np.asarray(share))


def halves(size: int, rng: Random) -> Iterator[tuple[IntArray, IntArray]]:
    """A random split: learn on the one and judge on the other, and the other way round."""
    order = np.argsort(rng.random((size,)))
    one, other = np.sort(order[: size // 2]), np.sort(order[size // 2 :])
    yield one, other
    yield other, one


def part(rows: Rows, here: IntArray) -> Rows:
    """Some of the decisions."""
    x, z, a, y = (each[here].astype(np.int64) for each in (rows.context, rows.proposal, rows.implemented, rows.outcome))
    return Rows.gathered(rows.space, Event(x, z, a, y, features=rows.features[here].astype(np.int64)))


def units(rows: Rows) -> Profile:
    """Who they were."""
    return Profile(rows.context.astype(np.int64), rows.features.astype(np.int64))


class Judged(NamedTuple):
    """A rule that was learnt on one half, on the other.

    Attributes:
        scores: s[i, z] of the patients that judge, (n, Kz).
        rule: what it proposes to each of them, (n,).
        single: what is best for all together on the half that it was learnt on.
    """

    scores: FloatArray
    rule: IntArray
    single: int

    @property
    def gains(self) -> FloatArray:
        """Of each patient, over the single proposal; (n,)."""
        return np.asarray(self.scores[np.arange(self.rule.size), self.rule] - self.scores[:, self.single])


def judged(learn: Rows, judge: Rows, share: Sequence[float]) -> Judged:
    """Learn on some patients, with the models of `CovariateEnvironment.fitted`, and judge on others."""
    world = CovariateEnvironment.fitted(learn, exclusion=False)
    mean = world.value(units(judge))
    reward = learn.space.reward[judge.outcome]
    return Judged(
        scores(judge.proposal.astype(np.int64), reward, mean, share), mean.argmax(axis=-1), int(world.regret().argmin())
    )


def averaged(samples: Sequence[FloatArray]) -> tuple[float, float]:
    """The mean of several held-out means, and a bound on its standard error.

    The halves of all splits are of the same patients, and their means depend on each other in a way that nobody knows:
    where there is nothing to learn, the two of one split are correlated by about 2/π, and 95 % intervals that take them
    for independent missed in 15 of 100 made-up trials. The standard deviation of a mean is at most the mean of the
    standard deviations, whatever the dependence, and that is the bound.
    """
    return (
        float(np.mean([each.mean() for each in samples])),
        float(np.mean([each.std(ddof=1) / np.sqrt(each.size) for each in samples])),
    )


def gain(effect: FloatArray, weight: FloatArray) -> float:
    """E[max_z τ[z]] - max_z E[τ[z]] of effects (n, Kz): what the best by covariates gains over the best for all."""
    return float(weight @ effect.max(axis=1) - (weight @ effect).max())


def lines(found: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lines through s[., z] - s[., 0], z > 0, as one vector ((Kz - 1) d,), and its covariance, whatever the noise."""
    contrast = found[:, 1:] - found[:, :1]
    inverse = np.linalg.inv(v.T @ v)
    line = inverse @ v.T @ contrast
    left = contrast - v @ line
    slopes = (left[:, :, np.newaxis] * (v @ inverse)[:, np.newaxis, :]).reshape(len(v), -1)
    return line.T.ravel(), slopes.T @ slopes


def most(line: FloatArray, covariance: FloatArray, v: FloatArray, rng: Random, level: float = LEVEL) -> float:
    """The greatest gain that any lines within the confidence region of these allow, by projected ascent."""
    v, many = np.unique(v, axis=0, return_counts=True)
    weight = many / many.sum()
    radius, root = np.sqrt(chi2.ppf(level, line.size)), np.linalg.cholesky(covariance)
    best = 0.0
    for start in range(STARTS):
        u = rng.random((line.size,)) * 2 - 1 if start else np.zeros(line.size)
        u *= radius / max(1.0, float(np.linalg.norm(u)))
        for step in range(STEPS):
            beta = (line + root @ u).reshape(-1, v.shape[1])
            effect = np.column_stack([np.zeros(len(v)), v @ beta.T])
            best = max(best, gain(effect, weight))
            first = effect.argmax(axis=1)
            slope = np.stack([(weight * (first == z)) @ v for z in range(1, effect.shape[1])])
            single = int((weight @ effect).argmax())
            if single:
                slope[single - 1] -= weight @ v
            way = root.T @ slope.ravel()
            u = u + radius / np.sqrt(1 + step) * way / max(float(np.linalg.norm(way)), 1e-300)
            u *= min(1.0, radius / float(np.linalg.norm(u)))
    return best


def same_for_all(line: FloatArray, covariance: FloatArray, features: int) -> float:
    """The p-value of all slopes being zero, by Wald: no proposal's worth depends on the covariates in a line."""
    slopes = np.arange(line.size) % features > 0
    statistic = line[slopes] @ np.linalg.solve(covariance[np.ix_(slopes, slopes)], line[slopes])
    return float(chi2.sf(statistic, int(slopes.sum())))


def common_slopes(rows: Rows) -> CovariateEnvironment:
    """A truth in which covariates say who fares well, and hardly for whom which proposal is better.

    The logit of success has one slope for all, and a level for each proposal and action.
    """
    _, proposals, actions, levels = rows.space.shape
    v, cells = rows.features / ONE, proposals * actions
    cell = np.eye(cells)[rows.proposal * actions + rows.implemented]
    joint = logit(np.hstack([v, cell[:, 1:]]), rows.outcome.astype(np.int64), levels, 1.0)
    slopes, level = joint[:, : v.shape[1]], np.hstack([np.zeros((levels, 1)), joint[:, v.shape[1] :]])
    outcome = np.repeat(slopes[np.newaxis], cells, axis=0)
    outcome[..., 0] += level.T
    compliance, _ = fitted(rows, exclusion=False, ridge=1.0)
    shape = (1, 1, proposals, actions, levels, v.shape[1])
    return CovariateEnvironment(rows.space, Resampled.rows(rows), compliance, Logit(outcome.reshape(shape)))


def redrawn(world: CovariateEnvironment, rows: Rows, rng: Random) -> Rows:
    """The same patients with the same proposals, who respond anew as this truth has it."""
    who, proposal = units(rows), rows.proposal.astype(np.int64)
    a, y = world.respond(who, proposal, rng.random((rows.size, 3)))
    return Rows.gathered(rows.space, Event(who.context, proposal, a, y, features=who.features))


def promised(rows: Rows) -> float:
    """What the best by covariates gains over the best for all if the fit to these patients were the truth."""
    return float(CovariateEnvironment.fitted(rows, exclusion=False).regret().min())


@dataclass(frozen=True, slots=True)
class Answer:
    """What a trial says about proposals by covariates; gains are over the best single proposal.

    Attributes:
        single: the best single proposal.
        worth: what it was worth to those who were assigned it, and the standard error.
        promised: the gain in the fitted truth.
        nothing: the mean of that gain in trials redrawn where there is (next to) nothing to gain, and what there is.
        learnt: the gain of rules learnt on one half and judged on the other, and a bound on its standard error.
        most: the upper end of a 95 % interval for what the best rule by lines gains.
        slopes: what each feature adds to the second proposal's worth over the first's, and the standard error.
        same: the p-value of no difference by covariates.
        splits: how many.
    """

    single: str
    worth: tuple[float, float]
    promised: float
    nothing: tuple[float, float]
    learnt: tuple[float, float]
    most: float
    slopes: dict[str, tuple[float, float]]
    same: float
    splits: int

    @property
    def interval(self) -> tuple[float, float]:
        """Of 95 %, for the mean gain of rules that are learnt on half of the trial."""
        mean, error = self.learnt
        return mean - WIDTH * error, mean + WIDTH * error

    def row(self) -> str:
        """In points of a hundred."""
        (worth, error), (low, high), (mean, bound) = self.worth, self.interval, self.learnt
        return (
            f"{self.single} {100 * worth:.2f} ± {100 * error:.2f} | {100 * self.promised:.2f} | "
            f"{100 * self.nothing[0]:.2f} of {100 * self.nothing[1]:.2f} | {100 * mean:.2f} ± {100 * bound:.2f} | "
            f"{100 * low:.2f} to {100 * high:.2f} | {100 * self.most:.2f} | {self.same:.3f}"
        )


def answer(rows: Rows, share: Sequence[float], splits: int, seed: int = 0) -> Answer:
    """Everything that the trial says; `share` are the probabilities that patients were assigned by."""
    rng, total, samples = stream(seed, "halves"), np.zeros((rows.size, len(share))), []
    for _ in range(splits):
        for learn, judge in halves(rows.size, rng):
            found = judged(part(rows, learn), part(rows, judge), share)
            total[judge] += found.scores
            samples.append(found.gains)
    line, covariance = lines(total / splits, rows.features / ONE)
    reward = rows.space.reward[rows.outcome]
    each = [reward[rows.proposal == z] for z in range(len(share))]
    best = int(np.argmax([here.mean() for here in each]))
    flat = common_slopes(rows)
    assert rows.space.covariates is not None
    labels = rows.space.covariates.labels
    return Answer(
        single=rows.space.proposals[best],
        worth=(float(each[best].mean()), float(each[best].std(ddof=1) / np.sqrt(each[best].size))),
        promised=promised(rows),
        nothing=(
            float(np.mean([promised(redrawn(flat, rows, stream(seed, "redrawn", i))) for i in range(splits)])),
            float(flat.regret().min()),
        ),
        learnt=averaged(samples),
        most=most(line, covariance, rows.features / ONE, stream(seed, "most")),
        slopes=dict(zip(labels, zip(line.tolist(), np.sqrt(np.diag(covariance)).tolist(), strict=False), strict=False)),
        same=same_for_all(line, covariance, rows.features.shape[1]),
        splits=splits,
    )
