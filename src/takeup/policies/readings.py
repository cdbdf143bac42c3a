"""What the rules of a trial read: the same table of evidence, looked at in one of four ways.

Live trials, audits and the reference simulation read here; the kernels of `takeup.simulation` say the same in a form
that compiles, and are tested against this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from takeup.checks import FloatArray
from takeup.conjugates import Conjugate, Dirichlet, NormalGamma
from takeup.conjugates.normal import moments
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Evidence
from takeup.outcomes import Levels, Number
from takeup.policies.adjusted import adjusted
from takeup.policies.allocation import allocate
from takeup.policies.base import LivePolicy, outcome_block
from takeup.policies.beliefs import Blocks, Exact
from takeup.policies.bounded_reading import BoundedReading, CellMeans
from takeup.policies.compliers import Compliers, Moments
from takeup.policies.conjugate import TS
from takeup.policies.judging import Comparison
from takeup.randomness import Random, stream
from takeup.space import Space

DRAWS = 10_000


Reading: TypeAlias = Literal["intention to treat", "adjusted", "policy", "compliers"] | BoundedReading

SENTENCES: Mapping[str, str] = {
    "intention to treat": "The rules read what proposing is worth: outcomes by what was proposed, whoever took it. It"
    " assumes nothing about who complies.",
    "adjusted": "The rules read what proposing is worth to all who came: outcomes by what was proposed, compared at"
    " equal covariates. It assumes nothing about who complies, and that outcomes follow a line in the covariates.",
    "policy": "The rules read the policy's own model of what proposals are worth, and assume what it assumes about"
    " those who comply.",
    "compliers": "The rules read the effect of the action among those who take it when it is proposed and not else,"
    " against the control. It assumes that a proposal changes outcomes only through what is taken, and that nobody does"
    " the opposite of what he is told. Without a margin that is intention to treat; margins are of the effect of the"
    " action itself.",
    "bounded": "The rules read what proposing is worth, compliance and outcomes apart, and claim only what no"
    " difference within the promise explains: with any one action, those who take different things differ by at most"
    " the bound.",
}
"""What each reading reads and what it assumes, for people."""


def sentence(reading: str, bound: float | None = None) -> str:
    """What a reading reads and assumes; a bounded one with its bound."""
    told = SENTENCES[reading]
    return told if bound is None else f"{told.removesuffix('.')}, {bound:g}."


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """A comparison by joint draws of what proposals are worth, each probability with a Monte Carlo error.

    Attributes:
        values: shape (draws, Kz).
        best: the exact probability that each of two is the better one, where there is a closed form.
    """

    values: FloatArray
    best: FloatArray | None = None

    def largest(self, which: Sequence[int]) -> FloatArray:
        """How often each of these is the largest of them; draws that tie count for each in part."""
        chosen = list(which)
        if self.best is not None and len(chosen) == len(self.best):
            return self.best[chosen]
        some = self.values[:, chosen]
        first = some == some.max(axis=1, keepdims=True)
        return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))

    def exceeds(self, one: int, other: int, margin: float = 0.0) -> float:
        """How often V_one - V_other > margin."""
        if self.best is not None and margin == 0:
            return float(self.best[one])
        return float((self.values[:, one] - self.values[:, other] > margin).mean())

    def within(self, which: Sequence[int], margin: float) -> float:
        """How often the largest and the smallest of these differ by less than the margin."""
        some = self.values[:, list(which)]
        return float((some.max(axis=1) - some.min(axis=1) < margin).mean())

    def error(self, probability: float) -> float:
        """The Monte Carlo error of a probability that was counted."""
        return float(np.sqrt(probability * (1 - probability) / len(self.values)))


def comparison(reading: Reading, evidence: Evidence, policy: LivePolicy, rng: Random, draws: int = DRAWS) -> Comparison:
    """What a reading makes of the evidence of a trial with one context.

    Args:
        reading: which.
        evidence: a single table, as far as outcomes are known; the adjusted reading alone reads covariates.
        policy: the trial's; intention to treat has its prior where it is TS, and a uniform one else.
        rng: for readings that no quadrature answers.
        draws: how many those take.
    """
    if reading == "adjusted":
        return adjusted(evidence)
    evidence = evidence.without_covariates()
    space = evidence.space
    if len(space.contexts) > 1 or evidence.counts.ndim != 4:
        raise UnsuitableError("a trial with more than one context is not looked at by rules")
    if isinstance(reading, BoundedReading):
        return reading.of(cell_means(evidence, policy, rng, draws))
    if reading == "policy":
        return _by_model(evidence, policy, rng, draws)
    by_proposal = _compared(_block(evidence, policy), space, rng, draws)
    if reading == "intention to treat":
        return by_proposal
    if reading == "compliers":
        cells = Moments.of(evidence, proposing(policy), rng, draws)
        return Compliers(cells, by_proposal, _apart(space))
    raise InputError("reading", repr(reading), f"one of {', '.join(SENTENCES)}")


def counted(reading: str, space: Space, policy: LivePolicy, *, margins: bool) -> bool:
    """Whether rules compare probabilities that are counted in draws, where they read margins or not.

    The effect among compliers has its sign by intention to treat, and no margin of it is counted.
    """
    by: Reading = "policy" if reading == "policy" else "intention to treat"
    read = comparison(by, Evidence.empty(space.without_covariates()), policy, stream(0), 1)
    return isinstance(read, Draws) and (read.best is None or margins)


def _apart(space: Space) -> tuple[int, ...]:
    """The action that each proposal intends, another one for each."""
    intended = space.complying("the effect among compliers")
    if len(set(intended)) < len(intended):
        raise UnsuitableError("the effect among compliers needs proposals of which each intends another action")
    return intended


def cell_means(evidence: Evidence, policy: LivePolicy, rng: Random, draws: int = DRAWS) -> CellMeans:
    """The cells as a bounded reading has them: plain means of levels and numbers, else by draws of a model of each.

    Numbers that have a utility or are read in logarithms go by the model, as counts and times do; it has a prior.
    """
    space, seen, prior = evidence.space, evidence.statistic[0, :, :-1], proposing(policy)
    outcome = space.outcome
    if isinstance(outcome, Levels):
        return CellMeans.of_counts(seen, space.reward)
    block = outcome_block(prior, space, len(space.implemented), "context, implemented, outcome")
    if isinstance(outcome, Number) and isinstance(block, NormalGamma) and not (block.logarithmic or outcome.utility):
        units, mean, squares = moments(outcome, seen)
        return CellMeans.of_sums(units, mean if outcome.better == "higher" else -mean, squares, block.square[0])
    units = np.asarray(outcome.seen(seen), dtype=np.float64)
    cells = Moments.of(evidence, prior, rng, draws)
    return CellMeans(units, cells.mean, cells.variance * units)


def proposing(policy: object) -> TS:
    """TS, as which intention to treat reads: the trial's own where it is one, else with a plain prior."""
    if isinstance(policy, TS):
        return policy
    likelihood = getattr(policy, "likelihood", None)
    return TS(likelihood=None if likelihood is None else type(likelihood)())


def _block(evidence: Evidence, policy: LivePolicy) -> Conjugate:
    """What is believed of proposing, by intention to treat."""
    prior = TS.prior(proposing(policy), evidence.space)
    return prior.plus(evidence.proposed_outcomes).block


def _compared(block: Conjugate, space: Space, rng: Random, draws: int) -> Comparison:
    """By quadrature where there is one, of matched betas where there are more than two levels, else by draws."""
    found = block.variables()
    if found is None and isinstance(block, Dirichlet) and isinstance(space.outcome, Levels):
        found = block.matched()
    return found or Draws(block.sample_rewards(rng, (draws,))[:, 0])


def _by_model(evidence: Evidence, policy: LivePolicy, rng: Random, draws: int) -> Comparison:
    """The policy's own beliefs: by quadrature where proposals are independent, else by joint draws."""
    beliefs = policy.beliefs(evidence, 0, rng)
    if isinstance(beliefs, Exact):
        raise UnsuitableError(f"{policy.name} has no model of what a proposal is worth; read intention to treat")
    if not isinstance(beliefs, Blocks):
        return Draws(beliefs.values(rng, draws))
    if beliefs.posterior.compliance is None:
        return _compared(beliefs.posterior.block, evidence.space, rng, draws)
    found = allocate(beliefs.posterior)
    return Draws(beliefs.values(rng, draws), None if found is None else found.probability)
