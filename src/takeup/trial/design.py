"""A trial's design: its spec, checked and ready to decide from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from takeup import checks
from takeup.conjugates import Likelihood, likelihood_for
from takeup.epochs import Epochs
from takeup.errors import NOTHING, InputError, LimitsError, UnsuitableError
from takeup.evidence import Evidence
from takeup.inference.logit import Logit
from takeup.outcomes import Levels
from takeup.policies.base import LivePolicy, is_live
from takeup.policies.beliefs import Exact
from takeup.policies.description import describe
from takeup.policies.fitted import Fitted
from takeup.policies.judging import Rules
from takeup.policies.latent import TSLat
from takeup.policies.limits import ControlShare, Limits
from takeup.policies.meeting import space_for, uses_covariates
from takeup.policies.readings import counted
from takeup.policies.registry import kinds, policy_of
from takeup.randomness import stream
from takeup.space import Axis, Space
from takeup.specfile import SpecError, at
from takeup.trial.bounds import check_decisions, check_size, check_utility
from takeup.trial.looks import Looks, LooksTable
from takeup.trial.planned_analysis import check_analysis
from takeup.trial.refused_policy import RefusedPolicy
from takeup.trial.rules import BoundedTable, check_control_share, check_counted, check_dropping
from takeup.trial.spec import WITHIN, EdgeTable, TrialSpec, parse
from takeup.trial.told_error import check_told_error, rule_digest

MICROSECONDS = 1_000_000
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
MOST_DRAWN = 20_000_000
MOST_MODELS = 50_000
"""How many numbers the models of a policy may have: the log says them at every fit."""


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """What a trial decides from.

    Attributes:
        spec: with every default filled in and without the seed.
        text: the spec as canonical JSON: what is stored and hashed.
        space: contexts, proposals, actions, outcomes.
        policy: how to allocate.
        start: the policy's state before the first decision, which says how counts are kept for it.
        limits: what the probabilities must keep to.
        looks: when it is looked at; None where advice is given at any time.
        rules: what a look concludes.
        soften: the power of the probabilities, see `Looks.powers`; None without looks.
        even: the probabilities during the burn-in.
        fallback: the probabilities of a client that cannot reach the service.
        window: the outcome window in microseconds.
    """

    spec: TrialSpec
    text: str
    space: Space
    policy: LivePolicy
    start: Evidence | Epochs | Fitted[Any]
    limits: Limits
    looks: Looks | None
    rules: Rules
    soften: checks.FloatArray | None
    even: tuple[float, ...]
    fallback: tuple[float, ...]
    window: int | None

    @classmethod
    def of(cls, spec: TrialSpec | Mapping[str, Any], source: str = "spec", *, new: bool = True) -> "Design":
        """Check a spec; every error names `source`, the key and the value.

        Args:
            spec: what a trial's owner wrote down.
            source: where.
            new: whether it is checked, too, that its choices make sense; a trial that has begun goes on with its own,
                or can be read where this version refuses its policy.
        """
        if not isinstance(spec, TrialSpec):
            spec = parse(spec, source)
        if new:
            check_decisions(spec, source)
        with at(source, "space"):
            space = spec.space.build()
            check_size(space)
            if new:
                check_utility(space)
        with at(source, "policy"):
            policy = _policy(spec, space) if new else _stored_policy(spec, space)
            if new:
                _check_compliance(spec, policy)
            start: Evidence | Epochs | Fitted[Any] = policy.start(space_for(policy, space))
            if new and isinstance(start, Fitted):
                _check_models(policy, start)
        _check_draws(source, space, policy, spec.draws)
        with at(source, "looks"):
            looks = None if spec.looks is None else _looks(spec.looks, space, policy)
        with at(source, "stopping"):
            rules = spec.stopping.build(space, looks)
            if new and spec.stopping.reading == "policy":
                _check_model(policy, space, looks)
            if spec.stopping.reading == "adjusted" and not uses_covariates(policy):
                why = f"{policy.name} proposes without covariates, so that they leave nothing to adjust for"
                raise InputError("reading", "'adjusted'", "'intention to treat'", why)
            if new and looks is not None and _counted(spec, space, policy, rules):
                check_counted(rules, spec.draws)
        with at(source, "limits"):
            limits = _limits(spec, space)
            check_dropping(limits, space.proposals, rules)
            soften = _soften(spec, looks)
            even = limits.project(np.full(len(space.proposals), 1 / len(space.proposals)))
        with at(source, "stopping"):
            check_control_share(limits, len(space.proposals), rules, spec.stopping.control_share)
        with at(source, "edge"):
            if new and spec.edge.allowed:
                _check_edge(space, policy, looks)
        with at(source, "fallback"):
            given = spec.fallback
            fallback = even if given is None else _by_label("fallback", given, space, "probabilities")
            checks.probabilities("probabilities", fallback)
        full = spec.model_copy(
            update={
                "space": spec.space.model_copy(update=describe(space)),
                "policy": policy.description if isinstance(policy, RefusedPolicy) else describe(policy),
                "seed": None,
                "edge": _edge(spec.edge) if new else spec.edge,
            }
        )
        text = canonical(full.model_dump(mode="json", exclude={"seed"}))
        window = None if spec.window is None else spec.window * MICROSECONDS
        if new:
            check_told_error(full, looks, source)
        design = cls(
            full,
            text,
            space,
            policy,
            start,
            limits,
            looks,
            rules,
            soften,
            tuple(even.tolist()),
            tuple(fallback.tolist()),
            window,
        )
        if new:
            with at(source, "analysis"):
                check_analysis(design)
        return design

    def digest(self, scenario: str) -> str:
        """Of what decides how often it errs in a scenario: see `rule_digest`."""
        return rule_digest(self.spec, self.looks, scenario)

    def state(
        self, counts: checks.IntArray, models: tuple[Logit, ...] | None = None
    ) -> Evidence | Epochs | Fitted[Any]:
        """What the policy believes from, where its counts are these, and its models, where it fits some."""
        return self.start.live(counts, models) if isinstance(self.start, Fitted) else replace(self.start, counts=counts)

    @property
    def shown(self) -> Space:
        """The space as its policy is shown it: without covariates, unless it learns from them."""
        return self.start.space

    @property
    def epochs(self) -> Epochs | None:
        """How the evidence is kept apart by when a decision was made; None where that does not matter."""
        return self.start if isinstance(self.start, Epochs) else None

    @property
    def control_share(self) -> ControlShare | None:
        """The probability of the control, where one is agreed."""
        return self.spec.stopping.control_share

    @property
    def drawn(self) -> int:
        """How many random numbers a draw of one arm's outcomes takes."""
        return _drawn(self.space, self.policy)

    @property
    def likelihood(self) -> Likelihood | None:
        """The distribution that outcomes are taken to have; None where they are levels."""
        return _likelihood(self.space, self.policy)

    @property
    def refused(self) -> str | None:
        """Why this version makes no decisions from it; None where it does."""
        return self.policy.why if isinstance(self.policy, RefusedPolicy) else None

    @classmethod
    def of_text(cls, text: str) -> "Design":
        """The design whose `text` this is."""
        return _of_text(text)

    def index(self, axis: Axis, label: object) -> int:
        """The index of a label."""
        if axis != "outcome" and not isinstance(label, str | int):
            given = NOTHING if label is None else repr(label)
            raise InputError(axis, given, f"one of {', '.join(self.space.names(axis))}")
        return self.space.index(axis, label)

    def context_index(self, label: object) -> int:
        """The index of a context, which may be left out where there is one alone."""
        if label is None and len(self.space.contexts) == 1:
            return 0
        return self.index("context", label)


def canonical(value: object) -> str:
    """JSON in the one form that is hashed: sorted keys, no spaces, no NaN."""
    return _ENCODER.encode(value)


@lru_cache(maxsize=64)
def _of_text(text: str) -> Design:
    return Design.of(json.loads(text), "the stored spec", new=False)


def _likelihood(space: Space, policy: LivePolicy) -> Likelihood | None:
    if isinstance(space.outcome, Levels):
        return None
    given: Likelihood | None = getattr(policy, "likelihood", None)
    return likelihood_for(space.outcome) if given is None else given


def _drawn(space: Space, policy: LivePolicy) -> int:
    """How many numbers a draw takes for each action: TS-Lat draws how many of each cell took it."""
    likelihood = _likelihood(space, policy)
    if likelihood is None:
        return space.outcome.size
    drawn = likelihood.drawn(space.outcome)
    return max(drawn, space.outcome.cells) if isinstance(getattr(policy, "base", policy), TSLat) else drawn


def _check_draws(source: str, space: Space, policy: LivePolicy, draws: int) -> None:
    _, z, a, _ = space.shape
    numbers = draws * (z * a + max(z, a) * _drawn(space, policy))
    if numbers > MOST_DRAWN:
        allowed = f"at most {MOST_DRAWN} random numbers a decision"
        hint = "ask for fewer draws, or merge actions, outcome levels or bins"
        raise SpecError(f"{source}: draws", f"{draws}, which take {numbers}", allowed, hint)


def _check_models(policy: LivePolicy, start: Fitted[Any]) -> None:
    """The coefficients, and how they vary together, of each context and arm."""
    numbers = sum(each.mode.size + each.factor.size for each in start.models)
    if numbers > MOST_MODELS:
        allowed = f"models of at most {MOST_MODELS:,} numbers, as the log says them at every fit"
        hint = "merge contexts or levels, leave covariates or interactions out, or choose LinTS"
        raise InputError("kind", f"{policy.name}, whose models have {numbers:,} here", allowed, hint)


def _policy(spec: TrialSpec, space: Space) -> LivePolicy:
    policy = policy_of(spec.policy)
    if not is_live(policy, space):
        raise InputError(
            "kind",
            policy.name,
            "a policy that may run a live trial; `takeup policies` lists them",
            "this one depends on its path and runs simulations alone",
        )
    return policy


def _stored_policy(spec: TrialSpec, space: Space) -> LivePolicy:
    """The same; what stands for it where an older version allowed parameters that this one refuses."""
    try:
        return _policy(spec, space)
    except InputError as error:
        kind = kinds().get(str(spec.policy.get("kind")))
        if kind is None:
            raise
        return RefusedPolicy(kind.card, spec.policy, f"policy.{error}")


def _check_compliance(spec: TrialSpec, policy: LivePolicy) -> None:
    if spec.compliance == "never" and policy.compliance == "needed":
        raise UnsuitableError(
            f"{policy.name} learns from decisions whose compliance is seen, and compliance is never reported;"
            " choose TS or TSLat, or report compliance sometimes"
        )


def _check_model(policy: LivePolicy, space: Space, looks: Looks | None) -> None:
    if uses_covariates(policy):
        why = f"{policy.name} believes something of each unit, and nothing of all"
        raise InputError("reading", "'policy'", "'intention to treat'", why)
    if looks is not None and isinstance(policy.start(space_for(policy, space)), Epochs):
        why = "looks read all outcomes, and a policy that forgets believes in some of them less"
        raise InputError("reading", "'policy'", "'intention to treat'", why)
    if isinstance(policy.beliefs(policy.start(space_for(policy, space)), 0, stream(0)), Exact):
        raise InputError("reading", "'policy'", "'intention to treat'", f"{policy.name} has no model of its own")


def _check_edge(space: Space, policy: LivePolicy, looks: Looks | None) -> None:
    """Leases need probabilities that can be told ahead, for every context, and stay true while they last."""
    why = None
    if uses_covariates(policy):
        why = f"{policy.name} proposes to each unit by its covariates, and a lease has probabilities by context"
    elif space.covariates is not None:
        why = "a lease knows units by their context alone, so far, and this trial keeps covariates of each"
    elif looks is not None:
        why = "under a lease from before a look, what that look drops would go on being proposed"
    if why is not None:
        raise InputError("allowed", "true", "false, or no [edge]", why)


def _edge(table: EdgeTable) -> EdgeTable:
    """With what new trials have where nobody says otherwise."""
    late = table.allowed and table.within is None
    return table.model_copy(update={"within": WITHIN}) if late else table


def _counted(spec: TrialSpec, space: Space, policy: LivePolicy, rules: Rules) -> bool:
    """Whether what the rules read is counted in draws."""
    reading, margins = spec.stopping.reading, rules.equivalence is not None or rules.futility is not None
    return not isinstance(reading, BoundedTable) and counted(reading, space, policy, margins=margins)


def _limits(spec: TrialSpec, space: Space) -> Limits:
    floor, ceiling = (
        value if isinstance(value, float) else _by_label(name, value, space, "limits", default)
        for name, value, default in (("floor", spec.limits.floor, 0.0), ("ceiling", spec.limits.ceiling, 1.0))
    )
    limits = np.broadcast_to(floor, len(space.proposals)), np.broadcast_to(ceiling, len(space.proposals))
    for label, low, high in zip(space.proposals, *limits, strict=True):
        if low > high:
            raise LimitsError(f"{label!r} has the floor {low:g} above its ceiling {high:g}; lower the floor")
    return Limits(floor, ceiling, spec.limits.rule)


def _looks(table: LooksTable, space: Space, policy: LivePolicy) -> Looks:
    if len(space.contexts) > 1:
        raise InputError("at", f"{len(space.contexts)} contexts", "one context, so far, where a trial has looks")
    if uses_covariates(policy) and table.update == "look":
        why = f"{policy.name} proposes to each unit by its covariates, and nothing of that could be kept between looks"
        raise InputError("update", "'look'", "'patient'", why)
    return table.build()


def _soften(spec: TrialSpec, looks: Looks | None) -> checks.FloatArray | None:
    if looks is not None:
        return looks.powers(spec.limits.soften)
    if spec.limits.soften != 1:
        raise InputError("soften", spec.limits.soften, "1, or looks, at which probabilities change")
    return None


def _by_label(
    argument: str, given: Mapping[str, float], space: Space, what: str, default: float | None = None
) -> checks.FloatArray:
    """One number for each proposal."""
    for label in given:
        if label not in space.proposals:
            raise InputError(argument, repr(label), f"{what} of {', '.join(space.proposals)}")
    missing = [label for label in space.proposals if label not in given]
    if missing and default is None:
        raise InputError(argument, f"nothing for {', '.join(missing)}", f"{what} of every proposal")
    return np.array([given.get(label, default) for label in space.proposals], dtype=np.float64)
