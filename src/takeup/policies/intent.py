"""Thompson sampling that knows what people were about to do: intent as context."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Evidence, Index
from takeup.policies.allocation import Allocation
from takeup.policies.arms import BANDITS, credited, gain, one_hot
from takeup.policies.beliefs import Beliefs, Blocks
from takeup.policies.card import ALikelihood, Card, Counts, Positive, Variant
from takeup.policies.conjugate import BY_PROPOSAL, TS
from takeup.posterior import Posterior
from takeup.randomness import Random
from takeup.space import Space

BAREINBOIM = "Bareinboim, Forney & Pearl (2015)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntentTS(TS):
    """TS by intent, TS^Z: Bareinboim, Forney & Pearl (2015).

    The context is what a unit would do if left alone, and the proposal may overrule it. Intent carries what confounds
    choice and outcome, so the value of a proposal is learnt among those with one intent. It is TS with that context;
    it refuses a space whose contexts are not intents. It needs the intent before the decision, and the power to
    overrule it.
    """

    card: ClassVar[Card] = Card(
        name="TS-Intent",
        family="intents",
        source=BAREINBOIM,
        compliance="not used",
        variants=(Variant("Thompson sampling by what people would do by themselves; contexts must be these intents."),),
        outcomes="all",
        parameters={"alpha": Positive(), "likelihood": ALikelihood()},
        kernels=BY_PROPOSAL,
    )

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; refuses a space whose contexts are not the proposals."""
        intents(space, self.name)
        return TS.start(self, space, batch)


@dataclass(frozen=True, slots=True, eq=False)
class Weighed(Blocks):
    """Blocks whose draws, rescaled to [0, 1], are multiplied by a weight before they are compared.

    Attributes:
        weight: of each proposal; shape (.., Kz).
    """

    weight: FloatArray

    def scores(self, rng: Random, draws: int | None = None) -> FloatArray:
        """The draws, weighed."""
        low, high = self.posterior.utility.min(), self.posterior.utility.max()
        return np.asarray((self.values(rng, draws) - low) / (high - low) * self.weight)

    def allocation(self, rng: np.random.Generator, draws: int) -> Allocation:
        """From draws."""
        return Beliefs.allocation(self, rng, draws)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CausalTS(IntentTS):
    """Causal Thompson sampling, TS^C: Bareinboim, Forney & Pearl (2015), as in the authors' code.

    TS by intent, with two additions. What was observed of people who were left alone is the prior of following one's
    intent, as that is what those did. And where the mean Q1 of overruling intent x by z and the observed mean Q2 of
    following it differ, the draw of the lower one is multiplied by 1 - |Q1 - Q2|. The second is a heuristic: it favours
    what looks better, and can be sure too soon where both are close. The authors have two proposals; with more, every
    z is compared with the intent.

    Attributes:
        alpha: the prior of the outcomes by intent and proposal, to which the observed ones are added.
        observed: n[x, y], outcomes of units that followed their intent x before the trial; none where left out, and Q2
            is then the posterior mean of following.
    """

    card: ClassVar[Card] = Card(
        name="TS-Causal",
        family="intents",
        source=BAREINBOIM,
        compliance="not used",
        variants=(Variant("As TS-Intent, and takes what people do by themselves into account."),),
        parameters={"alpha": Positive(), "likelihood": ALikelihood(), "observed": Counts()},
        kernels=BANDITS,
    )
    observed: ArrayLike | None = None

    def prior(self, space: Space) -> Posterior:
        """Dir(α) for each intent and proposal, and what was observed where they are one."""
        followed = one_hot(intents(space, self.name), len(space.proposals))
        seen = np.einsum("xz,xy->xzy", followed, self.seen(space))
        return TS.prior(self, space).plus(seen)

    def seen(self, space: Space) -> FloatArray:
        """The observed outcomes by intent; shape (X, Y)."""
        contexts, _, _, levels = space.shape
        if self.observed is None:
            return np.zeros((contexts, levels))
        counts = checks.real("observed", self.observed)
        checks.shaped("observed", counts, (contexts, levels), "intent, outcome")
        if counts.ndim != 2 or counts.min() < 0 or (counts.sum(axis=1) <= 0).any():
            raise InputError("observed", self.observed, "counts of at least 0, and some outcome for every intent")
        return counts

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """The blocks by intent, with a weight for each draw."""
        return self.believe(credited(evidence, "chosen"), evidence.space, context)

    def believe(self, table: FloatArray, space: Space, context: Index) -> Beliefs:
        """The same from a table of outcomes by intent and proposal."""
        posterior = self.blocks(table, space, context)
        mean = posterior.mean().outcome[..., 0, :, :] @ gain(space)
        return Weighed(posterior, self.weights(mean, space, context))

    def weights(self, mean: FloatArray, space: Space, context: Index) -> FloatArray:
        """What each draw is multiplied by, given the posterior means; shape (.., Kz)."""
        own = one_hot(intents(space, self.name)[context], len(space.proposals))
        follow = (mean * own).sum(axis=-1, keepdims=True)
        if self.observed is not None:
            counts = self.seen(space)
            follow = (counts @ gain(space) / counts.sum(axis=1))[context][..., np.newaxis]
        bias = 1 - np.abs(mean - follow)
        better = (mean > follow) & (own == 0)
        for_others = np.where(better | (own == 1), 1.0, bias)
        for_own = np.where(better, bias, 1.0).min(axis=-1, keepdims=True)
        return np.where(own == 1, for_own, for_others)


def intents(space: Space, who: str) -> IntArray:
    """The proposal that each context intends: that of its name, or of its position where there are as many."""
    shared = [name in space.proposals for name in space.contexts]
    if all(shared):
        return np.array([space.proposals.index(name) for name in space.contexts])
    if not any(shared) and len(space.contexts) == len(space.proposals):
        return np.arange(len(space.contexts))
    raise UnsuitableError(
        f"{who} needs contexts that are intents, and the {len(space.contexts)} contexts"
        f" ({', '.join(space.contexts)}) are not the {len(space.proposals)} proposals ({', '.join(space.proposals)});"
        " give each context the name of the proposal that it intends"
    )
