"""An Environment is the truth that a simulation draws from."""

import hashlib
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError, MismatchError, UnsuitableError
from takeup.evidence import Evidence, Index
from takeup.outcomes import Outcome
from takeup.space import Space
from takeup.world import World

MOST_CELLS = 20_000_000
"""How many probabilities an environment may have."""
MANY = 64
"""From so many responses on they are looked up by halving."""


@dataclass(frozen=True, slots=True, eq=False)
class Types:
    """Compliance types with potential outcomes: who one is decides what one does and how one fares.

    Attributes:
        share: the probability of each type u in each context; shape (X, U).
        response: the action that each type implements under each proposal; shape (U, Kz).
        outcome: the distribution of the potential outcome of each type under each action; shape (X, U, Ka, Y).
    """

    share: FloatArray
    response: IntArray
    outcome: FloatArray


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Environment:
    """The distribution of contexts and the joint response p(a, y given x, z).

    Build one with `from_world`, `from_types`, `from_evidence` or `from_counts`.

    Attributes:
        space: what the axes stand for.
        context: the probability of each context; shape (X,).
        response: p(a, y given x, z); shape (X, Kz, Ka, Y), where Y is how many different outcomes there are.
        types: the compliance types that the response was built from, where it was.
        later: what it changes into, and after how many decisions: pairs (step, environment). All that is asked of an
            environment is answered for the time before; `phases` lists what comes after.
    """

    space: Space
    context: FloatArray
    response: FloatArray
    types: Types | None = None
    later: tuple[tuple[int, "Environment"], ...] = ()

    def __post_init__(self) -> None:
        if self.space.covariates is not None:
            raise UnsuitableError(
                "an Environment has no covariates, and its space has; a CovariateEnvironment says who comes and how"
                " they fare, or give it space.without_covariates()"
            )
        shape = self.space.shape
        context = checks.probabilities("context", self.context)
        checks.shaped("context", context, shape[:1], "context")
        given = checks.real("response", self.response)
        checks.shaped("response", given, shape, "context, proposal, implemented, outcome")
        joint = checks.probabilities("response", given.reshape(*shape[:2], -1)).reshape(shape)
        for name, array in (("context", context), ("response", joint)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_world(cls, world: World, *, context: ArrayLike | None = None, space: Space | None = None) -> "Environment":
        """The paper's environment: the outcome depends on the implemented action alone.

        Args:
            world: the true compliance and outcome distributions.
            context: the probability of each context; all equal where left out.
            space: names for the axes; numbers where left out.
        """
        contexts, proposals, actions = world.compliance.shape
        if world.family.outcome is not None:
            return cls._tabulated(world, world.family.outcome, _contexts(context, contexts), space)
        if space is None:
            space = Space(
                proposals,
                actions,
                contexts=contexts,
                outcomes=world.utility.size,
                utility=list(world.utility),
            )
        if space.utility != tuple(world.utility):
            raise MismatchError(f"the world's utility {tuple(world.utility)} is not the space's {space.utility}")
        joint = np.einsum("xza,xay->xzay", world.compliance, world.outcome)
        return cls(space, _contexts(context, contexts), joint)

    @classmethod
    def _tabulated(cls, world: World, outcome: Outcome, context: FloatArray, space: Space | None) -> "Environment":
        """Of a world whose outcomes are no levels: every outcome that there can be gets its probability."""
        contexts, proposals, actions = world.compliance.shape
        if space is None:
            space = Space(proposals, actions, contexts=contexts, outcomes=outcome)
        if space.outcome != outcome:
            raise MismatchError(f"the world's outcome {outcome} is not the space's {space.outcome}")
        cells = proposals * contexts * actions * space.outcome.size
        if cells > MOST_CELLS:
            hint = "simulate with a larger step"
            raise InputError("step", f"{cells:,} probabilities", f"at most {MOST_CELLS:,}", hint)
        joint = np.einsum("xza,xay->xzay", world.compliance, world.family.table())
        return cls(space, context, joint / joint.sum(axis=(-2, -1), keepdims=True))

    @classmethod
    def from_types(
        cls,
        space: Space,
        share: ArrayLike,
        response: ArrayLike,
        outcome: ArrayLike,
        *,
        context: ArrayLike | None = None,
    ) -> "Environment":
        """A confounded environment: a type decides both what is implemented and how the outcome falls.

        Args:
            space: the finite sets.
            share: the probability of each type, (U,), or by context, (X, U).
            response: the action of each type under each proposal, as indices, (U, Kz).
            outcome: the distribution of each type's potential outcomes, (U, Ka, Y), or by context, (X, U, Ka, Y).
            context: the probability of each context; all equal where left out.
        """
        contexts, proposals, actions, levels = space.shape
        act = checks.counts("response", response)
        kinds = act.shape[0] if act.ndim == 2 else 0
        checks.shaped("response", act, (kinds, proposals), "type, proposal")
        if act.max() >= actions:
            raise InputError("response", f"action {act.max()}", f"indices of actions from 0 to {actions - 1}")
        who = checks.probabilities("share", share)
        checks.shaped("share", who, (contexts, kinds) if who.ndim > 1 else (kinds,), "context, type")
        who = np.broadcast_to(who, (contexts, kinds))
        fate = checks.probabilities("outcome", outcome)
        fate = fate[np.newaxis].repeat(contexts, axis=0) if fate.ndim == 3 else fate
        checks.shaped(
            "outcome",
            fate,
            (contexts, kinds, actions, levels),
            "context, type, implemented, outcome",
        )
        does = np.eye(actions)[act]
        joint = np.einsum("xu,uza,xuay->xzay", who, does, fate)
        return cls(space, _contexts(context, contexts), joint, Types(who, act, fate))

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> "Environment":
        """The empirical distribution of a real trial: what happened to those who were told z is what happens.

        Raises:
            InputError: a decision whose compliance or outcome is unseen, or a (context, proposal) without any.
        """
        if evidence.counts.ndim != 4:
            raise InputError("evidence", f"shape {evidence.counts.shape}", "a single table, not many side by side")
        evidence.space.levels  # noqa: B018  # sums do not tell the distribution
        seen = evidence.statistic[..., :-1, :]
        unseen = int(evidence.total.sum() - seen.sum())
        if unseen:
            raise InputError(
                "evidence",
                f"{unseen} decisions with compliance or outcome unseen",
                "complete decisions",
                "leave them out or impute them, knowingly",
            )
        return cls.from_counts(evidence.space.without_covariates(), seen)

    @classmethod
    def from_counts(cls, space: Space, counts: ArrayLike) -> "Environment":
        """The same from how often each outcome came, whatever kind it is of: n[x, z, a, y], where y is its code.

        Raises:
            InputError: a (context, proposal) without any decision.
        """
        seen = checks.counts("counts", counts)
        checks.shaped("counts", seen, space.shape, "context, proposal, implemented, outcome")
        rows = seen.sum(axis=(-2, -1))
        if (rows == 0).any():
            x, z = np.argwhere(rows == 0)[0]
            raise InputError(
                "evidence",
                f"no decision with context {space.contexts[x]} and proposal {space.proposals[z]}",
                "at least one decision in each",
            )
        return cls(space, rows.sum(axis=1) / rows.sum(), seen / rows[..., np.newaxis, np.newaxis])

    def switch(self, step: int, other: "Environment") -> "Environment":
        """This environment for the first `step` decisions, and then the other one."""
        step = checks.whole("step", step, least=self.later[-1][0] + 1 if self.later else 1)
        differ = self.space.differences(other.space)
        if differ:
            raise MismatchError(f"an environment cannot change its space, and these differ in {', '.join(differ)}")
        if other.later:
            raise InputError("other", "an environment that changes", "one that stays", "add its changes one by one")
        return replace(self, later=(*self.later, (step, other)))

    @property
    def phases(self) -> tuple[tuple[int, "Environment"], ...]:
        """What it is from which decision on, beginning with itself from 0 on."""
        return ((0, self), *self.later)

    def value(self) -> FloatArray:
        """v[x, z] = E[r given x, z], the expected reward of proposing z."""
        value: FloatArray = np.einsum("xzay,y->xz", self.response, self.space.reward)
        return value

    def optimum(self) -> IntArray:
        """The best proposal in each context; shape (X,)."""
        return np.asarray(self.value().argmax(axis=1))

    def regret(self) -> FloatArray:
        """max_z v[x, z] - v[x, z], what proposing z costs: one term of Stirn & Jebara (2019), eq. 4.

        It is the intention-to-treat regret of Kallus (2018): proposals are compared, as they are complied with.
        """
        value = self.value()
        regret: FloatArray = value.max(axis=1, keepdims=True) - value
        return regret

    def fingerprint(self) -> str:
        """A hash of all that a simulation can draw from it: equal environments have equal streams."""
        content = hashlib.blake2b(digest_size=16)
        for array in (self.context, self.response, self.space.reward):
            content.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        for step, other in self.later:
            content.update(f"{step} {other.fingerprint()}".encode())
        return content.hexdigest()

    def meet(self, uniform: FloatArray) -> IntArray:
        """The contexts that these uniform numbers stand for, by inversion."""
        return invert(self.context, np.asarray(uniform))

    def respond(self, context: Index, proposal: Index, uniform: FloatArray) -> tuple[IntArray, IntArray]:
        """The implemented actions and outcomes that these uniform numbers stand for, by inversion.

        A number is a patient: two policies that propose the same to the same number get the same answer.
        """
        actions, outcomes = self.response.shape[2:]
        if actions * outcomes > MANY:
            cell = _look_up(_cumulative(self), context, proposal, np.asarray(uniform))
        else:
            joint = self.response.reshape(*self.response.shape[:2], -1)
            cell = invert(joint[context, proposal], np.asarray(uniform))
        return cell // outcomes, cell % outcomes


def _contexts(context: ArrayLike | None, contexts: int) -> FloatArray:
    return np.full(contexts, 1 / contexts) if context is None else checks.probabilities("context", context)


def invert(probability: FloatArray, uniform: FloatArray) -> IntArray:
    """The index at which the cumulative distribution passes a number of [0, 1); never one of probability zero."""
    cumulative = np.cumsum(probability, axis=-1)
    # Rounding may leave the total a little below one: count against it, so that the last possible index catches all.
    passed = uniform[..., np.newaxis] * cumulative[..., -1:] >= cumulative
    return np.asarray(passed.sum(axis=-1))


_CUMULATIVE: MutableMapping[Environment, FloatArray] = WeakKeyDictionary()
"""As long as there is the environment: they may be large."""


def _cumulative(environment: Environment) -> FloatArray:
    """The cumulative distributions of a large response; shape (X, Kz, cells)."""
    if environment not in _CUMULATIVE:
        response = environment.response
        _CUMULATIVE[environment] = np.cumsum(response.reshape(*response.shape[:2], -1), axis=-1)
    return _CUMULATIVE[environment]


def _look_up(cumulative: FloatArray, context: Index, proposal: Index, uniform: FloatArray) -> IntArray:
    """What `invert` finds, by halving instead of by counting."""
    proposals, cells = cumulative.shape[1:]
    row = np.broadcast_to(np.asarray(context) * proposals + proposal, uniform.shape)
    found = np.zeros(uniform.shape, dtype=np.int64)
    for each in np.unique(row):
        distribution, here = cumulative.reshape(-1, cells)[each], row == each
        found[here] = np.searchsorted(distribution, uniform[here] * distribution[-1], side="right")
    return np.asarray(np.minimum(found, cells - 1))
